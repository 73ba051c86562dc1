//! Files that came out of an exchange, and are written anew instead of making others.
//!
//! To make a file and to remove one costs more than to write one, on some file systems many times
//! as much. But whoever still reads what a task said, or writes to it, must not find another task
//! in it: a file is written anew only if it is ours alone.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FileType, Mode, OFlags, Stat, fchmod, fstat, openat, renameat};
use rustix::process::geteuid;

use super::disk::{Disk, Staged, TEMPORARY, mark};
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
        for name in std::mem::take(&mut *self.spares.names()) {
            let _ = self.remove(&name);
        }
    }
}

impl Disk {
    /// Keeps what a staged name holds now, to be written anew, or removes it.
    pub(super) fn spare(&self, staged: &Staged) -> Result<(), StoreError> {
        let mut names = self.spares.names();
        if names.len() >= SPARES_MAX {
            return self.discard(staged);
        }
        names.push(staged.path.clone());
        Ok(())
    }

    /// Gives a file that is kept another name, and opens it with nothing in it; none if there is
    /// none. Whoever opened the folder since may have removed those that were kept.
    pub(super) fn reuse(&self, path: &str) -> Result<Option<File>, StoreError> {
        let Some(spare) = self.spares.names().pop() else { return Ok(None) };
        fault::point();
        if renameat(&self.root_fd, &spare, &self.root_fd, path).is_err() {
            return Ok(None);
        }
        let emptied = self.emptied(path);
        if emptied.is_none() {
            self.remove(path)?;
        }
        Ok(emptied)
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
    let [_, _, _, own] = name.split('-').collect::<Vec<_>>()[..] else { return false };
    let Ok(Some((bytes, _))) = disk.read(&format!("{TEMPORARY}/{name}")) else { return false };
    let text = String::from_utf8(bytes).ok().filter(|text| mark(text.as_bytes()) != own);
    text.is_some_and(|text| taskfile::parse(&text, None, None).is_ok())
}

/// Says whether a file belongs to us, and has no other name.
fn is_ours(stat: &Stat) -> bool {
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    is_file && stat.st_nlink == 1 && stat.st_uid == geteuid().as_raw()
}
