//! Reads and writes files in the data folder: atomically, and without losing an edit of a person.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use adjutant_model::relative_path::RelPath;
use adjutant_model::{Status, TaskId};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, fstat, mkdirat, open, openat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;

use super::exchange_slots::{ExchangeMark, ExchangeSlots};
use super::file_pool::FilePool;
use super::fingerprint::FileSignature;
use super::folder::DataFolder;
use super::held_tasks::HeldTasks;
use super::{fault, system};
use crate::document_paths::{JOURNAL, companion_folder};
use crate::store::{FileAvailability, StoreError};

/// Where files are written before they get their names.
pub(super) const TEMPORARY: &str = "journal/tmp";
/// Where files go that were in the way and must not be lost.
pub(super) const LOST_FOUND: &str = "lost+found";

/// The data folder, opened.
pub(super) struct FolderDisk {
    root: PathBuf,
    pub(super) root_fd: OwnedFd,
    workspace_fd: Option<OwnedFd>,
    /// The last number used for a temporary name.
    last_temporary: AtomicU64,
    unsynced: UnsyncedPaths,
    pub(super) pool: FilePool,
    pub(super) slots: ExchangeSlots,
    pub(super) held: HeldTasks,
}

/// Paths that were written by any process and not synced yet.
enum UnsyncedPaths {
    /// Files and folders; their names in the folders above are unsynced too.
    Paths(BTreeSet<String>),
    /// Unknown: everything has to be synced.
    Everything,
}

/// A complete file under a temporary name.
#[derive(Clone)]
pub(super) struct StagedFile {
    pub(super) path: String,
    pub(super) sig: Option<FileSignature>,
}

/// The content of a file, and its signature; `None` if it is not a plain file.
type SignedBytes = (Vec<u8>, Option<FileSignature>);

pub(super) enum BoundedRead {
    Bytes(Vec<u8>, FileSignature),
    TooLarge,
    /// A folder, a link, a socket or the like.
    NotAFile,
    Missing,
}

/// What lies at a path.
pub(super) enum PathState {
    File(FileSignature),
    /// A folder, a link, a socket or the like.
    Other,
    Missing,
}

impl FolderDisk {
    pub(super) fn open(folder: &DataFolder) -> Result<Self, StoreError> {
        let root = folder.root().to_owned();
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let root_fd = open(&root, flags, Mode::empty())
            .map_err(|errno| StoreError::io("open", &root)(errno.into()))?;
        let workspace_fd = open(folder.workspace(), flags, Mode::empty()).ok();
        Ok(Self {
            root,
            root_fd,
            workspace_fd,
            last_temporary: AtomicU64::new(0),
            unsynced: UnsyncedPaths::default(),
            pool: FilePool::default(),
            slots: ExchangeSlots::default(),
            held: HeldTasks::default(),
        })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of the journal folder.
    pub(super) fn journal(&self) -> PathBuf {
        self.root.join(JOURNAL)
    }

    fn error(&self, attempt: &'static str, path: &str) -> impl FnOnce(Errno) -> StoreError {
        let path = self.root.join(path);
        move |errno| StoreError::io(attempt, path)(errno.into())
    }

    /// Reads a file; `None` if there is none. Does not follow a link.
    pub(super) fn read(&self, path: &str) -> Result<Option<SignedBytes>, StoreError> {
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
        Ok(Some((bytes, FileSignature::of(&stat))))
    }

    /// Reads a plain file of at most `bytes_max` bytes. Does not follow a link.
    pub(super) fn read_up_to(&self, path: &str, bytes_max: u64) -> Result<BoundedRead, StoreError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let fd = match openat(&self.root_fd, path, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(BoundedRead::Missing),
            // `LOOP` is a link, `NXIO` a socket.
            Err(Errno::LOOP | Errno::NXIO) => return Ok(BoundedRead::NotAFile),
            Err(errno) => return Err(self.error("open", path)(errno)),
        };
        let stat = fstat(&fd).map_err(self.error("read", path))?;
        let Some(sig) = FileSignature::of(&stat) else { return Ok(BoundedRead::NotAFile) };
        if sig.size > bytes_max {
            return Ok(BoundedRead::TooLarge);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(sig.size).unwrap_or(0));
        // The file may be growing.
        let mut file = File::from(fd).take(bytes_max + 1);
        file.read_to_end(&mut bytes).map_err(StoreError::io("read", self.root.join(path)))?;
        if bytes.len() as u64 > bytes_max {
            return Ok(BoundedRead::TooLarge);
        }
        Ok(BoundedRead::Bytes(bytes, sig))
    }

