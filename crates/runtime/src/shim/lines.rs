//! Finds the lines that are messages in what an agent prints.

use std::io::BufRead;

use adjutant_core::aof::MESSAGE_BYTES_MAX;

/// What a message begins with, at the start of a line.
const PREFIX: &[u8] = b"AOF/1 ";

/// How much of a line is looked at. One that is longer goes on cut off, and is refused because it
/// is still too long.
const LINE_BYTES_MAX: usize = MESSAGE_BYTES_MAX + 64;

/// Looks for messages in a stream of bytes, with no more than one line at hand.
#[derive(Default)]
pub(super) struct Scanner {
    line: Vec<u8>,
    state: State,
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
    /// Takes bytes as they come, and gives out every message that is complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut out: impl FnMut(&str)) {
        while !bytes.is_empty() {
            let rest = match self.state {
                State::Skipped => self.skip(bytes),
                State::Open => self.take(bytes, &mut out),
            };
            bytes = rest;
        }
    }

    /// Gives out a message at the very end that no line break follows.
    pub(super) fn finish(mut self, mut out: impl FnMut(&str)) {
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

    fn take<'b>(&mut self, bytes: &'b [u8], out: &mut impl FnMut(&str)) -> &'b [u8] {
        let (line, rest) = bytes.split_at(line_end(bytes));
        let (text, ended) = line.strip_suffix(b"\n").map_or((line, false), |text| (text, true));
        let room = LINE_BYTES_MAX - self.line.len();
        self.line.extend_from_slice(&text[..text.len().min(room)]);
        let known = self.line.len().min(PREFIX.len());
        let hopeless = self.line[..known] != PREFIX[..known];
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

    /// Gives out the line if it is a message. One that is no text ends where it stops being one,
    /// and is refused because it is not whole.
    fn give(&mut self, out: &mut impl FnMut(&str)) {
        if self.line.starts_with(PREFIX) {
            let valid =
                std::str::from_utf8(&self.line).map_or_else(|bad| bad.valid_up_to(), str::len);
            out(std::str::from_utf8(&self.line[..valid]).unwrap_or_default().trim_end());
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

    /// Finds the messages, given in pieces of every size.
    fn found(bytes: &[u8]) -> Vec<String> {
        let scan = |size: usize| {
            let mut found = Vec::new();
            let mut scanner = Scanner::default();
            bytes
                .chunks(size)
                .for_each(|piece| scanner.push(piece, |line| found.push(line.to_owned())));
            scanner.finish(|line| found.push(line.to_owned()));
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
        let mut scanner = Scanner::default();
        let mut found = Vec::new();
        scanner.push(b"AOF/1 {", |line| found.push(line.to_owned()));
        for _ in 0..256 {
            scanner.push(&[b'x'; 16 << 10], |line| found.push(line.to_owned()));
        }
        scanner.push(b"}\nAOF/1 {}\n", |line| found.push(line.to_owned()));
        let lengths: Vec<usize> = found.iter().map(String::len).collect();
        assert_eq!(lengths, [LINE_BYTES_MAX, "AOF/1 {}".len()]);
        assert!(scanner.line.capacity() <= 8 << 10);
    }
}
