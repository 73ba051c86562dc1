//! A path that cannot be changed, for tests of faults with the files of one task.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command as Program;

use adjutant_test_support::skip::skip;

/// A folder or file that no process can change, not even one of root, until this is dropped.
pub struct LockedPath(PathBuf);

impl LockedPath {
    /// Returns `None` if this machine cannot lock a path.
    pub fn new(path: &Path) -> Option<Self> {
        let locked = Self(path.to_owned());
        fs::set_permissions(path, Permissions::from_mode(0o555)).expect("it is ours");
        let is_root = rustix::process::geteuid().is_root();
        if is_root && !locked.change_attribute("+i") {
            skip("chattr +i does not work here", "run as an ordinary user, or on ext4");
            return None;
        }
        Some(locked)
    }

    fn change_attribute(&self, change: &str) -> bool {
        let done = Program::new("chattr").arg(change).arg(&self.0).output();
        done.is_ok_and(|done| done.status.success())
    }
}

impl Drop for LockedPath {
    fn drop(&mut self) {
        self.change_attribute("-i");
        let _ = fs::set_permissions(&self.0, Permissions::from_mode(0o755));
    }
}
