//! Starts the agent: its command, its environment, its pipes and its work order.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::process::{Child, Stdio};
use std::{fs, io};

use adjutant_run_files::attempt_files::{AttemptFolder, ORDER};
use adjutant_run_files::shim_spec::{AgentEnvironment, OrderDelivery, ShimSpec};

use crate::sandbox::{SandboxedCommand, StartedCommand};

/// The longest argument that every system accepts; a longer order is passed as a file.
const ARGUMENT_BYTES_MAX: usize = 100 << 10;

/// Starts the agent in its own process group. This thread must live as long as the agent.
pub(super) fn start(spec: &ShimSpec, folder: &AttemptFolder) -> io::Result<StartedCommand> {
    let [program, arguments @ ..] = &spec.command[..] else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"));
    };
    let mut environment = agent_environment(&spec.environment, std::env::vars_os());
    if let Some(path) = environment.get(OsStr::new("PATH")).and_then(|path| agent_path(path)) {
        environment.insert("PATH".into(), path);
    }
    let (stdin, order) = order_delivery(spec.prompt, folder)?;
    let command = SandboxedCommand {
        program: program.into(),
        arguments: arguments.iter().map(OsString::from).chain(order).collect(),
        environment,
        folder: spec.workspace.clone(),
        stdin,
        attempt: Some(folder.clone()),
    };
    let failed = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot start {program:?}: {error}"))
    };
    command.spawn(&spec.sandbox).map_err(failed)
}

/// Returns the standard input of the agent, and the last argument if its order is passed so.
fn order_delivery(
    prompt: OrderDelivery,
    folder: &AttemptFolder,
) -> io::Result<(Stdio, Option<OsString>)> {
    let file = folder.join(ORDER);
    Ok(match prompt {
        OrderDelivery::Stdin => (Stdio::piped(), None),
        OrderDelivery::File => (Stdio::null(), Some(file.into())),
        OrderDelivery::Argument => {
            let order = fs::read_to_string(&file)?.replace('\0', " ");
            let order = if order.len() > ARGUMENT_BYTES_MAX {
                format!("Your work order is in the file {}. Read it and follow it.", file.display())
            } else {
                order
            };
            (Stdio::null(), Some(order.into()))
        }
    })
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
) -> BTreeMap<OsString, OsString> {
    let kept = inherited.filter(|(name, _)| wanted.inherits(&name.to_string_lossy()));
    let set = wanted.set.iter().map(|(name, value)| (name.into(), value.into()));
    kept.chain(set).collect()
}

/// Returns a `PATH` with the folder of this program at its end: work orders tell agents to run
/// `adjutant`, which may not be installed.
fn agent_path(before: &OsStr) -> Option<OsString> {
    let own = std::env::current_exe().ok()?.parent()?.to_owned();
    std::env::join_paths(std::env::split_paths(before).chain([own])).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_path_ends_with_folder_of_this_program() {
        let own = std::env::current_exe().expect("a program");
        let own = own.parent().expect("a folder").to_owned();
        let made = agent_path(OsStr::new("/bin:/usr/bin")).expect("a path");
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
            ("TOKENS", "12"),
            ("ADJUTANT_SCHEDULER_POLL", "1s"),
            ("ADJUTANT_TASK_ID", "T"),
            ("LANG", "C"),
        ];
        assert_eq!(made, expected.map(|(n, v)| (n.into(), v.into())).into());
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
        assert_eq!(made, expected.map(|(n, v)| (n.into(), v.into())).into());
    }
}
