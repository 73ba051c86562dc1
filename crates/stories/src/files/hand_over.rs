//! Parses the hand-overs of an executor: `HANDOFF.md` and `executor-result`, in every form
//! seen in practice.
//!
//! A hand-over that cannot be read is reported as broken; only an explicit status becomes a pass.

use adjutant_core::story::claim::{ClaimedResult, FoundHandOver, HandOverContent};
use adjutant_core::story::{ExecutorMessage, TestTotals};
use adjutant_store::frontmatter::{self, FrontMatterParts};
use serde_json::{Map, Value};

/// The longest hand-over that is parsed.
pub const BYTES_MAX: u64 = 1024 * 1024;

/// The phrases of the old free form that name a reason.
const PHRASES: [(&str, &str); 3] = [
    ("NEEDS CLARIFICATION", "needs_clarification"),
    ("CONSTITUTION VIOLATION", "constitution_violation"),
    ("SCOPE WARNING", "scope_warning"),
];

/// Parses `HANDOFF.md`: front matter, fenced or not, otherwise the old free form.
pub fn parse_handoff(bytes: &[u8]) -> FoundHandOver {
    let text = match text(bytes) {
        Ok(Some(text)) => text,
        Ok(None) => return FoundHandOver::Missing,
        Err(why) => return FoundHandOver::Invalid(why),
    };
    match fields(text) {
        Ok(Some(fields)) => with_notes(to_found(&fields), body(text)),
        Ok(None) => with_notes(free_form(text), text),
        Err(why) => FoundHandOver::Invalid(why),
    }
}

/// Returns the text after the front matter. After a code block it is all of the text, because a
/// block may be anywhere in it.
fn body(text: &str) -> &str {
    FrontMatterParts::split(skip_blank_lines(text)).map_or(text, |parts| parts.body())
}

fn with_notes(found: FoundHandOver, notes: &str) -> FoundHandOver {
    let FoundHandOver::Content(mut content) = found else { return found };
    let notes = ExecutorMessage::new(None, [], Some(notes)).map(Box::new);
    content.claimed.message = match (content.claimed.message, notes) {
        (Some(message), Some(notes)) => Some(Box::new(message.or(*notes))),
        (message, notes) => message.or(notes),
    };
    FoundHandOver::Content(content)
}

/// Parses `executor-result`: `key: value` lines. A value may contain text that YAML refuses.
pub fn parse_executor_result(bytes: &[u8]) -> FoundHandOver {
    let text = match text(bytes) {
        Ok(Some(text)) => text,
        Ok(None) => return FoundHandOver::Missing,
        Err(why) => return FoundHandOver::Invalid(why),
    };
    if let Ok(fields) = frontmatter::read(text) {
        return if fields.is_empty() { FoundHandOver::Missing } else { to_found(&fields) };
    }
    match lines(text) {
        Ok(fields) if fields.is_empty() => {
            FoundHandOver::Invalid("it has no `key: value` line".to_owned())
        }
        Ok(fields) => to_found(&fields),
        Err(why) => FoundHandOver::Invalid(why),
    }
}

