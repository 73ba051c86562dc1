//! Detects documents of any dialect in a text, before anything in it is trusted.
//!
//! The caller parses YAML: the core knows what a mapping must contain, not how it is written.

use adjutant_model::answer::{FieldProblem, Reason};
use adjutant_model::field_reader::json_type_name;
use serde_json::{Map, Value};

use super::{DocumentKind, ProtocolDocument};
use crate::protocols::aof::{
    self, IncomingText, MESSAGE_BYTES_MAX, MessageRefusal, ReceivedDocument,
};

/// Parses YAML into a mapping, or returns every problem.
pub type YamlParser<'a> = &'a dyn Fn(&str) -> Result<Map<String, Value>, Vec<FieldProblem>>;

/// The fields in which another object may carry a document.
const CARRIERS: [&str; 3] = ["payload", "message", "content"];

/// Reads bytes that may be a message or a document. Tries AOF/1 first, then identifies the other
/// dialects by their keys.
pub fn read(raw: &[u8], yaml: YamlParser<'_>) -> IncomingText {
    match aof::read_unless_other(raw) {
        Ok(incoming) => incoming,
        Err(Some(object)) => read_in_object(object, yaml),
        Err(None) => read_in_bytes(raw, yaml),
    }
}

/// Reads a file that was left as a document of this kind. An invalid one is refused, never ignored.
pub fn read_left_file(kind: DocumentKind, raw: &[u8], yaml: YamlParser<'_>) -> IncomingText {
    match read_as(kind, raw, yaml) {
        Ok((document, warnings)) => {
            let run_token = None;
            IncomingText::Document(Box::new(ReceivedDocument { document, warnings, run_token }))
        }
        Err(problems) if raw.len() > MESSAGE_BYTES_MAX => {
            refusal(kind, Reason::PayloadTooLarge, problems, None)
        }
        Err(problems) => refusal(kind, Reason::InvalidEnvelope, problems, None),
    }
}

/// Reads bytes that must be a document of this kind.
pub fn read_as(
    kind: DocumentKind,
    raw: &[u8],
    yaml: YamlParser<'_>,
) -> Result<(ProtocolDocument, Vec<FieldProblem>), Vec<FieldProblem>> {
    let one = |message: String| vec![FieldProblem::new("", message)];
    if raw.len() > MESSAGE_BYTES_MAX {
        return Err(one(format!("is larger than {MESSAGE_BYTES_MAX} bytes")));
    }
    let text = std::str::from_utf8(raw).map_err(|error| one(format!("is not text: {error}")))?;
    let text = trim_blank_lines(text);
    if aof::is_too_deep(text) {
        return Err(one(format!("is nested deeper than {} levels", aof::DEPTH_MAX)));
    }
    match (serde_json::from_str(text), kind.can_be_yaml()) {
        (Ok(Value::Object(object)), _) => kind.parse_object(&object),
        (Ok(other), false) => {
            Err(one(format!("must be an object, not {}", json_type_name(&other))))
        }
        (Err(error), false) => Err(one(format!("is not JSON: {error}"))),
        (_, true) => kind.parse_object(&yaml(text)?),
    }
}

fn trim_blank_lines(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}');
    // Strip blank lines only: the indentation of the first key matters in YAML.
    let start = text.len() - text.trim_start().len();
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    if text[start..].starts_with('{') { &text[start..] } else { &text[line..] }
}

/// Reads bytes that are no JSON object.
fn read_in_bytes(raw: &[u8], yaml: YamlParser<'_>) -> IncomingText {
    let Ok(text) = std::str::from_utf8(raw) else {
        let text = String::from_utf8_lossy(raw);
        let named = guess_kind(trim_blank_lines(&text));
        return named.map_or(IncomingText::Ignored, |kind| {
            refusal(
                kind,
                syntax_reason(kind),
                vec![FieldProblem::new("", "is not UTF-8 text")],
                None,
            )
        });
    };
    read_in_text(trim_blank_lines(text), yaml)
}

