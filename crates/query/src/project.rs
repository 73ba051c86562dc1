//! Every query on a project, answered from the daemon's world snapshot or from the data folder.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use adjutant_config::run_token::TokenSecret;
use adjutant_config::{Config, SharedConfig};
use adjutant_core::World;
use adjutant_engine::ipc::IpcClient;
use adjutant_engine::{EngineHandle, WorldSnapshot};
use adjutant_git::worktree::Worktrees;
use adjutant_model::evidence::WorkEvidence;
use adjutant_model::run::RunRef;
use adjutant_model::{AgentId, Answer, Reason, Status, Task, TaskId, Time};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_run_files::active_config;
use adjutant_runs::task_context::TaskContext;
use adjutant_runs::work_order::ReportingMethod;
use adjutant_store::file::{DataFolder, IncrementalReader, salvage};
use adjutant_store::{FleetNetwork, taskfile};
use adjutant_stories::StoryCommandAnswer;
use parking_lot::Mutex;

use crate::agents::{AgentLoad, AgentsView};
use crate::failure::CommandFailure;
use crate::fleet_log::FleetRunLog;
use crate::inbox::{InboxExtras, InboxItem};
use crate::late_reports::LateReports;
use crate::run::{RunView, read_current_evidence, read_runs};
use crate::run_credentials::{RunCredentials, TokenRun, find_token_run};
use crate::run_log::{LogLocation, RunLogSource, read_tail};
use crate::status::{DaemonStatus, StatusView};
use crate::story;
use crate::task::{TaskView, read_regular_file, resolve_task_id, task_path, unknown_task};
use crate::task_cache::TaskCache;
use crate::task_list::TaskQuery;
use crate::why::WhyView;

/// The most of a run's output that is shown.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;

/// The most tasks that are listed on the serving thread, while other requests wait.
const IMMEDIATE_TASKS_MAX: usize = 101;

/// Reads every task of a data folder, with the edits that people made to its files.
pub type LoadWorld = Box<dyn Fn() -> Result<World, CommandFailure> + Send + Sync>;

/// The queries on one project. Unless noted otherwise, a query may block on the disk.
pub struct ProjectQueries {
    folder: DataFolder,
    config: SharedConfig,
    source: WorldSource,
    cache: TaskCache,
    /// Prints a warning for the operator.
    warn: fn(&str),
}

/// Where the world is read.
enum WorldSource {
    /// Other processes may write to the folder.
    Folder(Box<FolderSource>),
    /// This process is the daemon.
    Daemon(Box<DaemonSource>),
}

struct FolderSource {
    reader: Mutex<FolderReader>,
    load: LoadWorld,
}

/// Reads the tasks of a folder, and everything again when the configuration has changed.
struct FolderReader {
    reader: IncrementalReader,
    config_stamps: [Option<FileStamp>; 2],
}

/// The state of a file that changes when the file is written or replaced.
type FileStamp = (SystemTime, u64, u64);

impl FolderReader {
    fn new(folder: &DataFolder) -> Self {
        Self { config_stamps: config_stamps(folder), reader: IncrementalReader::new(folder) }
    }

    fn reload_if_config_changed(&mut self, folder: &DataFolder) {
        if self.config_stamps != config_stamps(folder) {
            *self = Self::new(folder);
        }
    }
}

/// Returns the state of the files that the settings come from: the configuration, and what the
/// daemon says about it.
fn config_stamps(folder: &DataFolder) -> [Option<FileStamp>; 2] {
    [adjutant_config::FILE, active_config::FILE].map(|name| {
        let file = folder.root().join(name).metadata().ok()?;
        Some((file.modified().ok()?, file.len(), file.ino()))
    })
}

struct DaemonSource {
    snapshot: WorldSnapshot,
    secret: TokenSecret,
    late: LateReports,
    /// The connection to the other nodes; `None` outside a fleet.
    fleet: Option<Arc<dyn FleetNetwork>>,
}

/// A task without its body, already serialized.
#[derive(Debug, Clone)]
pub struct TaskRow {
    pub id: TaskId,
    pub json: Arc<str>,
}

