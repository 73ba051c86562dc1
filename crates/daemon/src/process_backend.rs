//! Runs as real processes: starts, stops and follows agents through the supervisor, as configured.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use adjutant_config::{Agent, Config, Kind};
use adjutant_core::schedule::RunKey;
use adjutant_core::{World, resume};
use adjutant_engine::fleet::FleetMember;
use adjutant_engine::request_inspector::{InspectionScope, inspection_scope};
use adjutant_engine::service::EngineHandle;
use adjutant_git::workspace;
use adjutant_git::worktree::{PORTS, PreparedWorktree, SavedWork, WorktreeError, Worktrees};
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::work::MergeResult;
use adjutant_model::{Policy, Task, TaskId};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_process::par_map_io::par_map_io;
use adjutant_run_files::attempt_files::{CONTEXT, is_disk_full};
use adjutant_run_files::dialect_files::DialectFiles;
use adjutant_runs::agent::{
    AgentLaunch, LaunchContext, ResumedSession, VersionWarnings, has_stream,
};
use adjutant_runs::check_command::CheckRunner;
use adjutant_runs::shim;
use adjutant_runs::supervisor::{LocalRunState, RunRef, RunSupervisor, StartResult, StopMode};
use adjutant_runs::task_context::TaskContext;
use adjutant_runs::work_order::ReportingMethod;
use adjutant_store::file::{DATA_FOLDER, DataFolder};
use adjutant_store::{format_error_chain, monotonic_now};
use parking_lot::Mutex;

use super::job_runner::{JobKind, JobResult, JobRunner};
use super::sandboxed_run::SANDBOX_FOLDER;
use super::work_job::WorkJob;
use super::work_orders::{WorkOrderWriter, read_task_limits};
use crate::run_manager::{
    CheckedWork, RunBackend, RunStartFailure, RunStartInput, work_saved_request,
};

pub(super) struct ProcessBackend {
    pub(super) folder: DataFolder,
    pub(super) config: Config,
    policy: Policy,
    /// The program that has the commands `shim` and `script-agent`.
    pub(super) program: PathBuf,
    pub(super) supervisor: RunSupervisor,
    client: EngineHandle,
    jobs: JobRunner,
    versions: VersionWarnings,
    /// Says until when runs of this node may continue; `None` without a fleet.
    fleet_member: Option<Arc<FleetMember>>,
    /// When this node first saw that each run has to start, by the monotonic clock.
    first_seen: Mutex<BTreeMap<RunKey, Duration>>,
}

/// How long the time is remembered at which a run was first seen. A run that waits for longer
/// counts as new.
const FIRST_SEEN_TTL: Duration = Duration::from_hours(1);

impl ProcessBackend {
    pub(super) fn new(
        folder: DataFolder,
        config: Config,
        program: PathBuf,
        supervisor: RunSupervisor,
        client: EngineHandle,
        jobs: JobRunner,
    ) -> Self {
        let policy = config.policy();
        Self {
            folder,
            config,
            policy,
            program,
            supervisor,
            client,
            jobs,
            versions: VersionWarnings::default(),
            fleet_member: None,
            first_seen: Mutex::default(),
        }
    }

    /// Replaces the settings that runs, checks and merges start with from now on.
    pub(super) fn set_config(&mut self, config: &Config) {
        self.config = config.clone();
        self.policy = config.policy();
    }

    /// Makes this node start only runs that the fleet has granted time for.
    pub(super) fn with_fleet_member(mut self, member: Option<Arc<FleetMember>>) -> Self {
        self.fleet_member = member;
        self
    }

    /// Refuses to start a run until this node has confirmed its name after the run was first seen.
    /// A node that was suspended may have lost its name, and its runs, to another node.
    fn require_node_name(&self, run: &RunRef) -> Result<(), RunStartFailure> {
        let Some(member) = &self.fleet_member else { return Ok(()) };
        let mut first_seen = self.first_seen.lock();
        first_seen.retain(|_, at| monotonic_now().saturating_sub(*at) < FIRST_SEEN_TTL);
        let at = *first_seen.entry((run.task.clone(), run.fence)).or_insert_with(monotonic_now);
        if member.confirm_name_after(at) { Ok(()) } else { Err(RunStartFailure::NotYet) }
    }

