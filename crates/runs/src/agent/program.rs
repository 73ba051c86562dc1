//! Finds the program of an agent on this machine, as a run would.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use adjutant_config::{Agent, Config, Kind};
use adjutant_model::AgentId;

/// Returns the agents whose program cannot be started, each with the reason. `home` is the folder
/// that contains the data folder.
pub fn find_program_problems(config: &Config, home: &Path) -> BTreeMap<AgentId, Box<str>> {
    let problem = |(name, agent): (&String, &Agent)| {
        let problem = find_agent_program(agent, home)?.err()?;
        Some((AgentId::parse(name).ok()?, problem.into_boxed_str()))
    };
    config.agents.iter().filter_map(problem).collect()
}

/// Finds the program of an agent, or says why it cannot be started; `None` if the agent has no
/// program, or if it is in a worktree that does not exist yet.
pub fn find_agent_program(agent: &Agent, home: &Path) -> Option<Result<PathBuf, String>> {
    let name = program_name(agent)?;
    if !name.contains('/') {
        let found = find_in_path(&agent_search_path(agent), name);
        return Some(found.ok_or_else(|| format!("there is no program {name} in PATH")));
    }
    if agent.has_worktree() && !name.starts_with('/') {
        return None;
    }
    let workspace = agent.workspace.as_ref().map_or(home.to_owned(), |inner| home.join(inner));
    Some(check_executable(workspace.join(name), name))
}

/// Returns the program that an agent is started by: its `command`, or the program of its kind.
fn program_name(agent: &Agent) -> Option<&str> {
    let named = agent.command.first().map(String::as_str);
    match agent.kind {
        Kind::Script | Kind::Webhook => None,
        Kind::Command | Kind::Acp => named,
        Kind::Claude | Kind::Codex | Kind::Gemini | Kind::Opencode | Kind::Goose => {
            Some(named.unwrap_or(agent.kind.as_str()))
        }
    }
}

/// Returns the `PATH` of the agent's runs: its own setting, else that of this process. The folder
/// of this program is at its end.
fn agent_search_path(agent: &Agent) -> OsString {
    let own = agent.env.get("PATH").map(OsString::from);
    let path = own.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    let program = std::env::current_exe().ok();
    let here = program.as_deref().and_then(Path::parent).map(Path::to_owned);
    std::env::join_paths(std::env::split_paths(&path).chain(here)).unwrap_or(path)
}

fn check_executable(path: PathBuf, name: &str) -> Result<PathBuf, String> {
    if is_executable(&path) {
        Ok(path)
    } else if path.exists() {
        Err(format!("{name} is not executable"))
    } else {
        Err(format!("{name} does not exist"))
    }
}

/// Finds a program in the `PATH` of this process.
pub fn find_program(program: &str) -> Option<PathBuf> {
    find_in_path(&std::env::var_os("PATH").unwrap_or_default(), program)
}

fn find_in_path(path: &OsStr, program: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| is_executable(file))
}

/// Returns whether `path` is an executable file.
fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn problem(agent: &Agent, home: &Path) -> Option<String> {
        find_agent_program(agent, home)?.err()
    }

    #[test]
    fn agent_program_is_found_by_name_and_by_path() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let command = |program: &str| Agent {
            command: vec![program.to_owned()],
            ..Agent::new(Kind::Command)
        };
        assert_eq!(problem(&command("sh"), home.path()), None);
        let missing = problem(&command("no-such-program"), home.path());
        assert_eq!(missing.as_deref(), Some("there is no program no-such-program in PATH"));
        let path = home.path().join("fix.sh");
        let missing = problem(&command("./fix.sh"), home.path()).expect("it is missing");
        assert_eq!(missing, "./fix.sh does not exist");
        fs::write(&path, "#!/bin/sh\n").expect("written");
        let plain = problem(&command("./fix.sh"), home.path()).expect("it is not executable");
        assert_eq!(plain, "./fix.sh is not executable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
        assert_eq!(problem(&command("./fix.sh"), home.path()), None);
        let by_path = Agent {
            env: [("PATH".to_owned(), home.path().display().to_string())].into(),
            ..command("fix.sh")
        };
        assert_eq!(problem(&by_path, home.path()), None);
    }

    #[test]
    fn agent_program_is_unknown_without_program_or_worktree() {
        let home = Path::new("/nowhere");
        let script = Agent { script: Some("a.yaml".into()), ..Agent::new(Kind::Script) };
        let webhook = Agent { url: Some("http://h/".into()), ..Agent::new(Kind::Webhook) };
        let worktree = Agent {
            command: vec!["./fix.sh".into()],
            workspace: Some("worktree".into()),
            ..Agent::new(Kind::Command)
        };
        assert_eq!(
            [script, webhook, worktree].map(|agent| find_agent_program(&agent, home)),
            [None, None, None]
        );
    }
}
