//! Starts a command in a sandbox, and says which levels work on this machine.
//!
//! `landlock` confines what a command writes. `strict` starts it with bubblewrap in namespaces of
//! its own: the first process inside is a stage of this program, which gives up further rights and
//! then becomes the command. This module does not know which paths a command gets.

pub mod agent_state;
pub mod auto_level;
pub mod bubblewrap;
pub mod build_caches;
pub mod folder_handle;
pub mod home_view;
pub mod project_folders;
pub mod resource_limits;
mod run_cgroup;
pub mod stage;
pub mod strict_view;
#[cfg(target_os = "linux")]
mod system_calls;
mod write_rules;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_run_files::attempt_files::AttemptFolder;
use adjutant_run_files::sandbox_spec::CommandSandbox;

use self::run_cgroup::RunCgroup;
use crate::network::SandboxProxy;

/// Why a sandbox cannot be enforced on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sandbox = \"{level}\" is not available on this machine: {reason}")]
pub struct SandboxNotEnforced {
    pub level: SandboxLevel,
    pub reason: String,
}

/// Tries whether a sandbox can be enforced here. `program` is the `adjutant` executable.
pub fn check(level: SandboxLevel, program: &Path) -> Result<(), SandboxNotEnforced> {
    let tried = match level {
        SandboxLevel::None => Ok(()),
        SandboxLevel::Landlock => write_rules::probe(),
        SandboxLevel::Strict => bubblewrap::probe(program),
    };
    tried.map_err(|error| SandboxNotEnforced { level, reason: error.to_string() })
}

/// A command with its whole environment. Its outputs are pipes.
#[derive(Debug)]
pub struct SandboxedCommand {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    pub environment: BTreeMap<OsString, OsString>,
    /// The folder that it works in.
    pub folder: PathBuf,
    pub stdin: Stdio,
    /// The attempt in whose folder refused hosts are noted.
    pub attempt: Option<AttemptFolder>,
}

/// A command that runs, and what must live as long as it does.
pub struct StartedCommand {
    pub child: Child,
    pub proxy: Option<SandboxProxy>,
    pub cgroup: Option<RunCgroup>,
}

impl SandboxedCommand {
    /// Starts the command in its own process group. Under `strict` the calling thread must live as
    /// long as the command: the kernel kills the command when that thread ends.
    pub fn spawn(self, sandbox: &CommandSandbox) -> io::Result<StartedCommand> {
        let child = match sandbox {
            CommandSandbox::None => self.into_command().spawn()?,
            CommandSandbox::Landlock { writable } => {
                write_rules::spawn(&mut self.into_command(), writable)?
            }
            CommandSandbox::Strict(view) => return bubblewrap::spawn(self, view),
        };
        Ok(StartedCommand { child, proxy: None, cgroup: None })
    }

    fn into_command(self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder).process_group(0);
        command.env_clear().envs(&self.environment);
        command.stdin(self.stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}
