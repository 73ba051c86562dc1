//! Waits for whatever ends below the shim.

use std::sync::mpsc::Sender;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus};

use super::files::Exit;
use super::watch::{Event, Left};

/// Waits until nothing is left to wait for, and tells of the agent's end.
///
/// As every orphan below the shim becomes its child before its own parent can be waited for, there
/// is nothing left when there is no child left.
pub(super) fn reap(agent: Pid, tell: &Sender<Event>) {
    loop {
        match wait(agent) {
            Ok(Some((pid, status))) if pid == agent => {
                if let Some(exit) = exit_of(status) {
                    let _ = tell.send(Event::Exited { exit, left: left() });
                }
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => {
                let _ = tell.send(Event::NoneLeft);
                return;
            }
        }
    }
}

/// Waits for any child.
#[cfg(target_os = "linux")]
fn wait(_: Pid) -> rustix::io::Result<Option<(Pid, WaitStatus)>> {
    rustix::process::wait(WaitOptions::empty())
}

/// Says whether there is anything left to wait for, and waits for none of it.
#[cfg(target_os = "linux")]
fn left() -> Left {
    use rustix::process::{WaitId, WaitIdOptions, waitid};

    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(WaitId::All, look) {
        Err(Errno::CHILD) => Left::Nothing,
        Ok(_) | Err(_) => Left::Perhaps,
    }
}

/// Without a reaper nobody can tell before having looked.
#[cfg(not(target_os = "linux"))]
fn left() -> Left {
    Left::Perhaps
}

/// Waits for the agent alone: without a reaper there are no orphans, and the other children are
/// helpers that somebody else waits for.
#[cfg(not(target_os = "linux"))]
fn wait(agent: Pid) -> rustix::io::Result<Option<(Pid, WaitStatus)>> {
    rustix::process::waitpid(Some(agent), WaitOptions::empty())
}

fn exit_of(status: WaitStatus) -> Option<Exit> {
    let code = status.exit_status().map(Exit::Code);
    code.or_else(|| status.terminating_signal().map(Exit::Signal))
}
