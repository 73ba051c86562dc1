//! Writes single values so that YAML 1.1 and YAML 1.2 parsers read them alike.
//!
//! A string is plain only if every parser reads it as a string; all others are double quoted on
//! one line. RFC 3339 timestamps are plain too: YAML 1.2 reads them as strings, and people
//! write them unquoted.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::{Number, Value};

/// Plain words that some parser does not read as a string.
const WORDS: [&str; 12] =
    ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"];

/// Returns a scalar or an empty collection as YAML on one line.
pub(super) fn render(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => "null".into(),
        Value::Bool(true) => "true".into(),
        Value::Bool(false) => "false".into(),
        Value::Number(number) => self::number(number).into(),
        Value::String(text) => string(text),
        Value::Array(_) => "[]".into(),
        Value::Object(_) => "{}".into(),
    }
}

/// Returns a string, quoted if necessary.
pub(super) fn string(text: &str) -> Cow<'_, str> {
    if is_plain(text) || is_timestamp(text) { text.into() } else { quote(text).into() }
}

/// Returns a number; YAML 1.1 requires a point and a signed exponent in floats.
fn number(number: &Number) -> String {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['+', '-']) { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

/// Returns whether every parser reads the unquoted text as a string.
fn is_plain(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '/')
        && text.chars().all(is_plain_char)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
        && !is_exponent(text)
}

/// Returns whether a string is like `e5`, which the JavaScript parser reads as a YAML 1.1 float.
fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['e', 'E']).map(|rest| rest.trim_start_matches(['+', '-']));
    digits.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns whether a character has no special meaning inside a plain block scalar.
fn is_plain_char(c: char) -> bool {
    c.is_alphanumeric() || " _-./:@+,;()'\"!?=<>&*%$".contains(c)
}

/// Returns whether a string is like `2026-02-09T21:10:00.000Z`.
fn is_timestamp(text: &str) -> bool {
    let Some((seconds, rest)) = text.split_at_checked("0000-00-00T00:00:00".len()) else {
        return false;
    };
    let fraction_len = rest
        .strip_prefix('.')
        .map_or(0, |digits| 1 + digits.bytes().take_while(u8::is_ascii_digit).count());
    let zone = &rest[fraction_len..];
    has_pattern(seconds, "0000-00-00T00:00:00")
        && fraction_len != 1
        && (zone == "Z" || has_pattern(zone, "+00:00") || has_pattern(zone, "-00:00"))
}

/// Returns whether a text has digits where the pattern has zeros, and otherwise equals it.
fn has_pattern(text: &str, pattern: &str) -> bool {
    let same = |(c, p): (u8, u8)| {
        if p == b'0' { c.is_ascii_digit() } else { c == p }
    };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(same)
}

/// Returns a string in double quotes, with escapes that JSON and YAML share where possible.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if needs_escape(c) => escape(&mut out, u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns whether a character breaks lines, is not printable, or is invisible.
fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Writes a character as `\u` or `\U` and its code point.
fn escape(out: &mut String, number: u32) {
    let written = match number {
        ..=0xffff => write!(out, "\\u{number:04x}"),
        _ => write!(out, "\\U{number:08x}"),
    };
    written.expect("a string takes all that is written to it");
}
