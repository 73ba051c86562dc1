//! The disk under the folder: whole files in, whole files out, and nothing a person wrote lost.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use adjutant_core::path::RelPath;
use adjutant_core::{Status, TaskId};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, fstat, mkdirat, open, openat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;

use super::fault;
use super::folder::Folder;
use super::known::Sig;
use super::marks::{Mark, Marks};
use super::spare::Spares;
use super::system;
use crate::document::{JOURNAL, companion};
use crate::store::{Presence, StoreError};

/// Where files are made before they get their names.
pub(super) const TEMPORARY: &str = "journal/tmp";
/// Where things are put that were in the way and must not be lost.
pub(super) const LOST: &str = "lost+found";

/// The folder on disk.
pub(super) struct Disk {
    root: PathBuf,
    pub(super) root_fd: OwnedFd,
    workspace_fd: Option<OwnedFd>,
    /// The number of the last temporary name that was given out.
    temporary: AtomicU64,
    unsynced: Unsynced,
    pub(super) spares: Spares,
    pub(super) marks: Marks,
}

/// What was written since it was last synced, by whomever.
enum Unsynced {
    /// These files, folders, and names in their folders.
    Paths(BTreeSet<String>),
    /// Nobody knows; it may be anything.
    Anything,
}

/// A file that is whole and has no name in the folder yet.
#[derive(Clone)]
pub(super) struct Staged {
    pub(super) path: String,
    pub(super) sig: Option<Sig>,
}

/// What a file holds, and how it looks; no look if it is not a plain file.
type Bytes = (Vec<u8>, Option<Sig>);

/// What a reading within a limit found.
pub(super) enum Limited {
    /// A plain file, with its look.
    Bytes(Vec<u8>, Sig),
    /// A plain file beyond the limit.
    TooLarge,
    /// Something else of that name: a folder, a link, a socket.
    NoFile,
    /// Nothing.
    Nothing,
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
        let temporary = AtomicU64::new(0);
        let (unsynced, spares, marks) = (Unsynced::default(), Spares::default(), Marks::default());
        Ok(Self { root, root_fd, workspace_fd, temporary, unsynced, spares, marks })
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
    pub(super) fn read(&self, path: &str) -> Result<Option<Bytes>, StoreError> {
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

    /// Reads a plain file that is not larger than `bytes_max`. A link is not followed.
    pub(super) fn read_up_to(&self, path: &str, bytes_max: u64) -> Result<Limited, StoreError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let fd = match openat(&self.root_fd, path, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Limited::Nothing),
            // A link, or a socket.
            Err(Errno::LOOP | Errno::NXIO) => return Ok(Limited::NoFile),
            Err(errno) => return Err(self.error("open", path)(errno)),
        };
        let stat = fstat(&fd).map_err(self.error("read", path))?;
        let Some(sig) = Sig::of(&stat) else { return Ok(Limited::NoFile) };
        if sig.size > bytes_max {
            return Ok(Limited::TooLarge);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(sig.size).unwrap_or(0));
        // It may be growing.
        let mut file = File::from(fd).take(bytes_max + 1);
        file.read_to_end(&mut bytes).map_err(StoreError::io("read", self.root.join(path)))?;
        if bytes.len() as u64 > bytes_max {
            return Ok(Limited::TooLarge);
        }
        Ok(Limited::Bytes(bytes, sig))
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
    pub(super) fn stage(&self, text: impl AsRef<[u8]>) -> Result<Staged, StoreError> {
        let path = self.temporary();
        self.stage_at(&path, text.as_ref())
    }

    /// Writes a file that is to be exchanged with another. It is written down which commit it is
    /// exchanged for, and what it was made to say, for whoever finds something else in it.
    pub(super) fn stage_for(&self, committed: &str, text: &str) -> Result<Staged, StoreError> {
        let [committed, own] = [committed, text].map(|text| mark(text.as_bytes()));
        let mark = Mark { committed, own };
        if let Some(staged) = self.stage_anew(&mark, text.as_bytes())? {
            return Ok(staged);
        }
        let named = || format!("{}-{}-{}", self.temporary(), mark.committed, mark.own);
        let path = self.marks.new_slot(&mark).unwrap_or_else(named);
        self.stage_at(&path, text.as_bytes())
    }

    /// Sees to it that marks can be written down, in this turn.
    pub(super) fn make_marks(&mut self) {
        let journal = self.journal();
        self.marks.make(&journal);
    }

    fn temporary(&self) -> String {
        let number = self.temporary.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{TEMPORARY}/{}-{number}", std::process::id())
    }

    fn stage_at(&self, path: &str, bytes: &[u8]) -> Result<Staged, StoreError> {
        let staged = self.make(path).and_then(|file| self.write_staged(file, path, bytes));
        if staged.is_err() {
            self.remove(path)?;
        }
        staged
    }

