//! Redacts the run's token, and text that looks like a secret, in the output of an agent before it
//! reaches the log.

use adjutant_config::redact::{pending_suffix_len, redact_bytes};

/// Redacts text that looks like a secret in a stream of bytes. Holds back only bytes that may be
/// the start of a secret.
#[derive(Default)]
pub(super) struct PatternRedactor {
    /// The last bytes that were passed on, followed by the bytes held back.
    buffer: Vec<u8>,
    /// How many of these bytes were passed on.
    passed_len: usize,
}

/// How many passed bytes are kept, because the name before a value can mark the value as a secret.
const CONTEXT_BYTES: usize = 64;

impl PatternRedactor {
    /// Passes on the next bytes, with secrets redacted.
    pub(super) fn push(&mut self, bytes: &[u8], mut out: impl FnMut(&[u8])) {
        self.buffer.extend_from_slice(bytes);
        let whole = (self.buffer.len() - pending_suffix_len(&self.buffer)).max(self.passed_len);
        self.emit(whole, &mut out);
    }

    fn emit(&mut self, whole: usize, out: &mut impl FnMut(&[u8])) {
        let bytes = &self.buffer[..whole];
        if whole > self.passed_len {
            out(redact_bytes(bytes, self.passed_len)
                .as_deref()
                .unwrap_or(&bytes[self.passed_len..]));
        }
        self.buffer.drain(..whole.saturating_sub(CONTEXT_BYTES));
        self.passed_len = whole.min(CONTEXT_BYTES);
    }

    /// Passes on the bytes held back.
    pub(super) fn finish(mut self, mut out: impl FnMut(&[u8])) {
        self.emit(self.buffer.len(), &mut out);
    }
}

/// Redacts one known secret in a stream of bytes, even if it is split across chunks.
pub(super) struct TokenRedactor {
    secret: Vec<u8>,
    /// The position of the byte in the secret that is rarest in other text.
    anchor: usize,
    /// Bytes that may be the start of the secret.
    held: Vec<u8>,
}

impl TokenRedactor {
    pub(super) fn new(secret: &str) -> Self {
        let anchor = secret.find('-').unwrap_or_default();
        Self { secret: secret.as_bytes().to_owned(), anchor, held: Vec::new() }
    }

    /// Passes on the next bytes with the secret redacted, and holds back what may be its start.
    pub(super) fn push(&mut self, bytes: &[u8], mut out: impl FnMut(&[u8])) {
        if self.secret.is_empty() {
            return out(bytes);
        }
        let mut bytes = [std::mem::take(&mut self.held), bytes.to_owned()].concat();
        self.redact(&mut bytes);
        self.held = bytes.split_off(bytes.len() - self.partial_match_len(&bytes));
        out(&bytes);
    }

    /// Passes on the bytes held back, which turned out not to be the secret.
    pub(super) fn finish(self, mut out: impl FnMut(&[u8])) {
        if !self.held.is_empty() {
            out(&self.held);
        }
    }

    fn redact(&self, bytes: &mut [u8]) {
        let mut from = 0;
        while let Some(at) = self.find(&bytes[from..]) {
            bytes[from + at..][..self.secret.len()].fill(b'*');
            from += at + self.secret.len();
        }
    }

    /// Finds the secret by its anchor byte, because the standard library searches for a
    /// single byte quickly.
    fn find(&self, bytes: &[u8]) -> Option<usize> {
        let mut from = self.anchor;
        loop {
            from += find_byte(bytes.get(from..)?, self.secret[self.anchor])?;
            if bytes[from - self.anchor..].starts_with(&self.secret) {
                return Some(from - self.anchor);
            }
            from += 1;
        }
    }

    /// Returns how many bytes at the end may be the start of the secret.
    fn partial_match_len(&self, bytes: &[u8]) -> usize {
        let longest = bytes.len().min(self.secret.len() - 1);
        (1..=longest).rev().find(|len| bytes.ends_with(&self.secret[..*len])).unwrap_or(0)
    }
}

fn find_byte(mut bytes: &[u8], byte: u8) -> Option<usize> {
    use std::io::BufRead;

    let whole = bytes;
    let read = bytes.skip_until(byte).ok().filter(|read| *read > 0)?;
    (whole[read - 1] == byte).then(|| read - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_redacted_across_chunks_of_any_size() {
        let key = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5";
        let text = format!("began\nkey=ghp_{key}\nDB_PASSWORD=hunter2hunter2 and so on");
        for size in 1..text.len() {
            let (mut mask, mut out) = (PatternRedactor::default(), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                mask.push(piece, |bytes| out.extend_from_slice(bytes));
            }
            mask.finish(|bytes| out.extend_from_slice(bytes));
            let shown = String::from_utf8(out).expect("a text");
            assert_eq!(shown, "began\nkey=ghp_****\nDB_PASSWORD=**** and so on", "{size}");
        }
    }

    #[test]
    fn plain_text_is_not_held_back() {
        for plain in ["Continue? [y/n]", "half way", "50%", "reading docs/a.md", ""] {
            let (mut mask, mut out) = (PatternRedactor::default(), Vec::new());
            mask.push(plain.as_bytes(), |bytes| out.extend_from_slice(bytes));
            assert_eq!(out, plain.as_bytes(), "{plain}");
        }
    }

    fn masked(secret: &str, text: &str) -> String {
        let mask = |size: usize| {
            let (mut mask, mut out) = (TokenRedactor::new(secret), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                mask.push(piece, |bytes| out.extend_from_slice(bytes));
            }
            mask.finish(|bytes| out.extend_from_slice(bytes));
            String::from_utf8(out).expect("a text")
        };
        let whole = mask(text.len().max(1));
        for size in 1..8 {
            assert_eq!(mask(size), whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn run_token_is_redacted_anywhere_and_in_any_chunks() {
        assert_eq!(masked("12-abab", "x=12-abab;12-abab12-abab\n"), "x=*******;**************\n");
        assert_eq!(masked("12-abab", "12-aba"), "12-aba");
        assert_eq!(masked("12-abab", "12-ab12-abab 12-abax"), "12-ab******* 12-abax");
        assert_eq!(masked("aab", "aaab"), "a***");
        assert_eq!(masked("", "nothing to cover"), "nothing to cover");
        assert_eq!(masked("x", ""), "");
    }
}
