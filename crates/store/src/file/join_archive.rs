//! Replaces an unused data folder by an archive, when a node joins a fleet whose early commits can
//! no longer be replayed.
//!
//! The two folders are exchanged in one step, so a crash leaves one of them in place. Only the
//! project comes from the archive. Settings, keys and all other files belong to this machine, and
//! stay the same files.

use std::fs::{self, DirBuilder, DirEntry, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::archive::{UnpackError, sync_folder_tree, unpack_into};
use super::archive_scope::{ArchiveScope, is_project_file};
use super::folder::DataFolder;
use super::format_check::check_format;
use crate::document_paths::{EVENTS, JOURNAL, RUNS, TASKS};
use crate::store::StoreError;

/// Where the new folder is made, next to the old one.
const JOINING_FOLDER: &str = ".adjutant-joining";
/// Where the old folder goes if a file was put into it during the exchange.
const ASIDE_FOLDER: &str = ".adjutant-before-joining";

/// Returns true if the folder has no tasks, no events and no runs.
pub fn is_unused(folder: &DataFolder) -> Result<bool, StoreError> {
    for inside in [TASKS, EVENTS, RUNS] {
        if !has_no_files(&folder.root().join(inside))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_no_files(folder: &Path) -> Result<bool, StoreError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(StoreError::io("read", folder)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(StoreError::io("read", folder))?;
        let kind = entry.file_type().map_err(StoreError::io("read", entry.path()))?;
        if !kind.is_dir() || !has_no_files(&entry.path())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Replaces an unused folder by the project in an archive, and keeps all other files in it. Leaves
/// a folder that is in use as it is.
pub fn join_from_archive(folder: &DataFolder, archive: impl Read) -> Result<(), UnpackError> {
    check_format(folder)?;
    let root = fs::canonicalize(folder.root()).map_err(StoreError::io("find", folder.root()))?;
    let parent = root.parent().unwrap_or(&root).to_owned();
    // Another process that joins in this folder waits for the lock, and then finds the
    // folder in use.
    let lock = File::open(&parent).map_err(StoreError::io("open", &parent))?;
    lock.lock().map_err(StoreError::io("lock", &parent))?;
    if !is_unused(folder)? {
        return Ok(());
    }
    let new = parent.join(JOINING_FOLDER);
    remove_folder(&new)?;
    let is_included = |path: &Path| ArchiveScope::Join.includes(path);
    let made = unpack_into(archive, &new, is_included).and_then(|_| {
        keep_machine_files(&root, &new)?;
        Ok(sync_folder_tree(&new)?)
    });
    if let Err(error) = made {
        remove_folder(&new)?;
        return Err(error);
    }
    exchange(&new, &root)?;
    lock.sync_all().map_err(StoreError::io("sync", &parent))?;
    // A file may have been added to the old folder just before the exchange.
    keep_machine_files(&new, &root)?;
    Ok(remove_old_folder(&new, &parent)?)
}

/// Removes a new folder that a crashed process left unfinished.
fn remove_folder(new: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", new)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Links this machine's own files into the new folder, where they are missing. Hard links keep them
/// the same files for a process that has one open.
fn keep_machine_files(old: &Path, new: &Path) -> Result<(), StoreError> {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let full = old.join(&folder);
        for entry in fs::read_dir(&full).map_err(StoreError::io("read", &full))? {
            let entry = entry.map_err(StoreError::io("read", &full))?;
            let path = folder.join(entry.file_name());
            if path == Path::new(JOURNAL) || is_project_file(&path) {
                continue;
            }
            let to = new.join(&path);
            if keep_entry(&entry, &to).map_err(StoreError::io("copy", &to))?.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(())
}

/// Keeps a file, or creates a folder for the files in it. Returns the type.
fn keep_entry(entry: &DirEntry, to: &Path) -> io::Result<fs::FileType> {
    let (from, kind) = (entry.path(), entry.file_type()?);
    let kept = if kind.is_dir() {
        DirBuilder::new().mode(entry.metadata()?.mode() & 0o777).create(to)
    } else if kind.is_symlink() {
        symlink(fs::read_link(&from)?, to)
    } else {
        fs::hard_link(&from, to).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            // Not every file system has hard links.
            _ => fs::copy(&from, to).map(drop),
        })
    };
    match kept {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(kind),
    }
}

/// Exchanges the two folders: in one step, or in several renames where the system cannot do that.
fn exchange(new: &Path, root: &Path) -> Result<(), StoreError> {
    let failed = StoreError::io("create", root);
    match renameat_with(CWD, new, CWD, root, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            let old = new.with_extension("old");
            let moved = fs::rename(root, &old).and_then(|()| fs::rename(new, root));
            moved.and_then(|()| fs::rename(&old, new)).map_err(failed)
        }
        Err(errno) => Err(failed(errno.into())),
    }
}

/// Removes the old folder, unless a file was put into it meanwhile.
fn remove_old_folder(old: &Path, parent: &Path) -> Result<(), StoreError> {
    let used = [TASKS, EVENTS, RUNS].map(|inside| has_no_files(&old.join(inside)));
    if used.into_iter().all(|empty| empty.is_ok_and(|empty| empty)) {
        return remove_folder(old);
    }
    let aside = free_name(parent);
    fs::rename(old, &aside).map_err(StoreError::io("move aside", &aside))
}

fn free_name(parent: &Path) -> PathBuf {
    let names = (1_u32..).map(|number| parent.join(format!("{ASIDE_FOLDER}.{number}")));
    let mut free = names.filter(|path| path.symlink_metadata().is_err());
    free.next().unwrap_or_else(|| parent.join(ASIDE_FOLDER))
}
