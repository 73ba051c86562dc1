//! Finds the data folder and opens it. Only this file and `fleet_connection.rs` name a store.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adjutant_config::redact::SecretRedactor;
use adjutant_config::run_token::TokenSecret;
use adjutant_config::{AcceptedConfig, Agent, Config, SettingChange, SharedConfig};
use adjutant_core::World;
use adjutant_daemon as daemon;
use adjutant_daemon::notifier::{self, TargetProblem, Where};
use adjutant_engine::caller_identity::CallerIdentity;
use adjutant_engine::ipc::IpcClient;
use adjutant_engine::request_inspector::RequestInspector;
use adjutant_engine::{Engine, EngineAnswer, EngineRequest};
use adjutant_git::git_version::require_git;
use adjutant_git::workspace::InspectionError;
use adjutant_git::worktree::Worktrees;
use adjutant_model::command::{CommandCaller, OperatorAction};
use adjutant_model::policy::ConfigState;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::{AnswerVerdict, Command, Policy, TaskId, Time};
use adjutant_process::clock::{Clock, FixedClock, SystemClock};
use adjutant_query::ProjectQueries;
use adjutant_query::task::{resolve_task_id, task_path, unknown_task};
use adjutant_query::task_reference::find_task_id;
use adjutant_run_files::active_config::ActiveConfig;
use adjutant_run_files::lost_contact::LostContact;
use adjutant_runs::agent::program::find_program_problems;
use adjutant_runs::sandbox::auto_level::{settle_sandboxes, strongest_level};
use adjutant_runs::sandbox::resource_limits::first_unenforceable_limit;
use adjutant_store::archive_summary::ArchiveSummary;
use adjutant_store::file::{
    ArchiveScope, DATA_FOLDER, DataFolder, FolderError, check_format, read_world, salvage,
};
use adjutant_store::{FileStore, FleetStore, LoadedStore, Store, StoreError};
use adjutant_stories::LocalProjectFiles;

use crate::caller::caller_for_folder;
use crate::folder_writer::{AnyStore, FolderWriter, ProjectEngine, rest};
use crate::output::CommandOutput;
use crate::output::error::{CommandFailure, daemon_failure};
use crate::repeated_requests::{RepeatedRequests, SendResult};
use crate::run_connection::RunConnection;
use crate::{config, fleet_connection};

/// What to do about a git that is missing or too old.
pub(crate) const GIT_ADVICE: &str = "install a newer git (Debian 12 has 2.39) and put it first in \
                                     PATH, or remove `workspace = \"worktree\"` from adjutant.toml";

/// The environment variable that names the data folder if `--data` does not.
const DATA_FOLDER_VARIABLE: &str = "ADJUTANT_DATA";

/// An existing data folder and its configuration.
#[derive(Clone)]
pub(crate) struct ProjectData {
    pub(crate) folder: DataFolder,
    config: Config,
    /// What the daemon that runs on the folder says about its configuration.
    active: Option<ActiveConfig>,
    /// Why `adjutant.toml` cannot be used; `config` is then the one of the daemon.
    config_problem: Option<String>,
    /// The settings of `adjutant.toml` that wait for acceptance, and are not in `config`.
    unaccepted: Vec<SettingChange>,
    /// The text of `adjutant.toml` that was read.
    config_text: String,
}

impl ProjectData {
    /// Finds the folder: the named one, else the one the environment names, else the nearest one
    /// here or above.
    pub(crate) fn find(named: Option<&Path>) -> Result<Self, CommandFailure> {
        let data = Self::find_unaccepted(named)?;
        // Without its servers, a replica of a fleet would be written to as if it were alone.
        let is_store =
            |change: &SettingChange| change.name == "store" || change.name.starts_with("nats.");
        if data.unaccepted.iter().any(is_store) {
            return Err(data.unaccepted_failure("cannot use the servers of the fleet"));
        }
        Ok(data)
    }

