//! The same operations as on Linux, in steps that every Unix has.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use adjutant_model::TaskId;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ftruncate, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::store::FileAvailability;

/// The flags for opening a folder only to look into it.
pub(in crate::file) const INSPECT_FLAGS: OFlags = OFlags::RDONLY;

/// Cannot be created: without a watch, everything is scanned.
pub(in crate::file) enum TaskWatch {}

impl TaskWatch {
    /// Always returns `None`: this system has no watch.
    pub(in crate::file) fn start(_: &Path) -> Option<Self> {
        None
    }

    /// Returns the tasks whose files were touched since the last call; `None` if that is unknown.
    pub(in crate::file) fn touched_tasks(&self, _: &Path) -> Option<BTreeSet<TaskId>> {
        match *self {}
    }
}

/// As many links as systems usually follow in one path.
const LINKS_MAX: u32 = 40;

/// Opens a folder below another. Follows no link on the way.
pub(in crate::file) fn open_beneath(folder: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    let mut names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
    let first = open_child(folder.as_fd(), names.next().unwrap_or("."))?;
    names.try_fold(first, |inner, name| open_child(inner.as_fd(), name))
}

/// Opens a folder by its name, which must be neither `..` nor a link.
fn open_child(folder: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    if name == ".." {
        return Err(Errno::XDEV);
    }
    let flags = INSPECT_FLAGS | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat(folder, name, flags, Mode::empty())
}

/// Returns whether something exists below a folder. Follows links that stay inside.
///
/// Every folder on the way stays open, so moving one meanwhile cannot lead outside.
pub(in crate::file) fn exists_beneath(folder: &OwnedFd, path: &str) -> FileAvailability {
    walk(folder, path).unwrap_or_else(|errno| match errno {
        Errno::XDEV | Errno::LOOP => FileAvailability::Escapes,
        _ => FileAvailability::Missing,
    })
}

fn walk(folder: &OwnedFd, path: &str) -> Result<FileAvailability, Errno> {
    let mut inside: Vec<OwnedFd> = Vec::new();
    let mut ahead: VecDeque<String> = names(path).collect();
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            inside.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        let here = inside.last().unwrap_or(folder);
        let stat = statat(here, &*name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                links += 1;
                let target = read_link_inside(here, &name, links)?;
                for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
                    ahead.push_front(name);
                }
            }
            FileType::Directory => {
                let inner = open_child(here.as_fd(), &name)?;
                inside.push(inner);
            }
            _ if ahead.is_empty() => return Ok(FileAvailability::Present),
            _ => return Err(Errno::NOTDIR),
        }
    }
    Ok(FileAvailability::Present)
}

/// Returns the names on a path, without empty ones and dots.
fn names(path: &str) -> impl Iterator<Item = String> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").map(str::to_owned)
}

/// Reads a link. Fails if the target is absolute, or if there were too many links.
fn read_link_inside(folder: &OwnedFd, name: &str, links: u32) -> Result<String, Errno> {
    if links > LINKS_MAX {
        return Err(Errno::LOOP);
    }
    let target = readlinkat(folder, name, Vec::new())?;
    // A message cannot name a path that is not UTF-8.
    let target = target.into_string().map_err(|_| Errno::NOENT)?;
    if target.starts_with('/') { Err(Errno::XDEV) } else { Ok(target) }
}

/// Reserves nothing, because here it would make the file longer. A full disk shows when the file is
/// written, and recovery completes it.
#[expect(clippy::unnecessary_wraps, reason = "other systems can")]
pub(in crate::file) fn reserve_space(_: &File, _: u64, _: u64) -> Result<(), Errno> {
    Ok(())
}

pub(in crate::file) fn empty_file(file: &File, _: u64) -> Result<(), Errno> {
    ftruncate(file, 0)
}

/// Syncs everything below the data folder: files one by one, folders after their content.
pub(in crate::file) fn sync_everything(_: &OwnedFd, root: &Path) -> Result<(), Errno> {
    sync_below(root).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Skips what was removed meanwhile, and anything that is neither a file nor a folder.
fn sync_below(path: &Path) -> io::Result<()> {
    let kind = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        stat => stat?.file_type(),
    };
    if kind.is_dir() {
        for entry in std::fs::read_dir(path)? {
            sync_below(&entry?.path())?;
        }
    }
    if !kind.is_dir() && !kind.is_file() {
        return Ok(());
    }
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        file => file?.sync_all(),
    }
}
