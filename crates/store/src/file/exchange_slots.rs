//! Exchange slots: which commit each staged file was made for, and which text it was made with. If
//! recovery finds another text in a slot, that file came out of an exchange.
//!
//! The file names used to say this. But renaming a reused file each time costs more than writing
//! it. So the files lie in numbered slots, and one file next to them has a line for each slot. Both
//! are named after the process that has the folder open. No other process writes to them, and
//! cleanup removes both.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::disk::TEMPORARY;
use super::journal::is_same_file;

/// The name of the file of lines, before the owner's name.
const SLOT_FILE_PREFIX: &str = "marks-";
/// The separator between the owner's name and the slot number.
const SLOT_SEPARATOR: &str = "-x";
/// Two checksums, a space between them and a line break.
const LINE_BYTES: usize = 18;

/// The slots of one process.
pub(super) struct ExchangeSlots {
    /// Unique even across containers, where process ids repeat.
    owner: String,
    file: Option<File>,
    /// The number of the next slot.
    next: AtomicU64,
}

/// What is recorded of a file that is to be exchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExchangeMark {
    /// The checksum of the committed text.
    pub(super) committed: String,
    /// The checksum of the text that was written into the file.
    pub(super) own: String,
}

impl Default for ExchangeSlots {
    fn default() -> Self {
        let random = RandomState::new().hash_one(0);
        let owner = format!("{}.{random:016x}", std::process::id());
        Self { owner, file: None, next: AtomicU64::new(0) }
    }
}

impl ExchangeSlots {
    /// Opens or creates the file of lines, which may have been deleted meanwhile.
    pub(super) fn ensure_file(&mut self, journal: &Path) {
        let path = self.path(journal);
        if !self.file.as_ref().is_some_and(|file| is_same_file(file, &path)) {
            let mut options = OpenOptions::new();
            let options = options.write(true).create(true).truncate(false).mode(0o600);
            self.file = options.open(path).ok();
        }
    }

    /// Reserves a new slot and returns its path; `None` if its line cannot be written.
    pub(super) fn new_slot(&self, mark: &ExchangeMark) -> Option<String> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.put_line(number, mark)
            .then(|| format!("{TEMPORARY}/{}{SLOT_SEPARATOR}{number}", self.owner))
    }

    /// Rewrites the line of a slot. Returns whether that worked.
    pub(super) fn write_mark(&self, path: &str, mark: &ExchangeMark) -> bool {
        let slot =
            path.rsplit('/').next().and_then(parse_slot).filter(|slot| slot.owner == self.owner);
        slot.is_some_and(|slot| self.put_line(slot.number, mark))
    }

    fn put_line(&self, number: u64, mark: &ExchangeMark) -> bool {
        let line = format!("{} {}\n", mark.committed, mark.own);
        let at = number.checked_mul(LINE_BYTES as u64);
        let write = |(file, at): (&File, u64)| file.write_all_at(line.as_bytes(), at).is_ok();
        line.len() == LINE_BYTES && self.file.as_ref().zip(at).is_some_and(write)
    }

    /// Returns true if a temporary name is one of our slots.
    pub(super) fn owns(&self, name: &str) -> bool {
        parse_slot(name).is_some_and(|slot| slot.owner == self.owner)
    }

    pub(super) fn path(&self, journal: &Path) -> PathBuf {
        journal.join(format!("{SLOT_FILE_PREFIX}{}", self.owner))
    }
}

/// Reads what is recorded of a temporary file, from its slot or its name; `None` if it was not made
/// for an exchange.
pub(super) fn read_mark(journal: &Path, name: &str) -> io::Result<Option<ExchangeMark>> {
    let Some(SlotName { owner, number }) = parse_slot(name) else { return Ok(mark_in_name(name)) };
    let mut line = [0; LINE_BYTES];
    let at = number.saturating_mul(LINE_BYTES as u64);
    let read = File::open(journal.join(format!("{SLOT_FILE_PREFIX}{owner}")))
        .and_then(|file| file.read_exact_at(&mut line, at));
    match read {
        Ok(()) => Ok(parse(&line)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof)
}

fn parse(line: &[u8]) -> Option<ExchangeMark> {
    let (committed, own) = std::str::from_utf8(line).ok()?.strip_suffix('\n')?.split_once(' ')?;
    Some(ExchangeMark { committed: committed.to_owned(), own: own.to_owned() })
}

/// Files without a slot carry the checksums in their names.
fn mark_in_name(name: &str) -> Option<ExchangeMark> {
    let [_, _, committed, own] = name.split('-').collect::<Vec<_>>()[..] else { return None };
    Some(ExchangeMark { committed: committed.to_owned(), own: own.to_owned() })
}

struct SlotName<'a> {
    owner: &'a str,
    number: u64,
}

fn parse_slot(name: &str) -> Option<SlotName<'_>> {
    let (owner, number) = name.split_once(SLOT_SEPARATOR)?;
    Some(SlotName { owner, number: number.parse().ok()? })
}

pub(super) fn is_slot(name: &str) -> bool {
    parse_slot(name).is_some()
}

/// Returns true if a file in the journal folder holds the lines of slots.
pub(super) fn is_slot_file(name: &str) -> bool {
    name.starts_with(SLOT_FILE_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::{ExchangeMark, ExchangeSlots, read_mark};

    fn mark(number: u32) -> ExchangeMark {
        ExchangeMark { committed: format!("{number:08x}"), own: format!("{:08x}", number + 1) }
    }

    fn name(path: &str) -> &str {
        path.rsplit('/').next().expect("a name")
    }

    #[test]
    fn exchange_slot_record_is_read_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let [mut one, mut other] = [ExchangeSlots::default(), ExchangeSlots::default()];
        one.ensure_file(folder.path());
        other.ensure_file(folder.path());
        let slots: Vec<String> =
            (0..3).map(|number| one.new_slot(&mark(number)).expect("a slot")).collect();
        let foreign = other.new_slot(&mark(9)).expect("a slot");
        assert!(one.write_mark(&slots[1], &mark(7)) && !one.write_mark(&foreign, &mark(7)));
        let read = |path: &str| read_mark(folder.path(), name(path)).expect("it can be read");
        assert_eq!(read(&slots[0]), Some(mark(0)));
        assert_eq!(read(&slots[1]), Some(mark(7)));
        assert_eq!(read(&foreign), Some(mark(9)), "slots of others are their own");
        assert_eq!(read("journal/tmp/17-4-0000000a-0000000b"), Some(mark(10)), "from its name");
        assert_eq!(read("journal/tmp/17-4"), None);
        assert_eq!(read("journal/tmp/17.0-x4"), None);
    }

    #[test]
    fn exchange_slot_file_is_recreated_after_removal() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut slots = ExchangeSlots::default();
        assert_eq!(slots.new_slot(&mark(0)), None, "there is none yet");
        slots.ensure_file(folder.path());
        std::fs::remove_file(slots.path(folder.path())).expect("it was made");
        slots.ensure_file(folder.path());
        let slot = slots.new_slot(&mark(1)).expect("a slot");
        assert_eq!(read_mark(folder.path(), name(&slot)).expect("it can be read"), Some(mark(1)));
    }
}
