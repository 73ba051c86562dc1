//! Turns the difference between two mappings into changes of their text, line by line.
//!
//! It trusts the layout and does not check that the result reads as meant; `edit` does.

use std::ops::Range;

use serde_json::{Map, Value};

use super::layout::{self, Entry, Shape};
use super::{lines, write};

/// Changes the text of `old` into one of `new`, or gives up.
pub(super) fn change(
    text: &str,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    eol: &str,
) -> Option<String> {
    let entries = layout::entries(text)?;
    let indent = entries.first().map_or("", |entry| entry.indent);
    let top = Block::new(&entries, indent, text.len());
    let list = Vec::new();
    let mut splices = Splices { text, eol, list };
    splices.mapping(&top, old, new)?;
    splices.apply()
}

/// A block mapping in the text.
struct Block<'a> {
    entries: &'a [Entry<'a>],
    indent: &'a str,
    /// Where new entries go.
    end: usize,
}

impl<'a> Block<'a> {
    fn new(entries: &'a [Entry<'a>], indent: &'a str, end: usize) -> Self {
        Self { entries, indent, end }
    }

    fn entry(&self, key: &str) -> Option<&'a Entry<'a>> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// The changes to a text, collected.
struct Splices<'a> {
    text: &'a str,
    eol: &'a str,
    list: Vec<(Range<usize>, String)>,
}

impl Splices<'_> {
    /// Changes a block mapping from `old` to `new`.
    fn mapping(
        &mut self,
        block: &Block<'_>,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
    ) -> Option<()> {
        for (key, was) in old.iter().filter(|(key, was)| new.get(*key) != Some(*was)) {
            match (new.get(key), block.entry(key)) {
                (Some(now), Some(entry)) => self.value(entry, was, now)?,
                (None, Some(entry)) => self.remove(entry),
                (Some(_), None) => {}
                // It comes from a merge key or stands behind a `?`.
                (None, None) => return None,
            }
        }
        // These go last because an inner mapping can end where the outer one does.
        for (key, now) in new {
            if old.get(key) != Some(now) && block.entry(key).is_none() {
                self.append(block, key, now);
            }
        }
        Some(())
    }

    /// Changes the value of an entry: key by key if both are mappings, otherwise as a whole.
    fn value(&mut self, entry: &Entry<'_>, was: &Value, now: &Value) -> Option<()> {
        if let (Shape::Mapping(entries), Value::Object(was), Value::Object(now)) =
            (&entry.shape, was, now)
            && let Some(first) = entries.first()
            && !now.is_empty()
        {
            let end = lines::end(self.text, entry.end);
            return self.mapping(&Block::new(entries, first.indent, end), was, now);
        }
        self.replace(entry, now)
    }

    /// Writes another value behind the colon of an entry, and keeps the comment on its line.
    fn replace(&mut self, entry: &Entry<'_>, now: &Value) -> Option<()> {
        let end = lines::content_end(self.text, entry.end);
        let head_end = lines::content_end(self.text, entry.colon);
        let head = self.text.get(entry.colon..head_end)?;
        let comment = match entry.shape {
            Shape::Inline if !is_comment(head) => tail_comment(self.text.get(entry.end..end)?)?,
            Shape::Inline | Shape::Block | Shape::Mapping(_) => head_comment(head),
        };
        let style = write::Style::new(entry.indent.len(), self.eol);
        let value = write::after_colon(now, gap(head), comment, style);
        self.list.push((entry.colon..end, value));
        Some(())
    }

    /// Takes the lines of an entry out.
    fn remove(&mut self, entry: &Entry<'_>) {
        let end = lines::end(self.text, entry.end);
        self.list.push((entry.start..end, String::new()));
    }

    /// Adds an entry at the end of a block mapping.
    fn append(&mut self, block: &Block<'_>, key: &str, now: &Value) {
        let style = write::Style::new(block.indent.len(), self.eol);
        let entry = [block.indent, &write::entry(key, now, style)].concat();
        let whole = self.text.get(..block.end).is_none_or(lines::is_whole);
        let line = if whole { entry + self.eol } else { [self.eol, &entry].concat() };
        self.list.push((block.end..block.end, line));
    }

    /// Makes the changes; they must not overlap.
    fn apply(mut self) -> Option<String> {
        self.list.sort_by_key(|(range, _)| (range.start, range.end));
        let mut result = String::with_capacity(self.text.len() + 64);
        let mut at = 0;
        for (range, new) in &self.list {
            result.push_str(self.text.get(at..range.start)?);
            result.push_str(new);
            at = range.end;
        }
        result.push_str(self.text.get(at..)?);
        Some(result)
    }
}

/// Tells whether there is nothing but a comment.
fn is_comment(text: &str) -> bool {
    text.trim_start_matches([' ', '\t']).starts_with('#')
}

/// Returns the comment behind an inline value, with the blanks before it.
fn tail_comment(rest: &str) -> Option<&str> {
    if rest.trim_start_matches([' ', '\t']).is_empty() {
        return Some("");
    }
    Some(rest).filter(|rest| is_comment(rest) && !rest.starts_with('#'))
}

/// Returns the comment behind a key whose value begins on the next line, with the blanks before.
fn head_comment(head: &str) -> &str {
    let comment = head.match_indices('#').find(|(at, _)| head[..*at].ends_with([' ', '\t']));
    comment.map_or("", |(at, _)| &head[head[..at].trim_end().len()..])
}

/// Returns the blanks between a colon and its value: those there are, or one.
fn gap(head: &str) -> &str {
    let value = head.trim_start_matches([' ', '\t']);
    let blanks = &head[..head.len() - value.len()];
    if value.is_empty() || is_comment(head) || blanks.is_empty() { " " } else { blanks }
}
