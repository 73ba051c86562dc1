//! Confines a process and its descendants to the paths they may write to.
//!
//! Uses Landlock of the Linux kernel: a thread restricts itself and everything it starts, and
//! cannot undo that. So a separate thread starts the agent, and the rest of the shim stays
//! unrestricted. This module does not know which paths an agent gets.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Devices that programs write to and that store nothing.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Confines a thread that does nothing else, to see whether the kernel can.
pub(super) fn probe() -> io::Result<()> {
    let probe = || confine_thread(&[], ConfinedSockets::Any);
    let tried = std::thread::Builder::new().name("confined".into()).spawn(probe)?;
    tried.join().unwrap_or_else(|_| Err(io::Error::other("the probe failed")))
}

/// Which sockets without a file a confined process may connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfinedSockets {
    Any,
    /// Only those of processes that are confined with it, if the kernel can tell.
    Own,
}

/// Starts a process that can write to these paths and below them, and nowhere else.
pub(super) fn spawn(command: &mut Command, writable: &[PathBuf]) -> io::Result<Child> {
    let confined = || {
        confine_thread(writable, ConfinedSockets::Any)?;
        command.spawn()
    };
    std::thread::scope(|scope| {
        let started = std::thread::Builder::new().name("confined".into());
        let started = started.spawn_scoped(scope, confined)?.join();
        started.unwrap_or_else(|_| Err(io::Error::other("the agent could not be confined")))
    })
}

/// Confines this thread. Fails if any part of it cannot be enforced.
#[cfg(target_os = "linux")]
pub(super) fn confine_thread(writable: &[PathBuf], sockets: ConfinedSockets) -> io::Result<()> {
    use landlock::{
        ABI, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
        RulesetCreatedAttr, RulesetStatus, Scope,
    };

    // From this version on, truncating files is restricted too. Older versions would restrict
    // less than promised.
    let every = AccessFs::from_write(ABI::V3);
    let given = every & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let of_file = given & AccessFs::from_file(ABI::V3);
    let asked = || -> Result<_, landlock::RulesetError> {
        let asked = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let asked = asked.handle_access(every)?;
        // If the kernel supports it, signals cannot leave the sandbox either, for example
        // to the shim.
        let scope = match sockets {
            ConfinedSockets::Any => Scope::Signal.into(),
            ConfinedSockets::Own => Scope::Signal | Scope::AbstractUnixSocket,
        };
        asked.set_compatibility(CompatLevel::BestEffort).scope(scope)?.create()
    };
    let mut rules = asked().map_err(|error| io::Error::other(describe_landlock_error(&error)))?;
    let devices = DEVICES.iter().map(Path::new).filter(|path| path.exists());
    for path in writable.iter().map(PathBuf::as_path).chain(devices) {
        let unseen = |error: &dyn std::fmt::Display| {
            io::Error::other(format!("cannot grant access to {}: {error}", path.display()))
        };
        let access =
            if path.metadata().map_err(|error| unseen(&error))?.is_dir() { given } else { of_file };
        let held = PathFd::new(path).map_err(|error| unseen(&error))?;
        let rule = PathBeneath::new(held, access);
        rules = rules.add_rule(rule).map_err(|error| unseen(&error))?;
    }
    let status =
        rules.restrict_self().map_err(|error| io::Error::other(describe_landlock_error(&error)))?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(io::Error::other("the kernel does not enforce it"));
    }
    Ok(())
}

/// Describes what the kernel lacks, followed by its own error.
#[cfg(target_os = "linux")]
fn describe_landlock_error(error: &landlock::RulesetError) -> String {
    format!("it needs Linux 6.2 or newer with Landlock enabled, and the kernel says: {error}")
}

#[cfg(not(target_os = "linux"))]
pub(super) fn confine_thread(_: &[PathBuf], _: ConfinedSockets) -> io::Result<()> {
    Err(io::Error::other("Landlock exists only on Linux"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn sandbox_confines_writes_of_child_but_not_of_parent() {
        let (inside, outside) = (folder(), folder());
        let script = "echo 1 > in && echo 2 > /dev/null && ! echo 3 > $0/out && cat $0/there";
        fs::write(outside.path().join("there"), "read").expect("a file");
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(outside.path()).current_dir(inside.path());
        let mut child = spawn(&mut command, &[inside.path().to_owned()]).expect("it starts");
        assert!(child.wait().expect("it ends").success());
        assert!(inside.path().join("in").exists() && !outside.path().join("out").exists());
        fs::write(outside.path().join("out"), "").expect("we are not confined");
        probe().expect("the kernel can");
    }

    #[test]
    fn sandbox_refuses_missing_writable_path() {
        let refused = spawn(&mut Command::new("true"), &["/nowhere/at/all".into()]);
        let words = refused.expect_err("there is no such folder").to_string();
        assert!(words.starts_with("cannot grant access to /nowhere/at/all"), "{words}");
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }
}
