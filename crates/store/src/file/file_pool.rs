//! A pool of files that came out of an exchange, to be overwritten instead of creating new ones.
//!
//! Creating and removing a file costs more than writing one, on some file systems many times more.
//! But a process that still has the old file open must not find another task in it. So a file is
//! reused only if no other process has it open.

use std::fs::File;

use parking_lot::Mutex;
use rustix::fs::{FileType, Mode, OFlags, Stat, fchmod, fstat, openat};
use rustix::process::geteuid;

use super::disk::{FolderDisk, StagedFile, TEMPORARY, text_checksum};
use super::exchange_slots::{self, ExchangeMark};
use super::{fault, system};
use crate::store::StoreError;
use crate::taskfile;

/// The pool's size: as many files as the largest commit needs.
const POOLED_FILES_MAX: usize = 256;

/// The paths of the pooled files.
pub(super) struct FilePool {
    paths: Mutex<Vec<String>>,
    /// The most files that are kept; 0 turns the pool off.
    pub(super) capacity: usize,
}

impl Default for FilePool {
    fn default() -> Self {
        Self { paths: Mutex::default(), capacity: POOLED_FILES_MAX }
    }
}

impl FilePool {
    pub(super) fn is_off(&self) -> bool {
        self.capacity == 0
    }
}

/// Empties the pool. After a kill, the next process to open the folder removes the files.
impl Drop for FolderDisk {
    fn drop(&mut self) {
        self.drain_pool();
        // The file of slots stays if a slot still holds a file that came out of an exchange.
        let names = self.names(TEMPORARY).unwrap_or_default();
        if !names.iter().any(|name| self.slots.owns(name)) {
            let _ = std::fs::remove_file(self.slots.path(&self.journal()));
        }
    }
}

impl FolderDisk {
    /// Removes the pooled files to free disk space. Returns whether there were any.
    pub(super) fn drain_pool(&self) -> bool {
        let paths = std::mem::take(&mut *self.pool.paths.lock());
        for path in &paths {
            let _ = self.remove(path);
        }
        !paths.is_empty()
    }

    /// Puts the file under the staged name into the pool, or removes it if the pool is full.
    pub(super) fn add_to_pool(&self, staged: &StagedFile) -> Result<(), StoreError> {
        let mut paths = self.pool.paths.lock();
        if paths.len() >= self.pool.capacity {
            return self.discard(staged);
        }
        paths.push(staged.path.clone());
        Ok(())
    }

    /// Writes a text into a pooled file; `None` if there is none. Another process that opened the
    /// folder may have removed the pooled files.
    pub(super) fn stage_pooled(
        &self,
        mark: &ExchangeMark,
        bytes: &[u8],
    ) -> Result<Option<StagedFile>, StoreError> {
        let Some(path) = self.pool.paths.lock().pop() else { return Ok(None) };
        fault::point();
        let marked = self.slots.write_mark(&path, mark);
        let file = self.open_emptied(&path).filter(|_| marked && !bytes.is_empty());
        let staged = file.map(|file| self.write_staged(file, &path, bytes)).transpose();
        if !matches!(staged, Ok(Some(_))) {
            self.remove(&path)?;
        }
        staged
    }

    fn open_emptied(&self, path: &str) -> Option<File> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::from(openat(&self.root_fd, path, flags, Mode::empty()).ok()?);
        let stat = fstat(&file).ok()?;
        if !is_own_file(&stat) {
            return None;
        }
        // Other users are locked out first, then it is checked whether one still has the file open.
        let owner_only = Mode::RUSR | Mode::WUSR;
        if Mode::from_raw_mode(stat.st_mode) != owner_only {
            fchmod(&file, owner_only).ok()?;
        }
        if !adjutant_file_lease::is_open_exclusively(&file) {
            return None;
        }
        fault::point();
        system::empty_file(&file, u64::try_from(stat.st_size).ok()?).ok()?;
        Some(file)
    }
}

/// Returns true if a temporary file is in the pool, or was when its process ended: it is a valid
/// task with another text than it was made with.
pub(super) fn is_pooled(disk: &FolderDisk, name: &str) -> bool {
    let Ok(Some(ExchangeMark { own, .. })) = exchange_slots::read_mark(&disk.journal(), name)
    else {
        return false;
    };
    let Ok(Some((bytes, _))) = disk.read(&format!("{TEMPORARY}/{name}")) else { return false };
    let text = String::from_utf8(bytes).ok().filter(|text| text_checksum(text.as_bytes()) != own);
    text.is_some_and(|text| taskfile::parse(&text, None, None).is_ok())
}

/// Returns true if the file belongs to our user and has no other name.
fn is_own_file(stat: &Stat) -> bool {
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    is_file && stat.st_nlink == 1 && stat.st_uid == geteuid().as_raw()
}
