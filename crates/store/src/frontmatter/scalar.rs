//! Writes single values so that YAML 1.1 and YAML 1.2 parsers both read them back the same.
//!
//! A string is plain only if no parser could take it for anything else; all others are double
//! quoted on one line. RFC 3339 timestamps are plain too: YAML 1.2 reads strings there, and people
//! write them so.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::{Number, Value};

/// Plain words that some parser takes for something other than a string.
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

/// Returns a string, quoted if need be.
pub(super) fn string(text: &str) -> Cow<'_, str> {
    if is_plain(text) || is_timestamp(text) { text.into() } else { quoted(text).into() }
}

/// Returns a number; YAML 1.1 wants a point and a signed exponent in floats.
fn number(number: &Number) -> String {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['+', '-']) { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

/// Tells whether a string can only be taken for a string.
fn is_plain(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '/')
        && text.chars().all(is_plain_char)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
        && !is_exponent(text)
}

/// Tells whether a string is like `e5`, which the JavaScript parser takes for a YAML 1.1 float.
fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['e', 'E']).map(|rest| rest.trim_start_matches(['+', '-']));
    digits.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Tells whether a character means nothing to YAML inside a plain scalar of a block.
fn is_plain_char(c: char) -> bool {
    c.is_alphanumeric() || " _-./:@+,;()'\"!?=<>&*%$".contains(c)
}

/// Tells whether a string is like `2026-02-09T21:10:00.000Z`.
fn is_timestamp(text: &str) -> bool {
    let Some((seconds, rest)) = text.split_at_checked("0000-00-00T00:00:00".len()) else {
        return false;
    };
    let fraction_len = rest
        .strip_prefix('.')
        .map_or(0, |digits| 1 + digits.bytes().take_while(u8::is_ascii_digit).count());
    let zone = &rest[fraction_len..];
    fits(seconds, "0000-00-00T00:00:00")
        && fraction_len != 1
        && (zone == "Z" || fits(zone, "+00:00") || fits(zone, "-00:00"))
}

/// Tells whether a text has digits where the pattern has zeros and is otherwise equal to it.
fn fits(text: &str, pattern: &str) -> bool {
    let same = |(c, p): (u8, u8)| {
        if p == b'0' { c.is_ascii_digit() } else { c == p }
    };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(same)
}

/// Returns a string in double quotes, with the escapes JSON and YAML share where there are some.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_odd(c) => escape(&mut out, u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Tells whether a character breaks lines, cannot be printed, or cannot be seen.
fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Writes a character by its number.
fn escape(out: &mut String, number: u32) {
    let written = match number {
        ..=0xffff => write!(out, "\\u{number:04x}"),
        _ => write!(out, "\\U{number:08x}"),
    };
    written.expect("a string takes all that is written to it");
}
