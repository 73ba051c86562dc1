//! A folder that a run may have changed, written to without following any link in it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use adjutant_process::atomic_file::unique_suffix;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, mkdirat, openat, renameat, statat, symlinkat};
use rustix::io::Errno;

const FOLDER_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// An open folder. Whatever replaces it meanwhile, what is written goes where it was opened.
#[derive(Debug)]
pub struct FolderHandle(OwnedFd);

impl FolderHandle {
    /// Opens a folder that no run can replace.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, FOLDER_FLAGS, Mode::empty())?))
    }

    /// Opens a folder inside, and creates what is missing of its path.
    pub fn create_inside(&self, relative: &Path) -> io::Result<Self> {
        let mut folder = Self(self.0.try_clone()?);
        for part in relative.components() {
            let Component::Normal(name) = part else { continue };
            match mkdirat(&folder.0, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            folder = Self(openat(&folder.0, name, FOLDER_FLAGS, Mode::empty())?);
        }
        Ok(folder)
    }

    pub fn names(&self) -> io::Result<BTreeSet<Vec<u8>>> {
        let entries = Dir::read_from(&self.0)?;
        entries.map(|entry| Ok(entry?.file_name().to_bytes().to_owned())).collect()
    }

    /// Makes a link, unless there is anything of that name.
    pub fn link(&self, name: &OsStr, target: &Path) -> io::Result<()> {
        match symlinkat(target, &self.0, name) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Replaces a file, for the owner only.
    pub fn write(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        let staged = [name.as_bytes(), b".", unique_suffix().as_bytes()].concat();
        let staged = OsStr::from_bytes(&staged);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.0, staged, flags | OFlags::NOFOLLOW, Mode::RUSR | Mode::WUSR)?;
        File::from(file).write_all(bytes)?;
        Ok(renameat(&self.0, staged, &self.0, name)?)
    }

    /// Returns when a file was last modified, in seconds since 1970; `None` if there is none.
    pub fn modified(&self, name: &OsStr) -> Option<i64> {
        Some(statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?.st_mtime)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn folder_handle_follows_no_link_that_a_run_left() {
        let home = tempfile::tempdir().expect("a folder");
        let (inside, outside) = (home.path().join("in"), home.path().join("out"));
        fs::create_dir_all(&inside).expect("made");
        fs::create_dir_all(&outside).expect("made");
        fs::write(outside.join("file"), "untouched").expect("written");
        symlink(&outside, inside.join("folder")).expect("linked");
        symlink(outside.join("file"), inside.join("file")).expect("linked");
        let handle = FolderHandle::open(&inside).expect("a folder");
        assert!(handle.create_inside(Path::new("folder/x")).is_err());
        handle.write(OsStr::new("file"), b"new").expect("written");
        assert_eq!(fs::read_to_string(inside.join("file")).expect("a file"), "new");
        assert_eq!(fs::read_to_string(outside.join("file")).expect("a file"), "untouched");
        let made = handle.create_inside(Path::new("a/b")).expect("made");
        made.link(OsStr::new("c"), Path::new("/nowhere")).expect("linked");
        assert!(inside.join("a/b/c").symlink_metadata().is_ok());
    }
}
