//! Reads front matter as this program and its kin write it, much quicker than a whole YAML parser.
//!
//! It knows a small part of YAML and gives up on everything else: comments, escapes, numbers with
//! a point, words that some parser takes for a boolean. What it does read, the parser reads alike;
//! a law in the tests holds it to that.

use std::borrow::Cow;

use memchr::memchr;
use serde_json::{Map, Value};

use super::layout::{Entry, Shape};

/// The most bytes that are looked at here; nobody waits for so little.
const BYTES_MAX: usize = 16 * 1024;

/// The deepest a mapping or a list may stand in another.
const DEPTH_MAX: usize = 8;

/// Reads a mapping, or gives up.
pub(super) fn read(yaml: &str) -> Option<Map<String, Value>> {
    let mut lines = Lines::of(yaml)?;
    let map = lines.mapping(0, DEPTH_MAX)?;
    lines.is_at_end().then_some(map)
}

/// Finds where the entries of a mapping stand, or gives up on the same texts as [`read`].
pub(super) fn entries(yaml: &str) -> Option<Vec<Entry<'_>>> {
    let mut lines = Lines::of(yaml)?;
    let (entries, _) = lines.entries(0, DEPTH_MAX)?;
    lines.is_at_end().then_some(entries)
}

/// Says whether a text surely reads as these fields: what [`read`] gives up on is not sure.
pub(super) fn is(yaml: &str, fields: &Map<String, Value>) -> bool {
    Lines::of(yaml)
        .is_some_and(|mut lines| lines.is(0, DEPTH_MAX, fields).is_some() && lines.is_at_end())
}

/// A text and how far it was gone through, line by line.
struct Lines<'a> {
    text: &'a str,
    at: usize,
}

/// One line.
#[derive(Clone, Copy)]
struct Line<'a> {
    /// How many blanks stand before it.
    indent: usize,
    /// What it says after them.
    text: &'a str,
    /// Where it begins.
    start: usize,
    /// Where it ends, before the line break.
    end: usize,
}

impl<'a> Lines<'a> {
    fn of(yaml: &'a str) -> Option<Self> {
        (yaml.len() <= BYTES_MAX && yaml.ends_with('\n')).then_some(Self { text: yaml, at: 0 })
    }

    fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Returns the next line, if there is one.
    fn peek(&self) -> Option<Line<'a>> {
        let rest = self.text.get(self.at..)?;
        let line = &rest[..memchr(b'\n', rest.as_bytes())?];
        let indent = line.bytes().take_while(|byte| *byte == b' ').count();
        let (start, end) = (self.at, self.at + line.len());
        Some(Line { indent, text: &line[indent..], start, end })
    }

    fn pass(&mut self, line: Line<'a>) {
        self.at = line.end + 1;
    }

    /// Returns the next line, unless it is further out and so ends the block at `indent`.
    fn next_in(&self, indent: usize) -> Option<Line<'a>> {
        self.peek().filter(|line| line.indent >= indent)
    }

    /// Reads the entries at an indentation.
    fn mapping(&mut self, indent: usize, depth: usize) -> Option<Map<String, Value>> {
        let mut map = Map::new();
        while let Some(line) = self.next_in(indent) {
            let (key, rest) = key_at(indent, line)?;
            self.pass(line);
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

    /// Goes through the entries at an indentation for as long as they are these.
    fn is(&mut self, indent: usize, depth: usize, fields: &Map<String, Value>) -> Option<()> {
        let mut seen: Vec<&str> = Vec::with_capacity(fields.len());
        while let Some(line) = self.next_in(indent) {
            let (key, rest) = key_at(indent, line)?;
            let value = fields.get(key).filter(|_| !seen.contains(&key))?;
            self.pass(line);
            match rest.strip_prefix(' ') {
                Some(text) => scalar(text)?.is(value).then_some(())?,
                None => self.is_nested(indent, depth.checked_sub(1)?, value)?,
            }
            seen.push(key);
        }
        (seen.len() == fields.len() && (!seen.is_empty() || indent == 0)).then_some(())
    }

    fn is_nested(&mut self, indent: usize, depth: usize, value: &Value) -> Option<()> {
        let line = self.first_nested(indent)?;
        if !line.text.starts_with("- ") {
            return self.is(line.indent, depth, value.as_object()?);
        }
        let mut items = value.as_array()?.iter();
        let mut same = true;
        self.list(line.indent, |item| same &= items.next().is_some_and(|value| item.is(value)))?;
        (same && items.next().is_none()).then_some(())
    }

    /// Returns the first line of what stands under a key, further in.
    fn first_nested(&self, indent: usize) -> Option<Line<'a>> {
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

    /// Goes through a list and returns where it ends.
    fn list(&mut self, indent: usize, mut take: impl FnMut(Scalar<'a>)) -> Option<usize> {
        let mut end = self.at;
        while let Some(line) = self.next_in(indent) {
            let item = line.text.strip_prefix("- ").filter(|_| line.indent == indent)?;
            take(scalar(item)?);
            end = line.end;
            self.pass(line);
        }
        Some(end)
    }

    /// Finds the entries at an indentation, and where the last of them ends.
    fn entries(&mut self, indent: usize, depth: usize) -> Option<(Vec<Entry<'a>>, usize)> {
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut end = self.at;
        while let Some(line) = self.next_in(indent) {
            let (key, rest) = key_at(indent, line)?;
            if entries.iter().any(|entry| entry.key == key) {
                return None;
            }
            self.pass(line);
            let shape;
            (shape, end) = match rest.strip_prefix(' ') {
                Some(text) => scalar(text).map(|_| (Shape::Inline, line.end))?,
                None => self.nested_shape(indent, depth.checked_sub(1)?)?,
            };
            entries.push(Entry {
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

    fn nested_shape(&mut self, indent: usize, depth: usize) -> Option<(Shape<'a>, usize)> {
        let line = self.first_nested(indent)?;
        if line.text.starts_with("- ") {
            return Some((Shape::Block, self.list(line.indent, |_| {})?));
        }
        let (entries, end) = self.entries(line.indent, depth)?;
        Some((Shape::Mapping(entries), end))
    }
}

/// Splits a line into its key and what follows the colon: nothing, or a blank and a value.
fn key_at(indent: usize, line: Line<'_>) -> Option<(&str, &str)> {
    let colon = memchr(b':', line.text.as_bytes())?;
    let (key, rest) = (&line.text[..colon], &line.text[colon + 1..]);
    let in_order = is_key(key) && (rest.is_empty() || rest.starts_with(' '));
    (line.indent == indent && in_order).then_some((key, rest))
}

fn is_key(key: &str) -> bool {
    let word = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    word && key.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_ambiguous(key)
}

/// A value that stands on one line.
enum Scalar<'a> {
    Bool(bool),
    Number(u64),
    Text(&'a str),
    EmptyList,
    EmptyMapping,
}

impl From<Scalar<'_>> for Value {
    fn from(scalar: Scalar<'_>) -> Self {
        match scalar {
            Scalar::Bool(bool) => bool.into(),
            Scalar::Number(number) => number.into(),
            Scalar::Text(text) => text.into(),
            Scalar::EmptyList => Self::Array(vec![]),
            Scalar::EmptyMapping => Self::Object(Map::new()),
        }
    }
}

impl Scalar<'_> {
    fn is(&self, value: &Value) -> bool {
        match self {
            Self::Bool(bool) => value.as_bool() == Some(*bool),
            Self::Number(number) => value.as_u64() == Some(*number),
            Self::Text(text) => value.as_str() == Some(text),
            Self::EmptyList => value.as_array().is_some_and(Vec::is_empty),
            Self::EmptyMapping => value.as_object().is_some_and(Map::is_empty),
        }
    }
}

fn scalar(text: &str) -> Option<Scalar<'_>> {
    match text {
        "true" => return Some(Scalar::Bool(true)),
        "false" => return Some(Scalar::Bool(false)),
        "[]" => return Some(Scalar::EmptyList),
        "{}" => return Some(Scalar::EmptyMapping),
        _ => {}
    }
    match text.as_bytes().first()? {
        b'"' => quoted(text).map(Scalar::Text),
        b'0'..=b'9' => {
            number(text).map(Scalar::Number).or_else(|| is_time(text).then_some(Scalar::Text(text)))
        }
        b'A'..=b'Z' | b'a'..=b'z' => is_plain(text).then_some(Scalar::Text(text)),
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
fn number(text: &str) -> Option<u64> {
    let digits = text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse::<u64>().ok().filter(|_| digits)?;
    (text == "0" || !text.starts_with('0')).then_some(number)
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

/// What may stand in a text without quotes, wherever it stands.
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

/// Words that some parser takes for something else than text.
fn is_ambiguous(word: &str) -> bool {
    const WORDS: [&str; 11] =
        ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    const LENGTH_MAX: usize = 5;
    word.len() <= LENGTH_MAX && WORDS.iter().any(|ambiguous| word.eq_ignore_ascii_case(ambiguous))
}
