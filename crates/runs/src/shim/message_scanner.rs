//! Finds the messages in the output of an agent.

use std::io::BufRead;

use adjutant_core::protocols::aof::{MESSAGE_BYTES_MAX, MESSAGE_PREFIX};
use adjutant_model::document::DocumentKind;
use adjutant_run_files::shim_spec::AofLineMode;

use super::outbox::RunMessage;
use crate::report_document;

/// How many bytes of a line are kept. A longer line is cut here; the protocol then refuses it,
/// because it is still too long.
const LINE_BYTES_MAX: usize = MESSAGE_BYTES_MAX + 64;

/// Finds messages in a stream of bytes, with at most one line in memory.
pub(super) struct MessageScanner {
    line: Vec<u8>,
    state: LineState,
    wanted: WantedMessages,
}

/// Which lines count as messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WantedMessages {
    /// Lines `AOF/1 …`.
    pub(super) aof: AofLineMode,
    /// Lines that are a JSON document of this kind.
    pub(super) document: Option<DocumentKind>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum LineState {
    /// The line is a message, or may still become one.
    #[default]
    Open,
    /// The rest of the line is ignored.
    Skipped,
}

impl MessageScanner {
    pub(super) fn new(wanted: WantedMessages) -> Self {
        Self { line: vec![], state: LineState::default(), wanted }
    }

    /// Takes the next bytes, and passes every complete message to `out`.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut out: impl FnMut(RunMessage)) {
        while !bytes.is_empty() {
            let rest = match self.state {
                LineState::Skipped => self.skip_line(bytes),
                LineState::Open => self.consume_line(bytes, &mut out),
            };
            bytes = rest;
        }
    }

    /// Passes on a message at the end of the output that has no line break.
    pub(super) fn finish(mut self, mut out: impl FnMut(RunMessage)) {
        if self.state == LineState::Open && self.line.trim_ascii_end().ends_with(b"}") {
            self.emit_line(&mut out);
        }
    }

    fn skip_line<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (line, rest) = bytes.split_at(line_end(bytes));
        if line.ends_with(b"\n") {
            self.state = LineState::Open;
        }
        rest
    }

    fn consume_line<'b>(&mut self, bytes: &'b [u8], out: &mut impl FnMut(RunMessage)) -> &'b [u8] {
        let (line, rest) = bytes.split_at(line_end(bytes));
        let (text, ended) = line.strip_suffix(b"\n").map_or((line, false), |text| (text, true));
        let room = LINE_BYTES_MAX - self.line.len();
        self.line.extend_from_slice(&text[..text.len().min(room)]);
        let hopeless = self.is_hopeless();
        if ended {
            self.emit_line(out);
        } else if hopeless {
            self.line.clear();
            self.state = LineState::Skipped;
        } else if self.line.len() == LINE_BYTES_MAX {
            self.emit_line(out);
            self.state = LineState::Skipped;
        }
        rest
    }

    /// Returns whether the line cannot become a message any more.
    fn is_hopeless(&self) -> bool {
        let prefix = MESSAGE_PREFIX.as_bytes();
        let aof = self.wanted.aof != AofLineMode::Output
            && self.line.iter().zip(prefix).all(|(byte, of)| byte == of);
        let object =
            self.wanted.document.is_some() && self.line.first().is_none_or(|first| *first == b'{');
        !aof && !object
    }

    /// Passes the line on if it is a message. A line that is not UTF-8 is cut at the first invalid
    /// byte; the protocol then refuses it, because it is incomplete.
    fn emit_line(&mut self, out: &mut impl FnMut(RunMessage)) {
        let valid = std::str::from_utf8(&self.line).map_or_else(|bad| bad.valid_up_to(), str::len);
        let text = std::str::from_utf8(&self.line[..valid]).unwrap_or_default().trim_end();
        let is_aof = self.wanted.aof != AofLineMode::Output;
        if is_aof && self.line.starts_with(MESSAGE_PREFIX.as_bytes()) {
            let needs_token = self.wanted.aof == AofLineMode::TokenMessages;
            out(RunMessage { needs_token, ..RunMessage::from_text(text) });
        } else if let Some(kind) = self.wanted.document
            && report_document::is_document_line(kind, text)
        {
            out(RunMessage { kind: Some(kind), ..RunMessage::from_text(text) });
        }
        self.line.clear();
        // Release the buffer of a long line, because ordinary lines need little of it.
        self.line.shrink_to(4 << 10);
    }
}