    /// Reads a file as text; invalid UTF-8 is replaced.
    pub(super) fn read_text(&self, path: &str) -> Result<Option<String>, StoreError> {
        let bytes = self.read(path)?;
        Ok(bytes.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Looks at a path without opening it.
    pub(super) fn path_state(&self, path: &str) -> Result<PathState, StoreError> {
        match statat(&self.root_fd, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(FileSignature::of(&stat).map_or(PathState::Other, PathState::File)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(PathState::Missing),
            Err(errno) => Err(self.error("examine", path)(errno)),
        }
    }

    /// Writes a file under a temporary name. Only this step can run out of disk space.
    pub(super) fn stage(&self, text: impl AsRef<[u8]>) -> Result<StagedFile, StoreError> {
        let path = self.next_temporary();
        self.stage_at(&path, text.as_ref())
    }

    /// Writes a file that will be exchanged with a task's file. Records the checksums of the
    /// committed text and of this text, so that recovery can recognize a file that came out
    /// of the exchange.
    pub(super) fn stage_for_exchange(
        &self,
        committed: &str,
        text: &str,
    ) -> Result<StagedFile, StoreError> {
        let [committed, own] = [committed, text].map(|text| text_checksum(text.as_bytes()));
        let mark = ExchangeMark { committed, own };
        if let Some(staged) = self.stage_pooled(&mark, text.as_bytes())? {
            return Ok(staged);
        }
        let named = || format!("{}-{}-{}", self.next_temporary(), mark.committed, mark.own);
        let slot = if self.pool.is_off() { None } else { self.slots.new_slot(&mark) };
        let path = slot.unwrap_or_else(named);
        self.stage_at(&path, text.as_bytes())
    }

    /// Prepares the file that records the exchange slots. Call once a turn.
    pub(super) fn prepare_slots(&mut self) {
        if self.pool.is_off() {
            return;
        }
        let journal = self.journal();
        self.slots.ensure_file(&journal);
    }

    fn next_temporary(&self) -> String {
        let number = self.last_temporary.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{TEMPORARY}/{}-{number}", std::process::id())
    }

    fn stage_at(&self, path: &str, bytes: &[u8]) -> Result<StagedFile, StoreError> {
        let staged = self.create_file(path).and_then(|file| self.write_staged(file, path, bytes));
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
    ) -> Result<StagedFile, StoreError> {
        fault::write_all(&mut file, bytes)
            .map_err(StoreError::io("write", self.root.join(path)))?;
        let stat = fstat(&file).map_err(self.error("read", path))?;
        Ok(StagedFile { path: path.to_owned(), sig: FileSignature::of(&stat) })
    }

    fn create_file(&self, path: &str) -> Result<File, StoreError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        fault::point();
        let fd = openat(&self.root_fd, path, flags, Mode::RUSR | Mode::WUSR)
            .map_err(self.error("create", path))?;
        Ok(File::from(fd))
    }

    /// Renames a staged file to `path` and replaces a file there. A folder there
    /// goes to `lost+found`.
    pub(super) fn install(&mut self, staged: &StagedFile, path: &str) -> Result<(), StoreError> {
        let mut put = self.rename(&staged.path, path, RenameFlags::empty());
        if put == Err(Errno::ISDIR) {
            self.move_to_lost_found(path)?;
            put = self.rename(&staged.path, path, RenameFlags::empty());
        }
        put.map_err(self.error("write", path))?;
        self.note_written(path);
        Ok(())
    }

    /// Renames a staged file to `path` unless something is there. Returns whether it did.
    pub(super) fn install_new(
        &mut self,
        staged: &StagedFile,
        path: &str,
    ) -> Result<bool, StoreError> {
        match self.rename(&staged.path, path, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.note_written(path);
                Ok(true)
            }
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(self.error("write", path)(errno)),
        }
    }

    /// Exchanges a staged file with the file at `path`, and returns what came out; `None` if
    /// nothing lies at `path`.
    pub(super) fn exchange(
        &mut self,
        staged: &StagedFile,
        path: &str,
    ) -> Result<Option<PathState>, StoreError> {
        fault::point();
        match self.rename_into(&staged.path, path, RenameFlags::EXCHANGE) {
            Ok(()) => {
                self.note_written(path);
                // Another process may still have been writing to the file.
                self.path_state(&staged.path).map(Some)
            }
            // `NOENT` can also mean that the staged file is missing, which is an error.
            Err(errno @ Errno::NOENT) => match self.path_state(&staged.path)? {
                PathState::Missing => Err(self.error("write", path)(errno)),
                PathState::File(_) | PathState::Other => Ok(None),
            },
            Err(errno) => Err(self.error("write", path)(errno)),
        }
    }

    /// Reads what lies under the staged name, which is another file after an exchange.
    pub(super) fn read_staged(&self, staged: &StagedFile) -> Result<Vec<u8>, StoreError> {
        Ok(self.read(&staged.path)?.map(|(bytes, _)| bytes).unwrap_or_default())
    }

    /// Removes what lies under the staged name.
    pub(super) fn discard(&self, staged: &StagedFile) -> Result<(), StoreError> {
        self.remove(&staged.path)
    }

    /// Moves a file or folder and returns whether it was there. Anything at `to`
    /// goes to `lost+found`.
    pub(super) fn move_path(&mut self, from: &str, to: &str) -> Result<bool, StoreError> {
        match self.rename(from, to, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::NOENT) if matches!(self.path_state(from)?, PathState::Missing) => {
                return Ok(false);
            }
            Err(Errno::EXIST) => {
                if matches!(self.path_state(from)?, PathState::Missing) {
                    return Ok(false);
                }
                self.move_to_lost_found(to)?;
                self.rename(from, to, RenameFlags::NOREPLACE).map_err(self.error("move", from))?;
            }
            Err(errno) => return Err(self.error("move", from)(errno)),
        }
        self.note_move(from, to);
        Ok(true)
    }