    pub(super) fn write_staged(
        &self,
        mut file: File,
        path: &str,
        bytes: &[u8],
    ) -> Result<Staged, StoreError> {
        fault::write_all(&mut file, bytes)
            .map_err(StoreError::io("write", self.root.join(path)))?;
        let stat = fstat(&file).map_err(self.error("read", path))?;
        Ok(Staged { path: path.to_owned(), sig: Sig::of(&stat) })
    }

    fn make(&self, path: &str) -> Result<File, StoreError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        fault::point();
        let fd = openat(&self.root_fd, path, flags, Mode::RUSR | Mode::WUSR)
            .map_err(self.error("make", path))?;
        Ok(File::from(fd))
    }

    /// Gives a staged file its name, whatever had it before. A folder that has it is put aside.
    pub(super) fn put(&mut self, staged: &Staged, path: &str) -> Result<(), StoreError> {
        let mut put = self.rename(&staged.path, path, RenameFlags::empty());
        if put == Err(Errno::ISDIR) {
            self.set_aside(path)?;
            put = self.rename(&staged.path, path, RenameFlags::empty());
        }
        put.map_err(self.error("write", path))?;
        self.note(path);
        Ok(())
    }

    /// Gives a staged file its name if nothing has it. Says whether it did.
    pub(super) fn put_new(&mut self, staged: &Staged, path: &str) -> Result<bool, StoreError> {
        match self.rename(&staged.path, path, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.note(path);
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
        fault::point();
        match self.rename_into(&staged.path, path, RenameFlags::EXCHANGE) {
            Ok(()) => {
                self.note(path);
                // Somebody may still have been writing to it.
                self.look(&staged.path).map(Some)
            }
            // Nothing has the name; but if there were nothing to put there, nobody must think so.
            Err(errno @ Errno::NOENT) => match self.look(&staged.path)? {
                Look::Nothing => Err(self.error("write", path)(errno)),
                Look::File(_) | Look::Other => Ok(None),
            },
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
        self.note_move(from, to);
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
                    self.note_move(path, &aside);
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

    /// Renames, and makes the folder of the new name if it is missing or something is in its way.
    fn rename(&mut self, from: &str, to: &str, flags: RenameFlags) -> Result<(), Errno> {
        fault::point();
        match self.rename_into(from, to, flags) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if flags != RenameFlags::EXCHANGE => {
                if statat(&self.root_fd, from, AtFlags::SYMLINK_NOFOLLOW).is_err() {
                    return Err(Errno::NOENT);
                }
                self.make_way(to)?;
                fault::point();
                self.rename_into(from, to, flags)
            }
            other => other,
        }
    }

    fn rename_into(&self, from: &str, to: &str, flags: RenameFlags) -> Result<(), Errno> {
        let (folder, name) = to.rsplit_once('/').unwrap_or(("", to));
        if split(folder).1.is_empty() {
            return renameat_with(&self.root_fd, from, &self.root_fd, to, flags);
        }
        let folder = self.open_folder(folder)?;
        renameat_with(&self.root_fd, from, &folder, name, flags)
    }

    /// Opens a folder. Where agents write, below the folder of a status or of all runs, no link is
    /// followed: it could lead anywhere.
    fn open_folder(&self, folder: &str) -> Result<OwnedFd, Errno> {
        let (ours, theirs) = split(folder);
        let flags = system::LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let ours = if ours.is_empty() { "." } else { ours };
        let fd = openat(&self.root_fd, ours, flags, Mode::empty())?;
        if theirs.is_empty() { Ok(fd) } else { system::open_beneath(&fd, theirs) }
    }

    /// Makes the folder that a file is about to be put in, while the room can still run out.
    pub(super) fn make_folder_of(&mut self, path: &str) -> Result<(), StoreError> {
        self.make_way(path).map_err(self.error("make the folder of", path))
    }

    /// Makes the folders above a path, for the owner only. Where agents write, what is no folder
    /// is put aside.
    fn make_way(&mut self, path: &str) -> Result<(), Errno> {
        let ends = path.match_indices('/').map(|(at, _)| at);
        for folder in ends.map(|end| &path[..end]) {
            match statat(&self.root_fd, folder, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if is_folder(&stat) || split(folder).1.is_empty() => continue,
                Ok(_) => drop(self.set_aside(folder).map_err(|_| Errno::NOTDIR)?),
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
            fault::point();
            mkdirat(&self.root_fd, folder, Mode::RWXU)?;
        }
        Ok(())
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, path: &str) -> Result<(), StoreError> {
        fault::point();
        match unlinkat(&self.root_fd, path, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.error("remove", path)(errno)),
        }
    }

    /// Returns the names in a folder that are text; none if the folder is not there.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let names = self.all_names(folder)?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    /// Returns the names in a folder, be they text or not; none if the folder is not there.
    pub(super) fn all_names(&self, folder: &str) -> Result<Vec<OsString>, StoreError> {
        let path = self.root.join(folder);
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(vec![]);
            }
            Err(error) => return Err(StoreError::io("read", path)(error)),
        };
        let mut names: Vec<OsString> =
            entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
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
    ) -> Presence {
        let flags = system::LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let own = status.and_then(|status| {
            openat(&self.root_fd, companion(status, task), flags, Mode::empty()).ok()
        });
        let folders = [own.as_ref(), self.workspace_fd.as_ref(), Some(&self.root_fd)];
        for folder in folders.into_iter().flatten() {
            match system::exists_beneath(folder, path.as_str()) {
                Presence::Missing => {}
                found => return found,
            }
        }
        Presence::Missing
    }

    /// Takes note of a file that was written.
    pub(super) fn note(&mut self, path: &str) {
        if let Unsynced::Paths(paths) = &mut self.unsynced {
            paths.insert(path.to_owned());
            if paths.len() > FILES_SYNCED_ONE_BY_ONE {
                self.unsynced = Unsynced::Anything;
            }
        }
    }

    /// Takes note of a file or folder that was moved, with everything in it.
    pub(super) fn note_move(&mut self, from: &str, to: &str) {
        if let Unsynced::Paths(paths) = &mut self.unsynced {
            let moved = |path: &String| Some(format!("{to}{}", path.strip_prefix(from)?));
            let inside = |path: &String| path.strip_prefix(from)?.starts_with('/').then_some(());
            let new: Vec<String> =
                paths.iter().filter(|path| inside(path).is_some()).filter_map(moved).collect();
            paths.extend(new);
        }
        self.note(from);
        self.note(to);
    }

    /// Takes note that others wrote something, and that nobody knows what.
    pub(super) fn note_anything(&mut self) {
        self.unsynced = Unsynced::Anything;
    }

    /// Makes everything that was written survive a power cut.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        match &self.unsynced {
            Unsynced::Paths(paths) => self.sync_now(paths)?,
            Unsynced::Anything => self.sync_everything()?,
        }
        self.forget_unsynced();
        Ok(())
    }

    /// Makes these files survive a power cut: files before the folders that name them, and every
    /// folder up to the data folder, for any of them may be new.
    pub(super) fn sync_now(&self, paths: &BTreeSet<String>) -> Result<(), StoreError> {
        if paths.len() > FILES_SYNCED_ONE_BY_ONE {
            return self.sync_everything();
        }
        paths.iter().try_for_each(|path| sync_one(&self.root.join(path)))?;
        let above = paths.iter().flat_map(|path| Path::new(path).ancestors().skip(1));
        let folders: BTreeSet<&Path> = above.collect();
        folders.iter().rev().try_for_each(|folder| sync_one(&self.root.join(folder)))
    }

    fn sync_everything(&self) -> Result<(), StoreError> {
        sync_all(&self.root_fd, &self.root).map_err(self.error("sync", ""))
    }

    /// Returns a handle that syncs the whole file system, for another thread to use.
    pub(super) fn handle(&self) -> Result<OwnedFd, StoreError> {
        rustix::io::fcntl_dupfd_cloexec(&self.root_fd, 0).map_err(self.error("open", ""))
    }

    /// Forgets what was written: it is synced, or somebody is about to.
    pub(super) fn forget_unsynced(&mut self) {
        self.unsynced = Unsynced::default();
    }
}

