//! The journal (write-ahead log): one checksummed line a commit, synced before the files change.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use adjutant_model::relative_path::RelPath;
use adjutant_model::{Status, TaskId, Time};
use serde::{Deserialize, Serialize};

use super::sync_state::SyncState;
use super::{FileContent, fault};
use crate::batch::{PendingEffect, StoreVersion};
use crate::format::{FormatPart, JOURNAL_FORMAT};
use crate::store::StoreError;

/// The journal, opened for writing.
pub(super) struct CommitJournal {
    folder: PathBuf,
    number: u64,
    file: File,
    /// How far this process has read or written the current file.
    offset: u64,
    sync_state: SyncState,
}

/// A commit in the journal.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct JournalEntry<'a> {
    pub(super) version: u64,
    /// Names the event file to which the lines go.
    pub(super) day: Cow<'a, str>,
    pub(super) lines: Vec<Cow<'a, str>>,
    pub(super) ops: Vec<JournalOp<'a>>,
    #[serde(rename = "owed", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pending_effects: Vec<PendingEffect>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) settled: Vec<(u64, u32)>,
    /// Answers for requests of other nodes; only in a commit that is sent to them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) answers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

/// A change of a file in the journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum JournalOp<'a> {
    #[serde(rename_all = "camelCase")]
    Task {
        id: Cow<'a, str>,
        from: Option<Cow<'a, str>>,
        to: Cow<'a, str>,
        was: Option<String>,
        text: Cow<'a, str>,
    },
    Put {
        path: Cow<'a, str>,
        #[serde(default)]
        was: Option<String>,
        text: FileContent<'a>,
        /// The node whose agent wrote the file, if it was replicated. That node's own
        /// copy is newer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Cow<'a, str>>,
    },
    Move {
        from: Cow<'a, str>,
        to: Cow<'a, str>,
        /// The hash of the moved file; `None` for a folder, and in older journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        was: Option<String>,
    },
}

/// The first line of a journal file.
#[derive(Debug, Serialize, Deserialize)]
struct JournalHead {
    /// The format number of the file.
    journal: u64,
    /// The version before the first commit in the file.
    base: u64,
}

/// A position in the journal: the file's number and the byte offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct JournalPosition {
    pub(super) number: u64,
    pub(super) offset: u64,
}

/// The commits read from one journal file.
pub(super) struct JournalRead {
    pub(super) entries: Vec<JournalEntry<'static>>,
    /// Where the last complete line ends.
    pub(super) end: u64,
    /// The version before the first commit; `None` unless reading began at the start of the file.
    pub(super) base: Option<StoreVersion>,
    /// Whether an incomplete line follows.
    torn: bool,
    /// Whether the file is shorter than the offset at which reading should begin.
    pub(super) is_short: bool,
}

impl CommitJournal {
    /// Opens the last file of the journal, or creates the first.
    pub(super) fn open(folder: &Path) -> Result<Self, StoreError> {
        match numbers(folder)?.last() {
            Some(number) => Self::open_number(folder, *number),
            None => Self::create(folder, 1, StoreVersion(0)),
        }
    }

    /// Creates the first file of a journal that continues after a version.
    pub(super) fn begin(folder: &Path, base: StoreVersion) -> Result<Self, StoreError> {
        Self::create(folder, 1, base)
    }

    fn open_number(folder: &Path, number: u64) -> Result<Self, StoreError> {
        let path = path(folder, number);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(&path)
            .map_err(StoreError::io("open", &path))?;
        let settled = SyncState::unknown(path);
        Ok(Self { folder: folder.to_owned(), number, file, offset: 0, sync_state: settled })
    }

