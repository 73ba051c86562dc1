//! Detects messages in arbitrary text, before anything in it is trusted.

use adjutant_model::answer::{FieldProblem, Reason};
use serde_json::{Map, Value};

use super::envelope::PROTOCOL;

pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

pub const DEPTH_MAX: usize = 64;

/// The start of a line that is a message.
pub const MESSAGE_PREFIX: &str = "AOF/1 ";

/// The fields in which another object may carry a message.
const CARRIERS: [&str; 3] = ["payload", "message", "content"];

/// What a text looks like before its fields are checked.
pub(super) enum DetectedText {
    /// No message. If the text is a JSON object, it is passed on, so that it is parsed once.
    NotAof(Option<Map<String, Value>>),
    Broken(Reason, FieldProblem),
    Object(Map<String, Value>),
}

/// Whether a message may still be carried inside another object.
#[derive(Clone, Copy)]
enum NestingLevel {
    Outer,
    Carried,
}

pub(super) fn detect(raw: &[u8]) -> DetectedText {
    if raw.len() > MESSAGE_BYTES_MAX {
        let text = format!("is larger than {MESSAGE_BYTES_MAX} bytes");
        return DetectedText::Broken(Reason::PayloadTooLarge, FieldProblem::new("", text));
    }
    match std::str::from_utf8(raw) {
        Ok(text) => detect_text(text, NestingLevel::Outer),
        Err(error) => detect_mangled(raw, error),
    }
}

fn detect_text(text: &str, level: NestingLevel) -> DetectedText {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if let Some(json) = text.strip_prefix(MESSAGE_PREFIX) {
        return detect_announced(json);
    }
    if !text.starts_with('{') {
        return DetectedText::NotAof(None);
    }
    if is_too_deep(text) {
        return too_deep();
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => detect_object(object, level),
        Err(error) if names_protocol(text) => not_json(&error.to_string()),
        Ok(_) | Err(_) => DetectedText::NotAof(None),
    }
}

/// After `AOF/1`, all text is addressed to Adjutant.
fn detect_announced(json: &str) -> DetectedText {
    if is_too_deep(json) {
        return too_deep();
    }
    match serde_json::from_str(json) {
        Ok(Value::Object(object)) => DetectedText::Object(object),
        Ok(_) => DetectedText::Broken(
            Reason::InvalidEnvelope,
            FieldProblem::new("", "must be a JSON object"),
        ),
        Err(error) => not_json(&error.to_string()),
    }
}

fn detect_object(mut object: Map<String, Value>, level: NestingLevel) -> DetectedText {
    if is_message(&object) {
        return DetectedText::Object(object);
    }
    if let NestingLevel::Outer = level {
        for carrier in CARRIERS {
            if let Some(found) = object.get_mut(carrier).and_then(detect_carried) {
                return found;
            }
        }
    }
    DetectedText::NotAof(Some(object))
}

/// Finds a message in the field of another object.
fn detect_carried(value: &mut Value) -> Option<DetectedText> {
    match value {
        Value::Object(inner) if is_message(inner) => {
            Some(DetectedText::Object(std::mem::take(inner)))
        }
        Value::String(text) => match detect_text(text, NestingLevel::Carried) {
            DetectedText::NotAof(_) => None,
            found => Some(found),
        },
        _ => None,
    }
}

fn is_message(object: &Map<String, Value>) -> bool {
    object.get("protocol").and_then(Value::as_str) == Some(PROTOCOL)
}

/// Refuses invalid UTF-8 that announces a message, and ignores all other invalid UTF-8.
fn detect_mangled(raw: &[u8], error: std::str::Utf8Error) -> DetectedText {
    let text = String::from_utf8_lossy(raw);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let announced = text.starts_with(MESSAGE_PREFIX);
    if announced || (text.starts_with('{') && names_protocol(text)) {
        not_json(&error.to_string())
    } else {
        DetectedText::NotAof(None)
    }
}

fn not_json(error: &str) -> DetectedText {
    DetectedText::Broken(
        Reason::InvalidJson,
        FieldProblem::new("", format!("is not JSON: {error}")),
    )
}

fn too_deep() -> DetectedText {
    let text = format!("is nested deeper than {DEPTH_MAX} levels");
    DetectedText::Broken(Reason::NestingTooDeep, FieldProblem::new("", text))
}

/// Looks for `"protocol": "aof"` in text that does not parse.
fn names_protocol(text: &str) -> bool {
    text.match_indices("\"protocol\"").any(|(at, key)| {
        let value = text[at + key.len()..].trim_start().strip_prefix(':').map(str::trim_start);
        value.is_some_and(|value| value.starts_with("\"aof\""))
    })
}

/// Counts brackets outside strings, so that no parser has to recurse first.
pub(crate) fn is_too_deep(text: &str) -> bool {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return true;
        }
    }
    false
}
