//! Finds where lines begin and end. Line breaks are `\n`, `\r\n` and `\r`, as in YAML.
//!
//! Every returned position is next to a line break or at an end of the text, so slicing
//! there is safe.

pub(super) fn is_whole(text: &str) -> bool {
    text.is_empty() || text.ends_with(['\n', '\r'])
}

/// Returns where the line that contains `at` begins.
pub(super) fn start(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    before.iter().rposition(|byte| is_break(*byte)).map_or(0, |found| found + 1)
}

/// Returns where the line that contains `at` ends, before its line break.
pub(super) fn content_end(text: &str, at: usize) -> usize {
    let after = text.as_bytes().get(at..).unwrap_or_default();
    after.iter().position(|byte| is_break(*byte)).map_or(text.len(), |found| at + found)
}

/// Returns where the line that contains `at` ends, after its line break.
pub(super) fn end(text: &str, at: usize) -> usize {
    let end = content_end(text, at);
    let rest = text.as_bytes().get(end..).unwrap_or_default();
    end + if rest.starts_with(b"\r\n") { 2 } else { rest.len().min(1) }
}

/// Returns whether a byte is a line break or half of one.
fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}
