//! A run in a sandbox: what it is given to write to, and when it is not started at all.

use std::fs;
use std::path::{Path, PathBuf};

use adjutant_core::{Status, Task};
use adjutant_store::document::companion;

use super::processes::Processes;
use crate::agent::Launch;
use crate::config::{Agent, Sandbox};
use crate::crew::Unstarted;
use crate::sandbox;
use crate::supervisor::Run;
use crate::worktree::Ready;

/// The folder in the folder of an attempt that belongs to a run in a sandbox. The rest is written by
/// whoever looks after it, and believed.
pub(super) const OWN: &str = "own";

/// Refuses an agent whose sandbox cannot be kept here: it is not started without.
pub(super) fn refuse_unconfined(agent: &Agent, task: &Task) -> Result<(), Unstarted> {
    match agent.sandbox {
        Sandbox::None => Ok(()),
        Sandbox::Landlock if task.story().is_some() => {
            let why = "a step of a story is done in the folder of the project, which a sandbox \
                       cannot give to an agent";
            Err(Unstarted::Never(why.to_owned()))
        }
        Sandbox::Landlock => sandbox::check().map_err(|why| Unstarted::Unusable(why.to_string())),
    }
}

impl Processes {
    /// Confines a run to its workspace, the folder of its task and folders of its own.
    pub(super) fn confined(
        &self,
        run: &Run,
        agent: &Agent,
        ready: Option<&Ready>,
        mut launch: Launch,
    ) -> Result<Launch, Unstarted> {
        let attempt = self.supervisor.folder(run);
        let root = self.folder.root();
        let own = attempt.join(OWN);
        let task = root.join(companion(Status::InProgress, &run.task));
        let made = attempt
            .create()
            .and_then(|()| fs::create_dir_all(&own))
            .and_then(|()| fs::create_dir_all(task.join("outputs")));
        made.map_err(|error| format!("cannot make the folders of its sandbox: {error}"))?;
        let mut writable = vec![task, own.clone()];
        match ready {
            Some(Ready { tree, temporary, git: Some(git), .. }) => {
                writable.extend([tree.clone(), temporary.clone(), git.clone()]);
            }
            Some(Ready { .. }) => {
                let why = "its work tree has no git folder of its own";
                return Err(Unstarted::NoWorkspace(why.to_owned()));
            }
            None => {
                refuse_everything(&launch.workspace, root)?;
                writable.push(launch.workspace.clone());
                let temporary = own.to_string_lossy().into_owned();
                launch.environment.set.insert("TMPDIR".to_owned(), temporary);
            }
        }
        for named in &agent.sandbox_write {
            writable.push(further(named, root)?);
        }
        Ok(launch.confine(&own, writable))
    }
}

/// Returns a further folder or file that is given to a run.
fn further(named: &str, root: &Path) -> Result<PathBuf, Unstarted> {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let path = match named.strip_prefix("~/") {
        Some(inner) => home().map(|home| home.join(inner)),
        None => Some(PathBuf::from(named)),
    };
    let missing =
        || Unstarted::Unusable(format!("`sandbox_write` names {named}, which is not there"));
    let path = path.filter(|path| path.exists()).ok_or_else(missing)?;
    refuse_everything(&path, root).map(|()| path)
}

/// Refuses a folder that holds the data folder: who may write there can write into everything, and
/// have commands run outside of the sandbox by way of the configuration.
fn refuse_everything(folder: &Path, root: &Path) -> Result<(), Unstarted> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if !real(root).starts_with(real(folder)) {
        return Ok(());
    }
    let (folder, root) = (folder.display(), root.display());
    Err(Unstarted::Unusable(format!(
        "its sandbox would hold nothing back: {folder} holds the data folder {root}; \
         use `workspace = \"worktree\"`"
    )))
}