    /// Like [`ProjectData::find`], for commands that show or accept the configuration.
    pub(crate) fn find_unaccepted(named: Option<&Path>) -> Result<Self, CommandFailure> {
        let folder = Self::find_folder(named)?;
        // Check the format first: a newer version may have settings that this version does not
        // know.
        check_format(&folder)?;
        let mut active = ActiveConfig::find(folder.root());
        let (accepted, config_text, config_problem) =
            match load_config(folder.root(), active.as_ref()) {
                Ok((accepted, text)) => (accepted, text, None),
                // A daemon keeps its settings while the file cannot be used, and so do commands.
                Err(failure) => {
                    active = active.and_then(|_| wait_for_refusal(folder.root()));
                    let text = active.as_ref().and_then(|active| active.accepted_text.clone());
                    let read = text
                        .and_then(|text| Some((config::parse(folder.root(), &text).ok()?, text)));
                    let (accepted, text) = read.ok_or_else(|| failure.clone())?;
                    (accepted, text, Some(failure.one_line_problem()))
                }
            };
        let AcceptedConfig { mut config, pending: unaccepted } = accepted;
        warn_if_cut_off(&folder, &config);
        if let Some(of_daemon) = active.as_ref().and_then(|active| active.sandbox) {
            settle_sandboxes(&mut config, &folder.workspace(), folder.root(), || of_daemon);
        }
        Ok(Self { folder, config, active, config_problem, unaccepted, config_text })
    }

    /// Settles what `sandbox = "auto"` stands for, for commands that start or show agents. It is
    /// tried with a process, so commands that need not know it do without.
    #[must_use]
    pub(crate) fn with_settled_sandboxes(mut self) -> Self {
        let is_known = self.active.as_ref().is_some_and(|active| active.sandbox.is_some());
        if !is_known {
            let (project, root) = (self.folder.workspace(), self.folder.root());
            settle_sandboxes(&mut self.config, &project, root, strongest_sandbox);
        }
        self
    }

    /// Finds the folder without checking its format.
    pub(crate) fn find_folder(named: Option<&Path>) -> Result<DataFolder, CommandFailure> {
        if let Some(path) = named.map(Path::to_owned).or_else(data_folder_from_env) {
            return Ok(match DataFolder::at(&path) {
                Err(wrong @ (FolderError::Absent(_) | FolderError::NotData(_))) => {
                    match DataFolder::at(&path.join(DATA_FOLDER)) {
                        Err(FolderError::Absent(_) | FolderError::NotData(_)) => Err(wrong),
                        found => found,
                    }
                }
                found => found,
            }?);
        }
        let here = std::env::current_dir()
            .map_err(|error| CommandFailure::broken("cannot find the working directory", &error))?;
        Ok(DataFolder::find(&here)?)
    }

    /// Returns the configuration errors that prevent notifications.
    pub(crate) fn notification_problems(&self) -> Vec<TargetProblem> {
        let (root, home) = (self.folder.root(), self.folder.workspace());
        notifier::check_targets(&Where::new(self.config.clone(), root, &home))
    }

    /// Finds the path where the file of a task is. It need not hold a valid task.
    pub(crate) fn task_path(&self, id: &TaskId) -> Option<PathBuf> {
        task_path(&self.folder, id)
    }

    /// Opens the folder for writing and applies edits that people made to its files.
    pub(crate) fn open_engine(&self) -> Result<ProjectEngine, CommandFailure> {
        self.open_engine_at(None)
    }

    /// Like [`ProjectData::open_engine`], with the clock fixed at `now` if that is given.
    pub(crate) fn open_engine_at(
        &self,
        now: Option<Time>,
    ) -> Result<ProjectEngine, CommandFailure> {
        let (store, loaded) = self.open_store()?;
        self.start_engine(store, loaded, now)
    }