    /// Creates a journal file. A rename puts it in place, so its first line is complete or the
    /// file is missing.
    fn create(folder: &Path, number: u64, base: StoreVersion) -> Result<Self, StoreError> {
        let head = encode_line(&JournalHead { journal: JOURNAL_FORMAT.into(), base: base.0 });
        let (new, path) = (folder.join("tmp").join("journal"), path(folder, number));
        fault::point();
        let made = write_new(&new, head.as_bytes()).and_then(|()| {
            fault::point();
            fs::rename(&new, &path)
        });
        if let Err(error) = made {
            let _ = fs::remove_file(&new);
            return Err(StoreError::io("create", &path)(error));
        }
        sync_folder(folder)?;
        if number == 1 {
            // The folder itself is new, and the folders above it may be new too.
            folder.ancestors().skip(1).take(2).for_each(sync_parent);
        }
        let mut journal = Self::open_number(folder, number)?;
        journal.offset = head.len() as u64;
        Ok(journal)
    }

    pub(super) fn position(&self) -> JournalPosition {
        JournalPosition { number: self.number, offset: self.offset }
    }

    /// Appends a commit and syncs it. If it cannot be written whole, it is removed again, and
    /// the error means that nothing changed. If it cannot be synced, `Stopped` means that the
    /// result is unknown.
    pub(super) fn append(&mut self, entry: &JournalEntry<'_>) -> Result<(), StoreError> {
        self.append_line(&encode_line(entry))
    }

    /// Appends several commits, all or none, and syncs them together.
    pub(super) fn append_all(&mut self, entries: &[JournalEntry<'_>]) -> Result<(), StoreError> {
        self.append_line(&entries.iter().map(encode_line).collect::<String>())
    }

    /// Appends encoded commits, and syncs them.
    pub(super) fn append_line(&mut self, text: &str) -> Result<(), StoreError> {
        self.wait_synced()?;
        self.write(text)?;
        self.sync()?;
        self.offset += text.len() as u64;
        Ok(())
    }

    /// Appends a commit that has a synced copy elsewhere, and syncs the journal in the background.
    pub(super) fn append_unsynced(&mut self, text: &str) -> Result<(), StoreError> {
        self.wait_synced()?;
        self.write(text)?;
        self.sync_state.start_sync(&self.file);
        self.offset += text.len() as u64;
        Ok(())
    }

    /// Waits until everything that any process appended survives a power cut.
    pub(super) fn wait_synced(&self) -> Result<(), StoreError> {
        self.sync_state.wait(&self.file).map_err(|_| StoreError::Stopped)
    }

    fn write(&mut self, text: &str) -> Result<(), StoreError> {
        if let Err(error) = fault::write_all(&mut self.file, text.as_bytes()) {
            self.truncate(self.offset).map_err(|_| StoreError::Stopped)?;
            return Err(StoreError::io("write", self.path())(error));
        }
        Ok(())
    }

    /// Syncs everything that any process appended. The system reports a failed sync only once, so
    /// after a failure the journal promises nothing more.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        fault::point();
        self.sync_state.mark_unknown();
        self.wait_synced()
    }

