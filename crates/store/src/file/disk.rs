//! The disk under the folder: whole files in, whole files out, and nothing a person wrote lost.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use adjutant_core::path::RelPath;
use adjutant_core::{Status, TaskId};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags, fstat, mkdirat, open, openat, openat2,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::fault;
use super::folder::Folder;
use super::known::Sig;
use crate::document::{JOURNAL, companion};
use crate::store::{Presence, StoreError};

/// Where files are made before they get their names.
pub(super) const TEMPORARY: &str = "journal/tmp";
/// Where things are put that were in the way and must not be lost.
pub(super) const LOST: &str = "lost+found";

/// The folder on disk.
pub(super) struct Disk {
    root: PathBuf,
    root_fd: OwnedFd,
    workspace_fd: Option<OwnedFd>,
    next_temporary: u64,
    /// What was written since it was last synced.
    touched: Vec<String>,
}

/// A file that is whole and has no name in the folder yet.
pub(super) struct Staged {
    path: String,
    pub(super) sig: Option<Sig>,
}

/// What a look at a path found.
pub(super) enum Look {
    /// A plain file.
    File(Sig),
    /// Something else of that name: a folder, a link, a socket.
    Other,
    /// Nothing.
    Nothing,
}

impl Disk {
    pub(super) fn open(folder: &Folder) -> Result<Self, StoreError> {
        let root = folder.root().to_owned();
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let root_fd = open(&root, flags, Mode::empty())
            .map_err(|errno| StoreError::io("open", &root)(errno.into()))?;
        let workspace_fd = open(folder.workspace(), flags, Mode::empty()).ok();
        Ok(Self { root, root_fd, workspace_fd, next_temporary: 0, touched: vec![] })
    }

    /// Returns the path of the data folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of the journal.
    pub(super) fn journal(&self) -> PathBuf {
        self.root.join(JOURNAL)
    }

    fn error(&self, attempt: &'static str, path: &str) -> impl FnOnce(Errno) -> StoreError {
        let path = self.root.join(path);
        move |errno| StoreError::io(attempt, path)(errno.into())
    }

