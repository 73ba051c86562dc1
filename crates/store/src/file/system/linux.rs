//! The Linux versions, one system call each.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    FallocateFlags, Mode, OFlags, ResolveFlags, fallocate, ftruncate, openat2, syncfs,
};
use rustix::io::Errno;

use crate::store::FileAvailability;

/// The flags for opening a folder only to look into it.
pub(in crate::file) const INSPECT_FLAGS: OFlags = OFlags::PATH;

/// Opens a folder below another. Follows no link on the way.
pub(in crate::file) fn open_beneath(folder: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(folder, path, flags, Mode::empty(), resolve)
}

/// Returns whether something exists below a folder. Follows links that stay inside.
pub(in crate::file) fn exists_beneath(folder: &OwnedFd, path: &str) -> FileAvailability {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(folder, path, flags, Mode::empty(), resolve) {
        Ok(_) => FileAvailability::Present,
        Err(Errno::XDEV | Errno::LOOP) => FileAvailability::Escapes,
        Err(_) => FileAvailability::Missing,
    }
}

/// Reserves disk space in a file from an offset on, and keeps its length.
pub(in crate::file) fn reserve_space(file: &File, from: u64, bytes: u64) -> Result<(), Errno> {
    fallocate(file, FallocateFlags::KEEP_SIZE, from, bytes)
}

/// Empties a file of this length, so that another text can be written into it.
///
/// A file that was truncated to zero is flushed as soon as it is closed, which is slow. So this
/// punches a hole and keeps one byte, which is also what a power cut can leave.
pub(in crate::file) fn empty_file(file: &File, length: u64) -> Result<(), Errno> {
    if length > 0 {
        fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, length)?;
    }
    ftruncate(file, 1)
}

/// Syncs the whole file system that holds the folder.
pub(in crate::file) fn sync_everything(folder: &OwnedFd, _: &Path) -> Result<(), Errno> {
    syncfs(folder)
}
