//! Confines a process, and everything it starts, to what it may write.
//!
//! This is Landlock, of the Linux kernel: it is asked for by a thread, holds for that thread and for
//! whatever it starts, and can never be taken back. So an agent is started by a thread of its own,
//! and the rest of the shim goes on as it was. Which folders are given is not known here.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Files that programs write to and that keep nothing.
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

/// Says why nothing can be confined on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sandbox = \"landlock\" cannot be kept here: {0}")]
pub struct Unconfined(pub String);

/// Finds out whether a process can be confined here, by confining a thread that does nothing else.
pub fn check() -> Result<(), Unconfined> {
    let tried = std::thread::Builder::new().name("confined".into()).spawn(|| confine(&[]));
    let tried = tried.map(std::thread::JoinHandle::join);
    match tried {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) | Err(error) => Err(Unconfined(error.to_string())),
        Ok(Err(_)) => Err(Unconfined("it could not be tried".to_owned())),
    }
}

/// Starts a process that can write below these folders and files, and nowhere else.
pub(crate) fn spawn(command: &mut Command, writable: &[PathBuf]) -> io::Result<Child> {
    let confined = || {
        confine(writable)?;
        command.spawn()
    };
    std::thread::scope(|scope| {
        let started = std::thread::Builder::new().name("confined".into());
        let started = started.spawn_scoped(scope, confined)?.join();
        started.unwrap_or_else(|_| Err(io::Error::other("the agent could not be confined")))
    })
}

/// Confines this thread. What is asked for is kept whole or not at all.
#[cfg(target_os = "linux")]
fn confine(writable: &[PathBuf]) -> io::Result<()> {
    use landlock::{
        ABI, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
        RulesetCreatedAttr, RulesetStatus, Scope,
    };

    // Since this version files cannot be cut off either. Older ones would keep less than was said.
    let every = AccessFs::from_write(ABI::V3);
    let given = every & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let of_file = given & AccessFs::from_file(ABI::V3);
    let asked = || -> Result<_, landlock::RulesetError> {
        let asked = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let asked = asked.handle_access(every)?;
        // Where the kernel can, it does not let signals out either: to the shim, say.
        asked.set_compatibility(CompatLevel::BestEffort).scope(Scope::Signal)?.create()
    };
    let mut rules = asked().map_err(|error| io::Error::other(in_words(&error)))?;
    let devices = DEVICES.iter().map(Path::new).filter(|path| path.exists());
    for path in writable.iter().map(PathBuf::as_path).chain(devices) {
        let unseen = |error: &dyn std::fmt::Display| {
            io::Error::other(format!("{} cannot be given to it: {error}", path.display()))
        };
        let access =
            if path.metadata().map_err(|error| unseen(&error))?.is_dir() { given } else { of_file };
        let held = PathFd::new(path).map_err(|error| unseen(&error))?;
        let rule = PathBeneath::new(held, access);
        rules = rules.add_rule(rule).map_err(|error| unseen(&error))?;
    }
    let status = rules.restrict_self().map_err(|error| io::Error::other(in_words(&error)))?;
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(io::Error::other("the kernel does not keep it"));
    }
    Ok(())
}

/// Says what the kernel lacks, and then what it said.
#[cfg(target_os = "linux")]
fn in_words(error: &landlock::RulesetError) -> String {
    format!("it needs Linux 6.2 or newer with Landlock switched on, and the kernel says: {error}")
}

#[cfg(not(target_os = "linux"))]
fn confine(_: &[PathBuf]) -> io::Result<()> {
    Err(io::Error::other("there is no Landlock but on Linux"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_process_writes_where_it_may_and_the_rest_of_us_anywhere() {
        let (inside, outside) = (folder(), folder());
        let script = "echo 1 > in && echo 2 > /dev/null && ! echo 3 > $0/out && cat $0/there";
        fs::write(outside.path().join("there"), "read").expect("a file");
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(outside.path()).current_dir(inside.path());
        let mut child = spawn(&mut command, &[inside.path().to_owned()]).expect("it starts");
        assert!(child.wait().expect("it ends").success());
        assert!(inside.path().join("in").exists() && !outside.path().join("out").exists());
        fs::write(outside.path().join("out"), "").expect("we are not confined");
        assert_eq!(check(), Ok(()));
    }

    #[test]
    fn what_is_not_there_cannot_be_given() {
        let refused = spawn(&mut Command::new("true"), &["/nowhere/at/all".into()]);
        let words = refused.expect_err("there is no such folder").to_string();
        assert!(words.starts_with("/nowhere/at/all cannot be given to it"), "{words}");
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }
}
