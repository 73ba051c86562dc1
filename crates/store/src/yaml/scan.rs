//! Scans YAML once and lists everything that is not plain, each with its path.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use adjutant_model::answer::FieldProblem;
use granit_parser::{Event, Marker, Parser, ScanError, Span};

const DEPTH_MAX: usize = 64;

const PROBLEMS_MAX: usize = 1_000;

/// The most characters of a key that a path shows.
const KEY_CHARS_MAX: usize = 64;

/// The position of the scan in one open mapping or list.
enum ScanFrame {
    Mapping { key: String, due: ExpectedPart, seen: BTreeSet<String> },
    List { index: usize },
}

/// What comes next in a mapping.
enum ExpectedPart {
    Key,
    Value,
}

#[derive(Default)]
struct PlainYamlScan {
    frames: Vec<ScanFrame>,
    documents: usize,
    problems: Vec<FieldProblem>,
}

/// Returns everything that is not plain, up to the first syntax error.
pub(super) fn scan(text: &str) -> Vec<FieldProblem> {
    let options =
        granit_parser::options! { emit_unresolved_aliases: true, disallow_directives: true };
    let mut seen = PlainYamlScan::default();
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) if seen.problems.len() < PROBLEMS_MAX => {
                if !seen.process_event(&event, span) {
                    break;
                }
            }
            Ok(_) => break,
            Err(error) => {
                seen.problems.push(syntax_problem(text, &error));
                break;
            }
        }
    }
    seen.problems
}

impl PlainYamlScan {
    /// Processes the next event; returns false to stop the scan.
    fn process_event(&mut self, event: &Event<'_>, span: Span) -> bool {
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
                self.refuse(at, "aliases are not allowed: write the value out");
                self.end();
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.begin(at, *anchor, tag.is_some(), None);
                self.frames.push(ScanFrame::List { index: 0 });
            }
            Event::MappingStart(_, anchor, tag) => {
                self.begin(at, *anchor, tag.is_some(), None);
                self.frames.push(ScanFrame::Mapping {
                    key: String::new(),
                    due: ExpectedPart::Key,
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

    /// Begins a node. Anchors and tags are refused, because they change what the
    /// visible text means.
    fn begin(&mut self, at: Marker, anchor: usize, tagged: bool, text: Option<&str>) {
        self.take_key(at, text);
        if anchor != 0 {
            self.refuse(at, "anchors are not allowed: write the value out");
        }
        if tagged {
            self.refuse(at, "tags are not allowed: remove it");
        }
    }

    /// Treats the node as a key if a key is due.
    fn take_key(&mut self, at: Marker, text: Option<&str>) {
        let Some(ScanFrame::Mapping { key, due: ExpectedPart::Key, seen }) = self.frames.last_mut()
        else {
            return;
        };
        text.unwrap_or_default().clone_into(key);
        let twice = text.is_some_and(|text| !seen.insert(text.to_owned()));
        if text.is_none() {
            self.refuse(at, "a key must be text");
        }
        if twice {
            self.refuse(at, "the key appears twice");
        }
        if text == Some("<<") {
            self.refuse(at, "merge keys are not allowed");
        }
    }

    /// Ends a node: a key, the value of an entry, or a list item.
    fn end(&mut self) {
        match self.frames.last_mut() {
            Some(ScanFrame::Mapping { due: due @ ExpectedPart::Key, .. }) => {
                *due = ExpectedPart::Value;
            }
            Some(ScanFrame::Mapping { due: due @ ExpectedPart::Value, .. }) => {
                *due = ExpectedPart::Key;
            }
            Some(ScanFrame::List { index }) => *index += 1,
            None => {}
        }
    }

    fn refuse(&mut self, at: Marker, what: &str) {
        let path = self.path();
        self.problem(&path, at, what);
    }

    fn problem(&mut self, path: &str, at: Marker, what: &str) {
        let message = format!("line {}, column {}: {what}", at.line(), at.col() + 1);
        self.problems.push(FieldProblem::new(path, message));
    }

    fn path(&self) -> String {
        self.frames.iter().fold(String::new(), |mut path, frame| {
            match frame {
                ScanFrame::Mapping { key, .. } => {
                    let dot = if path.is_empty() { "" } else { "." };
                    let _ = write!(path, "{dot}{}", printable_key(key));
                }
                ScanFrame::List { index } => {
                    let _ = write!(path, "[{index}]");
                }
            }
            path
        })
    }
}

/// Shortens a key and replaces its control characters, because a path is one line.
fn printable_key(key: &str) -> String {
    let plain = key.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    plain.take(KEY_CHARS_MAX).collect()
}

/// Describes a syntax error; a tab in the indentation gets its own message.
fn syntax_problem(text: &str, error: &ScanError) -> FieldProblem {
    let at = error.marker();
    let line = text.lines().nth(at.line().saturating_sub(1)).unwrap_or("");
    let indentation = &line[..line.len() - line.trim_start().len()];
    if indentation.contains('\t') {
        let message =
            format!("line {}: a tab in the indentation: YAML allows only spaces", at.line());
        return FieldProblem::new("", message);
    }
    let what = error.info();
    let what: String = what.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    FieldProblem::new("", format!("line {}, column {}: {what}", at.line(), at.col() + 1))
}
