//! For which commit each file was made that is to be exchanged with another, and what it was made
//! to say: whoever finds something else in it knows that it came out of the exchange.
//!
//! That could stand in the file's name, and did; but to give a file that is written anew another
//! name each time costs more than to write it. So files lie in numbered slots, and a file beside
//! them has a line for each. Both are called after whoever has the folder open: nobody else
//! writes to them, and whoever cleans up takes away both.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::disk::TEMPORARY;
use super::journal::is_named;

/// What a file of lines is called, before the name of whom it belongs to.
const MARKS: &str = "marks-";
/// What stands between that name and the number of a slot.
const SLOT: &str = "-x";
/// How long a line is: two marks, a blank between them and a line break.
const LINE_BYTES: usize = 18;

/// The slots of whoever has a folder open.
pub(super) struct Marks {
    /// Nobody else is called so, in whatever container.
    owner: String,
    file: Option<File>,
    /// The number of the next slot.
    next: AtomicU64,
}

/// What is known of a file that is to be exchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// The mark of the text it is exchanged for.
    pub(super) committed: String,
    /// The mark of the text it was made to say.
    pub(super) own: String,
}

impl Default for Marks {
    fn default() -> Self {
        let chance = RandomState::new().hash_one(0);
        let owner = format!("{}.{chance:016x}", std::process::id());
        Self { owner, file: None, next: AtomicU64::new(0) }
    }
}

impl Marks {
    /// Sees to it that there is a file to write to; somebody may have taken it away.
    pub(super) fn make(&mut self, journal: &Path) {
        let path = self.path(journal);
        if !self.file.as_ref().is_some_and(|file| is_named(file, &path)) {
            let mut options = OpenOptions::new();
            let options = options.write(true).create(true).truncate(false).mode(0o600);
            self.file = options.open(path).ok();
        }
    }

    /// Returns the temporary name of a slot that was never used, if it can be written down what the
    /// file in it is about to be made.
    pub(super) fn new_slot(&self, mark: &Mark) -> Option<String> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.put_line(number, mark).then(|| format!("{TEMPORARY}/{}{SLOT}{number}", self.owner))
    }

    /// Writes down what the file in a slot is about to be made. Says whether it could.
    pub(super) fn put(&self, path: &str, mark: &Mark) -> bool {
        let slot = path.rsplit('/').next().and_then(slot).filter(|slot| slot.owner == self.owner);
        slot.is_some_and(|slot| self.put_line(slot.number, mark))
    }

    fn put_line(&self, number: u64, mark: &Mark) -> bool {
        let line = format!("{} {}\n", mark.committed, mark.own);
        let at = number.checked_mul(LINE_BYTES as u64);
        let write = |(file, at): (&File, u64)| file.write_all_at(line.as_bytes(), at).is_ok();
        line.len() == LINE_BYTES && self.file.as_ref().zip(at).is_some_and(write)
    }

    /// Says whether a temporary name is that of a slot of ours.
    pub(super) fn has(&self, name: &str) -> bool {
        slot(name).is_some_and(|slot| slot.owner == self.owner)
    }

    pub(super) fn path(&self, journal: &Path) -> PathBuf {
        journal.join(format!("{MARKS}{}", self.owner))
    }
}

/// Reads what is known of a file under a temporary name: in a slot, or from its name; nothing, if
/// it was not to be exchanged.
pub(super) fn of(journal: &Path, name: &str) -> io::Result<Option<Mark>> {
    let Some(Slot { owner, number }) = slot(name) else { return Ok(named(name)) };
    let mut line = [0; LINE_BYTES];
    let at = number.saturating_mul(LINE_BYTES as u64);
    let read = File::open(journal.join(format!("{MARKS}{owner}")))
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

fn parse(line: &[u8]) -> Option<Mark> {
    let (committed, own) = std::str::from_utf8(line).ok()?.strip_suffix('\n')?.split_once(' ')?;
    Some(Mark { committed: committed.to_owned(), own: own.to_owned() })
}

/// The name says it where there is no slot.
fn named(name: &str) -> Option<Mark> {
    let [_, _, committed, own] = name.split('-').collect::<Vec<_>>()[..] else { return None };
    Some(Mark { committed: committed.to_owned(), own: own.to_owned() })
}

struct Slot<'a> {
    owner: &'a str,
    number: u64,
}

fn slot(name: &str) -> Option<Slot<'_>> {
    let (owner, number) = name.split_once(SLOT)?;
    Some(Slot { owner, number: number.parse().ok()? })
}

/// Says whether a temporary name is that of a slot.
pub(super) fn is_slot(name: &str) -> bool {
    slot(name).is_some()
}

/// Says whether a file of the journal has the lines of slots.
pub(super) fn is_marks(name: &str) -> bool {
    name.starts_with(MARKS)
}

#[cfg(test)]
mod tests {
    use super::{Mark, Marks, of};

    fn mark(number: u32) -> Mark {
        Mark { committed: format!("{number:08x}"), own: format!("{:08x}", number + 1) }
    }

    fn name(path: &str) -> &str {
        path.rsplit('/').next().expect("a name")
    }

    #[test]
    fn what_was_written_down_of_a_slot_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let [mut one, mut other] = [Marks::default(), Marks::default()];
        one.make(folder.path());
        other.make(folder.path());
        let slots: Vec<String> =
            (0..3).map(|number| one.new_slot(&mark(number)).expect("a slot")).collect();
        let foreign = other.new_slot(&mark(9)).expect("a slot");
        assert!(one.put(&slots[1], &mark(7)) && !one.put(&foreign, &mark(7)));
        let read = |path: &str| of(folder.path(), name(path)).expect("it can be read");
        assert_eq!(read(&slots[0]), Some(mark(0)));
        assert_eq!(read(&slots[1]), Some(mark(7)));
        assert_eq!(read(&foreign), Some(mark(9)), "slots of others are their own");
        assert_eq!(read("journal/tmp/17-4-0000000a-0000000b"), Some(mark(10)), "from its name");
        assert_eq!(read("journal/tmp/17-4"), None);
        assert_eq!(read("journal/tmp/17.0-x4"), None);
    }

    #[test]
    fn a_file_that_somebody_took_away_is_made_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut marks = Marks::default();
        assert_eq!(marks.new_slot(&mark(0)), None, "there is none yet");
        marks.make(folder.path());
        std::fs::remove_file(marks.path(folder.path())).expect("it was made");
        marks.make(folder.path());
        let slot = marks.new_slot(&mark(1)).expect("a slot");
        assert_eq!(of(folder.path(), name(&slot)).expect("it can be read"), Some(mark(1)));
    }
}
