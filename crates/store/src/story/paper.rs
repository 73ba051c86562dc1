//! What an executor leaves: `HANDOFF.md` and `executor-result`, in every form met in the field.
//!
//! A paper that cannot be read says so; nothing here makes a pass of anything but the word.

use adjutant_core::pipeline::Tests;
use adjutant_core::pipeline::claim::{Found, Paper, Words};
use serde_json::{Map, Value};

use crate::frontmatter::{self, Parts};

/// The most bytes of a paper that are looked at.
pub const BYTES_MAX: u64 = 1024 * 1024;

/// What the old free form has for a reason.
const PHRASES: [(&str, &str); 3] = [
    ("NEEDS CLARIFICATION", "needs_clarification"),
    ("CONSTITUTION VIOLATION", "constitution_violation"),
    ("SCOPE WARNING", "scope_warning"),
];

/// Reads `HANDOFF.md`: front matter, fenced or not, else the old free form.
pub fn handoff(bytes: &[u8]) -> Found {
    let text = match text(bytes) {
        Ok(Some(text)) => text,
        Ok(None) => return Found::Nothing,
        Err(why) => return Found::Broken(why),
    };
    match fields(text) {
        Ok(Some(fields)) => paper(&fields),
        Ok(None) => free_form(text),
        Err(why) => Found::Broken(why),
    }
}

/// Reads `executor-result`: `key: value` lines. A value may hold what YAML would not take.
pub fn result(bytes: &[u8]) -> Found {
    let text = match text(bytes) {
        Ok(Some(text)) => text,
        Ok(None) => return Found::Nothing,
        Err(why) => return Found::Broken(why),
    };
    if let Ok(fields) = frontmatter::read(text) {
        return if fields.is_empty() { Found::Nothing } else { paper(&fields) };
    }
    match lines(text) {
        Ok(fields) if fields.is_empty() => Found::Broken("it has no `key: value` line".to_owned()),
        Ok(fields) => paper(&fields),
        Err(why) => Found::Broken(why),
    }
}

/// Returns the text of a paper, if there is anything in it.
fn text(bytes: &[u8]) -> Result<Option<&str>, String> {
    if bytes.len() as u64 > BYTES_MAX {
        return Err(format!("it is longer than {BYTES_MAX} bytes"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Ok(if text.trim().is_empty() { None } else { Some(text) })
}

/// Finds the front matter: none if there is none, or what is wrong with it.
fn fields(text: &str) -> Result<Option<Map<String, Value>>, String> {
    let text = skip_blank_lines(text);
    let first = text.lines().next().unwrap_or_default().trim_end();
    if let Some(language) = first.strip_prefix("```") {
        return match language.trim() {
            "" | "yaml" | "yml" | "markdown" | "md" => fenced(text),
            _ => Ok(None),
        };
    }
    if first != "---" {
        return Ok(None);
    }
    let parts =
        Parts::split(text).map_err(|_| "it is half written: no `---` line ends it".to_owned())?;
    frontmatter::read(parts.yaml()).map(Some).map_err(|error| error.to_string())
}

/// Reads front matter that somebody put into a code block.
fn fenced(text: &str) -> Result<Option<Map<String, Value>>, String> {
    let inner = text.split_once('\n').map_or("", |(_, rest)| rest);
    let is_end =
        |line: &&str| line.trim_end().trim_end_matches('`').is_empty() && line.starts_with("```");
    let length: usize =
        inner.split_inclusive('\n').take_while(|line| !is_end(line)).map(str::len).sum();
    if length == inner.len() {
        return Err("it is half written: nothing ends the code block".to_owned());
    }
    let block = skip_blank_lines(&inner[..length]);
    if block.starts_with("---") {
        return fields(block);
    }
    let read = frontmatter::read(block).ok();
    let speaks =
        |fields: &Map<String, Value>| fields.contains_key("status") || fields.contains_key("step");
    Ok(read.filter(speaks))
}

fn skip_blank_lines(text: &str) -> &str {
    let blank: usize =
        text.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum();
    &text[blank..]
}

/// The old free form says at most why something failed; how it went it does not say.
fn free_form(text: &str) -> Found {
    let first =
        PHRASES.iter().filter_map(|(phrase, reason)| Some((text.find(phrase)?, *reason))).min();
    let reason = first.map(|(_, reason)| reason.to_owned());
    Found::Paper(Paper { words: Words { reason, ..Words::default() }, ..Paper::default() })
}

/// Reads `key: value` lines; comments, fences and what is no such line are left out.
fn lines(text: &str) -> Result<Map<String, Value>, String> {
    let mut fields = Map::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let Some((key, value)) = line.split_once(':') else { continue };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if key.is_empty() || !key.chars().all(plain) {
            continue;
        }
        let value = unquoted(value.trim());
        let before = fields.insert(key.to_owned(), value.clone());
        if before.is_some_and(|before| before != value) {
            return Err(format!("it says `{key}` twice"));
        }
    }
    Ok(fields)
}

fn unquoted(value: &str) -> Value {
    for quote in ['"', '\''] {
        let inner = value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner {
            return Value::String(inner.to_owned());
        }
    }
    let value = value.split(" #").next().unwrap_or_default().trim();
    match value {
        "" | "null" | "~" => Value::Null,
        value => Value::String(value.to_owned()),
    }
}

fn paper(fields: &Map<String, Value>) -> Found {
    read(fields).map_or_else(Found::Broken, Found::Paper)
}

fn read(fields: &Map<String, Value>) -> Result<Paper, String> {
    let word = |name: &str| word(name, fields.get(name));
    let words = Words {
        status: word("status")?,
        reason: word("reason")?,
        tests: tests(fields),
        files_changed: files(fields.get("files_changed")),
    };
    let (story, step, attempt) = (word("story")?, word("step")?, word("attempt")?);
    Ok(Paper { story, step, attempt, words })
}

/// Reads a field that is one word. A list or a mapping there makes the paper unreadable: it would
/// be easy to take the wrong part of it for a pass.
fn word(name: &str, value: Option<&Value>) -> Result<Option<String>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim().to_owned())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(Value::Bool(truth)) => Ok(Some(truth.to_string())),
        Some(Value::Array(_) | Value::Object(_)) => Err(format!("`{name}` is more than one word")),
    }
}

fn tests(fields: &Map<String, Value>) -> Option<Tests> {
    let count = |name: &str| {
        let nested = fields.get("tests").and_then(|tests| tests.get(name));
        let value = fields.get(&format!("tests_{name}")).or(nested)?;
        value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
    };
    let (pass, fail, skip) = (count("pass"), count("fail"), count("skip"));
    pass.or(fail)?;
    Some(Tests { pass: pass.unwrap_or(0), fail: fail.unwrap_or(0), skip: skip.unwrap_or(0) })
}

fn files(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(list)) => {
            list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(Value::String(one)) if !one.trim().is_empty() => vec![one.clone()],
        _ => vec![],
    }
}
