//! Locates the entries of block mappings in a YAML text; it changes nothing.
//!
//! The parser reports where each key and value is, so this file needs no rules for quotes, flow
//! collections, block scalars and unindented lists. `None` means that the text is not a block
//! mapping, and cannot be edited line by line.

use std::borrow::Cow;

use serde_saphyr::granit_parser::{
    Event, Marker, Options, Parser, ScalarStyle, Span, StrInput, StructureStyle,
};

use super::{fast_reader, lines};

/// One `key: value` of a block mapping, as byte positions in the text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MappingEntry<'a> {
    /// The parsed key, without quotes.
    pub(super) key: Cow<'a, str>,
    /// The spaces before the key.
    pub(super) indent: &'a str,
    /// The start of the key's line.
    pub(super) start: usize,
    /// The position after the colon.
    pub(super) colon: usize,
    /// The position after the value.
    pub(super) end: usize,
    pub(super) shape: ValueLayout<'a>,
}

/// How a value is laid out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ValueLayout<'a> {
    /// Plain, quoted, flow or absent; a comment may follow on its last line.
    Inline,
    /// A block scalar or block sequence; a comment may follow the key.
    Block,
    /// A block mapping, with only those entries that have scalar keys.
    Mapping(Vec<MappingEntry<'a>>),
}

/// Returns the entries of the top mapping that have scalar keys; an empty text has none.
pub(super) fn entries(text: &str) -> Option<Vec<MappingEntry<'_>>> {
    fast_reader::entries(text).or_else(|| entries_with_parser(text))
}

/// Locates the entries of any YAML text, with the full parser.
pub(super) fn entries_with_parser(text: &str) -> Option<Vec<MappingEntry<'_>>> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut walk = LayoutWalker { text, events: Parser::new_from_str_with_options(text, options) };
    loop {
        match walk.next()?.0 {
            Event::StreamStart | Event::DocumentStart(..) => {}
            Event::StreamEnd => return Some(Vec::new()),
            Event::MappingStart(StructureStyle::Block, ..) => return Some(walk.block()?.0),
            _ => return None,
        }
    }
}

struct LayoutWalker<'a> {
    text: &'a str,
    events: Parser<'a, StrInput<'a>>,
}

/// The layout of a key or value, and where it ends.
type NodeLayout<'a> = (ValueLayout<'a>, usize);

impl<'a> LayoutWalker<'a> {
    fn next(&mut self) -> Option<(Event<'a>, Span)> {
        self.events.next()?.ok()
    }

    /// Consumes the node that begins with this event.
    fn node(&mut self, event: &Event<'a>, span: Span) -> Option<NodeLayout<'a>> {
        let end = span.end.byte_offset()?;
        match event {
            Event::Scalar(value, ScalarStyle::Literal | ScalarStyle::Folded, ..) => {
                Some((ValueLayout::Block, self.block_scalar_end(end, value)))
            }
            Event::Scalar(..) | Event::Alias(_) => Some((ValueLayout::Inline, end)),
            Event::MappingStart(StructureStyle::Block, ..) => {
                let (entries, end) = self.block()?;
                Some((ValueLayout::Mapping(entries), end))
            }
            Event::SequenceStart(StructureStyle::Block, ..) => {
                Some((ValueLayout::Block, self.children(end)?.0))
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                Some((ValueLayout::Inline, self.children(end)?.1.byte_offset()?))
            }
            _ => None,
        }
    }

    /// Consumes a collection and returns where its last child ends and where it ends itself.
    fn children(&mut self, mut end: usize) -> Option<(usize, Marker)> {
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd | Event::MappingEnd) {
                return Some((end, span.end));
            }
            end = self.node(&event, span)?.1.max(end);
        }
    }

    /// Consumes a block mapping and returns its entries and where the last entry ends.
    fn block(&mut self) -> Option<(Vec<MappingEntry<'a>>, usize)> {
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

    /// Makes an entry, if a colon follows the key.
    fn entry(
        &self,
        key: Cow<'a, str>,
        key_end: usize,
        shape: ValueLayout<'a>,
        value_end: usize,
    ) -> Option<MappingEntry<'a>> {
        let after = self.text.get(key_end..)?;
        let value = after.trim_start_matches([' ', '\t']).strip_prefix(':')?;
        let colon = self.text.len() - value.len();
        let start = lines::start(self.text, key_end);
        let line = self.text.get(start..key_end)?;
        let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
        Some(MappingEntry { key, indent, start, colon, end: value_end.max(colon), shape })
    }

    /// Returns where the last line of a block scalar ends.
    ///
    /// The parser reports the start of the next token; blank lines before it count only if they are
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
