//! What Linux does in one call.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    FallocateFlags, Mode, OFlags, ResolveFlags, fallocate, ftruncate, openat2, syncfs,
};
use rustix::io::Errno;

use crate::store::Presence;

/// How a folder is opened that is only looked into.
pub(in crate::file) const LOOK: OFlags = OFlags::PATH;

/// Opens a folder below another. No link on the way is followed.
pub(in crate::file) fn open_beneath(folder: &OwnedFd, path: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(folder, path, flags, Mode::empty(), resolve)
}

/// Says whether something is there below a folder. Links are followed that stay inside.
pub(in crate::file) fn exists_beneath(folder: &OwnedFd, path: &str) -> Presence {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match openat2(folder, path, flags, Mode::empty(), resolve) {
        Ok(_) => Presence::Present,
        Err(Errno::XDEV | Errno::LOOP) => Presence::Escapes,
        Err(_) => Presence::Missing,
    }
}

/// Reserves room in a file from a place on, and leaves its length as it is.
pub(in crate::file) fn reserve(file: &File, from: u64, bytes: u64) -> Result<(), Errno> {
    fallocate(file, FallocateFlags::KEEP_SIZE, from, bytes)
}

/// Takes everything out of a file of this length, for something else to be written into it at once.
///
/// Cut to nothing, a file is written to the disk as soon as it is closed, which takes long. So a
/// hole is made of it, of one byte, which is what a power cut would show.
pub(in crate::file) fn empty(file: &File, length: u64) -> Result<(), Errno> {
    if length > 0 {
        fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, length)?;
    }
    ftruncate(file, 1)
}

/// Syncs the whole file system a folder lies on.
pub(in crate::file) fn sync_everything(folder: &OwnedFd, _: &Path) -> Result<(), Errno> {
    syncfs(folder)
}