    /// Writes the lease file of a run before the run starts.
    fn write_lease(&self, run: &RunRef) -> Result<(), RunStartFailure> {
        let Some(member) = &self.fleet_member else { return Ok(()) };
        let granted = member.granted().filter(|granted| monotonic_now() < granted.until);
        let until = granted.ok_or(RunStartFailure::NotYet)?.until;
        let attempt = self.supervisor.folder(run);
        let written =
            attempt.create().and_then(|()| shim::lease_file::extend_lease(attempt.path(), until));
        written.map_err(|error| error.to_string().into())
    }

    /// Returns the input of a job; `None` if no run has worked on the task.
    fn work_job(&self, task: &Task) -> Option<WorkJob> {
        let root = self.folder.root();
        let runner = CheckRunner::new(self.program.clone(), Some(root), &self.config)
            .with_halt_flag(self.jobs.halt_flag());
        let places = (root, &*self.folder.workspace());
        WorkJob::for_task(task, places, &self.config, &self.policy, runner)
    }

    /// Returns the worktree of a run when it is ready.
    fn prepare_worktree(
        &self,
        run: &RunRef,
        task: &Task,
    ) -> Result<PreparedWorktree, RunStartFailure> {
        let gone = || RunStartFailure::Failed("its lease no longer exists".to_owned());
        let job = self.work_job(task).ok_or_else(gone)?;
        let attempt = run.attempt;
        let ended = self.supervisor.end_earlier(run);
        ended.map_err(|error| RunStartFailure::Failed(format_error_chain(&error)))?;
        let work = move || JobResult::Ready(job.prepare_worktree(attempt));
        match self.jobs.fetch_or_start(&run.task, JobKind::Prepare(attempt), work) {
            Some(JobResult::Ready(Ok(ready))) => {
                let saved = ready.saved.clone().filter(|saved| saved.new);
                let requests = saved.map(|saved| work_saved_request(&run.task, saved));
                // If this request is lost, the git reference still exists.
                let _ = self.client.ask_all(requests.into_iter().collect());
                Ok(ready)
            }
            Some(JobResult::Ready(Err(WorktreeError(why)))) => {
                Err(RunStartFailure::NoWorkspace(why))
            }
            Some(_) | None => Err(RunStartFailure::NotYet),
        }
    }

    /// Prepares the workspace, and returns how to start a run in it.
    fn prepare_launch(
        &self,
        wanted: &RunStartInput,
        agent: &Agent,
    ) -> Result<AgentLaunch, RunStartFailure> {
        let RunStartInput { run, task, .. } = wanted;
        let ready = agent.has_worktree().then(|| self.prepare_worktree(run, task)).transpose()?;
        let workspace = ready.as_ref().map(|ready| ready.workspace.clone());
        let workspace = workspace.or_else(|| agent.workspace.clone());
        let agent = &Agent { workspace, ..agent.clone() };
        let mut launch = self.build_launch(wanted, agent)?;
        if let Some(ready) = &ready {
            launch.environment.set.extend(self.workspace_variables(run, ready)?);
        }
        self.confine_launch(run, agent, ready.as_ref(), launch)
    }

    /// Returns the work order for a model with the tools of the MCP server; `None` if the files of
    /// the task cannot be read.
    fn read_context(&self, run: &RunRef, task: &Task) -> Option<String> {
        let context = TaskContext::read(&self.folder, task).ok()?.with_checks(&self.policy, task);
        Some(context.work_order(task, &run.agent, run.attempt, ReportingMethod::Tools))
    }

