//! Puts an archive in the place of a data folder that nobody has used: how a node joins whose
//! record begins before what can still be followed.
//!
//! The two folders change places in one step, so that whoever dies on the way leaves one of them.
//! Only the project comes from the archive: settings, keys and whatever else lies in the folder are
//! of this machine, and stay the very files they are.

use std::fs::{self, DirBuilder, DirEntry, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::archive::{UnpackError, sync, unpack_into};
use super::folder::Folder;
use super::format_check::check_format;
use super::parcel::{Parcel, is_project};
use crate::document::{EVENTS, JOURNAL, RUNS, TASKS};
use crate::store::StoreError;

/// Where the new folder is made, beside the old one.
const NEW: &str = ".adjutant-joining";
/// Where the old folder goes if somebody has put something into it this very moment.
const ASIDE: &str = ".adjutant-before-joining";

/// Says whether a folder is as it was made: nothing was ever committed to it, or lies in it.
pub fn is_unused(folder: &Folder) -> Result<bool, StoreError> {
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

/// Puts the project of an archive in the place of a folder that nobody has used, which keeps all
/// else that lies in it. One that is used by now stays as it is.
pub fn join(folder: &Folder, archive: impl Read) -> Result<(), UnpackError> {
    check_format(folder)?;
    let root = fs::canonicalize(folder.root()).map_err(StoreError::io("find", folder.root()))?;
    let parent = root.parent().unwrap_or(&root).to_owned();
    // Whoever else joins in this folder waits, and then finds it used.
    let lock = File::open(&parent).map_err(StoreError::io("open", &parent))?;
    lock.lock().map_err(StoreError::io("lock", &parent))?;
    if !is_unused(folder)? {
        return Ok(());
    }
    let new = parent.join(NEW);
    remove(&new)?;
    let wanted = |path: &Path| Parcel::Snapshot.holds(path);
    let made = unpack_into(archive, &new, wanted).and_then(|_| {
        keep_own(&root, &new)?;
        Ok(sync(&new)?)
    });
    if let Err(error) = made {
        remove(&new)?;
        return Err(error);
    }
    exchange(&new, &root)?;
    lock.sync_all().map_err(StoreError::io("sync", &parent))?;
    // Somebody may have put a file there this very moment.
    keep_own(&new, &root)?;
    Ok(clear_away(&new, &parent)?)
}

/// Removes what somebody who died left of a new folder, which is of no use to anybody.
fn remove(new: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", new)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Gives the new folder what is of this machine, where it does not have it yet: as links to the
/// same files, so that whoever has one open goes on with it.
fn keep_own(old: &Path, new: &Path) -> Result<(), StoreError> {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let full = old.join(&folder);
        for entry in fs::read_dir(&full).map_err(StoreError::io("read", &full))? {
            let entry = entry.map_err(StoreError::io("read", &full))?;
            let path = folder.join(entry.file_name());
            if path == Path::new(JOURNAL) || is_project(&path) {
                continue;
            }
            let to = new.join(&path);
            if keep(&entry, &to).map_err(StoreError::io("keep", &to))?.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(())
}

/// Keeps a file, or makes a folder for those in it. Says which it is.
fn keep(entry: &DirEntry, to: &Path) -> io::Result<fs::FileType> {
    let (from, kind) = (entry.path(), entry.file_type()?);
    let kept = if kind.is_dir() {
        DirBuilder::new().mode(entry.metadata()?.mode() & 0o777).create(to)
    } else if kind.is_symlink() {
        symlink(fs::read_link(&from)?, to)
    } else {
        fs::hard_link(&from, to).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            // Not every file system has links.
            _ => fs::copy(&from, to).map(drop),
        })
    };
    match kept {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(kind),
    }
}

/// Where the system cannot exchange two folders in one step, it is done in two.
fn exchange(new: &Path, root: &Path) -> Result<(), StoreError> {
    let failed = StoreError::io("make", root);
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

/// Removes the old folder, unless somebody has put something into it.
fn clear_away(old: &Path, parent: &Path) -> Result<(), StoreError> {
    let used = [TASKS, EVENTS, RUNS].map(|inside| has_no_files(&old.join(inside)));
    if used.into_iter().all(|empty| empty.is_ok_and(|empty| empty)) {
        return remove(old);
    }
    let aside = free_name(parent);
    fs::rename(old, &aside).map_err(StoreError::io("put aside", &aside))
}

fn free_name(parent: &Path) -> PathBuf {
    let names = (1_u32..).map(|number| parent.join(format!("{ASIDE}.{number}")));
    let mut free = names.filter(|path| path.symlink_metadata().is_err());
    free.next().unwrap_or_else(|| parent.join(ASIDE))
}
