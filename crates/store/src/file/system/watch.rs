//! Hears of what is done in the folders of tasks, in time for whoever asks next.
//!
//! The kernel notes a change before whoever made it goes on, and what it noted is read when it is
//! asked for, not by a thread that may be late: nothing that was done before the question is missed.

use std::collections::BTreeSet;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;

use adjutant_core::{Status, TaskId};
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::fs::{stat, statfs};
use rustix::io::Errno;

use super::super::scan::task_of;
use crate::document::status_folder;

/// File systems of which the kernel hears everything, as it numbers them: what others do to one
/// that is shared, it does not hear. ext4, XFS, Btrfs, tmpfs, overlay, F2FS, bcachefs, ZFS.
const LOCAL: [i64; 8] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0x794c_7630,
    0xf2f5_2010,
    0xca45_1a4e,
    0x2fc1_2fc1,
];

/// The folders of tasks, watched.
pub(in crate::file) struct Watch {
    kernel: OwnedFd,
    /// Which folders these are: a path may come to lead to others.
    folders: Vec<Identity>,
}

/// Which folder it is, whatever its name; none where there is none.
type Identity = Option<(u64, u64)>;

impl Watch {
    /// Begins to watch; none if the system cannot.
    pub(in crate::file) fn start(root: &Path) -> Option<Self> {
        if !LOCAL.contains(&statfs(root).ok()?.f_type) {
            return None;
        }
        let kernel = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        // Which they are is asked first: one that is replaced meanwhile is told from the other.
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

    /// Returns the tasks whose files were touched since the last call; none if that is not known.
    pub(in crate::file) fn touched(&self, root: &Path) -> Option<BTreeSet<TaskId>> {
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
            // Too much happened, or a folder that is watched is gone.
            if event.events().intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::IGNORED) {
                return None;
            }
            touched.extend(event.file_name().and_then(|name| task_of(name.to_bytes())));
        }
        // A folder that is new, or in the place of another, is not watched.
        (identities(root) == self.folders).then_some(touched)
    }
}

fn identities(root: &Path) -> Vec<Identity> {
    let folders = Status::ALL.into_iter().map(|status| root.join(status_folder(status)));
    let identity = |path: &Path| stat(path).ok().map(|stat| (stat.st_dev, stat.st_ino));
    folders.map(|folder| identity(&folder)).collect()
}
