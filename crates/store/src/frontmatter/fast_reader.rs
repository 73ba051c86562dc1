//! A fast reader for front matter as Adjutant and similar programs write it.
//!
//! It accepts a small part of YAML and returns `None` for everything else: comments, escapes,
//! decimal numbers, words that some parser reads as a boolean. A property test checks that the full
//! parser reads every accepted text alike.

use std::borrow::Cow;

use memchr::memchr;
use serde_json::{Map, Value};

use super::layout::{MappingEntry, ValueLayout};

/// Longer texts go to the full parser.
const BYTES_MAX: usize = 16 * 1024;

/// The deepest nesting of mappings and lists.
const DEPTH_MAX: usize = 8;

/// Reads a mapping, or returns `None` for YAML that it does not accept.
pub(super) fn read(yaml: &str) -> Option<Map<String, Value>> {
    let mut lines = LineCursor::new(yaml)?;
    let map = lines.mapping(0, DEPTH_MAX)?;
    lines.is_at_end().then_some(map)
}

/// Locates the entries of a mapping; returns `None` for the same texts as [`read`].
pub(super) fn entries(yaml: &str) -> Option<Vec<MappingEntry<'_>>> {
    let mut lines = LineCursor::new(yaml)?;
    let (entries, _) = lines.entries(0, DEPTH_MAX)?;
    lines.is_at_end().then_some(entries)
}

/// Returns whether [`read`] would return these fields; false for texts that it does not accept.
pub(super) fn matches_fields(yaml: &str, fields: &Map<String, Value>) -> bool {
    LineCursor::new(yaml).is_some_and(|mut lines| {
        lines.matches_mapping(0, DEPTH_MAX, fields).is_some() && lines.is_at_end()
    })
}

/// A text and the current position, line by line.
struct LineCursor<'a> {
    text: &'a str,
    at: usize,
}

#[derive(Clone, Copy)]
struct SourceLine<'a> {
    /// The number of spaces before the text.
    indent: usize,
    /// The text after the spaces.
    text: &'a str,
    start: usize,
    /// The end, before the line break.
    end: usize,
}

impl<'a> LineCursor<'a> {
    fn new(yaml: &'a str) -> Option<Self> {
        (yaml.len() <= BYTES_MAX && yaml.ends_with('\n')).then_some(Self { text: yaml, at: 0 })
    }

    fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Returns the next line without consuming it.
    fn peek(&self) -> Option<SourceLine<'a>> {
        let rest = self.text.get(self.at..)?;
        let line = &rest[..memchr(b'\n', rest.as_bytes())?];
        let indent = line.bytes().take_while(|byte| *byte == b' ').count();
        let (start, end) = (self.at, self.at + line.len());
        Some(SourceLine { indent, text: &line[indent..], start, end })
    }

    fn advance(&mut self, line: SourceLine<'a>) {
        self.at = line.end + 1;
    }

    /// Returns the next line, unless it is indented less and so ends the block at `indent`.
    fn next_in(&self, indent: usize) -> Option<SourceLine<'a>> {
        self.peek().filter(|line| line.indent >= indent)
    }

    /// Reads the entries at an indentation.
    fn mapping(&mut self, indent: usize, depth: usize) -> Option<Map<String, Value>> {
        let mut map = Map::new();
        while let Some(line) = self.next_in(indent) {
            let (key, rest) = key_at(indent, line)?;
            self.advance(line);
            let value = match rest.strip_prefix(' ') {
                Some(text) => scalar(text)?.into(),
                None => self.nested(indent, depth.checked_sub(1)?)?,
            };
            if map.insert(key.to_owned(), value).is_some() {
                return None;
            }
        }
        (!map.is_empty() || indent == 0).then_some(map)
    }

    /// Consumes the entries at an indentation; `None` at the first difference from `fields`.
    fn matches_mapping(
        &mut self,
        indent: usize,
        depth: usize,
        fields: &Map<String, Value>,
    ) -> Option<()> {
        let mut seen: Vec<&str> = Vec::with_capacity(fields.len());
        while let Some(line) = self.next_in(indent) {
            let (key, rest) = key_at(indent, line)?;
            let value = fields.get(key).filter(|_| !seen.contains(&key))?;
            self.advance(line);
            match rest.strip_prefix(' ') {
                Some(text) => scalar(text)?.equals(value).then_some(())?,
                None => self.matches_nested(indent, depth.checked_sub(1)?, value)?,
            }
            seen.push(key);
        }
        (seen.len() == fields.len() && (!seen.is_empty() || indent == 0)).then_some(())
    }

    fn matches_nested(&mut self, indent: usize, depth: usize, value: &Value) -> Option<()> {
        let line = self.first_nested(indent)?;
        if !line.text.starts_with("- ") {
            return self.matches_mapping(line.indent, depth, value.as_object()?);
        }
        let mut items = value.as_array()?.iter();
        let mut same = true;
        self.list(line.indent, |item| {
            same &= items.next().is_some_and(|value| item.equals(value));
        })?;
        (same && items.next().is_none()).then_some(())
    }

    /// Returns the first line of the value under a key, which is indented more.
    fn first_nested(&self, indent: usize) -> Option<SourceLine<'a>> {
        self.peek().filter(|line| line.indent > indent)
    }

    fn nested(&mut self, indent: usize, depth: usize) -> Option<Value> {
        let line = self.first_nested(indent)?;
        if line.text.starts_with("- ") {
            let mut items = Vec::new();
            self.list(line.indent, |item| items.push(item.into()))?;
            return Some(Value::Array(items));
        }
        self.mapping(line.indent, depth).map(Value::Object)
    }

    /// Consumes a list and returns where it ends.
    fn list(&mut self, indent: usize, mut take: impl FnMut(PlainScalar<'a>)) -> Option<usize> {
        let mut end = self.at;
        while let Some(line) = self.next_in(indent) {
            let item = line.text.strip_prefix("- ").filter(|_| line.indent == indent)?;
            take(scalar(item)?);
            end = line.end;
            self.advance(line);
        }
        Some(end)
    }

    /// Locates the entries at an indentation, and where the last entry ends.
    fn entries(&mut self, indent: usize, depth: usize) -> Option<(Vec<MappingEntry<'a>>, usize)> {
        let mut entries: Vec<MappingEntry<'a>> = Vec::new();
        let mut end = self.at;
        while let Some(line) = self.next_in(indent) {
            let (key, rest) = key_at(indent, line)?;
            if entries.iter().any(|entry| entry.key == key) {
                return None;
            }
            self.advance(line);
            let shape;
            (shape, end) = match rest.strip_prefix(' ') {
                Some(text) => scalar(text).map(|_| (ValueLayout::Inline, line.end))?,
                None => self.nested_shape(indent, depth.checked_sub(1)?)?,
            };
            entries.push(MappingEntry {
                key: Cow::Borrowed(key),
                indent: &self.text[line.start..line.start + indent],
                start: line.start,
                colon: line.start + indent + key.len() + 1,
                end,
                shape,
            });
        }
        (!entries.is_empty() || indent == 0).then_some((entries, end))
    }

    fn nested_shape(&mut self, indent: usize, depth: usize) -> Option<(ValueLayout<'a>, usize)> {
        let line = self.first_nested(indent)?;
        if line.text.starts_with("- ") {
            return Some((ValueLayout::Block, self.list(line.indent, |_| {})?));
        }
        let (entries, end) = self.entries(line.indent, depth)?;
        Some((ValueLayout::Mapping(entries), end))
    }
}

/// Splits a line into its key and the rest after the colon: empty, or a space and a value.
fn key_at(indent: usize, line: SourceLine<'_>) -> Option<(&str, &str)> {
    let colon = memchr(b':', line.text.as_bytes())?;
    let (key, rest) = (&line.text[..colon], &line.text[colon + 1..]);
    let in_order = is_key(key) && (rest.is_empty() || rest.starts_with(' '));
    (line.indent == indent && in_order).then_some((key, rest))
}

