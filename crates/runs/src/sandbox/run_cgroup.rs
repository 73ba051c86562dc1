//! A cgroup (version 2) of one command in a `strict` sandbox, beside the cgroup of this process.
//!
//! It can be made where the folder of cgroups that contains ours is writable and has the controller:
//! for root, in a service with `Delegate=yes`, and below the service manager of a user. This module
//! never moves a process out of the group that it is in, except the command that it limits.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use adjutant_run_files::sandbox_spec::ResourceLimits;
use rustix::fs::{Access, access};

use super::resource_limits::needs_cgroup_for_processes;

/// Where the second version of cgroups is mounted: alone, or beside the first.
const MOUNT_POINTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// The start of the names of our groups. The number of the process that made it follows.
const PREFIX: &str = "adjutant-run-";

/// A part of the kernel that limits the processes of a cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CgroupController {
    Memory,
    Pids,
}

impl fmt::Display for CgroupController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
        })
    }
}

/// A cgroup. Dropping it removes it, unless processes are left in it.
pub struct RunCgroup(PathBuf);

impl RunCgroup {
    /// Makes the group that these limits need; `None` if they need none.
    pub(super) fn create(limits: &ResourceLimits) -> io::Result<Option<Self>> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);

        let processes = limits.processes.filter(|limit| {
            needs_cgroup_for_processes()
                && (limit.is_required || check_controller(CgroupController::Pids).is_ok())
        });
        let mut parent = None;
        if limits.memory_bytes.is_some() {
            parent = Some(check_controller(CgroupController::Memory)?);
        }
        if processes.is_some() {
            parent = Some(check_controller(CgroupController::Pids)?);
        }
        let Some(parent) = parent else { return Ok(None) };
        remove_abandoned(&parent);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        let group = Self(path);
        if let Some(bytes) = limits.memory_bytes {
            group.set("memory.max", &bytes.to_string())?;
            // Kernels without swap do not have this.
            let _ = group.set("memory.swap.max", "0");
            // The run ends as a whole: an agent without one of its processes may wait forever.
            group.set("memory.oom.group", "1")?;
        }
        if let Some(limit) = processes {
            group.set("pids.max", &limit.max.to_string())?;
        }
        Ok(Some(group))
    }

    /// Returns the file that a process writes to, to become part of the group.
    pub(super) fn entrance(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }

    fn set(&self, name: &str, value: &str) -> io::Result<()> {
        fs::write(self.0.join(name), value)
    }
}

impl Drop for RunCgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Removes the groups of processes that were killed. Those with processes in them stay.
fn remove_abandoned(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        let is_gone = |pid: &str| !Path::new("/proc").join(pid).exists();
        if maker.is_some_and(is_gone) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Returns the folder where groups with a controller can be made.
pub(super) fn check_controller(controller: CgroupController) -> io::Result<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mount = MOUNT_POINTS.map(Path::new).into_iter().find(|mount| is_mounted(mount));
    let parent = mount.and_then(|mount| parent_group(mount, &own));
    let missing = || {
        let why = format!(
            "no cgroup of version 2 with the controller `{controller}` can be made beside that of \
             this process"
        );
        io::Error::other(why)
    };
    parent.filter(|parent| is_usable(parent, controller)).ok_or_else(missing)
}

fn is_mounted(mount: &Path) -> bool {
    mount.join("cgroup.controllers").is_file()
}

/// Returns the folder that contains the group of a process, whose file `cgroup` this is.
fn parent_group(mount: &Path, own: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    match Path::new(path).parent() {
        Some(parent) => Some(mount.join(parent)),
        None => Some(mount.to_owned()),
    }
}

/// Returns whether groups can be made in a folder, and have the controller. Turns it on if it can.
fn is_usable(parent: &Path, controller: CgroupController) -> bool {
    let is_writable = |path: &Path| access(path, Access::WRITE_OK).is_ok();
    if !is_writable(parent) || !is_writable(&parent.join("cgroup.procs")) {
        return false;
    }
    let control = parent.join("cgroup.subtree_control");
    let is_on = || {
        let on = fs::read_to_string(&control).unwrap_or_default();
        on.split_whitespace().any(|name| name == controller.to_string())
    };
    is_on() || (fs::write(&control, format!("+{controller}")).is_ok() && is_on())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cgroup_parent_contains_group_of_process() {
        let mount = Path::new("/sys/fs/cgroup");
        let parent = |own: &str| parent_group(mount, own);
        let nested = parent("1:name=systemd:/\n0::/user.slice/a.scope\n");
        assert_eq!(nested, Some("/sys/fs/cgroup/user.slice".into()));
        assert_eq!(parent("0::/\n"), Some("/sys/fs/cgroup".into()));
        assert_eq!(parent("4:memory:/a\n"), None);
    }

    #[test]
    fn cgroup_is_usable_if_its_controller_is_on_and_it_is_writable() {
        let folder = tempfile::tempdir().expect("a folder");
        let usable = || is_usable(folder.path(), CgroupController::Memory);
        assert!(!usable(), "there are no files");
        fs::write(folder.path().join("cgroup.procs"), "").expect("written");
        fs::write(folder.path().join("cgroup.subtree_control"), "cpu memory\n").expect("written");
        assert!(usable());
        assert!(!is_usable(Path::new("/proc"), CgroupController::Memory));
    }
}
