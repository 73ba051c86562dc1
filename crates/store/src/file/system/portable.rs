//! The same as Linux does, in steps that every Unix knows.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use adjutant_core::TaskId;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ftruncate, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::store::Presence;

/// How a folder is opened that is only looked into.
pub(in crate::file) const LOOK: OFlags = OFlags::RDONLY;

/// What would hear of changes. Without it everything is looked at.
pub(in crate::file) enum Watch {}

impl Watch {
    /// Begins to watch; none if the system cannot.
    pub(in crate::file) fn start(_: &Path) -> Option<Self> {
        None
    }

    /// Returns the tasks whose files were touched since the last call; none if that is not known.
    pub(in crate::file) fn touched(&self, _: &Path) -> Option<BTreeSet<TaskId>> {
        match *self {}
    }
}

/// As many links as systems follow in one path.
const LINKS_MAX: u32 = 40;

/// Opens a folder below another. No link on the way is followed.
pub(in crate::file) fn open_beneath(folder: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    let mut names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
    let first = enter(folder.as_fd(), names.next().unwrap_or("."))?;
    names.try_fold(first, |inner, name| enter(inner.as_fd(), name))
}

/// Opens a folder by its name, which may lead neither up nor elsewhere.
fn enter(folder: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    if name == ".." {
        return Err(Errno::XDEV);
    }
    let flags = LOOK | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat(folder, name, flags, Mode::empty())
}

/// Says whether something is there below a folder. Links are followed that stay inside.
///
/// Every folder on the way is held open, so that whoever moves one meanwhile cannot lead outside.
pub(in crate::file) fn exists_beneath(folder: &OwnedFd, path: &str) -> Presence {
    walk(folder, path).unwrap_or_else(|errno| match errno {
        Errno::XDEV | Errno::LOOP => Presence::Escapes,
        _ => Presence::Missing,
    })
}

fn walk(folder: &OwnedFd, path: &str) -> Result<Presence, Errno> {
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
                let target = target(here, &name, links)?;
                for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
                    ahead.push_front(name);
                }
            }
            FileType::Directory => {
                let inner = enter(here.as_fd(), &name)?;
                inside.push(inner);
            }
            _ if ahead.is_empty() => return Ok(Presence::Present),
            _ => return Err(Errno::NOTDIR),
        }
    }
    Ok(Presence::Present)
}

/// Returns the names on a path. That a path ends in a slash asks for a folder, as a dot does.
fn names(path: &str) -> impl Iterator<Item = String> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".").map(str::to_owned)
}

/// Reads a link that stays inside as far as its first step tells.
fn target(folder: &OwnedFd, name: &str, links: u32) -> Result<String, Errno> {
    if links > LINKS_MAX {
        return Err(Errno::LOOP);
    }
    let target = readlinkat(folder, name, Vec::new())?;
    // A name that is no text is none a message can mean.
    let target = target.into_string().map_err(|_| Errno::NOENT)?;
    if target.starts_with('/') { Err(Errno::XDEV) } else { Ok(target) }
}

/// Reserves nothing: where room cannot be reserved without the file getting longer, a full disk is
/// found out when the file is written, and made up for.
#[expect(clippy::unnecessary_wraps, reason = "other systems can")]
pub(in crate::file) fn reserve(_: &File, _: u64, _: u64) -> Result<(), Errno> {
    Ok(())
}

/// Takes everything out of a file.
pub(in crate::file) fn empty(file: &File, _: u64) -> Result<(), Errno> {
    ftruncate(file, 0)
}

/// Syncs everything below the data folder, file by file, and folders after what is in them.
pub(in crate::file) fn sync_everything(_: &OwnedFd, root: &Path) -> Result<(), Errno> {
    sync_below(root).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// What was taken away meanwhile needs no sync, and what is neither a file nor a folder has none.
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
