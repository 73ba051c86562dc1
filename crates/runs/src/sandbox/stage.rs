//! The first process of this program inside a `strict` sandbox.
//!
//! Bubblewrap cannot start where Landlock is in force, so the last restrictions are made here, from
//! inside. The stage is started without an environment, with the numbers of two descriptors: its
//! instructions, and a pipe that tells the shim how far it came. Then it becomes the command.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use adjutant_run_files::sandbox_spec::ProcessLimit;
use serde::{Deserialize, Serialize};

use super::resource_limits::limit_processes;
use super::write_rules::{ConfinedSockets, confine_thread};
use crate::network::sandbox_proxy::start_forwarder;

/// The command of this program that is the stage.
pub const STAGE_COMMAND: &str = "sandbox-stage";

/// What the stage writes when only the start of the command is left.
pub(super) const STAGE_READY: &str = "ready\n";

/// What the stage does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StageInstructions {
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The paths that the command may write to.
    pub(super) writable: Vec<PathBuf>,
    /// The ports of the machine that the command may use, if it is behind a proxy.
    pub(super) forwarded_ports: Option<Vec<u16>>,
    pub(super) processes: Option<ProcessLimit>,
}

/// Gives up rights and becomes the command; without descriptors only the first.
pub fn run(descriptors: &[OsString]) -> io::Result<()> {
    let [instructions, status] = descriptors else {
        return give_up_rights(vec![]);
    };
    let mut status = File::options().write(true).open(descriptor_path(status))?;
    let failed = become_command(instructions, &mut status);
    status.write_all(failed.to_string().as_bytes())?;
    Err(failed)
}

fn descriptor_path(number: &OsStr) -> PathBuf {
    PathBuf::from("/proc/self/fd").join(number)
}

/// Returns only if it fails.
fn become_command(instructions: &OsStr, status: &mut File) -> io::Error {
    let mut prepared = || -> io::Result<Command> {
        let text = std::fs::read(descriptor_path(instructions))?;
        let instructions: StageInstructions = serde_json::from_slice(&text)?;
        if let Some(limit) = instructions.processes {
            limit_processes(limit)?;
        }
        give_up_rights(instructions.writable)?;
        if let Some(ports) = &instructions.forwarded_ports {
            start_forwarder(ports)?;
        }
        let mut command = Command::new(instructions.program);
        command.args(instructions.arguments).env_clear().envs(instructions.environment);
        status.write_all(STAGE_READY.as_bytes())?;
        Ok(command)
    };
    match prepared() {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    }
}

#[cfg(target_os = "linux")]
fn give_up_rights(mut writable: Vec<PathBuf>) -> io::Result<()> {
    // Whatever this process inherited, the daemon may have inherited from its own parent.
    close_fds::CloseFdsBuilder::new().cloexecfrom(3);
    writable.push(PathBuf::from("/dev/shm"));
    confine_thread(&writable, ConfinedSockets::Own)?;
    super::system_calls::refuse_dangerous_calls()
}

#[cfg(not(target_os = "linux"))]
fn give_up_rights(_: Vec<PathBuf>) -> io::Result<()> {
    confine_thread(&[], ConfinedSockets::Own)
}
