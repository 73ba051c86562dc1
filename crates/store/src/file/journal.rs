//! The journal: one checksummed line a commit, appended and synced before anything else happens.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use adjutant_core::path::RelPath;
use adjutant_core::{Status, TaskId, Time};
use serde::{Deserialize, Serialize};

use crate::batch::Version;
use crate::format::{FormatPart, JOURNAL_FORMAT};
use crate::store::StoreError;
use crate::wire::OwedWire;

use super::content::Content;
use super::fault;
use super::settled::Settled;

/// The journal, opened for writing.
pub(super) struct Journal {
    folder: PathBuf,
    number: u64,
    file: File,
    /// Where this process has read or written up to.
    offset: u64,
    settled: Settled,
}

/// A commit, as the journal keeps it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Entry<'a> {
    pub(super) version: u64,
    /// The day whose file the lines go to.
    pub(super) day: Cow<'a, str>,
    pub(super) lines: Vec<Cow<'a, str>>,
    pub(super) ops: Vec<OpWire<'a>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) owed: Vec<OwedWire>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) settled: Vec<(u64, u32)>,
    /// What others are answered who asked for it; only where a commit travels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) answers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

/// A change of the files, as the journal keeps it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum OpWire<'a> {
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
        text: Content<'a>,
        /// The node whose agent wrote it, where it is carried from one machine to the others:
        /// what lies there is newer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Cow<'a, str>>,
    },
    Move {
        from: Cow<'a, str>,
        to: Cow<'a, str>,
        /// What a file said that was moved; none of a folder, and in older journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        was: Option<String>,
    },
}

/// The first line of a file of the journal.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// The format of the file.
    journal: u64,
    /// The version before the first commit in it.
    base: u64,
}

/// Where a reader stands: which file, and how far into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Position {
    pub(super) number: u64,
    pub(super) offset: u64,
}

/// What a stretch of the journal holds.
pub(super) struct Stretch {
    pub(super) entries: Vec<Entry<'static>>,
    /// Where the last whole line ends.
    pub(super) end: u64,
    /// The version before the first commit, if the stretch began at the start of a file.
    pub(super) base: Option<Version>,
    /// Whether a line follows that was never finished.
    torn: bool,
    /// Whether the file ends before the stretch begins.
    pub(super) is_short: bool,
}

impl Journal {
    /// Opens the last file of the journal, or makes the first.
    pub(super) fn open(folder: &Path) -> Result<Self, StoreError> {
        match numbers(folder)?.last() {
            Some(number) => Self::open_number(folder, *number),
            None => Self::create(folder, 1, Version(0)),
        }
    }

    /// Makes the first file of a journal that goes on after a version.
    pub(super) fn begin(folder: &Path, base: Version) -> Result<Self, StoreError> {
        Self::create(folder, 1, base)
    }

    fn open_number(folder: &Path, number: u64) -> Result<Self, StoreError> {
        let path = path(folder, number);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(&path)
            .map_err(StoreError::io("open", &path))?;
        let settled = Settled::unknown(path);
        Ok(Self { folder: folder.to_owned(), number, file, offset: 0, settled })
    }

    /// Makes a file of the journal. Its head goes in with a rename, so that it is whole or absent.
    fn create(folder: &Path, number: u64, base: Version) -> Result<Self, StoreError> {
        let head = line(&Head { journal: JOURNAL_FORMAT.into(), base: base.0 });
        let (new, path) = (folder.join("tmp").join("journal"), path(folder, number));
        fault::point();
        let made = write_new(&new, head.as_bytes()).and_then(|()| {
            fault::point();
            fs::rename(&new, &path)
        });
        if let Err(error) = made {
            let _ = fs::remove_file(&new);
            return Err(StoreError::io("make", &path)(error));
        }
        sync_folder(folder)?;
        if number == 1 {
            // The folder itself is new, and so may be those around it.
            folder.ancestors().skip(1).take(2).for_each(sync_above);
        }
        let mut journal = Self::open_number(folder, number)?;
        journal.offset = head.len() as u64;
        Ok(journal)
    }

    /// Returns where this process stands.
    pub(super) fn position(&self) -> Position {
        Position { number: self.number, offset: self.offset }
    }

    /// Appends a commit and syncs it. If it cannot be written whole, it is taken back, and an
    /// error says that nothing changed; if it cannot be synced, `Stopped` says that nobody knows.
    pub(super) fn append(&mut self, entry: &Entry<'_>) -> Result<(), StoreError> {
        self.append_line(&line(entry))
    }