    /// Moves a file or folder to `lost+found`, and returns its path there.
    pub(super) fn move_to_lost_found(&mut self, path: &str) -> Result<String, StoreError> {
        let name = path.replace('/', "-");
        let mut number = 1_u32;
        loop {
            let aside = format!("{LOST_FOUND}/{name}.{number}");
            match self.rename(path, &aside, RenameFlags::NOREPLACE) {
                Ok(()) => {
                    self.note_move(path, &aside);
                    return Ok(aside);
                }
                Err(Errno::EXIST) => number += 1,
                Err(errno) => return Err(self.error("move aside", path)(errno)),
            }
        }
    }

    /// Moves a staged file to `lost+found` under a free name, and returns its path.
    pub(super) fn keep_in_lost_found(
        &mut self,
        staged: &StagedFile,
        name: &str,
    ) -> Result<String, StoreError> {
        let mut number = 1_u32;
        loop {
            let aside = format!("{LOST_FOUND}/{name}.{number}");
            if self.install_new(staged, &aside)? {
                return Ok(aside);
            }
            number += 1;
        }
    }

    /// Renames, and creates the folder of `to` if it is missing or something else is in its place.
    fn rename(&mut self, from: &str, to: &str, flags: RenameFlags) -> Result<(), Errno> {
        fault::point();
        match self.rename_into(from, to, flags) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if flags != RenameFlags::EXCHANGE => {
                if statat(&self.root_fd, from, AtFlags::SYMLINK_NOFOLLOW).is_err() {
                    return Err(Errno::NOENT);
                }
                self.make_parent_folders(to)?;
                fault::point();
                self.rename_into(from, to, flags)
            }
            other => other,
        }
    }

    fn rename_into(&self, from: &str, to: &str, flags: RenameFlags) -> Result<(), Errno> {
        let (folder, name) = to.rsplit_once('/').unwrap_or(("", to));
        if split_agent_part(folder).1.is_empty() {
            return renameat_with(&self.root_fd, from, &self.root_fd, to, flags);
        }
        let folder = self.open_folder(folder)?;
        renameat_with(&self.root_fd, from, &folder, name, flags)
    }

    /// Opens a folder. Below the status folders and `runs`, agents can write, so no link is
    /// followed there: it could lead anywhere.
    fn open_folder(&self, folder: &str) -> Result<OwnedFd, Errno> {
        let (ours, theirs) = split_agent_part(folder);
        let flags = system::INSPECT_FLAGS | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let ours = if ours.is_empty() { "." } else { ours };
        let fd = openat(&self.root_fd, ours, flags, Mode::empty())?;
        if theirs.is_empty() { Ok(fd) } else { system::open_beneath(&fd, theirs) }
    }

    /// Creates the folder for a file before the commit, while a full disk can still be reported.
    pub(super) fn make_folder_of(&mut self, path: &str) -> Result<(), StoreError> {
        self.make_parent_folders(path).map_err(self.error("create the folder of", path))
    }

    /// Creates the folders above a path, for the owner only. Where agents can write, anything that
    /// is not a folder goes to `lost+found`.
    fn make_parent_folders(&mut self, path: &str) -> Result<(), Errno> {
        let ends = path.match_indices('/').map(|(at, _)| at);
        for folder in ends.map(|end| &path[..end]) {
            match statat(&self.root_fd, folder, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if is_folder(&stat) || split_agent_part(folder).1.is_empty() => continue,
                Ok(_) => drop(self.move_to_lost_found(folder).map_err(|_| Errno::NOTDIR)?),
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
            fault::point();
            mkdirat(&self.root_fd, folder, Mode::RWXU)?;
        }
        Ok(())
    }

    /// Removes a file; succeeds if it is missing.
    pub(super) fn remove(&self, path: &str) -> Result<(), StoreError> {
        fault::point();
        match unlinkat(&self.root_fd, path, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.error("remove", path)(errno)),
        }
    }

    /// Returns the UTF-8 names in a folder; empty if the folder is missing.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let names = self.all_names(folder)?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    /// Returns all names in a folder, sorted; empty if the folder is missing.
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

    /// Looks for a file that a message names: in the task's folder, then in the workspace, then in
    /// the data folder. Reports a link that leads out of any of them.
    pub(super) fn presence(
        &self,
        status: Option<Status>,
        task: &TaskId,
        path: &RelPath,
    ) -> FileAvailability {
        let flags = system::INSPECT_FLAGS | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let own = status.and_then(|status| {
            openat(&self.root_fd, companion_folder(status, task), flags, Mode::empty()).ok()
        });
        let folders = [own.as_ref(), self.workspace_fd.as_ref(), Some(&self.root_fd)];
        for folder in folders.into_iter().flatten() {
            match system::exists_beneath(folder, path.as_str()) {
                FileAvailability::Missing => {}
                found => return found,
            }
        }
        FileAvailability::Missing
    }

    /// Records that a file was written and needs a sync.
    pub(super) fn note_written(&mut self, path: &str) {
        if let UnsyncedPaths::Paths(paths) = &mut self.unsynced {
            paths.insert(path.to_owned());
            if paths.len() > FILES_SYNCED_ONE_BY_ONE {
                self.unsynced = UnsyncedPaths::Everything;
            }
        }
    }

    /// Records that a file or folder was moved, with everything in it.
    pub(super) fn note_move(&mut self, from: &str, to: &str) {
        if let UnsyncedPaths::Paths(paths) = &mut self.unsynced {
            let moved = |path: &String| Some(format!("{to}{}", path.strip_prefix(from)?));
            let inside = |path: &String| path.strip_prefix(from)?.starts_with('/').then_some(());
            let new: Vec<String> =
                paths.iter().filter(|path| inside(path).is_some()).filter_map(moved).collect();
            paths.extend(new);
        }
        self.note_written(from);
        self.note_written(to);
    }

    /// Records that unknown files were written.
    pub(super) fn note_unknown_writes(&mut self) {
        self.unsynced = UnsyncedPaths::Everything;
    }

    /// Makes everything that was written survive a power cut.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        match &self.unsynced {
            UnsyncedPaths::Paths(paths) => self.sync_now(paths)?,
            UnsyncedPaths::Everything => self.sync_everything()?,
        }
        self.forget_unsynced();
        Ok(())
    }

    /// Syncs these files, then every folder above them up to the data folder, because any of those
    /// may be new.
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

    /// Returns a handle with which another thread can sync the file system.
    pub(super) fn sync_handle(&self) -> Result<OwnedFd, StoreError> {
        rustix::io::fcntl_dupfd_cloexec(&self.root_fd, 0).map_err(self.error("open", ""))
    }

    /// Clears the list: the files are synced, or a checkpoint is about to sync them.
    pub(super) fn forget_unsynced(&mut self) {
        self.unsynced = UnsyncedPaths::default();
    }
}

