//! Watches the task folders with inotify.
//!
//! The kernel queues a change before the process that made it continues. The queue is read when it
//! is asked for, not by a thread that may be late. So no change made before the question is missed.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use adjutant_model::{Status, TaskId};
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::fs::{stat, statfs};
use rustix::io::Errno;

use super::super::scan::task_of_file;
use crate::document_paths::status_folder;

/// Local file systems, by their numbers in the kernel: ext4, XFS, Btrfs, tmpfs, overlay, F2FS,
/// bcachefs, ZFS. On a shared one, the kernel does not see the changes of other machines.
const LOCAL_FILE_SYSTEMS: [i64; 8] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0x794c_7630,
    0xf2f5_2010,
    0xca45_1a4e,
    0x2fc1_2fc1,
];

pub(in crate::file) struct TaskWatch {
    kernel: OwnedFd,
    /// Tells whether the paths still lead to the watched folders.
    folders: Vec<FolderIdentity>,
}

/// Device and inode; `None` if there is no folder.
type FolderIdentity = Option<(u64, u64)>;

impl TaskWatch {
    /// Starts watching; `None` if the system cannot.
    pub(in crate::file) fn start(root: &Path) -> Option<Self> {
        if !LOCAL_FILE_SYSTEMS.contains(&statfs(root).ok()?.f_type) {
            return None;
        }
        let kernel = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        // Taken before the watch starts, so that a folder replaced meanwhile is noticed.
        let folders = identities(root);
        let any = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE
            | WatchFlags::ONLYDIR;
        for status in Status::ALL {
            match add_watch(&kernel, root.join(status_folder(status)), any) {
                Ok(_) | Err(Errno::NOENT) => {}
                Err(_) => return None,
            }
        }
        Some(Self { kernel, folders })
    }

    /// Returns the tasks whose files were touched since the last call; `None` if that is unknown.
    pub(in crate::file) fn touched_tasks(&self, root: &Path) -> Option<BTreeSet<TaskId>> {
        let mut touched = BTreeSet::new();
        let mut buffer = [MaybeUninit::uninit(); 16 << 10];
        let mut reader = Reader::new(&self.kernel, &mut buffer);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(_) => return None,
            };
            // The queue overflowed, or a watched folder is gone.
            if event.events().intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::IGNORED) {
                return None;
            }
            touched.extend(event.file_name().and_then(|name| task_of_file(name.to_bytes())));
        }
        // A folder that is new or was replaced is not watched.
        (identities(root) == self.folders).then_some(touched)
    }
}

fn identities(root: &Path) -> Vec<FolderIdentity> {
    let folders = Status::ALL.into_iter().map(|status| root.join(status_folder(status)));
    let identity = |path: &Path| stat(path).ok().map(|stat| (stat.st_dev, stat.st_ino));
    folders.map(|folder| identity(&folder)).collect()
}