impl Default for Unsynced {
    fn default() -> Self {
        Self::Paths(BTreeSet::new())
    }
}

/// Beyond this many files, syncing everything is quicker than syncing each.
const FILES_SYNCED_ONE_BY_ONE: usize = 64;

/// Syncs the whole file system a folder lies on.
pub(super) fn sync_all(folder: &OwnedFd, root: &Path) -> Result<(), Errno> {
    fault::point();
    fault::note_sync(&root.join("*"));
    system::sync_everything(folder, root)
}

/// What is no longer there needs no sync; its folder gets one.
fn sync_one(path: &Path) -> Result<(), StoreError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let Ok(fd) = openat(CWD, path, flags, Mode::empty()) else { return Ok(()) };
    fault::point();
    fault::note_sync(path);
    // On macOS this reaches the disk, where the call of that name reaches its cache.
    File::from(fd).sync_all().map_err(StoreError::io("sync", path))
}

/// Marks a text in the name of a temporary file.
pub(super) fn mark(bytes: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(bytes))
}

fn is_folder(stat: &rustix::fs::Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// Splits a path into the folder that is ours, and what agents may have made below it.
fn split(folder: &str) -> (&str, &str) {
    let ours = if folder.starts_with("tasks/") { 2 } else { 1 };
    match folder.match_indices('/').nth(ours - 1) {
        Some((at, _)) => (&folder[..at], &folder[at + 1..]),
        None => (folder, ""),
    }
}
