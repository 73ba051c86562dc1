//! Writes JSON values as block style YAML; `scalar` writes the single values.

use serde_json::{Map, Value};

use super::scalar;

/// The longest written key; YAML requires a `?` before longer ones.
const SIMPLE_KEY_BYTES_MAX: usize = 1000;

/// The indentation and line end of written lines.
#[derive(Clone, Copy)]
pub(super) struct LineStyle<'a> {
    indent: usize,
    eol: &'a str,
}

impl<'a> LineStyle<'a> {
    pub(super) fn new(indent: usize, eol: &'a str) -> Self {
        Self { indent, eol }
    }

    fn deeper(self) -> Self {
        Self::new(self.indent + 2, self.eol)
    }
}

/// Renders a new mapping in block style, keys in the given order.
pub fn write(map: &Map<String, Value>, eol: &str) -> String {
    let style = LineStyle::new(0, eol);
    map.iter().map(|(key, value)| entry(key, value, style) + eol).collect()
}

/// Returns `key: value` without the indent before it and the line end after it.
pub(super) fn entry(key: &str, value: &Value, style: LineStyle<'_>) -> String {
    let mut out = YamlOutput(String::new());
    out.write_entry(key, value, style);
    out.0
}

/// Returns the text after the colon of a key: the value, and the comment of the key's line.
pub(super) fn after_colon(value: &Value, gap: &str, comment: &str, style: LineStyle<'_>) -> String {
    if is_block(value) {
        let mut out = YamlOutput(comment.to_owned());
        out.write_below(value, style);
        return out.0;
    }
    [gap, &scalar::render(value), comment].concat()
}

/// Returns whether a value is written on lines of its own.
fn is_block(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

struct YamlOutput(String);

impl YamlOutput {
    fn begin_line(&mut self, style: LineStyle<'_>) {
        self.0.push_str(style.eol);
        self.0.extend(std::iter::repeat_n(' ', style.indent));
    }

    fn write_entry(&mut self, key: &str, value: &Value, style: LineStyle<'_>) {
        let key = scalar::string(key);
        if key.len() > SIMPLE_KEY_BYTES_MAX {
            self.0.push_str("? ");
            self.0.push_str(&key);
            self.begin_line(style);
        } else {
            self.0.push_str(&key);
        }
        self.0.push(':');
        if is_block(value) {
            self.write_below(value, style);
        } else {
            self.write_inline(value, style);
        }
    }

    /// Writes a collection on the lines below its key.
    fn write_below(&mut self, value: &Value, style: LineStyle<'_>) {
        self.begin_line(style.deeper());
        self.write_value(value, style.deeper());
    }

    /// Writes a value on the line of its key or dash.
    fn write_inline(&mut self, value: &Value, style: LineStyle<'_>) {
        self.0.push(' ');
        self.write_value(value, style.deeper());
    }

    /// Writes a value from the current position, with its further lines indented.
    fn write_value(&mut self, value: &Value, style: LineStyle<'_>) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (nth, (key, value)) in map.iter().enumerate() {
                    self.begin_element(nth, style);
                    self.write_entry(key, value, style);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (nth, item) in items.iter().enumerate() {
                    self.begin_element(nth, style);
                    self.0.push('-');
                    self.write_inline(item, style);
                }
            }
            leaf => self.0.push_str(&scalar::render(leaf)),
        }
    }

    /// Begins the line of an element; the first element continues the current line.
    fn begin_element(&mut self, nth: usize, style: LineStyle<'_>) {
        if nth > 0 {
            self.begin_line(style);
        }
    }
}
