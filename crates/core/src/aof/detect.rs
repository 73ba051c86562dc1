//! Tells a message from any other text, before anything in it is believed.

use serde_json::{Map, Value};

use super::envelope::PROTOCOL;
use crate::answer::{Problem, Reason};

/// The most bytes a message may have.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The deepest a message may be nested.
pub const DEPTH_MAX: usize = 64;

const PREFIX: &str = "AOF/1 ";

/// Where an object that is no message itself may carry one.
const CARRIERS: [&str; 3] = ["payload", "message", "content"];

/// What a text looks like from outside.
pub(super) enum Detected {
    /// Nothing of ours.
    NotOurs,
    /// Announced as ours and not readable.
    Broken(Reason, Problem),
    /// An object that says it is ours.
    Object(Map<String, Value>),
}

/// Whether a message may still be carried inside another object.
#[derive(Clone, Copy)]
enum Level {
    Outer,
    Carried,
}

/// Looks at raw bytes.
pub(super) fn detect(raw: &[u8]) -> Detected {
    if raw.len() > MESSAGE_BYTES_MAX {
        let text = format!("has more than {MESSAGE_BYTES_MAX} bytes");
        return Detected::Broken(Reason::PayloadTooLarge, Problem::new("", text));
    }
    match std::str::from_utf8(raw) {
        Ok(text) => detect_text(text, Level::Outer),
        Err(error) => detect_mangled(raw, error),
    }
}

fn detect_text(text: &str, level: Level) -> Detected {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if let Some(json) = text.strip_prefix(PREFIX) {
        return detect_announced(json);
    }
    if !text.starts_with('{') {
        return Detected::NotOurs;
    }
    if is_too_deep(text) {
        return too_deep();
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => detect_object(object, level),
        Err(error) if names_protocol(text) => not_json(&error.to_string()),
        Ok(_) | Err(_) => Detected::NotOurs,
    }
}

/// After `AOF/1 `, everything is meant for us.
fn detect_announced(json: &str) -> Detected {
    if is_too_deep(json) {
        return too_deep();
    }
    match serde_json::from_str(json) {
        Ok(Value::Object(object)) => Detected::Object(object),
        Ok(_) => {
            Detected::Broken(Reason::InvalidEnvelope, Problem::new("", "must be a JSON object"))
        }
        Err(error) => not_json(&error.to_string()),
    }
}

fn detect_object(mut object: Map<String, Value>, level: Level) -> Detected {
    if object.get("protocol").and_then(Value::as_str) == Some(PROTOCOL) {
        return Detected::Object(object);
    }
    let Level::Outer = level else {
        return Detected::NotOurs;
    };
    for carrier in CARRIERS {
        let inside = match object.remove(carrier) {
            Some(Value::Object(inner)) => detect_object(inner, Level::Carried),
            Some(Value::String(text)) => detect_text(&text, Level::Carried),
            _ => Detected::NotOurs,
        };
        if !matches!(inside, Detected::NotOurs) {
            return inside;
        }
    }
    Detected::NotOurs
}

/// Bytes that are no UTF-8 are refused if they announce a message, and else not ours.
fn detect_mangled(raw: &[u8], error: std::str::Utf8Error) -> Detected {
    let text = String::from_utf8_lossy(raw);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let announced = text.starts_with(PREFIX);
    if announced || (text.starts_with('{') && names_protocol(text)) {
        not_json(&error.to_string())
    } else {
        Detected::NotOurs
    }
}

fn not_json(error: &str) -> Detected {
    Detected::Broken(Reason::InvalidJson, Problem::new("", format!("is not JSON: {error}")))
}

fn too_deep() -> Detected {
    let text = format!("is nested deeper than {DEPTH_MAX} levels");
    Detected::Broken(Reason::NestingTooDeep, Problem::new("", text))
}

/// Looks for `"protocol": "aof"` in text that does not parse.
fn names_protocol(text: &str) -> bool {
    text.match_indices("\"protocol\"").any(|(at, key)| {
        let value = text[at + key.len()..].trim_start().strip_prefix(':').map(str::trim_start);
        value.is_some_and(|value| value.starts_with("\"aof\""))
    })
}

/// Counts brackets outside strings, so that no parser has to go down first.
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