    fn start_engine<S: Store>(
        &self,
        store: S,
        loaded: LoadedStore,
        now: Option<Time>,
    ) -> Result<Engine<S>, CommandFailure> {
        let clock: Box<dyn Clock> = match now {
            Some(now) => Box::new(FixedClock(now)),
            None => Box::new(SystemClock),
        };
        let redactor = self.redactor();
        let engine = Engine::start_redacting(store, loaded, clock, self.policy(), redactor)?;
        let node = self
            .is_in_fleet()
            .then(|| fleet_connection::own_identity(&self.config))
            .transpose()?
            .map(|me| me.node);
        let root = self.folder.root();
        let files = Arc::new(LocalProjectFiles::new(self.folder.workspace(), node));
        let inspector = RequestInspector::new(root.to_owned(), files);
        let engine = engine.with_secret(TokenSecret::read(root).ok()).with_inspector(inspector);
        Ok(engine.with_event_log(root))
    }

    /// Writes the project into an archive.
    pub(crate) fn export(&self, out: &mut dyn Write) -> Result<ArchiveSummary, CommandFailure> {
        if self.is_in_fleet() {
            let shared = fleet_connection::open(&self.folder, &self.config)?;
            let mut engine = self.start_engine(shared.store, shared.loaded, None)?;
            return Ok(engine.with_store(|store, world| store.write_archive(world, out))?);
        }
        let (store, loaded) = FileStore::open(&self.folder)?;
        let mut engine = self.start_engine(store, loaded, None)?;
        let pack =
            |store: &mut FileStore, world: &World| store.pack(world, ArchiveScope::Export, out);
        Ok(engine.with_store(pack)?)
    }

    fn open_store(&self) -> Result<(AnyStore, LoadedStore), CommandFailure> {
        if self.is_in_fleet() {
            let shared = fleet_connection::open(&self.folder, &self.config)?;
            return Ok((shared.store, shared.loaded));
        }
        let (store, loaded) = FileStore::open(&self.folder)?;
        Ok((Box::new(store), loaded))
    }

    /// Says whether this folder is a replica of a fleet.
    pub(crate) fn is_in_fleet(&self) -> bool {
        self.config.store.is_some()
    }

    /// Returns the process that commits to the folder, for one command.
    pub(crate) fn open_writer(&self) -> Result<FolderWriter, CommandFailure> {
        self.choose_writer(|| Ok(Box::new(self.open_engine()?)))
    }

    /// Returns the process that commits to the folder: the daemon if one runs, else the shim if this
    /// process is in a sandboxed run, else this process with its `own_engine`.
    pub(crate) fn choose_writer<E>(
        &self,
        own_engine: impl FnOnce() -> Result<E, CommandFailure>,
    ) -> Result<FolderWriter<E>, CommandFailure> {
        let root = self.folder.root();
        if let Some(client) = IpcClient::connect(root) {
            return Ok(FolderWriter::Daemon(client));
        }
        if let Some(connection) = RunConnection::from_sandbox(root) {
            return Ok(FolderWriter::RunSocket(connection));
        }
        let caller = CallerIdentity::of_this_process(root);
        Ok(FolderWriter::InProcess(own_engine()?, caller))
    }

    /// Checks that the caller may do an operator action. Inside a run the request is submitted and
    /// refused, so that the event log shows it. An operator's request is not submitted: opening the
    /// folder would apply edits to a folder that may need repair first.
    pub(crate) fn require_operator(
        &self,
        chore: OperatorAction,
        attempt: &str,
        out: &CommandOutput,
    ) -> Result<(), CommandFailure> {
        let by = self.caller();
        if matches!(by, CommandCaller::Operator(_)) {
            return Ok(());
        }
        let request = EngineRequest::command(by, Command::Chore(chore));
        require_accepted(self.submit(request, out)?, attempt).map(|_| ())
    }

    pub(crate) fn caller(&self) -> CommandCaller {
        caller_for_folder(self.folder.root())
    }

    /// Returns the id of the task that a person names: our own id or the end of one, or an id of
    /// its origin. Any other text is reported as an unknown task.
    pub(crate) fn task_id(&self, text: &str) -> Result<TaskId, CommandFailure> {
        self.find_task_id(text)?.ok_or_else(|| unknown_task(text))
    }

