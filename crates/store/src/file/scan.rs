//! Scans the task files without opening them.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;

use adjutant_model::{Status, TaskId};
use rustix::fs::{AtFlags, Dir, Mode, OFlags, open, statat};
use rustix::io::Errno;

use super::fingerprint::FileSignature;
use crate::document_paths::status_folder;
use crate::store::StoreError;

/// The folders and signatures of every task's files. `None` if it is not a plain file.
pub(super) type TaskScan = BTreeMap<TaskId, Vec<(Status, Option<FileSignature>)>>;

pub(super) fn scan_tasks(root: &Path) -> Result<TaskScan, StoreError> {
    let mut scan = TaskScan::new();
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
            let Some(id) = task_of_file(entry.file_name().to_bytes()) else { continue };
            match statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                // A task normally has one file; spare capacity would be most of the memory used.
                Ok(stat) => scan
                    .entry(id)
                    .or_insert_with(|| Vec::with_capacity(1))
                    .push((status, FileSignature::of(&stat))),
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

/// Returns the id of the task whose file has this name.
pub(super) fn task_of_file(name: &[u8]) -> Option<TaskId> {
    TaskId::parse(std::str::from_utf8(name).ok()?.strip_suffix(".md")?).ok()
}
