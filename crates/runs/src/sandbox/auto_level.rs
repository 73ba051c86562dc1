//! What `sandbox = "auto"` stands for: the strongest level that works for an agent on this machine.

use std::path::Path;
use std::sync::OnceLock;

use adjutant_config::{Agent, Config, Kind, Sandbox};
use adjutant_model::sandbox_level::SandboxLevel;

use super::strict_view::contains_home;
use super::{SandboxNotEnforced, check};

/// The strongest level that works on this machine.
#[derive(Debug)]
struct TriedLevels {
    strongest: SandboxLevel,
    /// Why it is not `strict`.
    no_strict: Option<SandboxNotEnforced>,
}

static TRIED: OnceLock<TriedLevels> = OnceLock::new();

/// Returns the strongest level that works on this machine. It is tried once: a process that has
/// started runs in a sandbox never starts a weaker one.
pub fn strongest_level(program: &Path) -> SandboxLevel {
    TRIED.get_or_init(|| try_levels(program)).strongest
}

/// Returns what [`strongest_level`] has found, and why it is not `strict`. `None` if no caller has
/// asked for it yet.
pub fn tried_strongest_level() -> Option<(SandboxLevel, Option<&'static SandboxNotEnforced>)> {
    TRIED.get().map(|tried| (tried.strongest, tried.no_strict.as_ref()))
}

fn try_levels(program: &Path) -> TriedLevels {
    let Err(no_strict) = check(SandboxLevel::Strict, program) else {
        return TriedLevels { strongest: SandboxLevel::Strict, no_strict: None };
    };
    let landlock = check(SandboxLevel::Landlock, program);
    let strongest = landlock.map_or(SandboxLevel::None, |()| SandboxLevel::Landlock);
    TriedLevels { strongest, no_strict: Some(no_strict) }
}

/// Settles what `sandbox = "auto"` stands for, for each agent of a project; `strongest` returns the
/// strongest level that works on this machine, and is called only if an agent needs it.
pub fn settle_sandboxes(
    config: &mut Config,
    project: &Path,
    data_root: &Path,
    strongest: impl Fn() -> SandboxLevel,
) {
    for agent in config.agents.values_mut().filter(|agent| agent.sandbox == Sandbox::Auto) {
        agent.auto_level = match agent.kind {
            // They start nothing but this program, which needs the data folder.
            Kind::Script | Kind::Webhook => SandboxLevel::None,
            Kind::Claude
            | Kind::Codex
            | Kind::Gemini
            | Kind::Opencode
            | Kind::Goose
            | Kind::Acp
            | Kind::Command => match agent_folder(agent, project) {
                // A worktree lies in the data folder.
                None => strongest(),
                Some(folder) => strongest_in(&folder, data_root, strongest()),
            },
        };
    }
}

/// Returns the folder that an agent works in; `None` if that is a worktree.
fn agent_folder(agent: &Agent, project: &Path) -> Option<std::path::PathBuf> {
    let inner = agent.workspace.as_deref().unwrap_or(Path::new(""));
    (!agent.has_worktree()).then(|| project.join(inner))
}

/// Returns the strongest level that protects something if a command may write to a folder.
pub fn strongest_in(folder: &Path, data_root: &Path, strongest: SandboxLevel) -> SandboxLevel {
    match strongest {
        SandboxLevel::Strict if !contains_home(folder) => SandboxLevel::Strict,
        SandboxLevel::Strict | SandboxLevel::Landlock if !contains(folder, data_root) => {
            SandboxLevel::Landlock
        }
        SandboxLevel::Strict | SandboxLevel::Landlock | SandboxLevel::None => SandboxLevel::None,
    }
}

/// Returns whether a folder is another one or contains it, wherever links lead.
pub fn contains(folder: &Path, inner: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(inner).starts_with(real(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENTS: &str = "[agents.a-tree]\nkind = \"claude\"\nworkspace = \"worktree\"\n\
                          [agents.b-script]\nkind = \"script\"\nscript = \"x\"\n\
                          [agents.c-shared]\nkind = \"claude\"\n\
                          [agents.d-folder]\nkind = \"claude\"\nworkspace = \"inner\"\n\
                          [agents.e-named]\nkind = \"claude\"\nsandbox = \"strict\"\n";

    fn settled(strongest: SandboxLevel) -> Vec<SandboxLevel> {
        let project = tempfile::tempdir().expect("a folder");
        let data = project.path().join(".adjutant");
        for folder in [&data, &project.path().join("inner")] {
            std::fs::create_dir(folder).expect("a folder");
        }
        let mut config = Config::read(AGENTS, std::iter::empty()).expect("it is valid");
        settle_sandboxes(&mut config, project.path(), &data, || strongest);
        config.agents.values().map(Agent::sandbox_level).collect()
    }

    #[test]
    fn auto_sandbox_is_strongest_level_that_protects_data_folder() {
        use SandboxLevel::{Landlock, None, Strict};
        assert_eq!(settled(Strict), [Strict, None, Strict, Strict, Strict]);
        assert_eq!(settled(Landlock), [Landlock, None, None, Landlock, Strict]);
        assert_eq!(settled(None), [None, None, None, None, Strict]);
    }

    #[test]
    fn auto_sandbox_of_story_step_is_never_landlock() {
        let mut agent = Agent { auto_level: SandboxLevel::Landlock, ..Agent::new(Kind::Claude) };
        assert_eq!(agent.step_sandbox_level(), SandboxLevel::None);
        agent.sandbox = Sandbox::Landlock;
        assert_eq!(agent.step_sandbox_level(), SandboxLevel::Landlock);
        agent = Agent { auto_level: SandboxLevel::Strict, ..Agent::new(Kind::Claude) };
        assert_eq!(agent.step_sandbox_level(), SandboxLevel::Strict);
    }

    #[test]
    fn auto_sandbox_of_workspace_with_home_is_not_strict() {
        let home = super::super::strict_view::home_folder().expect("tests have a home");
        let above = home.parent().expect("it is no root");
        let data = above.join("elsewhere");
        assert_eq!(strongest_in(above, &data, SandboxLevel::Strict), SandboxLevel::None);
        assert_eq!(strongest_in(&data, &home, SandboxLevel::Strict), SandboxLevel::Strict);
    }
}
