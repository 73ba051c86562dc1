//! Files that came out of an exchange, and are written anew instead of making others.
//!
//! To make a file and to remove one costs more than to write one, on some file systems many times
//! as much. But whoever still reads what a task said, or writes to it, must not find another task
//! in it: a file is written anew only if it is ours alone.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FileType, Mode, OFlags, Stat, fchmod, fstat, openat};
use rustix::process::geteuid;

use super::disk::{Disk, Staged, TEMPORARY, mark};
use super::marks::{self, Mark};
use super::{fault, system};
use crate::store::StoreError;
use crate::taskfile;

/// The most files that are kept to be written anew: as many as the largest commit takes.
const SPARES_MAX: usize = 256;

/// The names of files that nobody needs any more.
#[derive(Default)]
pub(super) struct Spares(Mutex<Vec<String>>);

impl Spares {
    fn names(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is kept is of no use to anybody else. Who is killed leaves it to whoever comes next.
impl Drop for Disk {
    fn drop(&mut self) {
        self.drop_spares();
        // What came out of an exchange and could not be seen to is known by its mark.
        let names = self.names(TEMPORARY).unwrap_or_default();
        if !names.iter().any(|name| self.marks.has(name)) {
            let _ = std::fs::remove_file(self.marks.path(&self.journal()));
        }
    }
}

impl Disk {
    /// Gives back the room of what is kept. Says whether there was anything.
    pub(super) fn drop_spares(&self) -> bool {
        let names = std::mem::take(&mut *self.spares.names());
        for name in &names {
            let _ = self.remove(name);
        }
        !names.is_empty()
    }

    /// Keeps what a staged name holds now, to be written anew, or removes it.
    pub(super) fn spare(&self, staged: &Staged) -> Result<(), StoreError> {
        let mut names = self.spares.names();
        if names.len() >= SPARES_MAX {
            return self.discard(staged);
        }
        names.push(staged.path.clone());
        Ok(())
    }

    /// Writes a file anew that is kept; none if there is none. Whoever opened the folder since may
    /// have removed those that were kept.
    pub(super) fn stage_anew(
        &self,
        mark: &Mark,
        bytes: &[u8],
    ) -> Result<Option<Staged>, StoreError> {
        let Some(path) = self.spares.names().pop() else { return Ok(None) };
        fault::point();
        let marked = self.marks.put(&path, mark);
        let file = self.emptied(&path).filter(|_| marked && !bytes.is_empty());
        let staged = file.map(|file| self.write_staged(file, &path, bytes)).transpose();
        if !matches!(staged, Ok(Some(_))) {
            self.remove(&path)?;
        }
        staged
    }

    fn emptied(&self, path: &str) -> Option<File> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::from(openat(&self.root_fd, path, flags, Mode::empty()).ok()?);
        let stat = fstat(&file).ok()?;
        if !is_ours(&stat) {
            return None;
        }
        // Whoever could open it before is shut out before it is seen whether somebody did.
        let owner_only = Mode::RUSR | Mode::WUSR;
        if Mode::from_raw_mode(stat.st_mode) != owner_only {
            fchmod(&file, owner_only).ok()?;
        }
        if !adjutant_sole::is_sole(&file) {
            return None;
        }
        fault::point();
        system::empty(&file, u64::try_from(stat.st_size).ok()?).ok()?;
        Some(file)
    }
}

/// Says whether what lies under a temporary name is kept to be written anew, or was when its
/// process ended: it is a whole task, and was not made to say what it says.
pub(super) fn is_kept(disk: &Disk, name: &str) -> bool {
    let Ok(Some(Mark { own, .. })) = marks::of(&disk.journal(), name) else { return false };
    let Ok(Some((bytes, _))) = disk.read(&format!("{TEMPORARY}/{name}")) else { return false };
    let text = String::from_utf8(bytes).ok().filter(|text| mark(text.as_bytes()) != own);
    text.is_some_and(|text| taskfile::parse(&text, None, None).is_ok())
}

/// Says whether a file belongs to us, and has no other name.
fn is_ours(stat: &Stat) -> bool {
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    is_file && stat.st_nlink == 1 && stat.st_uid == geteuid().as_raw()
}
