//! Finds the lines that are messages in what an agent prints.

use std::io::BufRead;

use adjutant_core::aof::MESSAGE_BYTES_MAX;
use adjutant_core::dialect::DocumentKind;

use super::outbox::Said;
use crate::document;

/// What a message begins with, at the start of a line.
const PREFIX: &[u8] = b"AOF/1 ";

/// How much of a line is looked at. One that is longer goes on cut off, and is refused because it
/// is still too long.
const LINE_BYTES_MAX: usize = MESSAGE_BYTES_MAX + 64;

/// Looks for messages in a stream of bytes, with no more than one line at hand.
pub(super) struct Scanner {
    line: Vec<u8>,
    state: State,
    looks_for: Wanted,
}

/// What counts as a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Whether a line `AOF/1 …` does.
    pub(super) aof: bool,
    /// Whether a line that is a document of this kind in JSON does.
    pub(super) document: Option<DocumentKind>,
}

/// What is known of the current line.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// It may be, or is, a message.
    #[default]
    Open,
    /// The rest of it is of no interest.
    Skipped,
}

impl Scanner {
    pub(super) fn new(looks_for: Wanted) -> Self {
        Self { line: vec![], state: State::default(), looks_for }
    }

    /// Takes bytes as they come, and gives out every message that is complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut out: impl FnMut(Said)) {
        while !bytes.is_empty() {
            let rest = match self.state {
                State::Skipped => self.skip(bytes),
                State::Open => self.take(bytes, &mut out),
            };
            bytes = rest;
        }
    }

    /// Gives out a message at the very end that no line break follows.
    pub(super) fn finish(mut self, mut out: impl FnMut(Said)) {
        if self.state == State::Open && self.line.trim_ascii_end().ends_with(b"}") {
            self.give(&mut out);
        }
    }

    fn skip<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (line, rest) = bytes.split_at(line_end(bytes));
        if line.ends_with(b"\n") {
            self.state = State::Open;
        }
        rest
    }

    fn take<'b>(&mut self, bytes: &'b [u8], out: &mut impl FnMut(Said)) -> &'b [u8] {
        let (line, rest) = bytes.split_at(line_end(bytes));
        let (text, ended) = line.strip_suffix(b"\n").map_or((line, false), |text| (text, true));
        let room = LINE_BYTES_MAX - self.line.len();
        self.line.extend_from_slice(&text[..text.len().min(room)]);
        let hopeless = self.is_hopeless();
        if ended {
            self.give(out);
        } else if hopeless {
            self.line.clear();
            self.state = State::Skipped;
        } else if self.line.len() == LINE_BYTES_MAX {
            self.give(out);
            self.state = State::Skipped;
        }
        rest
    }

    /// Says whether the line cannot become a message any more.
    fn is_hopeless(&self) -> bool {
        let known = self.line.len().min(PREFIX.len());
        let aof = self.looks_for.aof && self.line[..known] == PREFIX[..known];
        let object = self.looks_for.document.is_some()
            && self.line.first().is_none_or(|first| *first == b'{');
        !aof && !object
    }

    /// Gives out the line if it is a message. One that is no text ends where it stops being one,
    /// and is refused because it is not whole.
    fn give(&mut self, out: &mut impl FnMut(Said)) {
        let valid = std::str::from_utf8(&self.line).map_or_else(|bad| bad.valid_up_to(), str::len);
        let text = std::str::from_utf8(&self.line[..valid]).unwrap_or_default().trim_end();
        if self.looks_for.aof && self.line.starts_with(PREFIX) {
            out(Said::line(text));
        } else if let Some(kind) = self.looks_for.document
            && document::is_in_line(kind, text)
        {
            out(Said { kind: Some(kind.to_string()), ..Said::line(text) });
        }
        self.line.clear();
        // A long line leaves its room behind for long; ordinary ones need none of it.
        self.line.shrink_to(4 << 10);
    }
}

/// Returns where the line ends, its break included.
fn line_end(mut bytes: &[u8]) -> usize {
    bytes.skip_until(b'\n').unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AOF: Wanted = Wanted { aof: true, document: None };

    /// Finds the messages, given in pieces of every size.
    fn found(bytes: &[u8]) -> Vec<String> {
        found_of(AOF, bytes).into_iter().map(|said| said.line).collect()
    }

    fn found_of(looks_for: Wanted, bytes: &[u8]) -> Vec<Said> {
        let scan = |size: usize| {
            let mut found = Vec::new();
            let mut scanner = Scanner::new(looks_for);
            bytes.chunks(size).for_each(|piece| scanner.push(piece, |said| found.push(said)));
            scanner.finish(|said| found.push(said));
            found
        };
        let whole = scan(bytes.len().max(1));
        for size in [1, 2, 3, 5, 7, 11, 64 << 10] {
            assert_eq!(scan(size), whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn messages_are_told_from_other_lines() {
        assert_eq!(
            found(b"hello\nAOF/1 {\"a\":1}\nbye\r\nAOF/1 {}\r\n"),
            ["AOF/1 {\"a\":1}", "AOF/1 {}"]
        );
        assert!(found(b" AOF/1 {}\nAOF/2 {}\nAOF/1\nsays AOF/1 {}\n\n\n").is_empty());
        assert_eq!(found(b"\xff\xfe\0\nAOF/1 {}\n\xff"), ["AOF/1 {}"]);
        assert!(found(b"").is_empty());
    }

    #[test]
    fn the_last_line_needs_no_line_break_if_it_is_whole() {
        assert_eq!(found(b"AOF/1 {\"a\":1}"), ["AOF/1 {\"a\":1}"]);
        assert!(found(b"AOF/1 {\"a\":1").is_empty());
        assert!(found(b"AOF").is_empty());
    }

    #[test]
    fn a_message_that_is_no_text_ends_where_it_stops_being_one() {
        assert_eq!(found(b"AOF/1 {\"a\":\"\xff\"}\nAOF/1 {}\n"), ["AOF/1 {\"a\":\"", "AOF/1 {}"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_off_and_still_too_long() {
        let mut scanner = Scanner::new(AOF);
        let mut found = Vec::new();
        scanner.push(b"AOF/1 {", |said| found.push(said.line));
        for _ in 0..256 {
            scanner.push(&[b'x'; 16 << 10], |said| found.push(said.line));
        }
        scanner.push(b"}\nAOF/1 {}\n", |said| found.push(said.line));
        let lengths: Vec<usize> = found.iter().map(String::len).collect();
        assert_eq!(lengths, [LINE_BYTES_MAX, "AOF/1 {}".len()]);
        assert!(scanner.line.capacity() <= 8 << 10);
    }

    #[test]
    fn a_document_on_a_line_is_a_message_where_it_is_looked_for() {
        let (kind, attempt) =
            (DocumentKind::AttemptCompletion, r#"{"taskId":"A","result":"success"}"#);
        let said = |line: &str, kind: Option<DocumentKind>| Said {
            kind: kind.map(|kind| kind.to_string()),
            ..Said::line(line)
        };
        let output = format!("x\nAOF/1 {{}}\n{{}}\n{{\n{attempt}\r\n {attempt}\n{attempt}");
        let both = Wanted { aof: true, document: Some(kind) };
        let of = |aof, document| found_of(Wanted { aof, document }, output.as_bytes());
        let found = [said(attempt, Some(kind)), said(attempt, Some(kind))];
        assert_eq!(of(false, Some(kind)), found);
        assert_eq!(found_of(both, output.as_bytes())[0], said("AOF/1 {}", None));
        assert_eq!(found_of(both, output.as_bytes())[1..], found);
        assert_eq!(of(false, None), []);
    }
}
