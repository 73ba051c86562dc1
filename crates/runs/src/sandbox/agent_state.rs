//! The private state of an agent in a `strict` sandbox: its sessions and settings, kept per project.
//!
//! The operator's own settings, hooks, plug-ins and lists of MCP servers stay out of reach; only the
//! files that sign the agent in are copied. A copy that the agent has renewed itself stays until the
//! operator's file is newer.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use adjutant_config::{Agent, Kind};
use adjutant_process::atomic_file::create_private_folder;
use adjutant_run_files::sandbox_spec::{SandboxMount, StrictSandbox};

use super::folder_handle::FolderHandle;

/// Where an agent keeps its state, and what signs it in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StatePlan {
    /// Variables that name a folder, and the folder in the private state.
    variables: &'static [(&'static str, &'static str)],
    /// Folders in the home that no variable names.
    home_folders: &'static [&'static str],
    /// Files in the operator's home, and their places in the private state.
    credentials: &'static [(&'static str, &'static str)],
    /// Variables that turn off a sandbox of the agent's own, which cannot be made inside this one.
    own_sandbox_off: &'static [(&'static str, &'static str)],
}

const XDG_VARIABLES: &[(&str, &str)] =
    &[("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data"), ("XDG_STATE_HOME", "state")];

const CLAUDE: StatePlan = StatePlan {
    variables: &[("CLAUDE_CONFIG_DIR", "claude")],
    home_folders: &[],
    credentials: &[(".claude/.credentials.json", "claude/.credentials.json")],
    own_sandbox_off: &[],
};

const CODEX: StatePlan = StatePlan {
    variables: &[("CODEX_HOME", "codex")],
    home_folders: &[],
    credentials: &[(".codex/auth.json", "codex/auth.json")],
    // For `codex-acp`; the adapter of Codex itself has an argument for it.
    own_sandbox_off: &[("INITIAL_AGENT_MODE", "agent-full-access")],
};

const GEMINI: StatePlan = StatePlan {
    variables: &[],
    home_folders: &[".gemini"],
    credentials: &[
        (".gemini/oauth_creds.json", ".gemini/oauth_creds.json"),
        (".gemini/google_accounts.json", ".gemini/google_accounts.json"),
    ],
    own_sandbox_off: &[],
};

const GOOSE: StatePlan = StatePlan {
    variables: XDG_VARIABLES,
    home_folders: &[],
    credentials: &[
        (".config/goose/config.yaml", "config/goose/config.yaml"),
        (".config/goose/secrets.yaml", "config/goose/secrets.yaml"),
    ],
    own_sandbox_off: &[],
};

const OPENCODE: StatePlan = StatePlan {
    variables: XDG_VARIABLES,
    home_folders: &[],
    credentials: &[(".local/share/opencode/auth.json", "data/opencode/auth.json")],
    own_sandbox_off: &[],
};

/// For agents that speak ACP: where those that are known keep their state.
const OTHER: StatePlan = StatePlan {
    variables: XDG_VARIABLES,
    home_folders: &[".copilot", ".kimi", ".openhands", ".qwen", ".vibe"],
    credentials: &[],
    own_sandbox_off: &[],
};

/// Returns the plans of an agent. One that speaks ACP is known by the name of its program.
fn state_plans(agent: &Agent) -> Vec<StatePlan> {
    match agent.kind {
        Kind::Claude => vec![CLAUDE],
        Kind::Codex => vec![CODEX],
        Kind::Gemini => vec![GEMINI],
        Kind::Goose => vec![GOOSE],
        Kind::Opencode => vec![OPENCODE],
        Kind::Acp => {
            let program = agent.command.first().map(Path::new);
            let name = program.and_then(Path::file_name).unwrap_or_default().to_string_lossy();
            let known = [("claude", CLAUDE), ("codex", CODEX), ("gemini", GEMINI)];
            let known = known.into_iter().chain([("goose", GOOSE), ("opencode", OPENCODE)]);
            let own = known.filter(|(kind, _)| name.contains(kind)).map(|(_, plan)| plan);
            own.chain([OTHER]).collect()
        }
        Kind::Command | Kind::Script | Kind::Webhook => vec![],
    }
}