impl ProjectQueries {
    /// Reads a folder that other processes may write to.
    pub fn for_folder(
        folder: DataFolder,
        config: SharedConfig,
        load: LoadWorld,
        warn: fn(&str),
    ) -> Self {
        let reader = FolderReader::new(&folder);
        let source =
            WorldSource::Folder(Box::new(FolderSource { reader: Mutex::new(reader), load }));
        Self { folder, config, source, cache: TaskCache::default(), warn }
    }

    /// Reads the world snapshot of the daemon of this process.
    pub fn for_daemon(
        folder: DataFolder,
        config: SharedConfig,
        engine: &EngineHandle,
        fleet: Option<Arc<dyn FleetNetwork>>,
        warn: fn(&str),
    ) -> Result<Self, CommandFailure> {
        let (secret, snapshot) = (open_secret(folder.root())?, engine.world_snapshot()?);
        let late = LateReports::watch(&snapshot);
        let source = DaemonSource { snapshot, secret, late, fleet };
        let source = WorldSource::Daemon(Box::new(source));
        Ok(Self { folder, config, source, cache: TaskCache::default(), warn })
    }

    /// Returns the project's data folder.
    pub fn root(&self) -> &Path {
        self.folder.root()
    }

    /// Returns the configuration in effect.
    pub fn config(&self) -> Arc<Config> {
        self.config.get()
    }

    /// Returns the folder of the project that the tasks are about.
    pub fn workspace(&self) -> PathBuf {
        self.folder.workspace()
    }

    pub fn now(&self) -> Time {
        SystemClock.now()
    }

    /// Calls `look` with the committed world. Commits may have to wait until it returns.
    pub fn with_world<T>(&self, look: impl FnOnce(&World) -> T) -> Result<T, CommandFailure> {
        let there = match &self.source {
            WorldSource::Daemon(here) => return Ok(here.snapshot.read(look)),
            WorldSource::Folder(there) => there,
        };
        // Without a daemon this folder may be behind the other nodes of its fleet.
        if self.config().store.is_some() && IpcClient::connect(self.root()).is_none() {
            return Ok(look(&(there.load)()?));
        }
        let mut reader = there.reader.lock();
        reader.reload_if_config_changed(&self.folder);
        reader.reader.with_current_world(&there.load, |world| Ok(look(world)))
    }

    /// Resolves a task by its own id or by an alias.
    pub fn resolve_task(&self, text: &str) -> Result<TaskId, CommandFailure> {
        let found = match &self.source {
            WorldSource::Daemon(here) => {
                let own = TaskId::parse(text).ok();
                let exists = |id: &TaskId| {
                    self.known_status(id).is_some() || task_path(&self.folder, id).is_some()
                };
                own.filter(exists).or_else(|| here.snapshot.read(|world| world.resolve(text)))
            }
            WorldSource::Folder(_) => resolve_task_id(&self.folder, text),
        };
        found.ok_or_else(|| unknown_task(text))
    }

    /// Returns a task, as in its file.
    pub fn task(&self, id: &TaskId) -> Result<Arc<TaskView>, CommandFailure> {
        let likely = self.known_status(id);
        self.cache.find(&self.folder, id, likely).ok_or_else(|| not_found(id))
    }

    /// Returns a task if no more than a `stat` of its file is needed. For callers that must not
    /// wait for the disk.
    pub fn cached_task(&self, text: &str) -> Option<(TaskId, Arc<TaskView>)> {
        let id = TaskId::parse(text).ok()?;
        let view = self.cache.get_cached(&self.folder, &id, self.known_status(&id)?)?;
        Some((id, view))
    }