    /// Returns the id of the task that a person names; `None` if there is no such task. The end of
    /// several ids is refused.
    pub(crate) fn find_task_id(&self, text: &str) -> Result<Option<TaskId>, CommandFailure> {
        find_task_id(&self.folder, text)
    }

    /// Returns the id of the task that another program names: our own id, or an id of its origin.
    pub(crate) fn resolve_task_id(&self, text: &str) -> Option<TaskId> {
        resolve_task_id(&self.folder, text)
    }

    pub(crate) fn worktrees(&self) -> Worktrees {
        let base = self.config.project.base.clone();
        Worktrees::new(self.folder.root(), &self.folder.workspace(), base)
    }

    /// Checks that git can make worktrees, if an agent works in them.
    pub(crate) fn check_git(&self) -> Result<(), InspectionError> {
        let needed = self.config.agents.values().any(Agent::has_worktree);
        if needed { require_git() } else { Ok(()) }
    }

    /// Like [`ProjectData::check_git`], as the refusal of a command.
    pub(crate) fn require_git(&self, attempt: &str) -> Result<(), CommandFailure> {
        self.check_git()
            .map_err(|error| CommandFailure::not_possible(attempt, &error.0).with_hint(GIT_ADVICE))
    }

    /// Refuses settings with a limit on runs that this machine cannot enforce.
    pub(crate) fn require_enforceable_limits(&self) -> Result<(), CommandFailure> {
        match first_unenforceable_limit(&self.config) {
            Some(why) => {
                Err(CommandFailure::config(&self.folder.root().join(adjutant_config::FILE), why))
            }
            None => Ok(()),
        }
    }

    /// Performs pending effects that need no run, unless a daemon is there to perform them.
    pub(crate) fn perform_pending_effects(&self) -> Result<(), CommandFailure> {
        // In a fleet the node that has the work performs them.
        if self.is_in_fleet() || IpcClient::connect(self.folder.root()).is_some() {
            return Ok(());
        }
        let engine = self.open_engine()?;
        daemon::finish_pending_work(&self.folder, &self.config, this_program()?, engine)
            .map_err(daemon_failure)
    }