    /// Reads a file, or returns none if there is none. A link is not followed.
    pub(super) fn read(&self, path: &str) -> Result<Option<(Vec<u8>, Option<Sig>)>, StoreError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let fd = match openat(&self.root_fd, path, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(errno) => return Err(self.error("open", path)(errno)),
        };
        let stat = fstat(&fd).map_err(self.error("read", path))?;
        let mut bytes = Vec::with_capacity(usize::try_from(stat.st_size).unwrap_or(0));
        File::from(fd)
            .read_to_end(&mut bytes)
            .map_err(StoreError::io("read", self.root.join(path)))?;
        Ok(Some((bytes, Sig::of(&stat))))
    }

    /// Reads a file as text; bytes that are no UTF-8 are replaced.
    pub(super) fn read_text(&self, path: &str) -> Result<Option<String>, StoreError> {
        let bytes = self.read(path)?;
        Ok(bytes.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Looks at a path without opening it.
    pub(super) fn look(&self, path: &str) -> Result<Look, StoreError> {
        match statat(&self.root_fd, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Sig::of(&stat).map_or(Look::Other, Look::File)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(Look::Nothing),
            Err(errno) => Err(self.error("look at", path)(errno)),
        }
    }

    /// Writes a file under a temporary name. Only here can the room run out.
    pub(super) fn stage(&mut self, text: &str) -> Result<Staged, StoreError> {
        self.next_temporary += 1;
        let path = format!("{TEMPORARY}/{}-{}", std::process::id(), self.next_temporary);
        let staged = self.write_staged(&path, text.as_bytes());
        if staged.is_err() {
            self.remove(&path)?;
        }
        staged
    }

    fn write_staged(&self, path: &str, bytes: &[u8]) -> Result<Staged, StoreError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        fault::point();
        let fd = openat(&self.root_fd, path, flags, Mode::RUSR | Mode::WUSR)
            .map_err(self.error("make", path))?;
        let mut file = File::from(fd);
        if let Some(part) = fault::torn(bytes.len()) {
            let _ = file.write_all(&bytes[..part]);
            fault::die();
        }
        file.write_all(bytes).map_err(StoreError::io("write", self.root.join(path)))?;
        let stat = fstat(&file).map_err(self.error("read", path))?;
        Ok(Staged { path: path.to_owned(), sig: Sig::of(&stat) })
    }

    /// Gives a staged file its name, whatever had it before.
    pub(super) fn put(&mut self, staged: &Staged, path: &str) -> Result<(), StoreError> {
        self.rename(&staged.path, path, RenameFlags::empty()).map_err(self.error("write", path))?;
        self.touch(path);
        Ok(())
    }

    /// Gives a staged file its name if nothing has it. Says whether it did.
    pub(super) fn put_new(&mut self, staged: &Staged, path: &str) -> Result<bool, StoreError> {
        match self.rename(&staged.path, path, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.touch(path);
                Ok(true)
            }
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(self.error("write", path)(errno)),
        }
    }

    /// Exchanges a staged file with the one that has the name, and returns a look at what came
    /// out; none if nothing had the name.
    pub(super) fn exchange(
        &mut self,
        staged: &Staged,
        path: &str,
    ) -> Result<Option<Look>, StoreError> {
        match self.rename(&staged.path, path, RenameFlags::EXCHANGE) {
            Ok(()) => {
                self.touch(path);
                self.look(&staged.path).map(Some)
            }
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.error("write", path)(errno)),
        }
    }

    /// Reads what a staged name holds now.
    pub(super) fn read_staged(&self, staged: &Staged) -> Result<Vec<u8>, StoreError> {
        Ok(self.read(&staged.path)?.map(|(bytes, _)| bytes).unwrap_or_default())
    }

    /// Removes what a staged name holds.
    pub(super) fn discard(&self, staged: &Staged) -> Result<(), StoreError> {
        self.remove(&staged.path)
    }

    /// Moves a file or a folder, if it is there. What is in the way is put aside, not lost.
    pub(super) fn shift(&mut self, from: &str, to: &str) -> Result<bool, StoreError> {
        match self.rename(from, to, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::NOENT) if matches!(self.look(from)?, Look::Nothing) => return Ok(false),
            Err(Errno::EXIST) => {
                if matches!(self.look(from)?, Look::Nothing) {
                    return Ok(false);
                }
                self.set_aside(to)?;
                self.rename(from, to, RenameFlags::NOREPLACE).map_err(self.error("move", from))?;
            }
            Err(errno) => return Err(self.error("move", from)(errno)),
        }
        self.touch(from);
        self.touch(to);
        Ok(true)
    }

    /// Moves something to where nothing is lost, and returns where that is.
    pub(super) fn set_aside(&mut self, path: &str) -> Result<String, StoreError> {
        let name = path.replace('/', "-");
        let mut number = 1_u32;
        loop {
            let aside = format!("{LOST}/{name}.{number}");
            match self.rename(path, &aside, RenameFlags::NOREPLACE) {
                Ok(()) => {
                    self.touch(path);
                    self.touch(&aside);
                    return Ok(aside);
                }
                Err(Errno::EXIST) => number += 1,
                Err(errno) => return Err(self.error("put aside", path)(errno)),
            }
        }
    }

    /// Gives a staged file a name of its own among what must not be lost.
    pub(super) fn put_aside(&mut self, staged: &Staged, name: &str) -> Result<String, StoreError> {
        let mut number = 1_u32;
        loop {
            let aside = format!("{LOST}/{name}.{number}");
            if self.put_new(staged, &aside)? {
                return Ok(aside);
            }
            number += 1;
        }
    }

    /// Renames, and makes the folder of the new name if that is what is missing.
    fn rename(&self, from: &str, to: &str, flags: RenameFlags) -> Result<(), Errno> {
        fault::point();
        match renameat_with(&self.root_fd, from, &self.root_fd, to, flags) {
            Err(Errno::NOENT) if flags != RenameFlags::EXCHANGE => {
                let parent = Path::new(to).parent().unwrap_or(Path::new(""));
                if statat(&self.root_fd, from, AtFlags::SYMLINK_NOFOLLOW).is_err() {
                    return Err(Errno::NOENT);
                }
                self.make_folders(parent)?;
                renameat_with(&self.root_fd, from, &self.root_fd, to, flags)
            }
            other => other,
        }
    }

    /// Makes a folder and those above it, for the owner only.
    pub(super) fn make_folders(&self, folder: &Path) -> Result<(), Errno> {
        match mkdirat(&self.root_fd, folder, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(Errno::NOENT) => {
                let parent = folder.parent().filter(|parent| *parent != Path::new(""));
                self.make_folders(parent.ok_or(Errno::NOENT)?)?;
                mkdirat(&self.root_fd, folder, Mode::RWXU)
            }
            other => other,
        }
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, path: &str) -> Result<(), StoreError> {
        fault::point();
        match unlinkat(&self.root_fd, path, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.error("remove", path)(errno)),
        }
    }

    /// Removes what a process that died left under temporary names. Only who holds the lock may.
    pub(super) fn clean(&self) -> Result<(), StoreError> {
        for name in self.names(TEMPORARY)? {
            self.remove(&format!("{TEMPORARY}/{name}"))?;
        }
        Ok(())
    }

    /// Returns the names in a folder; none if the folder is not there.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let path = self.root.join(folder);
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(error) => return Err(StoreError::io("read", path)(error)),
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().to_str().map(str::to_owned))
            .collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Says whether a file that a message names is there: in the task's folder, else in the
    /// workspace, else in the data folder. A link that leads out of any of them is told.
    pub(super) fn presence(
        &self,
        status: Option<Status>,
        task: &TaskId,
        path: &RelPath,
    ) -> Result<Presence, StoreError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let own = status.and_then(|status| {
            openat(&self.root_fd, companion(status, task), flags, Mode::empty()).ok()
        });
        let folders = [own.as_ref(), self.workspace_fd.as_ref(), Some(&self.root_fd)];
        for folder in folders.into_iter().flatten() {
            match beneath(folder, path.as_str()) {
                Presence::Missing => {}
                found => return Ok(found),
            }
        }
        Ok(Presence::Missing)
    }

    fn touch(&mut self, path: &str) {
        self.touched.push(path.to_owned());
    }

    /// Takes note of a file that was written by other means.
    pub(super) fn note(&mut self, path: String) {
        self.touched.push(path);
    }

    /// Makes everything that was written survive a power cut.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        let mut paths = std::mem::take(&mut self.touched);
        paths.sort_unstable();
        paths.dedup();
        fault::point();
        if paths.len() > FILES_SYNCED_ONE_BY_ONE {
            return sync_all(&self.root_fd).map_err(self.error("sync", ""));
        }
        let folders: std::collections::BTreeSet<&Path> =
            paths.iter().filter_map(|path| Path::new(path).parent()).collect();
        for path in paths.iter().map(OsStr::new).chain(folders.into_iter().map(Path::as_os_str)) {
            sync_one(&self.root.join(path))?;
        }
        Ok(())
    }

    /// Returns a handle that syncs the whole file system, for another thread to use.
    pub(super) fn handle(&self) -> Result<OwnedFd, StoreError> {
        rustix::io::fcntl_dupfd_cloexec(&self.root_fd, 0).map_err(self.error("open", ""))
    }

    /// Forgets what was written: somebody syncs all of it.
    pub(super) fn forget_touched(&mut self) {
        self.touched.clear();
    }
}

/// Beyond this many files, syncing everything is quicker than syncing each.
const FILES_SYNCED_ONE_BY_ONE: usize = 64;

/// Syncs the whole file system a folder lies on.
pub(super) fn sync_all(folder: &OwnedFd) -> Result<(), Errno> {
    rustix::fs::syncfs(folder)
}

/// A file that has moved on meanwhile was synced under its new name, or is gone.
fn sync_one(path: &Path) -> Result<(), StoreError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    match openat(CWD, path, flags, Mode::empty()) {
        Ok(fd) => rustix::fs::fsync(fd).map_err(|errno| StoreError::io("sync", path)(errno.into())),
        Err(_) => Ok(()),
    }
}

fn beneath(folder: &OwnedFd, path: &str) -> Presence {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(folder, path, flags, Mode::empty(), resolve) {
        Ok(_) => Presence::Present,
        Err(Errno::XDEV | Errno::LOOP) => Presence::Escapes,
        Err(_) => Presence::Missing,
    }
}
