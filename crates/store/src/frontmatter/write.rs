//! Writes JSON values as block style YAML; how a single scalar looks is left to `scalar`.

use serde_json::{Map, Value};

use super::scalar;

/// The longest a key may be, as written, before YAML wants it behind a `?`.
const SIMPLE_KEY_BYTES_MAX: usize = 1000;

/// How far lines are indented, and how they end.
#[derive(Clone, Copy)]
pub(super) struct Style<'a> {
    indent: usize,
    eol: &'a str,
}

impl<'a> Style<'a> {
    pub(super) fn new(indent: usize, eol: &'a str) -> Self {
        Self { indent, eol }
    }

    fn deeper(self) -> Self {
        Self::new(self.indent + 2, self.eol)
    }
}

/// Renders a whole new mapping in block style (for new files), keys in the order given.
pub fn write(map: &Map<String, Value>, eol: &str) -> String {
    let style = Style::new(0, eol);
    map.iter().map(|(key, value)| entry(key, value, style) + eol).collect()
}

/// Returns `key: value` with neither the indent before it nor the line end after it.
pub(super) fn entry(key: &str, value: &Value, style: Style<'_>) -> String {
    let mut out = Out(String::new());
    out.entry(key, value, style);
    out.0
}

/// Returns what stands behind the colon of a key: the value, and the comment on the key's line.
pub(super) fn after_colon(value: &Value, gap: &str, comment: &str, style: Style<'_>) -> String {
    if is_block(value) {
        let mut out = Out(comment.to_owned());
        out.below(value, style);
        return out.0;
    }
    [gap, &scalar::render(value), comment].concat()
}

/// Tells whether a value takes lines of its own.
fn is_block(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The text written so far.
struct Out(String);

impl Out {
    fn line(&mut self, style: Style<'_>) {
        self.0.push_str(style.eol);
        self.0.extend(std::iter::repeat_n(' ', style.indent));
    }

    fn entry(&mut self, key: &str, value: &Value, style: Style<'_>) {
        let key = scalar::string(key);
        if key.len() > SIMPLE_KEY_BYTES_MAX {
            self.0.push_str("? ");
            self.0.push_str(&key);
            self.line(style);
        } else {
            self.0.push_str(&key);
        }
        self.0.push(':');
        if is_block(value) {
            self.below(value, style);
        } else {
            self.beside(value, style);
        }
    }

    /// Writes a collection on the lines below its key.
    fn below(&mut self, value: &Value, style: Style<'_>) {
        self.line(style.deeper());
        self.block(value, style.deeper());
    }

    /// Writes a value on the same line as what it belongs to.
    fn beside(&mut self, value: &Value, style: Style<'_>) {
        self.0.push(' ');
        self.block(value, style.deeper());
    }

    /// Writes a value from here on, with its further lines indented.
    fn block(&mut self, value: &Value, style: Style<'_>) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (nth, (key, value)) in map.iter().enumerate() {
                    self.next(nth, style);
                    self.entry(key, value, style);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (nth, item) in items.iter().enumerate() {
                    self.next(nth, style);
                    self.0.push('-');
                    self.beside(item, style);
                }
            }
            leaf => self.0.push_str(&scalar::render(leaf)),
        }
    }

    /// Begins the line of an element; the first one is where it is already.
    fn next(&mut self, nth: usize, style: Style<'_>) {
        if nth > 0 {
            self.line(style);
        }
    }
}