/// Returns the text of a hand-over, or `None` if it is blank.
fn text(bytes: &[u8]) -> Result<Option<&str>, String> {
    if bytes.len() as u64 > BYTES_MAX {
        return Err(format!("it is longer than {BYTES_MAX} bytes"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Ok(if text.trim().is_empty() { None } else { Some(text) })
}

/// Reads the front matter; `None` if there is none, an error if it is invalid.
fn fields(text: &str) -> Result<Option<Map<String, Value>>, String> {
    let text = skip_blank_lines(text);
    let first = text.lines().next().unwrap_or_default().trim_end();
    if let Some(language) = first.strip_prefix("```") {
        return match language.trim() {
            "" | "yaml" | "yml" | "markdown" | "md" => read_fenced(text),
            _ => Ok(None),
        };
    }
    if first != "---" {
        return Ok(None);
    }
    let parts = FrontMatterParts::split(text)
        .map_err(|_| "it is incomplete: no `---` line ends the front matter".to_owned())?;
    frontmatter::read(parts.yaml()).map(Some).map_err(|error| error.to_string())
}

/// Reads front matter inside a code block.
fn read_fenced(text: &str) -> Result<Option<Map<String, Value>>, String> {
    let inner = text.split_once('\n').map_or("", |(_, rest)| rest);
    let is_end =
        |line: &&str| line.trim_end().trim_end_matches('`').is_empty() && line.starts_with("```");
    let length: usize =
        inner.split_inclusive('\n').take_while(|line| !is_end(line)).map(str::len).sum();
    if length == inner.len() {
        return Err("it is incomplete: the code block is not closed".to_owned());
    }
    let block = skip_blank_lines(&inner[..length]);
    if block.starts_with("---") {
        return fields(block);
    }
    let read = frontmatter::read(block).ok();
    let is_hand_over =
        |fields: &Map<String, Value>| fields.contains_key("status") || fields.contains_key("step");
    Ok(read.filter(is_hand_over))
}

fn skip_blank_lines(text: &str) -> &str {
    let blank: usize =
        text.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum();
    &text[blank..]
}

/// The old free form can name the reason of a failure, but has no status.
fn free_form(text: &str) -> FoundHandOver {
    let first =
        PHRASES.iter().filter_map(|(phrase, reason)| Some((text.find(phrase)?, *reason))).min();
    let reason = first.map(|(_, reason)| reason.to_owned());
    FoundHandOver::Content(HandOverContent {
        claimed: ClaimedResult { reason, ..ClaimedResult::default() },
        ..HandOverContent::default()
    })
}

/// Reads `key: value` lines; skips comments, fences and all other lines.
fn lines(text: &str) -> Result<Map<String, Value>, String> {
    let mut fields = Map::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let Some((key, value)) = line.split_once(':') else { continue };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if key.is_empty() || !key.chars().all(plain) {
            continue;
        }
        let value = unquote(value.trim());
        let before = fields.insert(key.to_owned(), value.clone());
        if before.is_some_and(|before| before != value) {
            return Err(format!("it has two different values of `{key}`"));
        }
    }
    Ok(fields)
}

fn unquote(value: &str) -> Value {
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

fn to_found(fields: &Map<String, Value>) -> FoundHandOver {
    to_content(fields).map_or_else(FoundHandOver::Invalid, FoundHandOver::Content)
}

fn to_content(fields: &Map<String, Value>) -> Result<HandOverContent, String> {
    let word = |name: &str| word(name, fields.get(name));
    let claimed = ClaimedResult {
        status: word("status")?,
        reason: word("reason")?,
        tests: tests(fields),
        files_changed: files(fields.get("files_changed")),
        message: ExecutorMessage::new(
            fields.get("summary").and_then(Value::as_str),
            files(fields.get("questions")),
            None,
        )
        .map(Box::new),
    };
    let (story, step, attempt) = (word("story")?, word("step")?, word("attempt")?);
    Ok(HandOverContent { story, step, attempt, claimed })
}

/// Reads a field that is a single word. A list or a mapping makes the hand-over unreadable: the
/// wrong part of it could easily count as a pass.
fn word(name: &str, value: Option<&Value>) -> Result<Option<String>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim().to_owned())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(Value::Bool(truth)) => Ok(Some(truth.to_string())),
        Some(Value::Array(_) | Value::Object(_)) => Err(format!("`{name}` must be a single word")),
    }
}

fn tests(fields: &Map<String, Value>) -> Option<TestTotals> {
    let count = |name: &str| {
        let nested = fields.get("tests").and_then(|tests| tests.get(name));
        let value = fields.get(&format!("tests_{name}")).or(nested)?;
        value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
    };
    let (pass, fail, skip) = (count("pass"), count("fail"), count("skip"));
    pass.or(fail)?;
    Some(TestTotals { pass: pass.unwrap_or(0), fail: fail.unwrap_or(0), skip: skip.unwrap_or(0) })
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
