//! Goes over YAML once and writes down everything that is not plain, each with its path.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use adjutant_core::answer::Problem;
use granit_parser::{Event, Marker, Parser, ScanError, Span};

/// The deepest a document may be nested.
const DEPTH_MAX: usize = 64;

/// The most problems that are named.
const PROBLEMS_MAX: usize = 1_000;

/// The most characters of a key that a path names.
const KEY_CHARS_MAX: usize = 64;

/// Where the scan is: in a mapping or a list, and at what of it.
enum Frame {
    Mapping { key: String, due: Due, seen: BTreeSet<String> },
    List { index: usize },
}

/// What comes next in a mapping.
enum Due {
    Key,
    Value,
}

#[derive(Default)]
struct Scan {
    frames: Vec<Frame>,
    documents: usize,
    problems: Vec<Problem>,
}

/// Returns everything that is not plain, or the first thing that is no YAML at all.
pub(super) fn scan(text: &str) -> Vec<Problem> {
    let options =
        granit_parser::options! { emit_unresolved_aliases: true, disallow_directives: true };
    let mut seen = Scan::default();
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) if seen.problems.len() < PROBLEMS_MAX => {
                if !seen.step(&event, span) {
                    break;
                }
            }
            Ok(_) => break,
            Err(error) => {
                seen.problems.push(broken(text, &error));
                break;
            }
        }
    }
    seen.problems
}

impl Scan {
    /// Takes the next event, and says whether to go on.
    fn step(&mut self, event: &Event<'_>, span: Span) -> bool {
        let at = span.start;
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.problem("", at, "a second document starts here");
                    return false;
                }
            }
            Event::Scalar(text, _, anchor, tag) => {
                self.begin(at, *anchor, tag.is_some(), Some(text));
                self.end();
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.take_key(at, None);
                self.odd(at, "an alias is not taken here: write the value out");
                self.end();
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.begin(at, *anchor, tag.is_some(), None);
                self.frames.push(Frame::List { index: 0 });
            }
            Event::MappingStart(_, anchor, tag) => {
                self.begin(at, *anchor, tag.is_some(), None);
                self.frames.push(Frame::Mapping {
                    key: String::new(),
                    due: Due::Key,
                    seen: BTreeSet::new(),
                });
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.frames.pop();
                self.end();
            }
            _ => {}
        }
        if self.frames.len() > DEPTH_MAX {
            self.problem("", at, &format!("is nested deeper than {DEPTH_MAX} levels"));
            return false;
        }
        true
    }

    /// Begins a node. Whoever has anchor or tag is at odds with what a reader sees.
    fn begin(&mut self, at: Marker, anchor: usize, tagged: bool, text: Option<&str>) {
        self.take_key(at, text);
        if anchor != 0 {
            self.odd(at, "an anchor is not taken here: write the value out");
        }
        if tagged {
            self.odd(at, "a tag is not taken here: take it away");
        }
    }

    /// Takes a node for a key, if one is due.
    fn take_key(&mut self, at: Marker, text: Option<&str>) {
        let Some(Frame::Mapping { key, due: Due::Key, seen }) = self.frames.last_mut() else {
            return;
        };
        text.unwrap_or_default().clone_into(key);
        let twice = text.is_some_and(|text| !seen.insert(text.to_owned()));
        if text.is_none() {
            self.odd(at, "a key must be text");
        }
        if twice {
            self.odd(at, "the key is there twice");
        }
        if text == Some("<<") {
            self.odd(at, "a merge is not taken here");
        }
    }

    /// Ends a node: a key has been read, or an entry or an item is over.
    fn end(&mut self) {
        match self.frames.last_mut() {
            Some(Frame::Mapping { due: due @ Due::Key, .. }) => *due = Due::Value,
            Some(Frame::Mapping { due: due @ Due::Value, .. }) => *due = Due::Key,
            Some(Frame::List { index }) => *index += 1,
            None => {}
        }
    }

    fn odd(&mut self, at: Marker, what: &str) {
        let path = self.path();
        self.problem(&path, at, what);
    }

    fn problem(&mut self, path: &str, at: Marker, what: &str) {
        let message = format!("line {}, column {}: {what}", at.line(), at.col() + 1);
        self.problems.push(Problem::new(path, message));
    }

    fn path(&self) -> String {
        self.frames.iter().fold(String::new(), |mut path, frame| {
            match frame {
                Frame::Mapping { key, .. } => {
                    let dot = if path.is_empty() { "" } else { "." };
                    let _ = write!(path, "{dot}{}", shown(key));
                }
                Frame::List { index } => {
                    let _ = write!(path, "[{index}]");
                }
            }
            path
        })
    }
}

/// A key may be long and odd, and a path is one line.
fn shown(key: &str) -> String {
    let plain = key.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    plain.take(KEY_CHARS_MAX).collect()
}

/// Says what is no YAML, and calls a tab a tab.
fn broken(text: &str, error: &ScanError) -> Problem {
    let at = error.marker();
    let line = text.lines().nth(at.line().saturating_sub(1)).unwrap_or("");
    let indentation = &line[..line.len() - line.trim_start().len()];
    if indentation.contains('\t') {
        let message =
            format!("line {}: a tab in the indentation: YAML takes blanks only", at.line());
        return Problem::new("", message);
    }
    let what = error.info();
    let what: String = what.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Problem::new("", format!("line {}, column {}: {what}", at.line(), at.col() + 1))
}
