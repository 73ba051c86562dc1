//! Redacts a stream of bytes that arrives in chunks of any size. Its memory is bounded, its time
//! grows with the text, and it holds back only bytes that may be the start of a secret.

use std::sync::Arc;

use memchr::memmem;

use super::RedactionScope;
use super::escape_codes::{CleanText, strip};
use super::pem_keys::{BodyEnd, KeyBody, find_header, pending_header};
use super::secret_words::{
    end_of_word, is_word, may_become_secret, secret_start, start_of_last_word,
};

/// How many passed bytes are kept, because the name before a value can mark the value as a secret.
const CONTEXT_BYTES: usize = 256;
/// The longest word that is held back. A longer one is judged by its beginning.
const WORD_BYTES_MAX: usize = 512;

/// Redacts secrets in a stream of bytes. Whatever the chunks are, the result is the same.
pub struct StreamRedactor {
    values: Arc<Vec<Vec<u8>>>,
    scope: RedactionScope,
    replacement: &'static str,
    /// The last bytes that were passed on, followed by the bytes held back.
    buffer: Vec<u8>,
    /// How many of these bytes were passed on.
    passed: usize,
    place: StreamPlace,
    redactions: u64,
}

/// Where the stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamPlace {
    Text,
    /// In the rest of a word whose beginning was redacted.
    SecretWord,
    /// After the header of a private key.
    Key(KeyBody),
}

impl StreamRedactor {
    pub(super) fn new(
        values: Arc<Vec<Vec<u8>>>,
        scope: RedactionScope,
        replacement: &'static str,
    ) -> Self {
        let (buffer, place) = (Vec::new(), StreamPlace::Text);
        Self { values, scope, replacement, buffer, passed: 0, place, redactions: 0 }
    }

    /// Passes on the next bytes, with secrets redacted.
    pub fn push(&mut self, bytes: &[u8], mut out: impl FnMut(&[u8])) {
        self.buffer.extend_from_slice(bytes);
        self.process(false, &mut out);
    }

    /// Passes on the bytes held back.
    pub fn finish(&mut self, mut out: impl FnMut(&[u8])) {
        self.process(true, &mut out);
    }

    /// Returns how often something was redacted so far.
    pub fn redactions(&self) -> u64 {
        self.redactions
    }

    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.buffer.len()
    }

    fn process(&mut self, complete: bool, out: &mut impl FnMut(&[u8])) {
        let buffer = std::mem::take(&mut self.buffer);
        let clean = strip(&buffer, complete);
        let replacement = self.replacement;
        let mut writer = RedactedWriter {
            whole: &buffer,
            clean: &clean,
            written: self.passed,
            replacement,
            out,
        };
        let bytes = &*clean.bytes;
        let mut at = clean.position(self.passed);
        while at < bytes.len() {
            let (next, flow) = match self.place {
                StreamPlace::Text | StreamPlace::SecretWord => {
                    self.read_text(bytes, at, complete, &mut writer)
                }
                StreamPlace::Key(body) => self.read_key(body, bytes, at, complete, &mut writer),
            };
            at = next;
            if flow == StreamFlow::Wait {
                break;
            }
        }
        if at == bytes.len() {
            // Escape codes at the end.
            writer.keep(at);
        }
        let context = writer.written.saturating_sub(CONTEXT_BYTES);
        self.passed = writer.written - context;
        self.buffer = buffer;
        self.buffer.drain(..context);
    }

    /// Reads text up to the header of a key, or to what may be the start of a secret.
    fn read_text(
        &mut self,
        bytes: &[u8],
        at: usize,
        complete: bool,
        writer: &mut RedactedWriter<'_, impl FnMut(&[u8])>,
    ) -> (usize, StreamFlow) {
        let is_continued = self.place == StreamPlace::SecretWord;
        let continued = if is_continued { end_of_word(bytes, at) } else { at };
        let header = self.looks_alike().then(|| find_header(bytes, at)).flatten();
        let end = header.unwrap_or(bytes.len());
        let is_last = complete || header.is_some();
        let words = self.secret_words(&bytes[..end], at);
        // A word that is too long to be held back; its rest is left out when it arrives.
        let open = words
            .last()
            .copied()
            .filter(|word| !is_last && word.end == end && end - word.word > WORD_BYTES_MAX);
        let secrets = merge(self.known_values(&bytes[..end], at).into_iter().chain(words));
        let mut safe = if is_last { end } else { self.safe_end(bytes, at) };
        let is_open = |secret: &FoundSecret, safe| {
            open.is_some_and(|word| secret.end == end && word.start <= safe)
        };
        // A secret that is whole, but may be part of a longer one, is held back too.
        while let Some(cut) = secrets
            .iter()
            .find(|secret| secret.word < safe && safe < secret.end && !is_open(secret, safe))
        {
            safe = cut.word;
        }
        writer.skip(continued.min(safe));
        for secret in secrets.iter().filter(|secret| secret.start < safe) {
            if secret.start >= continued {
                writer.keep(secret.start);
                writer.replace();
                self.redactions += 1;
            }
            writer.skip(secret.end.min(safe));
        }
        writer.keep(safe);
        let goes_on = secrets.last().is_some_and(|last| is_open(last, safe) && last.start < safe)
            || (is_continued && (safe < continued || continued == bytes.len()));
        self.place = if goes_on { StreamPlace::SecretWord } else { StreamPlace::Text };
        if header.is_some() {
            writer.replace();
            self.redactions += 1;
            self.place = StreamPlace::Key(KeyBody::default());
        }
        (safe, if safe < end { StreamFlow::Wait } else { StreamFlow::Continue })
    }

    fn read_key(
        &mut self,
        mut body: KeyBody,
        bytes: &[u8],
        at: usize,
        complete: bool,
        writer: &mut RedactedWriter<'_, impl FnMut(&[u8])>,
    ) -> (usize, StreamFlow) {
        let (end, place, flow) = match body.read(bytes, at, complete) {
            BodyEnd::Open(end) => (end, StreamPlace::Key(body), StreamFlow::Wait),
            BodyEnd::At(end) => (end, StreamPlace::Text, StreamFlow::Continue),
        };
        self.place = place;
        writer.skip(end);
        (end, flow)
    }

    fn looks_alike(&self) -> bool {
        self.scope == RedactionScope::LookAlikes
    }

    fn known_values(&self, bytes: &[u8], from: usize) -> Vec<FoundSecret> {
        let find = |value: &Vec<u8>| {
            let length = value.len();
            let found = memmem::find_iter(&bytes[from..], value).map(|at| from + at);
            found
                .map(|start| FoundSecret { word: start, start, end: start + length })
                .collect::<Vec<_>>()
        };
        self.values.iter().flat_map(find).collect()
    }

    fn secret_words(&self, bytes: &[u8], from: usize) -> Vec<FoundSecret> {
        let mut found = Vec::new();
        if self.scope == RedactionScope::KnownValues {
            return found;
        }
        // The beginning of this word was passed on, because it cannot be a secret.
        let mut at = if is_inside_word(bytes, from) { end_of_word(bytes, from) } else { from };
        while let Some(next) = bytes[at..].iter().position(|byte| is_word(*byte)) {
            let word = at + next;
            let end = end_of_word(bytes, word);
            let judged = end.min(word + WORD_BYTES_MAX);
            let start = secret_start(bytes, word, judged, self.looks_alike());
            found.extend(start.map(|start| FoundSecret { word, start, end }));
            at = end;
        }
        found
    }

    /// Returns the position from which the bytes may be the start of a secret.
    fn safe_end(&self, bytes: &[u8], at: usize) -> usize {
        let word = start_of_last_word(bytes, at);
        let length = bytes.len() - word;
        let is_new = word > at || !is_inside_word(bytes, at);
        let is_pending = (1..=WORD_BYTES_MAX).contains(&length)
            && is_new
            && self.scope != RedactionScope::KnownValues
            && may_become_secret(bytes, word, self.looks_alike());
        let header = self.looks_alike().then(|| pending_header(bytes, at)).flatten();
        let value = self.values.iter().filter_map(|value| pending_value(bytes, at, value)).min();
        let word = is_pending.then_some(word);
        [word, header, value].into_iter().flatten().min().unwrap_or(bytes.len())
    }
}