    /// Appends several commits, all of them or none, and syncs them together.
    pub(super) fn append_all(&mut self, entries: &[Entry<'_>]) -> Result<(), StoreError> {
        self.append_line(&entries.iter().map(line).collect::<String>())
    }

    /// Appends commits that are written out already, and syncs them.
    pub(super) fn append_line(&mut self, text: &str) -> Result<(), StoreError> {
        self.settle()?;
        self.write(text)?;
        self.sync()?;
        self.offset += text.len() as u64;
        Ok(())
    }

    /// Appends a commit that is kept elsewhere until it is synced here, which goes on meanwhile.
    pub(super) fn append_kept(&mut self, text: &str) -> Result<(), StoreError> {
        self.settle()?;
        self.write(text)?;
        self.settled.begin(&self.file);
        self.offset += text.len() as u64;
        Ok(())
    }

    /// Waits until everything that was appended survives a power cut, whoever appended it.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        self.settled.wait(&self.file).map_err(|_| StoreError::Stopped)
    }

    fn write(&mut self, text: &str) -> Result<(), StoreError> {
        if let Err(error) = fault::write_all(&mut self.file, text.as_bytes()) {
            self.cut(self.offset).map_err(|_| StoreError::Stopped)?;
            return Err(StoreError::io("write", self.path())(error));
        }
        Ok(())
    }

    /// Makes what was appended survive a power cut, whoever appended it. The system tells once that
    /// it could not: nothing is promised from then on.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        fault::point();
        self.settled.doubt();
        self.settle()
    }

    /// Reads what was appended since this process last read, following on into newer files, and
    /// cuts off a line that was being written when its process died. Only who holds the lock may.
    /// Returns none if a file it had not finished with is gone.
    pub(super) fn catch_up(&mut self) -> Result<Option<Vec<Entry<'static>>>, StoreError> {
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
                    self.settle()?;
                    *self = next;
                }
                Err(error) if is_gone(&error) => {
                    if !is_named(&self.file, &path) {
                        return Ok(None);
                    }
                    if stretch.torn {
                        self.cut(stretch.end).map_err(StoreError::io("cut", path))?;
                    }
                    if !entries.is_empty() {
                        self.settled.doubt();
                    }
                    return Ok(Some(entries));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Goes to the end of a stretch that was read from the last file, and cuts off a line that was
    /// never finished. Only who holds the lock may.
    pub(super) fn go_on_after(&mut self, stretch: &Stretch) -> Result<(), StoreError> {
        self.offset = stretch.end;
        if stretch.torn {
            self.cut(stretch.end).map_err(StoreError::io("cut", self.path()))?;
        }
        Ok(())
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        fault::point();
        self.file.set_len(length)
    }

    /// Starts a new file after `version`, and returns the number of the one before.
    pub(super) fn rotate(&mut self, version: Version) -> Result<u64, StoreError> {
        self.settle()?;
        let old = self.number;
        *self = Self::create(&self.folder, old + 1, version)?;
        Ok(old)
    }

    fn path(&self) -> PathBuf {
        path(&self.folder, self.number)
    }
}

/// Returns the numbers of the files of the journal, in order.
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

/// Returns the paths of the files of the journal; none if there is no journal.
pub(super) fn paths(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    match numbers(folder) {
        Err(error) if is_gone(&error) => Ok(vec![]),
        numbers => Ok(numbers?.into_iter().map(|number| path(folder, number)).collect()),
    }
}

/// Returns the format of a file of the journal, by its first bytes; none if it is damaged.
pub(super) fn format_of(start: &[u8]) -> Option<u64> {
    let head = start.split(|byte| *byte == b'\n').next()?;
    head_format(checked(head)?)
}

/// The head of a newer format may have other fields besides.
fn head_format(json: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct HeadFormat {
        journal: u64,
    }
    serde_json::from_str(json).ok().map(|head: HeadFormat| head.journal)
}

/// Reads one file of the journal from an offset on.
pub(super) fn read(folder: &Path, number: u64, offset: u64) -> Result<Stretch, StoreError> {
    let path = path(folder, number);
    let mut file = File::open(&path).map_err(StoreError::io("open", &path))?;
    read_from(&mut file, offset, &path)
}

/// Removes every file of the journal up to a number.
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

