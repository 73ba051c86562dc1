//! Turns the difference between two mappings into line edits of their text.
//!
//! It trusts the layout and does not check how the result reads; `edit` does.

use std::ops::Range;

use serde_json::{Map, Value};

use super::layout::{self, MappingEntry, ValueLayout};
use super::{lines, write};

/// Changes the text of `old` into a text of `new`, or returns `None` if it cannot.
pub(super) fn change(
    text: &str,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    eol: &str,
) -> Option<String> {
    let entries = layout::entries(text)?;
    let indent = entries.first().map_or("", |entry| entry.indent);
    let top = BlockMapping::new(&entries, indent, text.len());
    let list = Vec::new();
    let mut splices = TextSplices { text, eol, list };
    splices.mapping(&top, old, new)?;
    splices.apply()
}

struct BlockMapping<'a> {
    entries: &'a [MappingEntry<'a>],
    indent: &'a str,
    /// The position where new entries are inserted.
    end: usize,
}

impl<'a> BlockMapping<'a> {
    fn new(entries: &'a [MappingEntry<'a>], indent: &'a str, end: usize) -> Self {
        Self { entries, indent, end }
    }

    fn entry(&self, key: &str) -> Option<&'a MappingEntry<'a>> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// The collected edits of a text.
struct TextSplices<'a> {
    text: &'a str,
    eol: &'a str,
    list: Vec<(Range<usize>, String)>,
}

impl TextSplices<'_> {
    /// Collects the edits that change a block mapping from `old` to `new`.
    fn mapping(
        &mut self,
        block: &BlockMapping<'_>,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
    ) -> Option<()> {
        for (key, was) in old.iter().filter(|(key, was)| new.get(*key) != Some(*was)) {
            match (new.get(key), block.entry(key)) {
                (Some(now), Some(entry)) => self.value(entry, was, now)?,
                (None, Some(entry)) => self.remove(entry),
                (Some(_), None) => {}
                // The field comes from a merge key or has a `?` key, so it has no line to remove.
                (None, None) => return None,
            }
        }
        // New entries go last, because an inner mapping can end where the outer one does.
        for (key, now) in new {
            if old.get(key) != Some(now) && block.entry(key).is_none() {
                self.append(block, key, now);
            }
        }
        Some(())
    }

    /// Changes the value of an entry: key by key if both are mappings, otherwise as a whole.
    fn value(&mut self, entry: &MappingEntry<'_>, was: &Value, now: &Value) -> Option<()> {
        if let (ValueLayout::Mapping(entries), Value::Object(was), Value::Object(now)) =
            (&entry.shape, was, now)
            && let Some(first) = entries.first()
            && !now.is_empty()
        {
            let end = lines::end(self.text, entry.end);
            return self.mapping(&BlockMapping::new(entries, first.indent, end), was, now);
        }
        self.replace(entry, now)
    }

    /// Writes another value after the colon of an entry, and keeps the comment on its line.
    fn replace(&mut self, entry: &MappingEntry<'_>, now: &Value) -> Option<()> {
        let end = lines::content_end(self.text, entry.end);
        let head_end = lines::content_end(self.text, entry.colon);
        let head = self.text.get(entry.colon..head_end)?;
        let comment = match entry.shape {
            ValueLayout::Inline if !is_comment(head) => {
                tail_comment(self.text.get(entry.end..end)?)?
            }
            ValueLayout::Inline | ValueLayout::Block | ValueLayout::Mapping(_) => {
                head_comment(head)
            }
        };
        let style = write::LineStyle::new(entry.indent.len(), self.eol);
        let value = write::after_colon(now, gap(head), comment, style);
        self.list.push((entry.colon..end, value));
        Some(())
    }

    fn remove(&mut self, entry: &MappingEntry<'_>) {
        let end = lines::end(self.text, entry.end);
        self.list.push((entry.start..end, String::new()));
    }

    /// Adds an entry at the end of a block mapping.
    fn append(&mut self, block: &BlockMapping<'_>, key: &str, now: &Value) {
        let style = write::LineStyle::new(block.indent.len(), self.eol);
        let entry = [block.indent, &write::entry(key, now, style)].concat();
        let whole = self.text.get(..block.end).is_none_or(lines::is_whole);
        let line = if whole { entry + self.eol } else { [self.eol, &entry].concat() };
        self.list.push((block.end..block.end, line));
    }

    /// Applies the edits, which must not overlap.
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

/// Returns whether the text is only a comment.
fn is_comment(text: &str) -> bool {
    text.trim_start_matches([' ', '\t']).starts_with('#')
}

/// Returns the comment after an inline value, with the blanks before it.
fn tail_comment(rest: &str) -> Option<&str> {
    if rest.trim_start_matches([' ', '\t']).is_empty() {
        return Some("");
    }
    Some(rest).filter(|rest| is_comment(rest) && !rest.starts_with('#'))
}

/// Returns the comment after a key whose value begins on the next line, with the blanks before it.
fn head_comment(head: &str) -> &str {
    let comment = head.match_indices('#').find(|(at, _)| head[..*at].ends_with([' ', '\t']));
    comment.map_or("", |(at, _)| &head[head[..at].trim_end().len()..])
}

/// Returns the blanks between a colon and its value, or one space if there are none.
fn gap(head: &str) -> &str {
    let value = head.trim_start_matches([' ', '\t']);
    let blanks = &head[..head.len() - value.len()];
    if value.is_empty() || is_comment(head) || blanks.is_empty() { " " } else { blanks }
}