    /// Reads what was appended since this process last read, on into newer files, and cuts off an
    /// incomplete line that a dead process left. Only the holder of the lock may call it. Returns
    /// `None` if a file is gone that this process had not read to its end.
    pub(super) fn catch_up(&mut self) -> Result<Option<Vec<JournalEntry<'static>>>, StoreError> {
        let mut entries = Vec::new();
        loop {
            let path = self.path();
            let stretch = read_from(&mut self.file, self.offset, &path)?;
            if stretch.is_short {
                return Ok(None);
            }
            entries.extend(stretch.entries);
            self.offset = stretch.end;
            match Self::open_number(&self.folder, self.number + 1) {
                Ok(next) => {
                    self.wait_synced()?;
                    *self = next;
                }
                Err(error) if is_not_found(&error) => {
                    if !is_same_file(&self.file, &path) {
                        return Ok(None);
                    }
                    if stretch.torn {
                        self.truncate(stretch.end).map_err(StoreError::io("cut", path))?;
                    }
                    if !entries.is_empty() {
                        self.sync_state.mark_unknown();
                    }
                    return Ok(Some(entries));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Continues after commits that were read from the last file, and cuts off an incomplete line.
    /// Only the holder of the lock may call it.
    pub(super) fn continue_after(&mut self, stretch: &JournalRead) -> Result<(), StoreError> {
        self.offset = stretch.end;
        if stretch.torn {
            self.truncate(stretch.end).map_err(StoreError::io("cut", self.path()))?;
        }
        Ok(())
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        fault::point();
        self.file.set_len(length)
    }

    /// Starts a new file after `version`, and returns the number of the old one.
    pub(super) fn rotate(&mut self, version: StoreVersion) -> Result<u64, StoreError> {
        self.wait_synced()?;
        let old = self.number;
        *self = Self::create(&self.folder, old + 1, version)?;
        Ok(old)
    }

    fn path(&self) -> PathBuf {
        path(&self.folder, self.number)
    }
}

/// Returns the numbers of the journal files, sorted.
pub(super) fn numbers(folder: &Path) -> Result<Vec<u64>, StoreError> {
    let entries = fs::read_dir(folder).map_err(StoreError::io("read", folder))?;
    let mut numbers: Vec<u64> = entries
        .filter_map(|entry| {
            entry.ok()?.file_name().to_str()?.strip_suffix(".wal")?.parse::<u32>().ok()
        })
        .map(u64::from)
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Returns the paths of the journal files; empty if there is no journal.
pub(super) fn paths(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    match numbers(folder) {
        Err(error) if is_not_found(&error) => Ok(vec![]),
        numbers => Ok(numbers?.into_iter().map(|number| path(folder, number)).collect()),
    }
}

/// Returns the format number in the first bytes of a journal file; `None` if it is damaged.
pub(super) fn format_of(start: &[u8]) -> Option<u64> {
    let head = start.split(|byte| *byte == b'\n').next()?;
    head_format(verify_checksum(head)?)
}

/// Reads only the format number: a newer format may have other fields.
fn head_format(json: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct HeadFormat {
        journal: u64,
    }
    serde_json::from_str(json).ok().map(|head: HeadFormat| head.journal)
}

/// Reads one journal file from an offset on.
pub(super) fn read(folder: &Path, number: u64, offset: u64) -> Result<JournalRead, StoreError> {
    let path = path(folder, number);
    let mut file = File::open(&path).map_err(StoreError::io("open", &path))?;
    read_from(&mut file, offset, &path)
}

/// Removes the journal files up to and including a number.
pub(super) fn remove_up_to(folder: &Path, number: u64) -> Result<(), StoreError> {
    for old in numbers(folder)?.into_iter().filter(|old| *old <= number) {
        let path = path(folder, old);
        fault::point();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove", &path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    fault::write_all(&mut file, bytes)?;
    fault::point();
    file.sync_data()
}

/// Returns true if an operation failed because a file is missing.
pub(super) fn is_not_found(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// Returns true if `path` still names the open file.
pub(super) fn is_same_file(file: &File, path: &Path) -> bool {
    let both = file.metadata().and_then(|open| Ok((open, fs::metadata(path)?)));
    both.is_ok_and(|(open, named)| (open.dev(), open.ino()) == (named.dev(), named.ino()))
}

fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.wal"))
}

fn read_from(file: &mut File, offset: u64, path: &Path) -> Result<JournalRead, StoreError> {
    let io = |attempt| StoreError::io(attempt, path);
    let length = file.metadata().map_err(io("read"))?.len();
    let is_short = length < offset;
    let mut stretch =
        JournalRead { entries: vec![], end: offset, base: None, torn: false, is_short };
    if length <= offset {
        return Ok(stretch);
    }
    file.seek(SeekFrom::Start(offset)).map_err(io("read"))?;
    let mut bytes = Vec::with_capacity(usize::try_from(length - offset).unwrap_or(0));
    file.read_to_end(&mut bytes).map_err(io("read"))?;
    let mut rest = &bytes[..];
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, after) = rest.split_at(end + 1);
        let Some(json) = verify_checksum(&line[..end]) else { break };
        stretch.push_line(json, path)?;
        stretch.end += line.len() as u64;
        rest = after;
    }
    check_tail(rest, stretch.end, path)?;
    stretch.torn = !rest.is_empty();
    Ok(stretch)
}

impl JournalRead {
    fn push_line(&mut self, json: &str, path: &Path) -> Result<(), StoreError> {
        let damaged = |why: String| {
            let what = format!("the entry at byte {} is invalid ({why}); {ADVICE}", self.end);
            StoreError::Damaged { path: path.to_owned(), what }
        };
        if self.end == 0 {
            let format = head_format(json).unwrap_or_default();
            FormatPart::Journal.expect_known(format)?;
            let head: JournalHead =
                serde_json::from_str(json).map_err(|error| damaged(error.to_string()))?;
            self.base = Some(StoreVersion(head.base));
            return Ok(());
        }
        let entry: JournalEntry<'static> =
            serde_json::from_str(json).map_err(|error| damaged(error.to_string()))?;
        if !entry.is_inside_folder() {
            return Err(damaged("it names a file outside the folder".to_owned()));
        }
        self.entries.push(entry);
        Ok(())
    }
}

impl JournalEntry<'_> {
    /// Returns false for a commit that would write outside the folder: a foreign journal must
    /// not do that.
    pub(super) fn is_inside_folder(&self) -> bool {
        let inside = |path: &str| {
            let ours = ["tasks/", "runs/", "epics/"];
            ours.iter().any(|folder| path.starts_with(folder)) && RelPath::parse(path).is_ok()
        };
        let day = Time::parse(&format!("{}T00:00:00Z", self.day)).is_ok();
        day && self.ops.iter().all(|op| match op {
            JournalOp::Task { id, from, to, .. } => {
                let statuses = from.iter().chain([to]).all(|text| Status::parse(text).is_some());
                TaskId::parse(id).is_ok() && statuses
            }
            JournalOp::Put { path, .. } => inside(path),
            JournalOp::Move { from, to, .. } => inside(from) && inside(to),
        })
    }
}

const ADVICE: &str = "copy the folder, then run `adjutant doctor`";

/// An incomplete line at the end was being written when a process died, and is ignored. It is
/// damage if a good line follows it.
fn check_tail(rest: &[u8], end: u64, path: &Path) -> Result<(), StoreError> {
    let later = rest.split(|byte| *byte == b'\n').skip(1);
    if later.into_iter().any(|line| verify_checksum(line).is_some()) {
        let what =
            format!("the entry at byte {end} is damaged, and valid ones follow it; {ADVICE}");
        return Err(StoreError::Damaged { path: path.to_owned(), what });
    }
    Ok(())
}

/// Encodes a journal line.
pub(super) fn encode_line<T: Serialize>(content: &T) -> String {
    let json = serde_json::to_string(content).expect("text and numbers always make JSON");
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

/// Decodes a commit from a line that anything may follow; `None` if it is incomplete.
pub(super) fn decode_line(bytes: &[u8]) -> Option<JournalEntry<'static>> {
    let line = &bytes[..bytes.iter().position(|byte| *byte == b'\n')?];
    serde_json::from_str(verify_checksum(line)?).ok()
}

/// Returns the JSON of a line if its checksum is right.
fn verify_checksum(line: &[u8]) -> Option<&str> {
    let (sum, json) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let sum = u32::from_str_radix(sum, 16).ok().filter(|_| sum.len() == 8)?;
    (crc32fast::hash(json.as_bytes()) == sum).then_some(json)
}

/// Makes the names in a folder survive a power cut.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    fault::point();
    let io = StoreError::io("sync", folder);
    File::open(folder).and_then(|file| file.sync_all()).map_err(io)
}

/// Ignores errors: a folder above the data folder may belong to another user.
fn sync_parent(folder: &Path) {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let _ = sync_folder(here);
}

#[cfg(test)]
mod tests {
    use super::JournalOp;

    #[test]
    fn journal_move_of_older_format_has_no_hash() {
        let op = serde_json::from_str(r#"{"move":{"from":"runs/a","to":"runs/b"}}"#);
        assert!(matches!(op, Ok(JournalOp::Move { was: None, .. })), "{op:?}");
    }
}