/// Says whether something failed because a file is not there.
pub(super) fn is_gone(error: &StoreError) -> bool {
    matches!(error, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// Says whether an open file is still the one that has this name.
pub(super) fn is_named(file: &File, path: &Path) -> bool {
    let both = file.metadata().and_then(|open| Ok((open, fs::metadata(path)?)));
    both.is_ok_and(|(open, named)| (open.dev(), open.ino()) == (named.dev(), named.ino()))
}

fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.wal"))
}

fn read_from(file: &mut File, offset: u64, path: &Path) -> Result<Stretch, StoreError> {
    let io = |attempt| StoreError::io(attempt, path);
    let length = file.metadata().map_err(io("read"))?.len();
    let is_short = length < offset;
    let mut stretch = Stretch { entries: vec![], end: offset, base: None, torn: false, is_short };
    if length <= offset {
        return Ok(stretch);
    }
    file.seek(SeekFrom::Start(offset)).map_err(io("read"))?;
    let mut bytes = Vec::with_capacity(usize::try_from(length - offset).unwrap_or(0));
    file.read_to_end(&mut bytes).map_err(io("read"))?;
    let mut rest = &bytes[..];
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let (line, after) = rest.split_at(end + 1);
        let Some(json) = checked(&line[..end]) else { break };
        stretch.take(json, path)?;
        stretch.end += line.len() as u64;
        rest = after;
    }
    check_tail(rest, stretch.end, path)?;
    stretch.torn = !rest.is_empty();
    Ok(stretch)
}

impl Stretch {
    fn take(&mut self, json: &str, path: &Path) -> Result<(), StoreError> {
        let damaged = |why: String| {
            let what = format!("the record at byte {} makes no sense ({why}); {ADVICE}", self.end);
            StoreError::Damaged { path: path.to_owned(), what }
        };
        if self.end == 0 {
            let format = head_format(json).unwrap_or_default();
            FormatPart::Journal.expect_known(format)?;
            let head: Head =
                serde_json::from_str(json).map_err(|error| damaged(error.to_string()))?;
            self.base = Some(Version(head.base));
            return Ok(());
        }
        let entry: Entry<'static> =
            serde_json::from_str(json).map_err(|error| damaged(error.to_string()))?;
        if !entry.stays_inside() {
            return Err(damaged("it names a file outside the folder".to_owned()));
        }
        self.entries.push(entry);
        Ok(())
    }
}

impl Entry<'_> {
    /// A journal that somebody else made must not make us write anywhere else.
    pub(super) fn stays_inside(&self) -> bool {
        let inside = |path: &str| {
            let ours = ["tasks/", "runs/", "epics/"];
            ours.iter().any(|folder| path.starts_with(folder)) && RelPath::parse(path).is_ok()
        };
        let day = Time::parse(&format!("{}T00:00:00Z", self.day)).is_ok();
        day && self.ops.iter().all(|op| match op {
            OpWire::Task { id, from, to, .. } => {
                let statuses = from.iter().chain([to]).all(|text| Status::parse(text).is_some());
                TaskId::parse(id).is_ok() && statuses
            }
            OpWire::Put { path, .. } => inside(path),
            OpWire::Move { from, to, .. } => inside(from) && inside(to),
        })
    }
}

const ADVICE: &str = "copy the folder, then run `adjutant doctor`";

/// What is left after the last good line was being written when somebody died, and is nothing;
/// unless a good line comes after it, for then something else went wrong.
fn check_tail(rest: &[u8], end: u64, path: &Path) -> Result<(), StoreError> {
    let later = rest.split(|byte| *byte == b'\n').skip(1);
    if later.into_iter().any(|line| checked(line).is_some()) {
        let what = format!("the record at byte {end} is damaged, and good ones follow; {ADVICE}");
        return Err(StoreError::Damaged { path: path.to_owned(), what });
    }
    Ok(())
}

/// Writes something out as the journal has it.
pub(super) fn line<T: Serialize>(content: &T) -> String {
    let json = serde_json::to_string(content).expect("text and numbers always make JSON");
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

/// Reads a commit from a line that may be followed by anything; none if it is not whole.
pub(super) fn read_line(bytes: &[u8]) -> Option<Entry<'static>> {
    let line = &bytes[..bytes.iter().position(|byte| *byte == b'\n')?];
    serde_json::from_str(checked(line)?).ok()
}

/// Returns the content of a line whose checksum is right.
fn checked(line: &[u8]) -> Option<&str> {
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

/// A folder above the data folder may belong to somebody else; then it is theirs to sync.
fn sync_above(folder: &Path) {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let _ = sync_folder(here);
}

#[cfg(test)]
mod tests {
    use super::OpWire;

    #[test]
    fn a_move_in_an_older_journal_does_not_say_what_was_moved() {
        let op = serde_json::from_str(r#"{"move":{"from":"runs/a","to":"runs/b"}}"#);
        assert!(matches!(op, Ok(OpWire::Move { was: None, .. })), "{op:?}");
    }
}