    /// Returns the environment variables that tell a run about its workspace.
    fn workspace_variables(
        &self,
        run: &RunRef,
        ready: &PreparedWorktree,
    ) -> Result<Vec<(String, String)>, RunStartFailure> {
        let yard = Worktrees::new(self.folder.root(), &self.folder.workspace(), None);
        let name = format!("{}/{}", run.task, run.attempt);
        let port = yard.reserve_port(&name, |whose| self.may_need_ports(whose));
        let port = port.map_err(|WorktreeError(why)| RunStartFailure::NoWorkspace(why))?;
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let variables = [
            ("TMPDIR", text(&ready.temporary)),
            ("ADJUTANT_WORKSPACE", text(&ready.workspace)),
            ("ADJUTANT_BRANCH", ready.branch.clone()),
            ("ADJUTANT_BASE", ready.base.clone()),
            ("ADJUTANT_PORT", port.to_string()),
            ("ADJUTANT_PORTS", PORTS.to_string()),
        ];
        Ok(variables.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// Returns whether a run may still need its ports: no exit was recorded and no
    /// later attempt exists.
    fn may_need_ports(&self, name: &str) -> bool {
        let Some((task, attempt)) = name.split_once('/') else { return false };
        let attempts = self.folder.root().join("runs").join(task).join("attempts");
        let next = attempt.parse().map_or(0, |attempt: u32| attempt.saturating_add(1));
        let over = adjutant_run_files::attempt_files::AttemptFolder::new(&attempts.join(attempt))
            .has_ended();
        !over && !attempts.join(next.to_string()).exists()
    }
}

impl RunBackend for ProcessBackend {
    fn find_runs(&self) -> Vec<RunRef> {
        let found = self.supervisor.find_runs().unwrap_or_default();
        found.into_iter().map(|(run, _)| run).collect()
    }

    fn find_runs_of_task(&self, task: &TaskId) -> Vec<RunRef> {
        let found = self.supervisor.find_runs_of_task(task).unwrap_or_default();
        found.into_iter().map(|(run, _)| run).collect()
    }

    fn local_state(&self, run: &RunRef) -> io::Result<LocalRunState> {
        self.supervisor.local_state(run)
    }

    fn start(&self, wanted: &RunStartInput) -> Result<(), RunStartFailure> {
        let RunStartInput { run, task, .. } = wanted;
        let agent = self.config.agents.get(run.agent.as_str());
        let agent = agent.ok_or_else(|| format!("agent {} is no longer configured", run.agent))?;
        // A run that was started before needs no preparation: its agent may be working in the
        // workspace, and its story may have left the step.
        if self.supervisor.folder(run).was_started() {
            return Ok(());
        }
        let sandbox = match task.story() {
            Some(_) => agent.step_sandbox_level(),
            None => agent.sandbox_level(),
        };
        let agent = &Agent { sandbox: sandbox.into(), ..agent.clone() };
        self.require_node_name(run)?;
        self.refuse_unenforceable_sandbox(agent, task)?;
        let mut launch = match task.story() {
            Some(position) => {
                let launch = self.dispatch_step(wanted, &position.story, agent)?;
                self.confine_launch(run, agent, None, launch)?
            }
            None => self.prepare_launch(wanted, agent)?,
        };
        launch.files.extend(self.read_context(run, task).map(|text| (CONTEXT.to_owned(), text)));
        match self.record_workspace(run, task, &launch) {
            Ok(()) => {}
            Err(error) if is_disk_full(&error) => return Err(RunStartFailure::NoRoom),
            Err(error) => return Err(error.to_string().into()),
        }
        self.write_lease(run)?;
        match self.supervisor.start(run, &launch) {
            Ok(StartResult::Running | StartResult::AlreadyStarted | StartResult::NotStarted(_)) => {
                Ok(())
            }
            Err(error) if error.is_full() => Err(RunStartFailure::NoRoom),
            Err(error) => Err(format_error_chain(&error).into()),
        }
    }

    /// Starts runs in parallel: each start mostly waits for a process and for the disk.
    fn start_all(&self, runs: &[RunStartInput]) -> Vec<Result<(), RunStartFailure>> {
        par_map_io(runs, |wanted| self.start(wanted))
    }

    fn stop(&self, run: &RunRef, reason: &str, leave: StopMode) -> io::Result<()> {
        self.supervisor.stop(run, reason, leave)
    }

    fn stop_all(&self, runs: &[&RunRef], reason: &str) -> Vec<io::Result<()>> {
        par_map_io(runs, |run| self.supervisor.stop(run, reason, StopMode::Immediately))
    }

    fn end_strays(&self, task: &TaskId) {
        self.supervisor.end_strays(task);
    }

    fn adopt(&self, run: &RunRef) -> io::Result<bool> {
        self.supervisor.adopt(run)
    }

    fn confirm_messages(&self, task: &TaskId, attempt: u32, seq: u64) -> io::Result<()> {
        self.supervisor.confirm_messages(task, attempt, seq)
    }

    fn answer_question(
        &self,
        task: &TaskId,
        attempt: u32,
        number: u32,
        choice: Option<&str>,
    ) -> io::Result<()> {
        self.supervisor.write_answer(task, attempt, number, choice)
    }

    fn extend_lease(&self, run: &RunRef, until: Duration) {
        let attempt = self.supervisor.folder(run);
        if attempt.path().join(shim::lease_file::FILE).exists() {
            // A lease that cannot be extended now is extended the next time, or the run ends.
            let _ = shim::lease_file::extend_lease(attempt.path(), until);
        }
    }

    fn check_work(&self, task: &Task) -> Option<CheckedWork> {
        let fence = task.history.claim()?.fence;
        let job = self.work_job(task)?;
        let work = move || JobResult::Checked(job.check_work());
        match self.jobs.fetch_or_start(&task.id, JobKind::CheckWork(fence), work)? {
            JobResult::Checked(looked) => Some(looked),
            JobResult::Ready(_) | JobResult::Merged(_) | JobResult::WorktreeRemoved(_) => None,
        }
    }

    fn merge(&self, task: &Task) -> Option<MergeResult> {
        let (job, how) = (self.work_job(task)?, self.policy.merge_of(task));
        let (client, id) = (self.client.clone(), task.id.clone());
        let wanted = move || {
            let id = id.clone();
            let look = move |world: &World| {
                world.task(&id).is_some_and(|task| task.history.merging().is_some())
            };
            client.view(look).unwrap_or(false)
        };
        let work = move || JobResult::Merged(job.merge(how, &wanted));
        match self.jobs.fetch_or_start(&task.id, JobKind::Merge, work)? {
            JobResult::Merged(merged) => {
                if matches!(merged, MergeResult::Waits { .. }) {
                    self.jobs.delay(&task.id, JobKind::Merge);
                }
                Some(merged)
            }
            JobResult::Ready(_) | JobResult::Checked(_) | JobResult::WorktreeRemoved(_) => None,
        }
    }

    fn worktree_tasks(&self) -> Vec<TaskId> {
        Worktrees::new(self.folder.root(), &self.folder.workspace(), None).removable_tasks()
    }

    fn remove_worktree(&self, task: &Task) -> Option<SavedWork> {
        let job = self.work_job(task)?;
        let (client, id) = (self.client.clone(), task.id.clone());
        // The job reports the result itself: once the worktree is gone, no later
        // request fetches it.
        let work = move || {
            let tidied = job.remove_worktree();
            if let Ok(Some(saved)) = tidied.clone()
                && saved.new
            {
                let _ = client.ask_all(vec![work_saved_request(&id, saved)]);
            }
            JobResult::WorktreeRemoved(tidied.map(|_| None))
        };
        match self.jobs.fetch_or_start(&task.id, JobKind::RemoveWorktree, work)? {
            JobResult::WorktreeRemoved(Ok(saved)) => saved.filter(|saved| saved.new),
            JobResult::WorktreeRemoved(Err(_)) => {
                self.jobs.delay_for_a_day(&task.id, JobKind::RemoveWorktree);
                None
            }
            JobResult::Ready(_) | JobResult::Checked(_) | JobResult::Merged(_) => None,
        }
    }

    fn drop_unclaimed_results(&self) {
        self.jobs.drop_unclaimed_results();
    }

    fn has_waiting_merge(&self) -> bool {
        self.jobs.has_delayed_merge()
    }

    fn is_busy(&self) -> bool {
        self.jobs.is_busy()
    }
}

impl ProcessBackend {
    /// Returns how to start a run, with its work order in the dialect of its agent.
    fn build_launch(&self, wanted: &RunStartInput, agent: &Agent) -> Result<AgentLaunch, String> {
        let RunStartInput { run, task, parent, budget } = wanted;
        let (folder, now) = (&self.folder, SystemClock.now());
        let attempt = self.supervisor.folder(run);
        let dialect = agent.dialect.to_core();
        let limits = read_task_limits(folder, task).map_err(|error| error.to_string())?;
        let resume = resume::session_to_resume(task, &run.agent);
        let by = report_method(agent, resume);
        let parent = parent.as_ref();
        let report = match agent.sandbox_level() {
            SandboxLevel::None => attempt.path().to_owned(),
            SandboxLevel::Landlock | SandboxLevel::Strict => attempt.join(SANDBOX_FOLDER),
        };
        let (attempt_at, report) = (attempt.path(), &*report);
        let policy = &self.policy;
        let given = WorkOrderWriter {
            folder,
            policy,
            run,
            task,
            parent,
            attempt: attempt_at,
            report_folder: report,
            now,
            report_method: by,
        };
        let written = given.write_order(dialect).map_err(|error| error.to_string())?;
        let anew = match resume {
            Some(_) => {
                given
                    .for_new_session()
                    .write_order(dialect)
                    .map_err(|error| error.to_string())?
                    .text
            }
            None => String::new(),
        };
        let here = LaunchContext {
            home: &self.folder.workspace(),
            program: &self.program,
            attempt: attempt.path(),
            name: &format!("adjutant-{}-{}", run.task, run.attempt),
            resume: resume.map(|session| ResumedSession { session, full_order: &anew }),
            budget: *budget,
            secret_variables: &self.config.secret_variables(),
        };
        let mut launch = AgentLaunch::for_agent(agent, &self.config.scheduler, &here, written.text)
            .with_task_limits(limits);
        let program = launch.command.first();
        launch.version_warning = program.and_then(|first| self.versions.warning(agent.kind, first));
        Ok(match DialectFiles::for_dialect(dialect) {
            Some(forms) => launch.with_forms(forms, attempt.path(), written.document),
            None => launch,
        })
    }

    /// Records the state of the workspace before the run starts, if checking its work will need
    /// that. Does nothing for a run that was started before.
    fn record_workspace(&self, run: &RunRef, task: &Task, launch: &AgentLaunch) -> io::Result<()> {
        let attempt = self.supervisor.folder(run);
        let need = inspection_scope(task);
        if need == InspectionScope::Nothing || attempt.was_started() {
            return Ok(());
        }
        attempt.create()?;
        // A worktree lies inside the data folder: everything in it counts except its
        // own data folder.
        let root = self.folder.root();
        let is_inside = launch.workspace.starts_with(root);
        let data = if is_inside { launch.workspace.join(DATA_FOLDER) } else { root.to_owned() };
        match need {
            InspectionScope::Everything => {
                workspace::record_baseline(attempt.path(), &launch.workspace, &data)
            }
            InspectionScope::Outputs | InspectionScope::Nothing => {
                workspace::record_workspace_path(attempt.path(), &launch.workspace, &data)
            }
        }
    }
}

/// Returns how an agent is told to report.
fn report_method(agent: &Agent, resume: Option<&str>) -> ReportingMethod {
    match has_stream(agent.kind) {
        _ if agent.kind == Kind::Webhook => ReportingMethod::Http,
        true if resume.is_some() => ReportingMethod::ResumedTools,
        true => ReportingMethod::Tools,
        false => ReportingMethod::Lines,
    }
}
