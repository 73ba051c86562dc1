//! Finds where the entries of block mappings stand in a YAML text; it changes nothing.
//!
//! The parser says where each key and value is, so quotes, flow collections, block scalars and
//! lists at the margin need no rules of our own. `None` means the text is not laid out as a block
//! mapping, and then there is nothing to edit line by line.

use std::borrow::Cow;

use serde_saphyr::granit_parser::{
    Event, Marker, Options, Parser, ScalarStyle, Span, StrInput, StructureStyle,
};

use super::{lines, simple};

/// One `key: value` of a block mapping, as byte positions in the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// The key as it reads, without its quotes.
    pub(super) key: Cow<'a, str>,
    /// The blanks before the key.
    pub(super) indent: &'a str,
    /// Where the line of the key begins.
    pub(super) start: usize,
    /// Right behind the colon.
    pub(super) colon: usize,
    /// Right behind the value.
    pub(super) end: usize,
    /// How the value is laid out.
    pub(super) shape: Shape<'a>,
}

/// How a value is laid out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape<'a> {
    /// Plain, quoted or flow, or not there at all; a comment may follow it on its last line.
    Inline,
    /// A block scalar or block sequence; a comment may stand behind the key.
    Block,
    /// A block mapping, with those of its entries that have simple keys.
    Mapping(Vec<Entry<'a>>),
}

/// Returns the entries of the mapping at the top that have simple keys; of an empty text, none.
pub(super) fn entries(text: &str) -> Option<Vec<Entry<'_>>> {
    simple::entries(text).or_else(|| entries_of_any(text))
}

/// Finds the entries in YAML of whatever kind.
pub(super) fn entries_of_any(text: &str) -> Option<Vec<Entry<'_>>> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut walk = Walk { text, events: Parser::new_from_str_with_options(text, options) };
    loop {
        match walk.next()?.0 {
            Event::StreamStart | Event::DocumentStart(..) => {}
            Event::StreamEnd => return Some(Vec::new()),
            Event::MappingStart(StructureStyle::Block, ..) => return Some(walk.block()?.0),
            _ => return None,
        }
    }
}

/// A walk through the events of the parser.
struct Walk<'a> {
    text: &'a str,
    events: Parser<'a, StrInput<'a>>,
}

/// A value, or a key: how it is laid out and where it ends.
type Node<'a> = (Shape<'a>, usize);

impl<'a> Walk<'a> {
    fn next(&mut self) -> Option<(Event<'a>, Span)> {
        self.events.next()?.ok()
    }

    /// Walks through the node that the event begins.
    fn node(&mut self, event: &Event<'a>, span: Span) -> Option<Node<'a>> {
        let end = span.end.byte_offset()?;
        match event {
            Event::Scalar(value, ScalarStyle::Literal | ScalarStyle::Folded, ..) => {
                Some((Shape::Block, self.block_scalar_end(end, value)))
            }
            Event::Scalar(..) | Event::Alias(_) => Some((Shape::Inline, end)),
            Event::MappingStart(StructureStyle::Block, ..) => {
                let (entries, end) = self.block()?;
                Some((Shape::Mapping(entries), end))
            }
            Event::SequenceStart(StructureStyle::Block, ..) => {
                Some((Shape::Block, self.children(end)?.0))
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                Some((Shape::Inline, self.children(end)?.1.byte_offset()?))
            }
            _ => None,
        }
    }

    /// Walks to the end of a collection and returns where its last child and it itself end.
    fn children(&mut self, mut end: usize) -> Option<(usize, Marker)> {
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd | Event::MappingEnd) {
                return Some((end, span.end));
            }
            end = self.node(&event, span)?.1.max(end);
        }
    }

    /// Walks to the end of a block mapping and returns its entries and where the last one ends.
    fn block(&mut self) -> Option<(Vec<Entry<'a>>, usize)> {
        let mut entries = Vec::new();
        let mut end = 0;
        loop {
            let (key, key_span) = self.next()?;
            if matches!(key, Event::MappingEnd) {
                return Some((entries, end));
            }
            let (_, key_end) = self.node(&key, key_span)?;
            let (value, value_span) = self.next()?;
            let (shape, value_end) = self.node(&value, value_span)?;
            end = value_end.max(key_end);
            if let Event::Scalar(key, ..) = key {
                entries.extend(self.entry(key, key_end, shape, value_end));
            }
        }
    }

    /// Makes an entry, if the key is followed by its colon.
    fn entry(
        &self,
        key: Cow<'a, str>,
        key_end: usize,
        shape: Shape<'a>,
        value_end: usize,
    ) -> Option<Entry<'a>> {
        let after = self.text.get(key_end..)?;
        let value = after.trim_start_matches([' ', '\t']).strip_prefix(':')?;
        let colon = self.text.len() - value.len();
        let start = lines::start(self.text, key_end);
        let line = self.text.get(start..key_end)?;
        let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
        Some(Entry { key, indent, start, colon, end: value_end.max(colon), shape })
    }

    /// Returns where the last line of a block scalar ends.
    ///
    /// The parser's end is at the next token; blank lines before that count only if they are
    /// part of the value, as after `|+`.
    fn block_scalar_end(&self, end: usize, value: &str) -> usize {
        let text = self.text.get(..end).unwrap_or_default();
        if value.ends_with("\n\n") || value == "\n" {
            let text = text.trim_end_matches([' ', '\t']);
            let text = text.strip_suffix('\n').unwrap_or(text);
            return text.strip_suffix('\r').unwrap_or(text).len();
        }
        text.trim_end_matches([' ', '\t', '\r', '\n']).len()
    }
}
