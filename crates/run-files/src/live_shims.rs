//! The shims that run now, and which of them a process belongs to.
//!
//! Every shim has a file `live/<pid>-<start>.json` in the data folder from before it starts anything
//! until nothing below it is left. A shim becomes the parent of every process below it whose own
//! parent has exited, so it is an ancestor of all of them, even if they change their session,
//! environment, arguments or working directory. Nothing that a process says about itself is used.
//! A run in a sandbox cannot write to this folder. A process that another program outside the run
//! started on an agent's behalf is not recognised.
//!
//! If a shim is killed, the daemon that started it becomes the parent of its orphans. They are in
//! another session than the daemon, and no process can join a session.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use adjutant_model::run_nonce::RunNonce;
use adjutant_model::{AgentId, TaskId};
use adjutant_process::process_table::{self, ProcessGone, ProcessIdentity};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::attempt_files::{SyncLevel, replace_file};
use crate::daemon_lock::DaemonInfo;

/// The folder of the records in the data folder.
pub const FOLDER: &str = "live";

/// What a shim supervises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ShimKind {
    /// The agent of a run.
    Run,
    /// A check, a setup command or a test: it belongs to a run, but cannot speak for it.
    Check,
}

/// The record of a live shim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveShim {
    pub kind: ShimKind,
    /// The folder of the attempt; `None` for a command that judges no run.
    pub attempt: Option<PathBuf>,
    pub task: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    pub fence: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<RunNonce>,
    /// The boot of the machine that the process id is from; set when the shim is registered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot_id: String,
    /// The pid namespace that the process id is from; set when the shim is registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<String>,
}

impl LiveShim {
    pub fn new(kind: ShimKind) -> Self {
        Self {
            kind,
            attempt: None,
            task: None,
            agent: None,
            fence: None,
            nonce: None,
            boot_id: String::new(),
            pid_namespace: None,
        }
    }
}

/// Removes the record of a shim when it is dropped.
#[derive(Debug)]
pub struct LiveShimGuard(PathBuf);

impl Drop for LiveShimGuard {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Records this process as a live shim. Call it before anything is started.
pub fn register_live_shim(root: &Path, shim: &LiveShim) -> io::Result<LiveShimGuard> {
    let path = record_path(root, ProcessIdentity::current());
    let folder = path.parent().expect("the path has a folder");
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let boot_id = process_table::boot_id();
    let pid_namespace = process_table::pid_namespace();
    let shim = LiveShim { boot_id, pid_namespace, ..shim.clone() };
    replace_file(&path, &serde_json::to_vec(&shim)?, SyncLevel::Later)?;
    Ok(LiveShimGuard(path))
}

/// Returns the shims that live, and removes the records of those that were killed.
pub fn live_shims(root: &Path) -> io::Result<Vec<(ProcessIdentity, LiveShim)>> {
    let entries = match fs::read_dir(root.join(FOLDER)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(error),
    };
    let mut found = vec![];
    for entry in entries {
        let path = entry?.path();
        match parse_name(&path).filter(|process| process.is_alive()) {
            Some(process) => found.extend(read_record(root, process).map(|shim| (process, shim))),
            None => drop(fs::remove_file(&path)),
        }
    }
    Ok(found)
}

/// Reads the record of a process; `None` if it is not a shim of this boot.
fn read_record(root: &Path, process: ProcessIdentity) -> Option<LiveShim> {
    let text = fs::read(record_path(root, process)).ok()?;
    // A record that cannot be read is not ours to interpret: the process is in no known run, and
    // must not pass for an operator.
    let Ok(shim) = serde_json::from_slice::<LiveShim>(&text) else {
        return Some(LiveShim::new(ShimKind::Check));
    };
    (shim.boot_id == process_table::boot_id()).then_some(shim)
}

fn record_path(root: &Path, process: ProcessIdentity) -> PathBuf {
    root.join(FOLDER).join(format!("{}-{}.json", process.pid, process.start))
}

/// Where a process comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessOrigin {
    /// No live shim of the data folder is an ancestor, as far as this system can tell.
    Outside,
    /// Belongs to this shim.
    Inside(Box<LiveShim>),
    /// Belongs to a run or check whose shim was killed: it is below the daemon, in another session.
    Orphan,
    /// The process exited or changed while it was looked at.
    Unknown,
}

/// The live shims of a data folder. A record that was seen is remembered for as long as its shim
/// lives, so that removing the file does not help.
#[derive(Debug)]
pub struct LiveShims {
    root: PathBuf,
    seen: Mutex<BTreeMap<ProcessIdentity, LiveShim>>,
}

