//! Looks at every task file without opening one.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;

use adjutant_core::{Status, TaskId};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, open, statat};
use rustix::io::Errno;

use super::known::Sig;
use crate::document::status_folder;
use crate::store::StoreError;

/// Every task file there is: where it lies and how it looks. None for what is no plain file.
pub(super) type Scan = BTreeMap<TaskId, Vec<(Status, Option<Sig>)>>;

/// Looks at every task file in every folder.
pub(super) fn scan(root: &Path) -> Result<Scan, StoreError> {
    let mut scan = Scan::new();
    for status in Status::ALL {
        let path = root.join(status_folder(status));
        let folder = match open_folder(&path) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(StoreError::io("open", &path)(errno.into())),
        };
        let io = |errno: Errno| StoreError::io("read", &path)(errno.into());
        for entry in Dir::read_from(&folder).map_err(io)? {
            let entry = entry.map_err(io)?;
            let Some(id) = task_of(entry.file_name().to_bytes()) else { continue };
            match statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                // A task has one file, bar accidents; room for more would be most of the whole.
                Ok(stat) => scan
                    .entry(id)
                    .or_insert_with(|| Vec::with_capacity(1))
                    .push((status, Sig::of(&stat))),
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(io(errno)),
            }
        }
    }
    Ok(scan)
}

fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    open(path, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Returns the task whose file has this name.
pub(super) fn task_of(name: &[u8]) -> Option<TaskId> {
    TaskId::parse(std::str::from_utf8(name).ok()?.strip_suffix(".md")?).ok()
}
