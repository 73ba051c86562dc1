//! A run in a sandbox: which paths it may write to, and when the daemon refuses to start it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use adjutant_model::Status;
use adjutant_model::Task;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_run_files::sandbox_spec::{CommandSandbox, SandboxNetwork, StrictSandbox};
use adjutant_store::document_paths::{companion_folder, task_file};
use adjutant_store::file::DATA_FOLDER;

use super::process_backend::ProcessBackend;
use crate::run_manager::RunStartFailure;
use adjutant_config::Agent;
use adjutant_config::NetworkAccess;
use adjutant_git::worktree::{PreparedWorktree, Worktrees};
use adjutant_process::atomic_file::{create_private_folder, write_atomic};
use adjutant_runs::agent::AgentLaunch;
use adjutant_runs::sandbox::agent_state::allow_state;
use adjutant_runs::sandbox::auto_level::contains;
use adjutant_runs::sandbox::build_caches::allow_caches;
use adjutant_runs::sandbox::home_view::show_named_file;
use adjutant_runs::sandbox::project_folders::{CacheUser, SandboxFolders};
use adjutant_runs::sandbox::resource_limits::{agent_limits, unenforceable_limit};
use adjutant_runs::sandbox::{self, strict_view};
use adjutant_runs::supervisor::RunRef;

/// The subfolder of the attempt's folder that a run in a sandbox may write to. The shim writes the
/// rest, and the daemon trusts those files.
pub(super) const SANDBOX_FOLDER: &str = "own";

/// The folders of a run that exist whatever its workspace is.
struct RunFolders {
    attempt: PathBuf,
    /// The part of the attempt's folder that the run may write to.
    own: PathBuf,
    /// The folder of the task.
    task: PathBuf,
}

impl ProcessBackend {
    /// Refuses an agent whose sandbox cannot be enforced here, rather than starting it without one.
    pub(super) fn refuse_unenforceable_sandbox(
        &self,
        agent: &Agent,
        task: &Task,
    ) -> Result<(), RunStartFailure> {
        let level = agent.sandbox_level();
        if level == SandboxLevel::Landlock && task.story().is_some() {
            let why = "a story step works in the project folder, and `sandbox = \"landlock\"` \
                       cannot grant write access to that folder";
            return Err(RunStartFailure::Failed(why.to_owned()));
        }
        if level == SandboxLevel::Strict && !agent.has_worktree() {
            let inner = agent.workspace.as_deref().unwrap_or(Path::new(""));
            refuse_home(&self.folder.workspace().join(inner))?;
        }
        if let Some(why) = unenforceable_limit(agent) {
            return Err(RunStartFailure::AgentUnusable(why));
        }
        sandbox::check(level, &self.program)
            .map_err(|why| RunStartFailure::AgentUnusable(why.to_string()))
    }

    /// Confines a run to its workspace, the folder of its task and its own folders.
    pub(super) fn confine_launch(
        &self,
        run: &RunRef,
        agent: &Agent,
        ready: Option<&PreparedWorktree>,
        mut launch: AgentLaunch,
    ) -> Result<AgentLaunch, RunStartFailure> {
        if agent.sandbox_level() == SandboxLevel::None {
            return Ok(launch);
        }
        let folders = self
            .create_run_folders(run)
            .map_err(|error| format!("cannot create the folders of its sandbox: {error}"))?;
        let workspace = match ready {
            Some(PreparedWorktree { tree, temporary, git: Some(git), .. }) => {
                vec![tree.clone(), temporary.clone(), git.clone()]
            }
            Some(PreparedWorktree { .. }) => {
                let why = "its work tree has no private git folder";
                return Err(RunStartFailure::NoWorkspace(why.to_owned()));
            }
            None => {
                let temporary = folders.own.to_string_lossy().into_owned();
                launch.environment.set.insert("TMPDIR".to_owned(), temporary);
                vec![launch.workspace.clone()]
            }
        };
        let sandbox = match agent.sandbox_level() {
            SandboxLevel::None => CommandSandbox::None,
            SandboxLevel::Landlock => self.landlock(agent, &folders, workspace)?,
            SandboxLevel::Strict => {
                let git = ready.and_then(|ready| ready.git.as_deref());
                let mut view = self.strict_view(run, agent, &folders, &workspace, git)?;
                self.furnish_home(run, agent, &mut view, &mut launch)
                    .map_err(|error| format!("cannot make the home of its sandbox: {error}"))?;
                view.network = match &agent.network {
                    NetworkAccess::Open => SandboxNetwork::Open,
                    NetworkAccess::Off => SandboxNetwork::Off,
                    NetworkAccess::Hosts(hosts) => {
                        SandboxNetwork::Hosts(hosts.iter().map(ToString::to_string).collect())
                    }
                };
                view.limits = agent_limits(agent);
                CommandSandbox::Strict(view)
            }
        };
        Ok(launch.with_sandbox(&folders.own, sandbox))
    }

    fn create_run_folders(&self, run: &RunRef) -> io::Result<RunFolders> {
        let attempt = self.supervisor.folder(run);
        let own = attempt.join(SANDBOX_FOLDER);
        let task = self.folder.root().join(companion_folder(Status::InProgress, &run.task));
        attempt.create()?;
        create_private_folder(&own)?;
        create_private_folder(&task.join("outputs"))?;
        Ok(RunFolders { attempt: attempt.path().to_owned(), own, task })
    }