impl LiveShims {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), seen: Mutex::default() }
    }

    /// Reads the records of all shims, and removes those of shims that were killed.
    pub fn load(root: &Path) -> io::Result<Self> {
        let seen = Mutex::new(live_shims(root)?.into_iter().collect());
        Ok(Self { root: root.to_owned(), seen })
    }

    /// Returns where the process at the other end of a socket comes from.
    pub fn peer_origin(&self, stream: &UnixStream) -> ProcessOrigin {
        match process_table::peer_pid(stream) {
            Some(pid) => self.origin_of(pid),
            // The system does not report the peer, or the peer is in another container.
            None => ProcessOrigin::Outside,
        }
    }

    /// Returns where this process comes from. In another pid namespace than that of a live shim its
    /// ancestors cannot be told.
    pub fn own_origin(&self) -> ProcessOrigin {
        if cfg!(not(target_os = "linux")) {
            return ProcessOrigin::Outside;
        }
        let own = process_table::pid_namespace();
        let Some(pid) = process_table::own_pid().filter(|_| own.is_some()) else {
            return ProcessOrigin::Unknown;
        };
        match self.origin_of(pid) {
            ProcessOrigin::Outside if self.has_other_namespace(own.as_deref()) => {
                ProcessOrigin::Unknown
            }
            origin => origin,
        }
    }

    /// Returns whether a record is of another pid namespace, where this process cannot see whether
    /// the shim still lives.
    fn has_other_namespace(&self, own: Option<&str>) -> bool {
        let entries = fs::read_dir(self.root.join(FOLDER)).into_iter().flatten().flatten();
        let mut shims = entries.filter_map(|entry| {
            serde_json::from_slice::<LiveShim>(&fs::read(entry.path()).ok()?).ok()
        });
        let boot_id = process_table::boot_id();
        shims.any(|shim| {
            shim.boot_id == boot_id && shim.pid_namespace.is_some_and(|it| Some(&*it) != own)
        })
    }

    fn origin_of(&self, pid: i32) -> ProcessOrigin {
        if cfg!(not(target_os = "linux")) {
            return ProcessOrigin::Outside;
        }
        let daemon = DaemonInfo::find_running(&self.root).map(|daemon| daemon.pid.cast_signed());
        let mut below: Option<ProcessIdentity> = None;
        let found = process_table::find_ancestor(pid, |process| {
            let child = below.replace(process);
            if let Some(shim) = self.find(process) {
                return Some(ProcessOrigin::Inside(Box::new(shim)));
            }
            let is_orphan = daemon == Some(process.pid) && child.is_some_and(has_left(process));
            is_orphan.then_some(ProcessOrigin::Orphan)
        });
        match found {
            Ok(Some(origin)) => origin,
            Ok(None) => ProcessOrigin::Outside,
            Err(ProcessGone) => ProcessOrigin::Unknown,
        }
    }

    /// Returns the record of a process, if it is a shim.
    fn find(&self, process: ProcessIdentity) -> Option<LiveShim> {
        let mut seen = self.seen.lock();
        if let Some(shim) = seen.get(&process) {
            return Some(shim.clone());
        }
        let shim = read_record(&self.root, process)?;
        seen.retain(|process, _| process.is_alive());
        seen.insert(process, shim.clone());
        Some(shim)
    }
}

/// Returns whether a child of the daemon is in another session. The daemon is the reaper of orphans
/// below it, and starts no process but shims in sessions of their own.
fn has_left(daemon: ProcessIdentity) -> impl Fn(ProcessIdentity) -> bool {
    move |child| process_table::session_of(child.pid) != process_table::session_of(daemon.pid)
}

fn parse_name(path: &Path) -> Option<ProcessIdentity> {
    let (pid, start) = path.file_stem()?.to_str()?.split_once('-')?;
    Some(ProcessIdentity { pid: pid.parse().ok()?, start: start.parse().ok()? })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn process_below_shim_is_inside_until_record_is_removed() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let shims = || LiveShims::load(home.path()).expect("it reads");
        assert_eq!(shims().own_origin(), ProcessOrigin::Outside);
        let shim = LiveShim {
            task: TaskId::parse("TASK-2026-02-09-001").ok(),
            fence: Some(3),
            ..LiveShim::new(ShimKind::Run)
        };
        let guard = register_live_shim(home.path(), &shim).expect("written");
        let boot_id = process_table::boot_id();
        let pid_namespace = process_table::pid_namespace();
        let inside = LiveShim { boot_id, pid_namespace, ..shim };
        let inside = ProcessOrigin::Inside(Box::new(inside));
        let known = shims();
        assert_eq!(known.own_origin(), inside);
        assert_eq!(LiveShims::new(home.path()).own_origin(), inside);
        drop(guard);
        assert_eq!(known.own_origin(), inside, "it lives, so it is remembered");
        assert_eq!(shims().own_origin(), ProcessOrigin::Outside);
    }

    #[test]
    fn record_of_other_boot_or_dead_process_counts_for_nothing() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let guard =
            register_live_shim(home.path(), &LiveShim::new(ShimKind::Run)).expect("written");
        let old = LiveShim { boot_id: "another".to_owned(), ..LiveShim::new(ShimKind::Run) };
        fs::write(&guard.0, serde_json::to_vec(&old).expect("JSON")).expect("written");
        let dead = home.path().join(FOLDER).join("999999999-1.json");
        fs::write(&dead, "{}").expect("written");
        let shims = LiveShims::load(home.path()).expect("it reads");
        assert_eq!(shims.own_origin(), ProcessOrigin::Outside);
        assert!(!dead.exists());
    }

    #[test]
    fn damaged_record_gives_no_rights() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let shim = LiveShim::new(ShimKind::Run);
        let guard = register_live_shim(home.path(), &shim).expect("written");
        fs::write(&guard.0, "{").expect("written");
        let origin = LiveShims::new(home.path()).own_origin();
        let ProcessOrigin::Inside(shim) = origin else { panic!("{origin:?}") };
        assert_eq!((shim.kind, shim.task), (ShimKind::Check, None));
    }

    #[test]
    fn peer_that_exited_is_unknown() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let path = home.path().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).expect("it listens");
        let script =
            "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])";
        let mut peer = std::process::Command::new("python3");
        let ended = peer.args(["-c", script]).arg(&path).status().expect("it runs");
        assert!(ended.success());
        let (stream, _) = listener.accept().expect("it connected");
        assert_eq!(LiveShims::new(home.path()).peer_origin(&stream), ProcessOrigin::Unknown);
    }
}
