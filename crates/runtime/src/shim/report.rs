//! The document in which a run says what came of it: taken from its file as soon as it is whole, and
//! at the latest, whole or not, when the run is over; else from the end of what was printed.
//!
//! What is half written is not read: it counts when nothing is wrong in it and it has not changed
//! between two looks.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

use adjutant_core::aof::MESSAGE_BYTES_MAX;
use adjutant_core::dialect::DocumentKind;
use rustix::fs::OFlags;

use super::files::Folder;
use super::outbox::Said;
use super::spec;
use crate::document;

/// The time between two looks.
pub(super) const PAUSE: Duration = Duration::from_millis(500);

/// The most documents that are taken from a run before it is over.
const TAKEN_MAX: u32 = 16;

/// The file of a report, and what is known of it.
pub(crate) struct Report {
    path: PathBuf,
    kind: DocumentKind,
    /// What was there at the last look.
    seen: Option<Seen>,
    /// What was taken last.
    taken: Option<String>,
    count: u32,
}

/// What a look found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    /// By what a change is noticed: which file it is, its length and when it was written.
    mark: (u64, u64, i64, i64),
    text: Text,
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Text {
    /// This.
    Read(String),
    /// This, as far as it can be shown, and why it cannot be taken.
    Flawed(String, String),
}

impl Report {
    /// Names the report of a run, if it leaves one.
    pub(crate) fn of(report: Option<&spec::Report>, folder: &Folder) -> Option<Self> {
        let report = report?;
        let (kind, path) = (DocumentKind::parse(&report.kind)?, folder.join(&report.file));
        Some(Self { path, kind, seen: None, taken: None, count: 0 })
    }

    pub(super) fn kind(&self) -> DocumentKind {
        self.kind
    }

    /// Looks whether there is a document that can be taken while the run goes on.
    pub(super) fn look(&mut self) -> Option<Said> {
        let seen = self.read();
        let is_settled = seen.is_some() && seen == self.seen;
        self.seen = seen;
        let Some(Seen { text: Text::Read(text), .. }) = self.seen.as_ref().filter(|_| is_settled)
        else {
            return None;
        };
        if self.taken.as_ref() == Some(text)
            || self.count == TAKEN_MAX
            || !document::is_whole(self.kind, text.as_bytes())
        {
            return None;
        }
        self.count += 1;
        self.taken = Some(text.clone());
        Some(self.said(text.clone(), None))
    }

    /// Takes what is there now that the run is over, unless it was taken.
    pub(crate) fn last(&self) -> Option<Said> {
        match self.read()?.text {
            Text::Read(text) if self.taken.as_ref() == Some(&text) => None,
            Text::Read(text) => Some(self.said(text, None)),
            Text::Flawed(text, flaw) => Some(self.said(text, Some(flaw))),
        }
    }

    /// Looks for a document at the end of what was printed.
    pub(super) fn printed(&self, output: &str) -> Option<Said> {
        document::at_end(self.kind, output).map(|text| self.said(text, None))
    }

    fn said(&self, line: String, flaw: Option<String>) -> Said {
        Said { line, kind: Some(self.kind.to_string()), flaw }
    }

    /// Reads the file, and no more of it than a message may have. One that is not there is none.
    fn read(&self) -> Option<Seen> {
        match self.try_read() {
            Ok(seen) => Some(seen),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(flawed((0, 0, 0, 0), "", format!("cannot be read: {error}"))),
        }
    }

    fn try_read(&self) -> io::Result<Seen> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&self.path)?;
        let meta = file.metadata()?;
        let mark = (meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
        if !meta.is_file() {
            return Ok(flawed(mark, "", "is no file".to_owned()));
        }
        let mut bytes = Vec::new();
        file.take(MESSAGE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => Seen { mark, text: Text::Read(text) },
            Err(error) => {
                let shown = String::from_utf8_lossy(error.as_bytes()).into_owned();
                flawed(mark, &shown, format!("is not text: {error}"))
            }
        })
    }
}

fn flawed(mark: (u64, u64, i64, i64), shown: &str, flaw: String) -> Seen {
    Seen { mark, text: Text::Flawed(shown.to_owned(), flaw) }
}