/// Lets an agent write to its private state in `folder`, and returns the variables that name it.
pub fn allow_state(
    view: &mut StrictSandbox,
    home: Option<&Path>,
    agent: &Agent,
    folder: &Path,
) -> io::Result<BTreeMap<String, String>> {
    let mut variables = BTreeMap::new();
    for plan in state_plans(agent) {
        create_private_folder(folder)?;
        let state = FolderHandle::open(folder)?;
        for (name, part) in plan.variables {
            state.create_inside(Path::new(part))?;
            let path = folder.join(part);
            variables.insert((*name).to_owned(), path.to_string_lossy().into_owned());
            // Each part by itself: what contains them must not be the agent's to replace.
            view.allow_writing(path);
        }
        let off = plan.own_sandbox_off.iter();
        variables.extend(off.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let Some(home) = home else { continue };
        for part in plan.home_folders {
            state.create_inside(Path::new(part))?;
            view.mounts.insert(home.join(part), SandboxMount::WritableFrom(folder.join(part)));
        }
        for (from, to) in plan.credentials {
            copy_if_newer(&operator_file(home, from), &state, Path::new(to))?;
        }
    }
    Ok(variables)
}

/// Returns where a file of an agent is, if the operator has moved the agent's folder.
fn operator_file(home: &Path, default: &str) -> PathBuf {
    let moved = [("CLAUDE_CONFIG_DIR", ".claude"), ("CODEX_HOME", ".codex")];
    let moved = moved.iter().find_map(|(variable, folder)| {
        let inner = Path::new(default).strip_prefix(folder).ok()?;
        Some(PathBuf::from(std::env::var_os(variable)?).join(inner))
    });
    moved.unwrap_or_else(|| home.join(default))
}

fn copy_if_newer(from: &Path, state: &FolderHandle, to: &Path) -> io::Result<()> {
    let Ok(file) = from.metadata() else { return Ok(()) };
    let name = to.file_name().unwrap_or_else(|| OsStr::new(""));
    let folder = state.create_inside(to.parent().unwrap_or(Path::new("")))?;
    let newer = file.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let newer = i64::try_from(newer.as_secs()).unwrap_or(i64::MAX);
    if folder.modified(name).is_none_or(|copied| copied < newer) {
        folder.write(name, &fs::read(from)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_state_has_credentials_and_nothing_else_of_operator() {
        let place = tempfile::tempdir().expect("a folder");
        let (home, state) = (place.path().join("home"), place.path().join("state"));
        for (name, text) in [(".codex/auth.json", "key"), (".codex/config.toml", "hooks")] {
            let path = home.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        let mut view = StrictSandbox::default();
        let agent = Agent::new(Kind::Codex);
        let set = allow_state(&mut view, Some(&home), &agent, &state).expect("made");
        let codex = state.join("codex");
        assert_eq!(set["CODEX_HOME"], codex.to_string_lossy());
        assert_eq!(set["INITIAL_AGENT_MODE"], "agent-full-access");
        assert_eq!(view.writable_paths().collect::<Vec<_>>(), [codex.as_path()]);
        let names: Vec<_> = fs::read_dir(&codex).expect("a folder").flatten().collect();
        assert_eq!(names.len(), 1);
        assert_eq!(fs::read_to_string(codex.join("auth.json")).expect("a file"), "key");
        // What the agent renewed stays, until the operator signs in again.
        fs::write(codex.join("auth.json"), "renewed").expect("written");
        allow_state(&mut view, Some(&home), &agent, &state).expect("made");
        assert_eq!(fs::read_to_string(codex.join("auth.json")).expect("a file"), "renewed");
    }

    #[test]
    fn agent_over_acp_gets_credentials_of_its_own_program_only() {
        let agent =
            |program: &str| Agent { command: vec![program.to_owned()], ..Agent::new(Kind::Acp) };
        assert_eq!(state_plans(&agent("/x/claude-agent-acp")), [CLAUDE, OTHER]);
        assert_eq!(state_plans(&agent("vibe")), [OTHER]);
        assert_eq!(state_plans(&Agent::new(Kind::Command)), []);
    }
}
