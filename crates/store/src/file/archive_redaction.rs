//! Rewrites an archive with secrets redacted, so that it is still complete and consistent: its
//! checksum, and the hash chain of its event log.

use std::io::{Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use tar::{Archive, Builder};

use super::archive::{
    ArchiveWriter, UnpackError, add_to_checksum, hex, read_error, read_label, write_error,
};
use super::archive_scope::LABEL;
use crate::document_paths::EVENTS;
use crate::hash::ShortHash;

/// Redacts bytes, and returns them with the number of redactions; `None` if there is none.
pub type BytesRedactor<'r> = &'r dyn Fn(&[u8]) -> Option<(Vec<u8>, u64)>;

/// A file of an archive in which something was redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedFile {
    pub path: String,
    pub count: u64,
}

/// Copies an archive that [`FileStore::pack`](super::FileStore::pack) wrote. Returns the files in
/// which something was redacted.
pub fn redact_archive(
    archive: impl Read,
    out: impl Write,
    redact: BytesRedactor<'_>,
) -> Result<Vec<RedactedFile>, UnpackError> {
    let mut archive = Archive::new(archive);
    let mut tar = ArchiveWriter { tar: Builder::new(out), sum: Sha256::new(), files: 0 };
    let (mut chain, mut redacted_files) = (ChainRewriter::default(), Vec::new());
    for entry in archive.entries().map_err(read_error)? {
        let mut entry = entry.map_err(read_error)?;
        let path = entry.path().map_err(read_error)?.into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(read_error)?;
        let is_log = path.starts_with(EVENTS) && path.extension().is_some_and(|end| end == "jsonl");
        let (bytes, count) = if is_log {
            chain.redact(&bytes, redact)
        } else {
            redact(&bytes).unwrap_or((bytes, 0))
        };
        if path == Path::new(LABEL) {
            let mut label = read_label(&String::from_utf8_lossy(&bytes))?;
            label.sha256 = hex(tar.sum.clone());
            let text = serde_json::to_string(&label).expect("text and numbers always make JSON");
            tar.append(&path, text.as_bytes())?;
            continue;
        }
        if count > 0 {
            redacted_files.push(RedactedFile { path: path.display().to_string(), count });
        }
        add_to_checksum(&mut tar.sum, &path, bytes.len() as u64);
        tar.sum.update(&bytes);
        tar.append(&path, &bytes)?;
    }
    tar.tar.into_inner().and_then(|mut out| out.flush()).map_err(write_error())?;
    Ok(redacted_files)
}

/// Redacts the lines of the event log, and chains each line to the one before as it is now.
#[derive(Default)]
struct ChainRewriter {
    /// The hash of the last line as it was and as it is now, once they differ.
    changed: Option<(ShortHash, ShortHash)>,
}

impl ChainRewriter {
    fn redact(&mut self, file: &[u8], redact: BytesRedactor<'_>) -> (Vec<u8>, u64) {
        let (mut out, mut redactions) = (Vec::with_capacity(file.len()), 0);
        for line in file.split_inclusive(|byte| *byte == b'\n') {
            let end = line.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1);
            let (text, line_break) = line.split_at(end);
            let (mut new, count) = redact(text).unwrap_or((text.to_owned(), 0));
            redactions += count;
            if let Some((old, now)) = self.changed {
                new = replace_last(&new, &prev_field(old), &prev_field(now));
            }
            if !text.is_empty() {
                let hashes = (ShortHash::digest(text), ShortHash::digest(&new));
                self.changed = (hashes.0 != hashes.1).then_some(hashes);
            }
            out.extend_from_slice(&new);
            out.extend_from_slice(line_break);
        }
        (out, redactions)
    }
}

fn prev_field(hash: ShortHash) -> String {
    format!("\"prev\":\"{hash}\"")
}

/// Replaces the last occurrence: the field is at the end of a line, after the payload.
fn replace_last(text: &[u8], from: &str, to: &str) -> Vec<u8> {
    match memchr::memmem::rfind(text, from.as_bytes()) {
        Some(at) => [&text[..at], to.as_bytes(), &text[at + from.len()..]].concat(),
        None => text.to_owned(),
    }
}
