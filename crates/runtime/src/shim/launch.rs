//! Starts the agent: its command, its environment, its pipes, its work order.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::files::{Folder, ORDER};
use super::spec::{Environment, Prompt, Spec};
use crate::sandbox;

/// The longest argument every system takes; a longer order is given as a file.
const ARGUMENT_BYTES_MAX: usize = 100 << 10;

/// The settings an agent may see; every other variable of ours may hold a secret.
const OPEN: [&str; 2] = ["ADJUTANT_PROTOCOL_", "ADJUTANT_SCHEDULER_"];

/// Starts the agent in a group of its own.
pub(super) fn start(spec: &Spec, folder: &Folder) -> io::Result<Child> {
    let [program, arguments @ ..] = &spec.command[..] else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no command"));
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&spec.workspace).process_group(0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_clear().envs(environment(&spec.environment, std::env::vars_os()));
    if let Some(path) = path(&command) {
        command.env("PATH", path);
    }
    give_order(&mut command, spec.prompt, folder)?;
    let failed = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot start {program:?}: {error}"))
    };
    let started = match &spec.confined {
        Some(writable) => sandbox::spawn(&mut command, writable),
        None => command.spawn(),
    };
    started.map_err(failed)
}

fn give_order(command: &mut Command, prompt: Prompt, folder: &Folder) -> io::Result<()> {
    let file = folder.join(ORDER);
    match prompt {
        Prompt::Stdin => drop(command.stdin(Stdio::piped())),
        Prompt::File => drop(command.arg(file).stdin(Stdio::null())),
        Prompt::Argument => {
            let order = fs::read_to_string(&file)?.replace('\0', " ");
            let order = if order.len() > ARGUMENT_BYTES_MAX {
                format!("Your work order is in the file {}. Read it and follow it.", file.display())
            } else {
                order
            };
            command.arg(order).stdin(Stdio::null());
        }
    }
    Ok(())
}

/// Writes the work order and closes the pipe. An agent that does not read it, or not to the end,
/// holds up nobody.
pub(super) fn feed(child: &mut Child, folder: &Folder) {
    let (Some(mut pipe), Ok(mut order)) = (child.stdin.take(), fs::File::open(folder.join(ORDER)))
    else {
        return;
    };
    std::thread::spawn(move || {
        let _ = io::copy(&mut order, &mut pipe);
    });
}

/// Makes the agent's environment: what there is, less our own and what is denied, plus what is set.
fn environment(
    wanted: &Environment,
    inherited: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let denied = |name: &str| wanted.deny.iter().any(|pattern| fits(pattern, name));
    let secret = |name: &str| {
        name.starts_with("ADJUTANT_") && !OPEN.iter().any(|open| name.starts_with(open))
    };
    let kept = inherited.filter(|(name, _)| {
        let name = name.to_string_lossy();
        !denied(&name) && !secret(&name)
    });
    let set = wanted.set.iter().map(|(name, value)| (name.into(), value.into()));
    kept.chain(set).collect()
}

/// Returns a path on which the agent finds this program, last of all: an order tells it to run
/// `adjutant`, and whoever tries it out has not installed it.
fn path(command: &Command) -> Option<OsString> {
    let (_, before) = command.get_envs().find(|(name, _)| *name == "PATH")?;
    let before = before?;
    let own = std::env::current_exe().ok()?.parent()?.to_owned();
    std::env::join_paths(std::env::split_paths(before).chain([own])).ok()
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_found_after_all_others() {
        let mut command = Command::new("x");
        assert_eq!(path(&command), None, "who denies PATH gets none");
        command.env("PATH", "/bin:/usr/bin");
        let own = std::env::current_exe().expect("a program");
        let own = own.parent().expect("a folder").to_owned();
        let made = path(&command).expect("a path");
        let folders: Vec<_> = std::env::split_paths(&made).collect();
        assert_eq!(folders, ["/bin".into(), "/usr/bin".into(), own]);
    }

    #[test]
    fn the_environment_is_inherited_less_secrets_plus_what_is_set() {
        let wanted = Environment {
            deny: vec!["AWS_*".into(), "TOKEN".into()],
            set: [("ADJUTANT_TASK_ID".to_owned(), "T".to_owned()), ("LANG".into(), "C".into())]
                .into(),
        };
        let inherited = [
            ("PATH", "/bin"),
            ("LANG", "de"),
            ("AWS_KEY", "secret"),
            ("TOKEN", "secret"),
            ("TOKENS", "12"),
            ("ADJUTANT_RUN_TOKEN", "of another run"),
            ("ADJUTANT_OPERATOR_TOKEN", "secret"),
            ("ADJUTANT_SCHEDULER_POLL", "1s"),
        ];
        let made = environment(&wanted, inherited.map(|(n, v)| (n.into(), v.into())).into_iter());
        let expected = [
            ("PATH", "/bin"),
            ("LANG", "de"),
            ("TOKENS", "12"),
            ("ADJUTANT_SCHEDULER_POLL", "1s"),
            ("ADJUTANT_TASK_ID", "T"),
            ("LANG", "C"),
        ];
        assert_eq!(made, expected.map(|(n, v)| (n.into(), v.into())));
    }
}