fn is_key(key: &str) -> bool {
    let word = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    word && key.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_ambiguous(key)
}

/// A value on one line.
enum PlainScalar<'a> {
    Bool(bool),
    Number(u64),
    Text(&'a str),
    EmptyList,
    EmptyMapping,
}

impl From<PlainScalar<'_>> for Value {
    fn from(scalar: PlainScalar<'_>) -> Self {
        match scalar {
            PlainScalar::Bool(bool) => bool.into(),
            PlainScalar::Number(number) => number.into(),
            PlainScalar::Text(text) => text.into(),
            PlainScalar::EmptyList => Self::Array(vec![]),
            PlainScalar::EmptyMapping => Self::Object(Map::new()),
        }
    }
}

impl PlainScalar<'_> {
    fn equals(&self, value: &Value) -> bool {
        match self {
            Self::Bool(bool) => value.as_bool() == Some(*bool),
            Self::Number(number) => value.as_u64() == Some(*number),
            Self::Text(text) => value.as_str() == Some(text),
            Self::EmptyList => value.as_array().is_some_and(Vec::is_empty),
            Self::EmptyMapping => value.as_object().is_some_and(Map::is_empty),
        }
    }
}

fn scalar(text: &str) -> Option<PlainScalar<'_>> {
    match text {
        "true" => return Some(PlainScalar::Bool(true)),
        "false" => return Some(PlainScalar::Bool(false)),
        "[]" => return Some(PlainScalar::EmptyList),
        "{}" => return Some(PlainScalar::EmptyMapping),
        _ => {}
    }
    match text.as_bytes().first()? {
        b'"' => quoted(text).map(PlainScalar::Text),
        b'0'..=b'9' => number(text)
            .map(PlainScalar::Number)
            .or_else(|| is_time(text).then_some(PlainScalar::Text(text))),
        b'A'..=b'Z' | b'a'..=b'z' => is_plain(text).then_some(PlainScalar::Text(text)),
        _ => None,
    }
}

/// Accepts double-quoted text without escapes or special characters.
fn quoted(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let plain = |c: char| match c {
        '"' | '\\' => false,
        ' '..='~' => true,
        c => c.is_alphanumeric(),
    };
    (text.len() > 1 && inner.chars().all(plain)).then_some(inner)
}

/// Accepts a whole number that all parsers read alike: no sign, no leading zero.
fn number(text: &str) -> Option<u64> {
    let digits = text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse::<u64>().ok().filter(|_| digits)?;
    (text == "0" || !text.starts_with('0')).then_some(number)
}

/// Returns whether a text is a UTC time, which starts like a number.
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

/// Returns whether a text needs no quotes: words of letters, digits and a few harmless signs.
fn is_plain(text: &str) -> bool {
    let mut last = b' ';
    for byte in text.bytes() {
        let stands = match byte {
            b' ' | b':' => last != b':',
            byte => IS_HARMLESS[usize::from(byte)],
        };
        if !stands {
            return false;
        }
        last = byte;
    }
    !matches!(last, b' ' | b':') && !is_ambiguous(text)
}

/// The bytes that are allowed anywhere in unquoted text.
const IS_HARMLESS: [bool; 256] = {
    let mut harmless = [false; 256];
    let mut sign = 0_u8;
    while sign.is_ascii() {
        harmless[sign as usize] =
            sign.is_ascii_alphanumeric() || matches!(sign, b'_' | b'-' | b'.' | b'/');
        sign += 1;
    }
    harmless
};

/// Returns whether some parser does not read this word as text.
fn is_ambiguous(word: &str) -> bool {
    const WORDS: [&str; 11] =
        ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    const LENGTH_MAX: usize = 5;
    word.len() <= LENGTH_MAX && WORDS.iter().any(|ambiguous| word.eq_ignore_ascii_case(ambiguous))
}