impl Default for UnsyncedPaths {
    fn default() -> Self {
        Self::Paths(BTreeSet::new())
    }
}

/// Above this number of files, one sync of everything is faster than one sync each.
const FILES_SYNCED_ONE_BY_ONE: usize = 64;

/// Syncs the whole file system that holds the folder.
pub(super) fn sync_all(folder: &OwnedFd, root: &Path) -> Result<(), Errno> {
    fault::point();
    fault::note_sync(&root.join("*"));
    system::sync_everything(folder, root)
}

/// A missing file needs no sync; its folder is synced too.
fn sync_one(path: &Path) -> Result<(), StoreError> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let Ok(fd) = openat(CWD, path, flags, Mode::empty()) else { return Ok(()) };
    fault::point();
    fault::note_sync(path);
    // On macOS, `sync_all` reaches the disk, while `fsync` reaches only the disk's cache.
    File::from(fd).sync_all().map_err(StoreError::io("sync", path))
}

/// Returns a checksum that identifies a text in the name of a temporary file.
pub(super) fn text_checksum(bytes: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(bytes))
}

fn is_folder(stat: &rustix::fs::Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// Splits a path into the part that Adjutant made, and the part that agents may have made.
fn split_agent_part(folder: &str) -> (&str, &str) {
    let ours = if folder.starts_with("tasks/") { 2 } else { 1 };
    match folder.match_indices('/').nth(ours - 1) {
        Some((at, _)) => (&folder[..at], &folder[at + 1..]),
        None => (folder, ""),
    }
}
