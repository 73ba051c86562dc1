//! The limits on processes and memory of a `strict` sandbox, and which of them this machine enforces.
//!
//! Three parts of the kernel can limit processes, and each binds only some users:
//! - Since Linux 6.14 every process namespace has a `pid_max` of its own, which binds everybody.
//! - `RLIMIT_NPROC` counts the processes of a user in one user namespace, so those of one run. It does
//!   not bind root.
//! - A cgroup with the controller `pids` binds everybody. Only a cgroup limits memory: a limit on the
//!   address space (`RLIMIT_AS`) would stop Node and the JVM, which reserve far more than they use.

use std::{fs, io};

use adjutant_config::{Agent, Config};
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_run_files::sandbox_spec::{ProcessLimit, ResourceLimits};
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};

use super::run_cgroup::{CgroupController, check_controller};

/// The first version of Linux where `pid_max` belongs to a process namespace. Before, root would
/// change the limit of the whole machine.
const PID_MAX_OF_NAMESPACE: (u32, u32) = (6, 14);

const PID_MAX: &str = "/proc/sys/kernel/pid_max";

/// Returns the limits of the runs of an agent.
pub fn agent_limits(agent: &Agent) -> ResourceLimits {
    let is_required = agent.processes_max.is_some();
    ResourceLimits {
        processes: Some(ProcessLimit { max: agent.processes_max(), is_required }),
        memory_bytes: agent.memory_max.as_bytes(),
    }
}

/// Returns why a limit that the settings of an agent ask for cannot be enforced on this machine.
pub fn unenforceable_limit(agent: &Agent) -> Option<String> {
    let limits = agent_limits(agent);
    let wants_processes = limits.processes.is_some_and(|limit| limit.is_required);
    let wants_memory = limits.memory_bytes.is_some();
    let level = agent.sandbox_level();
    let key = if wants_memory { "memory_max" } else { "processes_max" };
    if (wants_processes || wants_memory) && level != SandboxLevel::Strict {
        return Some(format!("`{key}` cannot be enforced: its sandbox is `{level}` here"));
    }
    let refused = |key: &str, why: String| format!("`{key}` cannot be enforced here: {why}");
    let processes = || Some(refused("processes_max", check_process_limit().err()?));
    let memory = || Some(refused("memory_max", check_memory_limit().err()?));
    wants_processes.then(processes).flatten().or_else(|| wants_memory.then(memory).flatten())
}

/// Returns the first agent with a limit that this machine cannot enforce, and why not.
pub fn first_unenforceable_limit(config: &Config) -> Option<String> {
    let mut agents = config.agents.iter();
    agents.find_map(|(name, agent)| Some(format!("agents.{name}: {}", unenforceable_limit(agent)?)))
}

/// Returns an error that says why this machine cannot limit the processes of this user in a sandbox.
pub fn check_process_limit() -> Result<(), String> {
    if !geteuid().is_root() || has_pid_max_of_namespace() {
        return Ok(());
    }
    check_controller(CgroupController::Pids).map(drop).map_err(|why| {
        let (major, minor) = PID_MAX_OF_NAMESPACE;
        format!(
            "before Linux {major}.{minor}, only a cgroup limits the processes of root, and {why}"
        )
    })
}

/// Returns an error that says why this machine cannot limit the memory of a sandbox.
pub fn check_memory_limit() -> Result<(), String> {
    check_controller(CgroupController::Memory).map(drop).map_err(|why| why.to_string())
}

/// Returns whether a cgroup has to limit the processes, because nothing else does.
pub(super) fn needs_cgroup_for_processes() -> bool {
    geteuid().is_root() && !has_pid_max_of_namespace()
}

fn has_pid_max_of_namespace() -> bool {
    let system = rustix::system::uname();
    system.sysname().to_bytes() == b"Linux"
        && linux_version(&system.release().to_string_lossy()) >= Some(PID_MAX_OF_NAMESPACE)
}

/// Parses the first two numbers of a version of Linux, such as `6.14.0-rc1`.
fn linux_version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Limits the processes of the sandbox that this process is in.
pub(super) fn limit_processes(limit: ProcessLimit) -> io::Result<()> {
    let max = u64::from(limit.max);
    let max = getrlimit(Resource::Nproc).maximum.map_or(max, |present| present.min(max));
    setrlimit(Resource::Nproc, Rlimit { current: Some(max), maximum: Some(max) })?;
    let written =
        if has_pid_max_of_namespace() { fs::write(PID_MAX, limit.max.to_string()) } else { Ok(()) };
    // The other limit binds an ordinary user.
    let is_needed = limit.is_required && geteuid().is_root();
    written.or_else(|error| if is_needed { Err(error) } else { Ok(()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_version_is_first_two_numbers() {
        assert_eq!(linux_version("6.14.0-rc1"), Some((6, 14)));
        assert_eq!(linux_version("6.8-generic"), Some((6, 8)));
        assert!(linux_version("5.15.167.4-microsoft") < Some(PID_MAX_OF_NAMESPACE));
        assert!(linux_version("unknown") < Some(PID_MAX_OF_NAMESPACE));
    }
}