/// Returns the end of the line, including its line break.
fn line_end(mut bytes: &[u8]) -> usize {
    bytes.skip_until(b'\n').unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AOF: WantedMessages = WantedMessages { aof: AofLineMode::Messages, document: None };

    /// Finds the messages, and checks that the result is the same for chunks of several sizes.
    fn found(bytes: &[u8]) -> Vec<String> {
        found_of(AOF, bytes).into_iter().map(|message| message.text).collect()
    }

    fn found_of(looks_for: WantedMessages, bytes: &[u8]) -> Vec<RunMessage> {
        let scan = |size: usize| {
            let mut found = Vec::new();
            let mut scanner = MessageScanner::new(looks_for);
            bytes.chunks(size).for_each(|piece| scanner.push(piece, |message| found.push(message)));
            scanner.finish(|message| found.push(message));
            found
        };
        let whole = scan(bytes.len().max(1));
        for size in [1, 2, 3, 5, 7, 11, 64 << 10] {
            assert_eq!(scan(size), whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn aof_messages_are_found_among_other_lines() {
        assert_eq!(
            found(b"hello\nAOF/1 {\"a\":1}\nbye\r\nAOF/1 {}\r\n"),
            ["AOF/1 {\"a\":1}", "AOF/1 {}"]
        );
        assert!(found(b" AOF/1 {}\nAOF/2 {}\nAOF/1\nsays AOF/1 {}\n\n\n").is_empty());
        assert_eq!(found(b"\xff\xfe\0\nAOF/1 {}\n\xff"), ["AOF/1 {}"]);
        assert!(found(b"").is_empty());
    }

    #[test]
    fn last_line_without_line_break_counts_if_complete() {
        assert_eq!(found(b"AOF/1 {\"a\":1}"), ["AOF/1 {\"a\":1}"]);
        assert!(found(b"AOF/1 {\"a\":1").is_empty());
        assert!(found(b"AOF").is_empty());
    }

    #[test]
    fn message_with_invalid_utf8_is_cut_at_first_invalid_byte() {
        assert_eq!(found(b"AOF/1 {\"a\":\"\xff\"}\nAOF/1 {}\n"), ["AOF/1 {\"a\":\"", "AOF/1 {}"]);
    }

    #[test]
    fn overlong_line_is_cut_and_stays_over_the_limit() {
        let mut scanner = MessageScanner::new(AOF);
        let mut found = Vec::new();
        scanner.push(b"AOF/1 {", |message| found.push(message.text));
        for _ in 0..256 {
            scanner.push(&[b'x'; 16 << 10], |message| found.push(message.text));
        }
        scanner.push(b"}\nAOF/1 {}\n", |message| found.push(message.text));
        let lengths: Vec<usize> = found.iter().map(String::len).collect();
        assert_eq!(lengths, [LINE_BYTES_MAX, "AOF/1 {}".len()]);
        assert!(scanner.line.capacity() <= 8 << 10);
    }

    #[test]
    fn json_document_on_a_line_counts_where_it_is_wanted() {
        let (kind, attempt) =
            (DocumentKind::AttemptCompletion, r#"{"taskId":"A","result":"success"}"#);
        let said = |line: &str, kind: Option<DocumentKind>| RunMessage {
            kind,
            ..RunMessage::from_text(line)
        };
        let output = format!("x\nAOF/1 {{}}\n{{}}\n{{\n{attempt}\r\n {attempt}\n{attempt}");
        let both = WantedMessages { aof: AofLineMode::Messages, document: Some(kind) };
        let of = |aof, document| found_of(WantedMessages { aof, document }, output.as_bytes());
        let found = [said(attempt, Some(kind)), said(attempt, Some(kind))];
        assert_eq!(of(AofLineMode::Output, Some(kind)), found);
        assert_eq!(found_of(both, output.as_bytes())[0], said("AOF/1 {}", None));
        assert_eq!(found_of(both, output.as_bytes())[1..], found);
        assert_eq!(of(AofLineMode::Output, None), []);
    }
}
