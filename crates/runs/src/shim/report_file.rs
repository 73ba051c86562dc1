//! The report document of a run: taken from its file as soon as the file is complete, and in any
//! case when the run has ended; otherwise from the end of the output.
//!
//! A half-written file is not taken: while the run continues, the document must be valid and
//! unchanged between two reads.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

use adjutant_core::protocols::aof::MESSAGE_BYTES_MAX;
use adjutant_model::document::DocumentKind;
use adjutant_run_files::attempt_files::AttemptFolder;
use adjutant_run_files::shim_spec;
use rustix::fs::OFlags;

use super::outbox::RunMessage;
use crate::report_document;

/// The time between two reads of the file.
pub(super) const POLL_PAUSE: Duration = Duration::from_millis(500);

/// The most documents taken from a run before it has ended.
const TAKEN_MAX: u32 = 16;

pub struct ReportFile {
    path: PathBuf,
    kind: DocumentKind,
    /// The content at the last read.
    seen: Option<ReportContent>,
    /// The document that was taken last.
    taken: Option<String>,
    count: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ReportContent {
    /// Detects a change: inode, length and modification time.
    mark: (u64, u64, i64, i64),
    text: ReportText,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ReportText {
    Read(String),
    /// The readable part of the content, and why it cannot be taken.
    Flawed(String, String),
}

impl ReportFile {
    /// Returns the report of a run; `None` if the run leaves no document.
    pub fn from_spec(
        report: Option<&shim_spec::ReportSpec>,
        folder: &AttemptFolder,
    ) -> Option<Self> {
        let report = report?;
        let (kind, path) = (DocumentKind::parse(&report.kind)?, folder.join(&report.file));
        Some(Self { path, kind, seen: None, taken: None, count: 0 })
    }

    pub(super) fn kind(&self) -> DocumentKind {
        self.kind
    }

    /// Reads the file, and returns a new document that is complete while the run continues.
    pub(super) fn poll(&mut self) -> Option<RunMessage> {
        let seen = self.read();
        let is_settled = seen.is_some() && seen == self.seen;
        self.seen = seen;
        let Some(ReportContent { text: ReportText::Read(text), .. }) =
            self.seen.as_ref().filter(|_| is_settled)
        else {
            return None;
        };
        if self.taken.as_ref() == Some(text)
            || self.count == TAKEN_MAX
            || !report_document::is_whole(self.kind, text.as_bytes())
        {
            return None;
        }
        self.count += 1;
        self.taken = Some(text.clone());
        Some(self.to_message(text.clone(), None))
    }

    /// Returns the document now that the run has ended, complete or not, unless it
    /// was taken before.
    pub fn final_message(&self) -> Option<RunMessage> {
        match self.read()?.text {
            ReportText::Read(text) if self.taken.as_ref() == Some(&text) => None,
            ReportText::Read(text) => Some(self.to_message(text, None)),
            ReportText::Flawed(text, flaw) => Some(self.to_message(text, Some(flaw))),
        }
    }

    /// Finds a document at the end of the output.
    pub(super) fn find_in_output(&self, output: &str) -> Option<RunMessage> {
        report_document::find_last(self.kind, output).map(|text| self.to_message(text, None))
    }

    fn to_message(&self, text: String, flaw: Option<String>) -> RunMessage {
        RunMessage { kind: Some(self.kind), flaw, ..RunMessage::from_text(text) }
    }

    /// Reads the file, up to the size of a message; `None` if there is no file.
    fn read(&self) -> Option<ReportContent> {
        match self.try_read() {
            Ok(seen) => Some(seen),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                Some(unusable_content((0, 0, 0, 0), "", format!("cannot be read: {error}")))
            }
        }
    }

    fn try_read(&self) -> io::Result<ReportContent> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&self.path)?;
        let meta = file.metadata()?;
        let mark = (meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
        if !meta.is_file() {
            return Ok(unusable_content(mark, "", "is not a file".to_owned()));
        }
        let mut bytes = Vec::new();
        file.take(MESSAGE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => ReportContent { mark, text: ReportText::Read(text) },
            Err(error) => {
                let shown = String::from_utf8_lossy(error.as_bytes()).into_owned();
                unusable_content(mark, &shown, format!("is not text: {error}"))
            }
        })
    }
}

fn unusable_content(mark: (u64, u64, i64, i64), shown: &str, flaw: String) -> ReportContent {
    ReportContent { mark, text: ReportText::Flawed(shown.to_owned(), flaw) }
}
