//! Recognises private keys in PEM form: their header, and the body that follows it.

use memchr::memmem;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END";
const DASHES: &[u8] = b"-----";
/// The longest label of a header, as in `-----BEGIN LABEL-----`.
const LABEL_BYTES_MAX: usize = 64;
/// A shorter run of letters and digits may be a word of ordinary text.
const LINE_BYTES_MIN: usize = 16;
/// After so many short runs in a row, the text is no key.
const SHORT_RUNS_MAX: usize = 16;

/// Finds the header of a private key, and returns where it ends.
pub(super) fn find_header(bytes: &[u8], from: usize) -> Option<usize> {
    memmem::find_iter(&bytes[from..], BEGIN).find_map(|at| {
        let label = from + at + BEGIN.len();
        match read_label(&bytes[label..]) {
            KeyLabel::Private(length) => Some(label + length),
            KeyLabel::Cut | KeyLabel::Other => None,
        }
    })
}

/// Returns where a header begins that the end of the bytes may cut off.
pub(super) fn pending_header(bytes: &[u8], from: usize) -> Option<usize> {
    let near = bytes.len().saturating_sub(BEGIN.len() + LABEL_BYTES_MAX).max(from);
    let cut_label = memmem::rfind(&bytes[near..], BEGIN).map(|at| near + at);
    let cut_label = cut_label.filter(|at| read_label(&bytes[at + BEGIN.len()..]) == KeyLabel::Cut);
    let cut_begin = || {
        let longest = (BEGIN.len() - 1).min(bytes.len() - from);
        (1..=longest).rev().find(|len| bytes.ends_with(&BEGIN[..*len])).map(|len| bytes.len() - len)
    };
    cut_label.or_else(cut_begin)
}

/// What follows `-----BEGIN `.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyLabel {
    /// The label of a private key; with its length, and that of the dashes.
    Private(usize),
    /// The bytes end too early to tell.
    Cut,
    Other,
}

fn read_label(bytes: &[u8]) -> KeyLabel {
    let is_label = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ';
    let length = bytes.iter().take(LABEL_BYTES_MAX).take_while(|byte| is_label(byte)).count();
    let dashes = &bytes[length..];
    let dashes = &dashes[..dashes.len().min(DASHES.len())];
    if length == LABEL_BYTES_MAX || !DASHES.starts_with(dashes) {
        return KeyLabel::Other;
    }
    if dashes.len() < DASHES.len() {
        return KeyLabel::Cut;
    }
    let label = &bytes[..length];
    if label.ends_with(b"PRIVATE KEY") || label.ends_with(b"PRIVATE KEY BLOCK") {
        KeyLabel::Private(length + DASHES.len())
    } else {
        KeyLabel::Other
    }
}

/// Where the scan of the body of a key is. The body itself is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct KeyBody {
    run_length: usize,
    short_runs: usize,
}

/// How far the body of a key reaches.
pub(super) enum BodyEnd {
    /// All bytes belong to it, up to this position; those after it may be the start of its end.
    Open(usize),
    /// It ends at this position.
    At(usize),
}

impl KeyBody {
    /// Reads on from a position. The body ends at `-----END`, at a quote, or where text
    /// follows that is no key.
    pub(super) fn read(&mut self, bytes: &[u8], from: usize, complete: bool) -> BodyEnd {
        let mut at = from;
        while at < bytes.len() {
            let byte = bytes[at];
            if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=') {
                self.run_length += 1;
                at += 1;
                continue;
            }
            // An escaped quote keeps its backslashes, so that JSON stays valid.
            let quote = bytes[at..].iter().position(|byte| *byte != b'\\').unwrap_or(0);
            let rest = &bytes[at..];
            if self.end_run() || rest.starts_with(END) || rest.get(quote) == Some(&b'"') {
                return BodyEnd::At(at);
            }
            let cut = rest.len() < END.len() && END.starts_with(rest);
            let cut_quote = rest.iter().all(|byte| *byte == b'\\');
            if (cut || cut_quote) && !complete && rest.len() < LABEL_BYTES_MAX {
                return BodyEnd::Open(at);
            }
            at += quote.max(1);
        }
        BodyEnd::Open(at)
    }

    /// Ends a run of letters and digits. Returns whether the text is no key any more.
    fn end_run(&mut self) -> bool {
        match self.run_length {
            0 => {}
            1..LINE_BYTES_MIN => self.short_runs += 1,
            _ => self.short_runs = 0,
        }
        self.run_length = 0;
        self.short_runs >= SHORT_RUNS_MAX
    }
}