    fn landlock(
        &self,
        agent: &Agent,
        folders: &RunFolders,
        workspace: Vec<PathBuf>,
    ) -> Result<CommandSandbox, RunStartFailure> {
        let root = self.folder.root();
        let mut writable = vec![folders.task.clone(), folders.own.clone()];
        for path in workspace {
            refuse_parent_of_data_folder(&path, root)?;
            writable.push(path);
        }
        for named in &agent.sandbox_write {
            writable.push(resolve_writable_path(named, root)?);
        }
        Ok(CommandSandbox::Landlock { writable })
    }

    /// Returns what a run sees. Of the data folder it sees its task, what it was given and its own
    /// attempt, and can write to its outputs.
    fn strict_view(
        &self,
        run: &RunRef,
        agent: &Agent,
        folders: &RunFolders,
        workspace: &[PathBuf],
        git: Option<&Path>,
    ) -> Result<StrictSandbox, RunStartFailure> {
        let root = absolute(self.folder.root());
        let own_path = agent.env.get("PATH").map(OsString::from);
        let search_path = own_path.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
        let mut view = strict_view::command_view(&self.program, &search_path);
        view.hide(&root);
        for path in workspace {
            strict_view::allow_working(&mut view, &absolute(path));
            // `agents test` works in the folder of a project with a data folder of its own.
            let data = absolute(path).join(DATA_FOLDER);
            if git.is_none() && data.is_dir() {
                view.hide(data);
            }
        }
        let outputs = folders.task.join("outputs");
        for path in [&outputs, &folders.own] {
            // A link would lead the sandbox to another folder.
            strict_view::require_folder(path)
                .map_err(|error| format!("cannot make the sandbox of the run: {error}"))?;
        }
        let file = self.folder.root().join(task_file(Status::InProgress, &run.task));
        for path in [&file, &folders.task, &folders.attempt] {
            view.allow_reading(absolute(path));
        }
        view.allow_writing(absolute(&outputs));
        view.allow_writing(absolute(&folders.own));
        for objects in git.map(strict_view::borrowed_objects).unwrap_or_default() {
            view.allow_reading(objects);
        }
        for named in &agent.sandbox_read {
            strict_view::show(&mut view, &resolve_path("sandbox_read", named)?);
        }
        for named in &agent.sandbox_write {
            view.allow_writing(resolve_writable_path(named, &root)?);
        }
        Ok(view)
    }

    /// Adds to a home what an agent needs there: the files that its command names, its state, caches
    /// and the identity of its commits. Settings of the agent win over the variables for these.
    fn furnish_home(
        &self,
        run: &RunRef,
        agent: &Agent,
        view: &mut StrictSandbox,
        launch: &mut AgentLaunch,
    ) -> io::Result<()> {
        let home = strict_view::home_folder();
        let named = agent.command.iter().chain(&agent.args).chain(&launch.command);
        for path in named.map(Path::new).filter(|path| path.is_absolute() && path.is_file()) {
            match &home {
                Some(home) => show_named_file(view, home, path),
                None => strict_view::show(view, path),
            }
        }
        let folders = SandboxFolders::new(self.folder.root());
        let state = folders.agent_state(run.agent.as_str());
        let mut variables = allow_state(view, home.as_deref(), agent, &state)?;
        let caches = folders.caches(CacheUser::Runs);
        variables.extend(allow_caches(view, home.as_deref(), &caches)?);
        for (name, value) in variables {
            launch.environment.set.entry(name).or_insert(value);
        }
        let yard = Worktrees::new(self.folder.root(), &self.folder.workspace(), None);
        let settings = folders.git_settings();
        let identity = yard.identity_settings().unwrap_or_default();
        // Another run may have the file open.
        if std::fs::read_to_string(&settings).ok().as_ref() != Some(&identity) {
            create_private_folder(&folders.caches(CacheUser::Runs))?;
            write_atomic(&settings, identity.as_bytes())?;
        }
        folders.show_git_settings(view, home.as_deref());
        Ok(())
    }
}

/// Resolves an entry of `sandbox_write`.
pub(super) fn resolve_writable_path(named: &str, root: &Path) -> Result<PathBuf, RunStartFailure> {
    let path = resolve_path("sandbox_write", named)?;
    refuse_parent_of_data_folder(&path, root).map(|()| path)
}

/// Resolves a path of the configuration, which must exist; `~/` is the home folder.
pub(super) fn resolve_path(key: &str, named: &str) -> Result<PathBuf, RunStartFailure> {
    let home = || std::env::var_os("HOME").map(PathBuf::from);
    let path = match named.strip_prefix("~/") {
        Some(inner) => home().map(|home| home.join(inner)),
        None => Some(PathBuf::from(named)),
    };
    let missing =
        || RunStartFailure::AgentUnusable(format!("`{key}` names {named}, which does not exist"));
    path.filter(|path| path.exists()).ok_or_else(missing)
}

/// Refuses a workspace that contains the home folder, with everything that the sandbox hides.
fn refuse_home(folder: &Path) -> Result<(), RunStartFailure> {
    if !strict_view::contains_home(folder) {
        return Ok(());
    }
    let folder = folder.display();
    Err(RunStartFailure::AgentUnusable(format!(
        "its sandbox would protect nothing: its workspace {folder} contains your home folder"
    )))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Refuses a folder that contains the data folder: an agent that may write there could change the
/// configuration, and so have commands run outside the sandbox.
fn refuse_parent_of_data_folder(folder: &Path, root: &Path) -> Result<(), RunStartFailure> {
    if !contains(folder, root) {
        return Ok(());
    }
    let (folder, root) = (folder.display(), root.display());
    Err(RunStartFailure::AgentUnusable(format!(
        "its sandbox would protect nothing: {folder} contains the data folder {root}; use \
         `workspace = \"worktree\"`"
    )))
}
