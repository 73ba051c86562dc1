//! Starts the agent: its command, its environment, its pipes and its work order.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::{fs, io};

use adjutant_run_files::attempt_files::{AttemptFolder, ORDER};
use adjutant_run_files::shim_spec::{AgentEnvironment, OrderDelivery, ShimSpec};

use crate::sandbox;

/// The longest argument that every system accepts; a longer order is passed as a file.
const ARGUMENT_BYTES_MAX: usize = 100 << 10;

/// Starts the agent in its own process group.
pub(super) fn start(spec: &ShimSpec, folder: &AttemptFolder) -> io::Result<Child> {
    let [program, arguments @ ..] = &spec.command[..] else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"));
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&spec.workspace).process_group(0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_clear().envs(agent_environment(&spec.environment, std::env::vars_os()));
    if let Some(path) = agent_path(&command) {
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

fn give_order(
    command: &mut Command,
    prompt: OrderDelivery,
    folder: &AttemptFolder,
) -> io::Result<()> {
    let file = folder.join(ORDER);
    match prompt {
        OrderDelivery::Stdin => drop(command.stdin(Stdio::piped())),
        OrderDelivery::File => drop(command.arg(file).stdin(Stdio::null())),
        OrderDelivery::Argument => {
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

/// Writes the work order and closes the pipe, in a thread: an agent that does not read its order
/// must not block the shim.
pub(super) fn feed_order(child: &mut Child, folder: &AttemptFolder) {
    let (Some(mut pipe), Ok(mut order)) = (child.stdin.take(), fs::File::open(folder.join(ORDER)))
    else {
        return;
    };
    std::thread::spawn(move || {
        let _ = io::copy(&mut order, &mut pipe);
    });
}

/// Makes the agent's environment: what it inherits, plus the variables that are set.
fn agent_environment(
    wanted: &AgentEnvironment,
    inherited: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let kept = inherited.filter(|(name, _)| wanted.inherits(&name.to_string_lossy()));
    let set = wanted.set.iter().map(|(name, value)| (name.into(), value.into()));
    kept.chain(set).collect()
}

/// Returns a `PATH` with the folder of this program at its end: work orders tell agents to run
/// `adjutant`, which may not be installed.
fn agent_path(command: &Command) -> Option<OsString> {
    let (_, before) = command.get_envs().find(|(name, _)| *name == "PATH")?;
    let before = before?;
    let own = std::env::current_exe().ok()?.parent()?.to_owned();
    std::env::join_paths(std::env::split_paths(before).chain([own])).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_path_ends_with_folder_of_this_program() {
        let mut command = Command::new("x");
        assert_eq!(agent_path(&command), None, "who denies PATH gets none");
        command.env("PATH", "/bin:/usr/bin");
        let own = std::env::current_exe().expect("a program");
        let own = own.parent().expect("a folder").to_owned();
        let made = agent_path(&command).expect("a path");
        let folders: Vec<_> = std::env::split_paths(&made).collect();
        assert_eq!(folders, ["/bin".into(), "/usr/bin".into(), own]);
    }

    #[test]
    fn agent_environment_inherits_without_secrets_plus_set_variables() {
        let wanted = AgentEnvironment {
            pass: None,
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
        let made =
            agent_environment(&wanted, inherited.map(|(n, v)| (n.into(), v.into())).into_iter());
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
    #[test]
    fn agent_environment_passes_only_listed_variables() {
        let wanted = AgentEnvironment {
            pass: Some(vec!["PATH".into(), "LC_*".into(), "GITHUB_TOKEN".into()]),
            deny: vec!["LC_TIME".into(), "GITHUB_TOKEN".into()],
            set: [("EXTRA".to_owned(), "1".to_owned())].into(),
        };
        let inherited = [
            ("PATH", "/bin"),
            ("PATHS", "/x"),
            ("LC_ALL", "C"),
            ("LC_TIME", "C"),
            ("GITHUB_TOKEN", "secret"),
            ("DATABASE_URL", "secret"),
            ("ADJUTANT_STORE", "secret"),
            ("ADJUTANT_PROTOCOL_REQUIRE_TOKEN", "true"),
        ];
        let made =
            agent_environment(&wanted, inherited.map(|(n, v)| (n.into(), v.into())).into_iter());
        let expected = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("ADJUTANT_PROTOCOL_REQUIRE_TOKEN", "true"),
            ("EXTRA", "1"),
        ];
        assert_eq!(made, expected.map(|(n, v)| (n.into(), v.into())));
    }
}