/// Reads an object, or the document that it carries.
fn read_in_object(mut object: Map<String, Value>, yaml: YamlParser<'_>) -> IncomingText {
    if let Some(kind) = DocumentKind::from_keys(&object) {
        return parse(kind, &object);
    }
    for carrier in CARRIERS {
        let inside = match object.remove(carrier) {
            Some(Value::Object(inner)) => DocumentKind::from_keys(&inner)
                .map_or(IncomingText::Ignored, |kind| parse(kind, &inner)),
            Some(Value::String(text)) => match serde_json::from_str(&text) {
                Ok(Value::Object(inner)) => DocumentKind::from_keys(&inner)
                    .map_or(IncomingText::Ignored, |kind| parse(kind, &inner)),
                _ => read_in_text(trim_blank_lines(&text), yaml),
            },
            _ => IncomingText::Ignored,
        };
        if inside != IncomingText::Ignored {
            return inside;
        }
    }
    IncomingText::Ignored
}

/// Reads text that is not JSON. Text that does not parse is refused if it names the keys of a
/// document, and otherwise ignored.
fn read_in_text(text: &str, yaml: YamlParser<'_>) -> IncomingText {
    let Some(kind) = guess_kind(text) else { return IncomingText::Ignored };
    if !kind.can_be_yaml() {
        let error = serde_json::from_str::<Value>(text).err();
        let message =
            error.map_or("is not JSON".to_owned(), |error| format!("is not JSON: {error}"));
        return refusal(kind, Reason::InvalidJson, vec![FieldProblem::new("", message)], None);
    }
    match yaml(text) {
        Ok(mapping) => match DocumentKind::from_keys(&mapping).filter(|kind| kind.can_be_yaml()) {
            Some(kind) => parse(kind, &mapping),
            None => IncomingText::Ignored,
        },
        Err(problems) => refusal(kind, Reason::InvalidYaml, problems, None),
    }
}

fn parse(kind: DocumentKind, object: &Map<String, Value>) -> IncomingText {
    match kind.parse_object(object) {
        Ok((document, warnings)) => {
            let token = ["runToken", "run_token"].into_iter().find_map(|key| object.get(key));
            let run_token = token.and_then(Value::as_str).map(str::to_owned);
            IncomingText::Document(Box::new(ReceivedDocument { document, warnings, run_token }))
        }
        Err(problems) => {
            let id = ["task_id", "taskId"].into_iter().find_map(|key| object.get(key));
            refusal(kind, Reason::InvalidEnvelope, problems, id.and_then(Value::as_str))
        }
    }
}

fn refusal(
    kind: DocumentKind,
    reason: Reason,
    problems: Vec<FieldProblem>,
    id: Option<&str>,
) -> IncomingText {
    let document = Some((kind, id.map(str::to_owned)));
    IncomingText::Refused(MessageRefusal { reason, problems, task: None, from: None, document })
}

fn syntax_reason(kind: DocumentKind) -> Reason {
    if kind.can_be_yaml() { Reason::InvalidYaml } else { Reason::InvalidJson }
}

/// Returns the kind of document that the keys in a text suggest, without parsing it.
fn guess_kind(text: &str) -> Option<DocumentKind> {
    let names = |kind: &DocumentKind| {
        let json = text.starts_with('{');
        kind.keys()
            .iter()
            .all(|key| if json { has_quoted_key(text, key) } else { has_key_line(text, key) })
    };
    let kinds = DocumentKind::ALL.into_iter();
    kinds.filter(|kind| text.starts_with('{') || kind.can_be_yaml()).find(names)
}

/// Looks for `"key":` or `key:` in text that looks like an object.
fn has_quoted_key(text: &str, key: &str) -> bool {
    text.match_indices(key).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + key.len()..].trim_start_matches(['"', '\'']).trim_start();
        before.is_some_and(|c| !c.is_alphanumeric() && c != '_') && after.starts_with(':')
    })
}

/// Looks for a line that begins with `key:`.
fn has_key_line(text: &str, key: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start_matches(['"', '\'']);
        let after = line.strip_prefix(key).map(|rest| rest.trim_start_matches(['"', '\'']));
        after.is_some_and(|rest| rest.trim_start().starts_with(':'))
    })
}
