//! Reaps the processes that end below the shim.

use adjutant_run_files::attempt_files::ProcessExit;
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus};

/// What a reaper has seen.
pub(crate) enum ReapEvent {
    /// The first process ended.
    Exited { exit: ProcessExit, left: LeftProcesses },
    /// No process is left below the shim.
    NoneLeft,
}

/// Whether the first process left others behind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftProcesses {
    Nothing,
    /// Only a search of the process table can tell.
    Unknown,
}

/// Reaps children until there are none, and reports the exit of the first process.
///
/// An orphan below the shim becomes its child before the orphan's own parent can be reaped. So when
/// there is no child left, there is no process left.
pub(crate) fn reap(agent: Pid, tell: impl Fn(ReapEvent)) {
    loop {
        match wait_for_child(agent) {
            Ok(Some((pid, status))) if pid == agent => {
                if let Some(exit) = exit_of(status) {
                    tell(ReapEvent::Exited { exit, left: remaining_children() });
                }
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => {
                tell(ReapEvent::NoneLeft);
                return;
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn wait_for_child(_: Pid) -> rustix::io::Result<Option<(Pid, WaitStatus)>> {
    rustix::process::wait(WaitOptions::empty())
}

/// Returns whether any child is left, without reaping one.
#[cfg(target_os = "linux")]
fn remaining_children() -> LeftProcesses {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::All, look) {
        Err(Errno::CHILD) => LeftProcesses::Nothing,
        Ok(_) | Err(_) => LeftProcesses::Unknown,
    }
}

/// Without a subreaper, only a search of the process table can tell.
#[cfg(not(target_os = "linux"))]
fn left() -> LeftProcesses {
    LeftProcesses::Unknown
}

/// Waits for the agent alone: without a subreaper there are no orphans, and other code waits for
/// the other children.
#[cfg(not(target_os = "linux"))]
fn wait(agent: Pid) -> rustix::io::Result<Option<(Pid, WaitStatus)>> {
    rustix::process::waitpid(Some(agent), WaitOptions::empty())
}

fn exit_of(status: WaitStatus) -> Option<ProcessExit> {
    let code = status.exit_status().map(ProcessExit::Code);
    code.or_else(|| status.terminating_signal().map(ProcessExit::Signal))
}