    /// Returns what redacts the secrets of this project.
    pub(crate) fn redactor(&self) -> SecretRedactor {
        SecretRedactor::for_project(self.folder.root(), &self.config)
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the settings that decisions depend on, and which agents can be started. A daemon
    /// that runs on the folder knows best: it has another environment than this process.
    pub(crate) fn policy(&self) -> Policy {
        let mut policy = self.config.policy();
        let unaccepted = self.unaccepted.iter().map(|change| change.name.as_str().into());
        policy.config.unaccepted = unaccepted.collect();
        let Some(active) = &self.active else {
            let problems = find_program_problems(&self.config, &self.folder.workspace());
            return policy.with_program_problems(&problems);
        };
        let mut policy = policy.with_program_problems(&active.program_problems);
        for name in &active.waiting_agents {
            if let Some(agent) = policy.agents.get_mut(name) {
                agent.slots = 0;
            }
        }
        let problem = active.problem.as_ref().or(self.config_problem.as_ref());
        policy.config = ConfigState {
            problem: problem.map(|problem| problem.as_str().into()),
            unaccepted: policy.config.unaccepted,
            restart: active.restart.iter().map(|name| name.as_str().into()).collect(),
        };
        policy
    }

    /// Returns why `adjutant.toml` cannot be used, if a daemon works by older settings.
    pub(crate) fn config_problem(&self) -> Option<&str> {
        self.config_problem.as_deref()
    }

    /// Returns the settings of `adjutant.toml` that wait for acceptance.
    pub(crate) fn unaccepted(&self) -> &[SettingChange] {
        &self.unaccepted
    }

    pub(crate) fn config_text(&self) -> &str {
        &self.config_text
    }

    /// Submits one request and brings the folder to rest.
    pub(crate) fn submit(
        &self,
        request: impl Into<EngineRequest>,
        out: &CommandOutput,
    ) -> Result<EngineAnswer, CommandFailure> {
        let mut writer = self.open_writer()?;
        let mut answers = self.submit_to(&mut writer, vec![request.into()])?;
        writer.rest(out);
        answers.pop().ok_or_else(|| StoreError::Stopped.into())
    }

    /// Submits requests. If the daemon ends before it answers, messages and heartbeats are sent again
    /// to the process that commits to the folder then, which `writer` is from then on.
    pub(crate) fn submit_to(
        &self,
        writer: &mut FolderWriter,
        requests: Vec<EngineRequest>,
    ) -> Result<Vec<EngineAnswer>, CommandFailure> {
        let mut requests = RepeatedRequests::new(requests);
        loop {
            match requests.send(writer)? {
                SendResult::Answered(answers) => return Ok(answers),
                SendResult::Lost => *writer = self.open_writer()?,
            }
        }
    }

    /// Reads every task and applies edits that people made to the files. Edits are not applied
    /// while another process writes or if the folder cannot be written: a reader never waits for a
    /// writer and needs no disk space.
    pub(crate) fn load_world(&self, out: &CommandOutput) -> Result<World, CommandFailure> {
        if self.is_in_fleet() {
            return Ok(self.load_replica_world(out)?);
        }
        match self.apply_file_edits(out) {
            Ok(Some(world)) => Ok(world),
            Ok(None) => Ok(self.read_world()?),
            Err(error) if is_read_only(&error) => Ok(self.read_world()?),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads every task, with the policy of all nodes of the fleet that are up and their agents.
    pub(crate) fn load_fleet_world(&self, out: &CommandOutput) -> Result<World, CommandFailure> {
        let world = self.load_world(out)?;
        if !self.is_in_fleet() {
            return Ok(world);
        }
        match fleet_connection::policy(&self.folder, &self.config) {
            Ok(Some(policy)) => {
                let config = world.policy().config.clone();
                Ok(world.with_policy(Policy { config, ..policy }))
            }
            Ok(None) => {
                out.warn("no node is up; using the configuration of this node");
                Ok(world)
            }
            Err(failure) => {
                let why = failure.message_with_causes();
                out.warn(&format!("using the configuration of this node alone: {why}"));
                Ok(world)
            }
        }
    }

    /// Reads the replica of a fleet: as the daemon keeps it, or after catching up with the servers.
    /// If the servers cannot be reached, it warns that the data may be old.
    fn load_replica_world(&self, out: &CommandOutput) -> Result<World, StoreError> {
        if IpcClient::connect(self.folder.root()).is_some() {
            return self.read_world();
        }
        match self.open_store() {
            Ok((_, loaded)) => Ok(loaded.world.with_policy(self.policy())),
            Err(failure) => {
                out.warn(&format!(
                    "showing the last known state: {}",
                    failure.message_with_causes()
                ));
                self.read_world()
            }
        }
    }

    /// Returns the queries on this folder, for a server.
    pub(crate) fn into_queries(self) -> ProjectQueries {
        let (folder, config) = (self.folder.clone(), SharedConfig::new(self.config.clone()));
        let (root, shared) = (self.folder.root().to_owned(), config.clone());
        // The configuration may have changed since the last call.
        let load = Box::new(move || {
            let data = Self::find(Some(&root)).unwrap_or_else(|_| self.clone());
            shared.set(data.config.clone());
            data.load_world(&CommandOutput::new(true))
        });
        ProjectQueries::for_folder(folder, config, load, CommandOutput::print_warning)
    }

    /// Returns the late reports that wait for a person, by task and file name.
    pub(crate) fn late_reports(&self) -> Result<Vec<(TaskId, String)>, CommandFailure> {
        Ok(salvage::list_all(self.folder.root())?)
    }

    fn read_world(&self) -> Result<World, StoreError> {
        Ok(read_world(&self.folder)?.with_policy(self.policy()))
    }

    fn apply_file_edits(&self, out: &CommandOutput) -> Result<Option<World>, StoreError> {
        let Some((store, loaded)) = FileStore::try_open(&self.folder)? else { return Ok(None) };
        let (clock, policy) = (Box::new(SystemClock), self.policy());
        let mut engine = Engine::start_redacting(store, loaded, clock, policy, self.redactor())?;
        rest(&mut engine, out);
        Ok(Some(engine.into_world()))
    }
}

/// Warns that this node of a fleet does not get the commits of the others.
fn warn_if_cut_off(folder: &DataFolder, config: &Config) {
    let lost = config.store.as_ref().and_then(|_| LostContact::find(folder.root()));
    if let Some(LostContact { since, .. }) = lost {
        CommandOutput::print_warning(&format!(
            "this node has been cut off from its fleet since {since}; what it shows may be old, and \
             commands fail until the servers answer again"
        ));
    }
}

/// Waits until the running daemon has refused the file too and says which settings it keeps. It
/// notices a change within a moment.
fn wait_for_refusal(root: &Path) -> Option<ActiveConfig> {
    let waits = std::iter::repeat_n(Duration::from_millis(50), 60);
    let mut active = ActiveConfig::find(root)?;
    for pause in waits {
        if active.accepted_text.is_some() {
            break;
        }
        std::thread::sleep(pause);
        active = ActiveConfig::find(root)?;
    }
    Some(active)
}

/// Reads the configuration. A file that was removed while a daemon works by it is an error; without
/// a daemon, no file means the default settings.
fn load_config(
    root: &Path,
    active: Option<&ActiveConfig>,
) -> Result<(AcceptedConfig, String), CommandFailure> {
    let path = root.join(adjutant_config::FILE);
    if active.is_some_and(|active| active.has_file) && !path.exists() {
        return Err(CommandFailure::config(&path, "the file is missing"));
    }
    let text = config::read_text(root)?;
    Ok((config::parse(root, &text)?, text))
}

fn is_read_only(error: &StoreError) -> bool {
    let refused = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    match error {
        StoreError::Full { .. } => true,
        StoreError::Io { source, .. } => refused.contains(&source.kind()),
        StoreError::Conflict { .. }
        | StoreError::Damaged { .. }
        | StoreError::LogBehind { .. }
        | StoreError::FolderGone(_)
        | StoreError::Newer(_)
        | StoreError::Fenced
        | StoreError::Stopped => false,
    }
}

/// Returns what `sandbox = "auto"` stands for in this process.
fn strongest_sandbox() -> SandboxLevel {
    this_program().map_or(SandboxLevel::None, |program| strongest_level(&program))
}

/// Returns the path of this program, which also serves as the shim of every run it starts.
pub(crate) fn this_program() -> Result<PathBuf, CommandFailure> {
    std::env::current_exe()
        .map_err(|error| CommandFailure::broken("cannot find the path of this program", &error))
}

pub(crate) fn data_folder_from_env() -> Option<PathBuf> {
    std::env::var_os(DATA_FOLDER_VARIABLE).filter(|named| !named.is_empty()).map(PathBuf::from)
}

/// Submits a request of a run: through the socket of the run, if the environment names it.
pub(crate) fn submit_as_run(
    request: impl Into<EngineRequest>,
    data: impl FnOnce() -> Result<ProjectData, CommandFailure>,
    out: &CommandOutput,
) -> Result<EngineAnswer, CommandFailure> {
    match RunConnection::from_env() {
        Some(connection) => connection.submit_one(request.into()),
        None => data()?.submit(request, out),
    }
}

pub(crate) fn require_accepted(
    answered: EngineAnswer,
    attempt: &str,
) -> Result<EngineAnswer, CommandFailure> {
    match answered.answer.verdict {
        AnswerVerdict::Applied | AnswerVerdict::Noop | AnswerVerdict::Ignored => Ok(answered),
        AnswerVerdict::Rejected | AnswerVerdict::Unknown => {
            Err(CommandFailure::refused(attempt, &answered.answer))
        }
    }
}
