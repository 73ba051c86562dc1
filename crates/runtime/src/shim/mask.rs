//! Takes the run's token, and what looks like a secret, out of what an agent prints, before it gets
//! into a log.

use crate::secretive::{cover, unfinished};

/// Covers what looks like a secret in a stream of bytes. Only what may be the beginning of one waits
/// for what comes next.
#[derive(Default)]
pub(super) struct Cover {
    /// The end of what was given out, and then what is held back.
    known: Vec<u8>,
    /// How much of that was given out.
    given: usize,
}

/// How much of what was given out is remembered, to tell what the next value is called.
const REMEMBERED: usize = 64;

impl Cover {
    /// Gives out what came, with what looks like a secret covered.
    pub(super) fn push(&mut self, bytes: &[u8], mut out: impl FnMut(&[u8])) {
        self.known.extend_from_slice(bytes);
        let whole = (self.known.len() - unfinished(&self.known)).max(self.given);
        self.give(whole, &mut out);
    }

    fn give(&mut self, whole: usize, out: &mut impl FnMut(&[u8])) {
        let bytes = &self.known[..whole];
        if whole > self.given {
            out(cover(bytes, self.given).as_deref().unwrap_or(&bytes[self.given..]));
        }
        self.known.drain(..whole.saturating_sub(REMEMBERED));
        self.given = whole.min(REMEMBERED);
    }

    /// Gives out what was held back.
    pub(super) fn finish(mut self, mut out: impl FnMut(&[u8])) {
        self.give(self.known.len(), &mut out);
    }
}

/// Covers a secret in a stream of bytes, in whatever pieces it comes.
pub(super) struct Mask {
    secret: Vec<u8>,
    /// The place in it of the byte that is rarest in other texts.
    anchor: usize,
    /// What may be the beginning of the secret, and waits for what comes next.
    held: Vec<u8>,
}

impl Mask {
    pub(super) fn new(secret: &str) -> Self {
        let anchor = secret.find('-').unwrap_or_default();
        Self { secret: secret.as_bytes().to_owned(), anchor, held: Vec::new() }
    }

    /// Gives out what came, with the secret covered. What may be its beginning is held back.
    pub(super) fn push(&mut self, bytes: &[u8], mut out: impl FnMut(&[u8])) {
        if self.secret.is_empty() {
            return out(bytes);
        }
        let mut bytes = [std::mem::take(&mut self.held), bytes.to_owned()].concat();
        self.cover(&mut bytes);
        self.held = bytes.split_off(bytes.len() - self.begun(&bytes));
        out(&bytes);
    }

    /// Gives out what was held back and turned out to be nothing.
    pub(super) fn finish(self, mut out: impl FnMut(&[u8])) {
        if !self.held.is_empty() {
            out(&self.held);
        }
    }

    fn cover(&self, bytes: &mut [u8]) {
        let mut from = 0;
        while let Some(at) = self.find(&bytes[from..]) {
            bytes[from + at..][..self.secret.len()].fill(b'*');
            from += at + self.secret.len();
        }
    }

    /// Finds the secret by its anchor, for which the standard library looks quickly.
    fn find(&self, bytes: &[u8]) -> Option<usize> {
        let mut from = self.anchor;
        loop {
            from += position(bytes.get(from..)?, self.secret[self.anchor])?;
            if bytes[from - self.anchor..].starts_with(&self.secret) {
                return Some(from - self.anchor);
            }
            from += 1;
        }
    }

    /// Returns how many bytes at the end may be the beginning of the secret.
    fn begun(&self, bytes: &[u8]) -> usize {
        let longest = bytes.len().min(self.secret.len() - 1);
        (1..=longest).rev().find(|len| bytes.ends_with(&self.secret[..*len])).unwrap_or(0)
    }
}

fn position(mut bytes: &[u8], byte: u8) -> Option<usize> {
    use std::io::BufRead;

    let whole = bytes;
    let read = bytes.skip_until(byte).ok().filter(|read| *read > 0)?;
    (whole[read - 1] == byte).then(|| read - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_covered_in_whatever_pieces_it_comes() {
        let key = "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5";
        let text = format!("began\nkey=ghp_{key}\nDB_PASSWORD=hunter2hunter2 and so on");
        for size in 1..text.len() {
            let (mut mask, mut out) = (Cover::default(), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                mask.push(piece, |bytes| out.extend_from_slice(bytes));
            }
            mask.finish(|bytes| out.extend_from_slice(bytes));
            let shown = String::from_utf8(out).expect("a text");
            assert_eq!(shown, "began\nkey=ghp_****\nDB_PASSWORD=**** and so on", "{size}");
        }
    }

    #[test]
    fn plain_words_do_not_wait() {
        for plain in ["Continue? [y/n]", "half way", "50%", "reading docs/a.md", ""] {
            let (mut mask, mut out) = (Cover::default(), Vec::new());
            mask.push(plain.as_bytes(), |bytes| out.extend_from_slice(bytes));
            assert_eq!(out, plain.as_bytes(), "{plain}");
        }
    }

    fn masked(secret: &str, text: &str) -> String {
        let mask = |size: usize| {
            let (mut mask, mut out) = (Mask::new(secret), Vec::new());
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
    fn a_secret_is_covered_wherever_it_stands_and_however_it_comes() {
        assert_eq!(masked("12-abab", "x=12-abab;12-abab12-abab\n"), "x=*******;**************\n");
        assert_eq!(masked("12-abab", "12-aba"), "12-aba");
        assert_eq!(masked("12-abab", "12-ab12-abab 12-abax"), "12-ab******* 12-abax");
        assert_eq!(masked("aab", "aaab"), "a***");
        assert_eq!(masked("", "nothing to cover"), "nothing to cover");
        assert_eq!(masked("x", ""), "");
    }
}