/// A secret in the clean text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FoundSecret {
    /// Where its word begins, by which it is recognised.
    word: usize,
    /// Where it is redacted from.
    start: usize,
    end: usize,
}

/// Whether to read on, or to wait for more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamFlow {
    Continue,
    Wait,
}

fn is_inside_word(bytes: &[u8], at: usize) -> bool {
    at > 0 && is_word(bytes[at - 1])
}

/// Returns where a value begins that the end of the bytes cuts off.
fn pending_value(bytes: &[u8], from: usize, value: &[u8]) -> Option<usize> {
    let near = bytes.len().saturating_sub(value.len() - 1).max(from);
    let starts = memchr::memchr_iter(value[0], &bytes[near..]).map(|at| near + at);
    starts.into_iter().find(|at| value.starts_with(&bytes[*at..]))
}

/// Merges secrets that overlap.
fn merge(secrets: impl Iterator<Item = FoundSecret>) -> Vec<FoundSecret> {
    let mut sorted: Vec<FoundSecret> = secrets.collect();
    sorted.sort_by_key(|secret| (secret.start, secret.end));
    let mut merged: Vec<FoundSecret> = Vec::with_capacity(sorted.len());
    for secret in sorted {
        match merged.last_mut() {
            Some(last) if secret.start < last.end => {
                last.word = last.word.min(secret.word);
                last.end = last.end.max(secret.end);
            }
            _ => merged.push(secret),
        }
    }
    merged
}

/// Writes the original bytes, and something else for the secrets in them. Positions are those of
/// the clean text; escape codes are always kept.
struct RedactedWriter<'w, O> {
    whole: &'w [u8],
    clean: &'w CleanText<'w>,
    /// How much of the original was written or left out.
    written: usize,
    replacement: &'static str,
    out: &'w mut O,
}

impl<O: FnMut(&[u8])> RedactedWriter<'_, O> {
    /// Writes everything up to a position.
    fn keep(&mut self, to: usize) {
        let to = self.clean.original(to);
        if to > self.written {
            (self.out)(&self.whole[self.written..to]);
            self.written = to;
        }
    }

    fn replace(&mut self) {
        (self.out)(self.replacement.as_bytes());
    }

    /// Leaves out everything up to a position.
    fn skip(&mut self, to: usize) {
        let to = self.clean.original(to);
        self.clean.codes(self.whole, self.written, to, self.out);
        self.written = self.written.max(to);
    }
}
