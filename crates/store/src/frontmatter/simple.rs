//! Reads front matter as this program and its kin write it, much quicker than a whole YAML parser.
//!
//! It knows a small part of YAML and gives up on everything else: comments, escapes, numbers with
//! a point, words that some parser takes for a boolean. What it does read, the parser reads alike;
//! a law in the tests holds it to that.

use serde_json::{Map, Value};

/// The most bytes that are looked at here; nobody waits for so little.
const BYTES_MAX: usize = 16 * 1024;

/// The deepest a mapping or a list may stand in another.
const DEPTH_MAX: usize = 8;

/// Reads a mapping, or gives up.
pub(super) fn read(yaml: &str) -> Option<Map<String, Value>> {
    if yaml.len() > BYTES_MAX || !yaml.ends_with('\n') {
        return None;
    }
    let mut lines = Lines { rest: yaml };
    let map = lines.mapping(0, DEPTH_MAX)?;
    lines.rest.is_empty().then_some(map)
}

/// The lines that are left.
struct Lines<'a> {
    rest: &'a str,
}

impl<'a> Lines<'a> {
    /// Returns the next line without its indentation, and that, if there is a next line.
    fn peek(&self) -> Option<(usize, &'a str)> {
        let line = self.rest.split('\n').next().filter(|_| !self.rest.is_empty())?;
        let text = line.trim_start_matches(' ');
        Some((line.len() - text.len(), text))
    }

    fn advance(&mut self) {
        self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
    }

    /// Reads the entries at an indentation; a line further out ends the mapping.
    fn mapping(&mut self, indent: usize, depth: usize) -> Option<Map<String, Value>> {
        let mut map = Map::new();
        while let Some((at, line)) = self.peek() {
            if at < indent {
                break;
            }
            let (key, rest) = line.split_once(':')?;
            if at > indent || !is_key(key) || map.contains_key(key) {
                return None;
            }
            self.advance();
            let value = match rest.strip_prefix(' ') {
                Some(text) => scalar(text)?,
                None if rest.is_empty() => self.nested(indent, depth.checked_sub(1)?)?,
                None => return None,
            };
            map.insert(key.to_owned(), value);
        }
        (!map.is_empty() || indent == 0).then_some(map)
    }

    /// Reads what stands under a key, further in.
    fn nested(&mut self, indent: usize, depth: usize) -> Option<Value> {
        let (at, line) = self.peek().filter(|(at, _)| *at > indent)?;
        if line.starts_with("- ") {
            return self.list(at).map(Value::Array);
        }
        self.mapping(at, depth).map(Value::Object)
    }

    fn list(&mut self, indent: usize) -> Option<Vec<Value>> {
        let mut items = Vec::new();
        while let Some((at, line)) = self.peek() {
            if at < indent {
                break;
            }
            let item = line.strip_prefix("- ").filter(|_| at == indent)?;
            items.push(scalar(item)?);
            self.advance();
        }
        Some(items)
    }
}

fn is_key(key: &str) -> bool {
    let word = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    word && key.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_ambiguous(key)
}

fn scalar(text: &str) -> Option<Value> {
    match text {
        "true" => return Some(Value::Bool(true)),
        "false" => return Some(Value::Bool(false)),
        "[]" => return Some(Value::Array(vec![])),
        "{}" => return Some(Value::Object(Map::new())),
        _ => {}
    }
    match text.as_bytes().first()? {
        b'"' => quoted(text).map(Value::from),
        b'0'..=b'9' => number(text).or_else(|| is_time(text).then(|| text.into())),
        b'A'..=b'Z' | b'a'..=b'z' => is_plain(text).then(|| text.into()),
        _ => None,
    }
}

/// Takes a text in double quotes that has nothing special in it.
fn quoted(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let plain = |c: char| match c {
        '"' | '\\' => false,
        ' '..='~' => true,
        c => c.is_alphanumeric(),
    };
    (text.len() > 1 && inner.chars().all(plain)).then_some(inner)
}

/// Takes a whole number that no parser reads otherwise: no sign, no leading zero.
fn number(text: &str) -> Option<Value> {
    let digits = text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse::<u64>().ok().filter(|_| digits)?;
    (text == "0" || !text.starts_with('0')).then(|| number.into())
}

/// Knows a time in UTC, which starts like a number and is none.
fn is_time(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00";
    let Some((head, tail)) = text.as_bytes().split_at_checked(FORM.len()) else { return false };
    let shaped = head.iter().zip(FORM).all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    });
    let fraction = tail.strip_suffix(b"Z").map(|tail| tail.strip_prefix(b".").unwrap_or(tail));
    shaped && fraction.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}

/// Knows a text that needs no quotes: words of letters, digits and a few harmless signs.
fn is_plain(text: &str) -> bool {
    let harmless =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b' ' | b'_' | b'-' | b'.' | b'/');
    let joined = |pair: &[u8]| pair[0] != b':' || (pair[1] != b' ' && pair[1] != b':');
    let bytes = text.as_bytes();
    bytes.iter().all(|b| harmless(*b) || *b == b':')
        && bytes.windows(2).all(joined)
        && !text.ends_with([' ', ':'])
        && !is_ambiguous(text)
}

/// Words that some parser takes for something else than text.
fn is_ambiguous(word: &str) -> bool {
    const WORDS: [&str; 11] =
        ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    WORDS.iter().any(|ambiguous| word.eq_ignore_ascii_case(ambiguous))
}
