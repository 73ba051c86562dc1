//! Tells what a text is, whatever dialect it speaks, before anything in it is believed.
//!
//! YAML is read by whoever calls: the core knows what a mapping must say, not how it is written.

use serde_json::{Map, Value};

use super::document::{Document, DocumentKind};
use crate::answer::{Problem, Reason};
use crate::aof::{self, Incoming, MESSAGE_BYTES_MAX, Refusal, Sent};
use crate::fields::kind_of;

/// Reads YAML into a mapping, or names everything that is wrong with it.
pub type Yaml<'a> = &'a dyn Fn(&str) -> Result<Map<String, Value>, Vec<Problem>>;

/// Where an object that is no document itself may carry one.
const CARRIERS: [&str; 3] = ["payload", "message", "content"];

/// Reads bytes that may be a message or a document: AOF/1 first, then the others by their keys.
pub fn read(raw: &[u8], yaml: Yaml<'_>) -> Incoming {
    match aof::read(raw) {
        Incoming::Ignored => document(raw, yaml),
        other => other,
    }
}

/// Reads bytes that were left as a document of this kind: what does not fit is refused, and never
/// ignored.
pub fn read_left(kind: DocumentKind, raw: &[u8], yaml: Yaml<'_>) -> Incoming {
    match read_as(kind, raw, yaml) {
        Ok((document, warnings)) => {
            let run_token = None;
            Incoming::Document(Box::new(Sent { document, warnings, run_token }))
        }
        Err(problems) if raw.len() > MESSAGE_BYTES_MAX => {
            refused(kind, Reason::PayloadTooLarge, problems, None)
        }
        Err(problems) => refused(kind, Reason::InvalidEnvelope, problems, None),
    }
}

/// Reads bytes that are meant to be a document of this kind.
pub fn read_as(
    kind: DocumentKind,
    raw: &[u8],
    yaml: Yaml<'_>,
) -> Result<(Document, Vec<Problem>), Vec<Problem>> {
    let one = |message: String| vec![Problem::new("", message)];
    if raw.len() > MESSAGE_BYTES_MAX {
        return Err(one(format!("has more than {MESSAGE_BYTES_MAX} bytes")));
    }
    let text = std::str::from_utf8(raw).map_err(|error| one(format!("is not text: {error}")))?;
    let text = trimmed(text);
    if aof::is_too_deep(text) {
        return Err(one(format!("is nested deeper than {} levels", aof::DEPTH_MAX)));
    }
    match (serde_json::from_str(text), kind.speaks_yaml()) {
        (Ok(Value::Object(object)), _) => kind.parse_object(&object),
        (Ok(other), false) => Err(one(format!("must be an object, not {}", kind_of(&other)))),
        (Err(error), false) => Err(one(format!("is not JSON: {error}"))),
        (_, true) => kind.parse_object(&yaml(text)?),
    }
}

fn trimmed(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}');
    // Only blank lines are taken away: what comes before the first key counts in YAML.
    let start = text.len() - text.trim_start().len();
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    if text[start..].starts_with('{') { &text[start..] } else { &text[line..] }
}

fn document(raw: &[u8], yaml: Yaml<'_>) -> Incoming {
    let Ok(text) = std::str::from_utf8(raw) else {
        let text = String::from_utf8_lossy(raw);
        let named = named(trimmed(&text));
        return named.map_or(Incoming::Ignored, |kind| {
            refused(kind, broken(kind), vec![Problem::new("", "is not UTF-8 text")], None)
        });
    };
    let text = trimmed(text);
    if text.starts_with('{')
        && let Ok(Value::Object(object)) = serde_json::from_str(text)
    {
        return in_object(object, yaml);
    }
    in_text(text, yaml)
}

/// Looks at an object, and at what it may carry.
fn in_object(mut object: Map<String, Value>, yaml: Yaml<'_>) -> Incoming {
    if let Some(kind) = DocumentKind::of(&object) {
        return parse(kind, &object);
    }
    for carrier in CARRIERS {
        let inside = match object.remove(carrier) {
            Some(Value::Object(inner)) => {
                DocumentKind::of(&inner).map_or(Incoming::Ignored, |kind| parse(kind, &inner))
            }
            Some(Value::String(text)) => match serde_json::from_str(&text) {
                Ok(Value::Object(inner)) => {
                    DocumentKind::of(&inner).map_or(Incoming::Ignored, |kind| parse(kind, &inner))
                }
                _ => in_text(trimmed(&text), yaml),
            },
            _ => Incoming::Ignored,
        };
        if inside != Incoming::Ignored {
            return inside;
        }
    }
    Incoming::Ignored
}

/// Looks at text that is no JSON. What does not read is ours if it names the keys of a document.
fn in_text(text: &str, yaml: Yaml<'_>) -> Incoming {
    let Some(kind) = named(text) else { return Incoming::Ignored };
    if !kind.speaks_yaml() {
        let error = serde_json::from_str::<Value>(text).err();
        let message =
            error.map_or("is not JSON".to_owned(), |error| format!("is not JSON: {error}"));
        return refused(kind, Reason::InvalidJson, vec![Problem::new("", message)], None);
    }
    match yaml(text) {
        Ok(mapping) => match DocumentKind::of(&mapping).filter(|kind| kind.speaks_yaml()) {
            Some(kind) => parse(kind, &mapping),
            None => Incoming::Ignored,
        },
        Err(problems) => refused(kind, Reason::InvalidYaml, problems, None),
    }
}

fn parse(kind: DocumentKind, object: &Map<String, Value>) -> Incoming {
    match kind.parse_object(object) {
        Ok((document, warnings)) => {
            let token = ["runToken", "run_token"].into_iter().find_map(|key| object.get(key));
            let run_token = token.and_then(Value::as_str).map(str::to_owned);
            Incoming::Document(Box::new(Sent { document, warnings, run_token }))
        }
        Err(problems) => {
            let id = ["task_id", "taskId"].into_iter().find_map(|key| object.get(key));
            refused(kind, Reason::InvalidEnvelope, problems, id.and_then(Value::as_str))
        }
    }
}

fn refused(
    kind: DocumentKind,
    reason: Reason,
    problems: Vec<Problem>,
    id: Option<&str>,
) -> Incoming {
    let document = Some((kind, id.map(str::to_owned)));
    Incoming::Refused(Refusal { reason, problems, task: None, from: None, document })
}

fn broken(kind: DocumentKind) -> Reason {
    if kind.speaks_yaml() { Reason::InvalidYaml } else { Reason::InvalidJson }
}

/// Tells what kind of document a text would be if it could be read, by the keys it names.
fn named(text: &str) -> Option<DocumentKind> {
    let names = |kind: &DocumentKind| {
        let json = text.starts_with('{');
        kind.keys().iter().all(|key| if json { is_quoted(text, key) } else { is_line(text, key) })
    };
    let kinds = DocumentKind::ALL.into_iter();
    kinds.filter(|kind| text.starts_with('{') || kind.speaks_yaml()).find(names)
}

/// Looks for `"key":` or `key:` in text that looks like an object.
fn is_quoted(text: &str, key: &str) -> bool {
    text.match_indices(key).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + key.len()..].trim_start_matches(['"', '\'']).trim_start();
        before.is_some_and(|c| !c.is_alphanumeric() && c != '_') && after.starts_with(':')
    })
}

/// Looks for a line that begins with `key:`.
fn is_line(text: &str, key: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start_matches(['"', '\'']);
        let after = line.strip_prefix(key).map(|rest| rest.trim_start_matches(['"', '\'']));
        after.is_some_and(|rest| rest.trim_start().starts_with(':'))
    })
}