    /// Returns the text of a task's file.
    pub fn task_file_text(&self, id: &TaskId) -> Result<String, CommandFailure> {
        let path = task_path(&self.folder, id).ok_or_else(|| not_found(id))?;
        let bytes = read_regular_file(&path).ok_or_else(|| not_found(id))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the matching tasks.
    pub fn tasks(&self, query: &TaskQuery) -> Result<Vec<Arc<TaskView>>, CommandFailure> {
        let selected = self.with_world(|world| select(query, world))?.into_iter();
        let find = |(id, status)| self.cache.find(&self.folder, &id, Some(status));
        Ok(selected.filter_map(find).collect())
    }

    /// Returns the matching tasks if no more than a `stat` of their files is needed.
    pub fn cached_tasks(&self, query: &TaskQuery) -> Option<Vec<TaskRow>> {
        let WorldSource::Daemon(here) = &self.source else { return None };
        if !query.is_quick(IMMEDIATE_TASKS_MAX) {
            return None;
        }
        let row = |(id, status): (TaskId, Status)| {
            let json = self.cache.get_cached_row(&self.folder, &id, status)?;
            Some(TaskRow { id, json })
        };
        here.snapshot.read(|world| select(query, world)).into_iter().map(row).collect()
    }

    /// Returns the reasons why a task is not running.
    pub fn why(&self, id: &TaskId) -> Result<WhyView, CommandFailure> {
        self.with_world(|world| WhyView::new(world, id))?
    }

    /// Returns everything that needs a person.
    pub fn inbox(&self) -> Result<Vec<InboxItem>, CommandFailure> {
        let extras = self.inbox_extras()?;
        self.with_world(|world| extras.items(world))
    }

    /// Returns at most `items_max` inbox items from index `from` on, and the number of all items.
    pub fn inbox_page(
        &self,
        from: usize,
        items_max: usize,
    ) -> Result<(Vec<InboxItem>, usize), CommandFailure> {
        let extras = self.inbox_extras()?;
        self.with_world(|world| extras.page(world, from, items_max))
    }

    /// Returns whether a daemon runs, its runs, and the number of tasks in each status.
    pub fn status(&self) -> Result<StatusView, CommandFailure> {
        let daemon = DaemonStatus::find(self.root());
        self.with_world(|world| StatusView::new(daemon, world))
    }

    /// Returns the configured agents, and those found on the machine.
    pub fn agents(&self) -> Result<AgentsView, CommandFailure> {
        let load = self.with_world(AgentLoad::new)?;
        Ok(AgentsView::new(&self.folder, &self.config(), &load))
    }

    /// Returns every story.
    pub fn stories(&self) -> Result<Vec<StoryCommandAnswer>, CommandFailure> {
        story::list_stories(&self.workspace())
    }

    /// Returns a story by its id.
    pub fn story(&self, id: &str) -> Result<StoryCommandAnswer, CommandFailure> {
        story::find_story(&self.workspace(), id)
    }

    /// Returns a story with the prompt for the executor of its current step.
    pub fn story_prompt(&self, id: &str) -> Result<StoryCommandAnswer, CommandFailure> {
        story::story_prompt(&self.workspace(), id)
    }

    /// Returns the runs of a task that were started on this machine, oldest first.
    pub fn runs(&self, id: &TaskId) -> Result<Vec<RunView>, CommandFailure> {
        self.task(id)?;
        Ok(read_runs(self.root(), id))
    }

    /// Returns the evidence of the last inspected run of a task, and its diff to the base if the
    /// work is on a branch of its own.
    pub fn evidence(&self, id: &TaskId) -> (Option<WorkEvidence>, Option<String>) {
        let base = self.config().project.base.clone();
        let worktrees = Worktrees::new(self.root(), &self.workspace(), base);
        let evidence = read_current_evidence(self.root(), id, &worktrees);
        // Only work on a branch has a base, and its commits are kept after a merge.
        let has_base = evidence.as_ref().is_some_and(|evidence| evidence.base.is_some());
        let diff = has_base.then(|| worktrees.diff(id).ok()).flatten();
        (evidence, diff.map(|diff| String::from_utf8_lossy(&diff).into_owned()))
    }

    /// Finds the output of a run: of this attempt, or of the last one.
    pub fn run_log(
        &self,
        id: &TaskId,
        attempt: Option<u32>,
    ) -> Result<RunLogSource, CommandFailure> {
        RunLogSource::find(&self.folder, id, attempt)
            .or_else(|failure| self.find_remote_log(id, attempt).ok_or(failure))
    }

    /// Returns the end of the last run's output.
    pub fn last_output(&self, id: &TaskId) -> Result<String, CommandFailure> {
        read_tail(&self.folder, id, OUTPUT_BYTES_MAX)
    }

    /// Returns the work order of a task for an agent.
    pub fn work_order(
        &self,
        id: &TaskId,
        agent: &AgentId,
        attempt: u32,
    ) -> Result<String, CommandFailure> {
        let status = self.task(id)?.status;
        let parsed = taskfile::parse(&self.task_file_text(id)?, Some(id), Some(status));
        let task = parsed.map_err(|_| unreadable(id))?.task;
        let context = TaskContext::read(&self.folder, &task).map_err(|error| {
            CommandFailure::broken(format!("cannot write the work order of {id}"), &error)
        })?;
        let context = context.with_checks(&self.config().policy(), &task);
        Ok(context.work_order(&task, agent, attempt, ReportingMethod::Tools))
    }

    /// Returns the token of a run of a task.
    pub fn run_token(&self, id: &TaskId, run: &RunRef) -> Result<String, CommandFailure> {
        Ok(self.secret()?.token(id, run.fence, run.nonce))
    }

    /// Returns the run that a token belongs to; `hint` is the task it probably belongs to.
    pub fn run_by_token(
        &self,
        token: &str,
        hint: Option<&TaskId>,
    ) -> Result<Option<RunCredentials>, CommandFailure> {
        let secret = self.secret()?;
        let found = self.with_world(|world| find_token_run(world, &secret, token, hint))?;
        let Some(TokenRun { task, fence, run }) = found else { return Ok(None) };
        let run = run.or_else(|| {
            let mut runs =
                read_runs(self.root(), &task).into_iter().filter(|run| run.fence == fence);
            runs.find_map(|run| Some((AgentId::parse(&run.agent).ok()?, run.attempt)))
        });
        let token = token.to_owned();
        Ok(run.map(|(agent, attempt)| RunCredentials { task, agent, attempt, token }))
    }

    fn secret(&self) -> Result<TokenSecret, CommandFailure> {
        match &self.source {
            WorldSource::Daemon(here) => Ok(here.secret.clone()),
            WorldSource::Folder(_) => open_secret(self.root()),
        }
    }

    /// Returns the status of a task if this process knows it without reading files.
    fn known_status(&self, id: &TaskId) -> Option<Status> {
        match &self.source {
            WorldSource::Daemon(here) => {
                here.snapshot.read(|world| world.task(id).map(Task::status))
            }
            WorldSource::Folder(_) => None,
        }
    }

    /// Reads the inbox items that are not in the world.
    fn inbox_extras(&self) -> Result<InboxExtras, CommandFailure> {
        let late = match &self.source {
            WorldSource::Daemon(here) => here.late.list(self.root())?,
            WorldSource::Folder(_) => salvage::list_all(self.root())?,
        };
        let find = |text: &str| match &self.source {
            WorldSource::Daemon(here) => here.snapshot.read(|world| world.resolve(text)),
            WorldSource::Folder(_) => resolve_task_id(&self.folder, text),
        };
        Ok(InboxExtras::read(&self.folder, late, &find, &self.warn))
    }

    /// Finds the log of a run on another node of the fleet.
    fn find_remote_log(&self, id: &TaskId, attempt: Option<u32>) -> Option<RunLogSource> {
        let WorldSource::Daemon(here) = &self.source else { return None };
        let (fleet, snapshot) = (here.fleet.clone()?, &here.snapshot);
        let last = snapshot.read(|world| world.task(id).and_then(Task::attempt));
        let log = FleetRunLog::new(fleet, snapshot.clone(), id.clone(), attempt.or(last)?);
        let (attempt, is_over) = (log.attempt(), log.is_over());
        Some(RunLogSource { attempt, location: LogLocation::Remote(Arc::new(log)), is_over })
    }
}

/// Opens the secret that run tokens are made with, or creates it.
pub fn open_secret(root: &Path) -> Result<TokenSecret, CommandFailure> {
    TokenSecret::open(root).map_err(|error| {
        CommandFailure::broken("cannot read the secret of the data folder", &error)
    })
}

fn select(query: &TaskQuery, world: &World) -> Vec<(TaskId, Status)> {
    query.select(world).into_iter().map(|task| (task.id.clone(), task.status())).collect()
}

fn not_found(id: &TaskId) -> CommandFailure {
    CommandFailure::not_found(id, "cannot read the file")
}

fn unreadable(id: &TaskId) -> CommandFailure {
    let answer = Answer::rejected(Reason::TaskUnreadable, Some(id.clone()));
    CommandFailure::refused(format!("cannot read {id}"), &answer)
}
