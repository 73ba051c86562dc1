//! Finds the terminal escape codes in output, so that a key that is split by them is still found.

use std::borrow::Cow;

/// The longest escape code that is recognised.
const CODE_BYTES_MAX: usize = 64;

/// How JSON writes the start of an escape code.
const JSON_ESCAPE: &[u8] = b"\\u001b";

/// Bytes without their escape codes.
pub(super) struct CleanText<'b> {
    pub(super) bytes: Cow<'b, [u8]>,
    /// The position of each byte in the original; empty if there are no escape codes.
    positions: Vec<usize>,
    /// How much of the original was read. The rest may be the start of an escape code.
    pub(super) read: usize,
}

impl CleanText<'_> {
    /// Returns the position in the original at which a position in the clean text is.
    pub(super) fn original(&self, at: usize) -> usize {
        if at >= self.bytes.len() {
            self.read
        } else {
            self.positions.get(at).copied().unwrap_or(at)
        }
    }

    /// Returns the position in the clean text of the first byte at or after one in the original.
    pub(super) fn position(&self, original: usize) -> usize {
        if self.positions.is_empty() {
            original.min(self.bytes.len())
        } else {
            self.positions.partition_point(|at| *at < original)
        }
    }

    /// Calls `out` with the escape codes between two positions in the original.
    pub(super) fn codes(&self, whole: &[u8], from: usize, to: usize, out: &mut impl FnMut(&[u8])) {
        let (mut at, first) = (from, self.position(from));
        for position in self.positions.iter().skip(first).take_while(|at| **at < to) {
            if at < *position {
                out(&whole[at..*position]);
            }
            at = position + 1;
        }
        if !self.positions.is_empty() && at < to {
            out(&whole[at..to]);
        }
    }
}

/// Removes the escape codes. Unless the text is `complete`, the start of one at the end is not read.
pub(super) fn strip(bytes: &[u8], complete: bool) -> CleanText<'_> {
    let Some(first) = find_code(bytes, 0) else {
        return CleanText { bytes: Cow::Borrowed(bytes), positions: vec![], read: bytes.len() };
    };
    let (mut clean, mut positions) = (bytes[..first].to_owned(), (0..first).collect::<Vec<_>>());
    let mut at = first;
    while at < bytes.len() {
        match code_len(&bytes[at..]) {
            CodeLength::Complete(length) => at += length,
            CodeLength::Incomplete if !complete => break,
            CodeLength::Incomplete | CodeLength::NotACode => {
                clean.push(bytes[at]);
                positions.push(at);
                at += 1;
            }
        }
        let next = find_code(bytes, at).unwrap_or(bytes.len());
        clean.extend_from_slice(&bytes[at..next]);
        positions.extend(at..next);
        at = next;
    }
    CleanText { bytes: Cow::Owned(clean), positions, read: at }
}

/// Finds the next byte that may begin an escape code.
fn find_code(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memchr2_iter(0x1b, b'\\', &bytes[from..]).map(|at| from + at).find(|at| {
        let rest = &bytes[*at..];
        rest[0] == 0x1b
            || rest.starts_with(JSON_ESCAPE)
            || (rest.len() < JSON_ESCAPE.len() && JSON_ESCAPE.starts_with(rest))
    })
}

enum CodeLength {
    Complete(usize),
    /// More bytes are needed to tell.
    Incomplete,
    NotACode,
}

/// Measures the escape code at the start: `ESC [ … m` and its like, `ESC ( B`, `ESC 7`. Of a string
/// code such as a window title, only the introducer is one, because the rest is text.
fn code_len(bytes: &[u8]) -> CodeLength {
    let start = if bytes[0] == 0x1b { 1 } else { JSON_ESCAPE.len() };
    if bytes.len() <= start {
        return CodeLength::Incomplete;
    }
    let (middle, first): (fn(u8) -> bool, usize) = match bytes[start] {
        b'[' => (|byte| (0x20..=0x3f).contains(&byte), start + 1),
        0x20..=0x2f => (|byte| (0x20..=0x2f).contains(&byte), start + 1),
        // In JSON, any text can follow the code of ESC.
        0x30..=0x7e if start == 1 => return CodeLength::Complete(start + 1),
        _ => return CodeLength::NotACode,
    };
    let rest = bytes[first..].iter().take(CODE_BYTES_MAX);
    let length = rest.take_while(|byte| middle(**byte)).count();
    match bytes.get(first + length) {
        None => CodeLength::Incomplete,
        Some(0x30..=0x7e) if length < CODE_BYTES_MAX => CodeLength::Complete(first + length + 1),
        Some(_) => CodeLength::NotACode,
    }
}
