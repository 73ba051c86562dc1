//! A run in a sandbox: which paths it may write to, and when the daemon refuses to start it.

use std::path::{Path, PathBuf};

use adjutant_model::Status;
use adjutant_model::Task;
use adjutant_store::document_paths::companion_folder;

use super::process_backend::ProcessBackend;
use crate::run_manager::RunStartFailure;
use adjutant_config::{Agent, Sandbox};
use adjutant_git::worktree::PreparedWorktree;
use adjutant_process::atomic_file::create_private_folder;
use adjutant_runs::agent::AgentLaunch;
use adjutant_runs::sandbox;
use adjutant_runs::supervisor::RunRef;

/// The subfolder of the attempt's folder that a run in a sandbox may write to. The shim writes the
/// rest, and the daemon trusts those files.
pub(super) const SANDBOX_FOLDER: &str = "own";

/// Refuses an agent whose sandbox cannot be enforced here, rather than starting it without one.
pub(super) fn refuse_unenforceable_sandbox(
    agent: &Agent,
    task: &Task,
) -> Result<(), RunStartFailure> {
    match agent.sandbox {
        Sandbox::None => Ok(()),
        Sandbox::Landlock if task.story().is_some() => {
            let why = "a story step works in the project folder, and a sandbox cannot grant \
                       write access to that folder";
            Err(RunStartFailure::Failed(why.to_owned()))
        }
        Sandbox::Landlock => {
            sandbox::check().map_err(|why| RunStartFailure::AgentUnusable(why.to_string()))
        }
    }
}

impl ProcessBackend {
    /// Confines a run to its workspace, the folder of its task and its own folders.
    pub(super) fn confine_launch(
        &self,
        run: &RunRef,
        agent: &Agent,
        ready: Option<&PreparedWorktree>,
        mut launch: AgentLaunch,
    ) -> Result<AgentLaunch, RunStartFailure> {
        let attempt = self.supervisor.folder(run);
        let root = self.folder.root();
        let own = attempt.join(SANDBOX_FOLDER);
        let task = root.join(companion_folder(Status::InProgress, &run.task));
        let made = attempt
            .create()
            .and_then(|()| create_private_folder(&own))
            .and_then(|()| create_private_folder(&task.join("outputs")));
        made.map_err(|error| format!("cannot create the folders of its sandbox: {error}"))?;
        let mut writable = vec![task, own.clone()];
        match ready {
            Some(PreparedWorktree { tree, temporary, git: Some(git), .. }) => {
                writable.extend([tree.clone(), temporary.clone(), git.clone()]);
            }
            Some(PreparedWorktree { .. }) => {
                let why = "its work tree has no private git folder";
                return Err(RunStartFailure::NoWorkspace(why.to_owned()));
            }
            None => {
                refuse_parent_of_data_folder(&launch.workspace, root)?;
                writable.push(launch.workspace.clone());
                let temporary = own.to_string_lossy().into_owned();
                launch.environment.set.insert("TMPDIR".to_owned(), temporary);
            }
        }
        for named in &agent.sandbox_write {
            writable.push(resolve_writable_path(named, root)?);
        }
        Ok(launch.with_sandbox(&own, writable))
    }
}

/// Resolves an entry of `sandbox_write`; `~/` is the home folder.
pub(super) fn resolve_writable_path(named: &str, root: &Path) -> Result<PathBuf, RunStartFailure> {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let path = match named.strip_prefix("~/") {
        Some(inner) => home().map(|home| home.join(inner)),
        None => Some(PathBuf::from(named)),
    };
    let missing = || {
        RunStartFailure::AgentUnusable(format!(
            "`sandbox_write` names {named}, which does not exist"
        ))
    };
    let path = path.filter(|path| path.exists()).ok_or_else(missing)?;
    refuse_parent_of_data_folder(&path, root).map(|()| path)
}

/// Refuses a folder that contains the data folder: an agent that may write there could change the
/// configuration, and so have commands run outside the sandbox.
fn refuse_parent_of_data_folder(folder: &Path, root: &Path) -> Result<(), RunStartFailure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if !real(root).starts_with(real(folder)) {
        return Ok(());
    }
    let (folder, root) = (folder.display(), root.display());
    Err(RunStartFailure::AgentUnusable(format!(
        "its sandbox would protect nothing: {folder} contains the data folder {root}; use \
         `workspace = \"worktree\"`"
    )))
}
