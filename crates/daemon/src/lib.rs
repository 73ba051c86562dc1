//! The daemon: assigns tasks to agents, supervises runs and commits what they report, until it is
//! asked to leave.
//!
//! The daemon makes no decisions. It turns outside events into engine requests, and it performs the
//! pending effects that the engine commits. It may be killed at any moment: agents keep running,
//! and the next daemon finds the runs, their unread messages and the pending effects.

mod event_backlog;
mod event_queue;
mod fleet_membership;
mod fleet_threads;
mod job_runner;
mod live_settings;
mod log_shipper;
pub mod notifier;
mod process_backend;
pub mod run_manager;
mod sandboxed_run;
mod single_tick;
mod status_snapshot;
mod story_step;
mod task_file_watcher;
pub mod telemetry;
mod work_job;
mod work_orders;

#[cfg(test)]
mod data_file_tests;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_core::World;
use adjutant_core::schedule::{IdleSummary, is_idle, next_wake_time};
use adjutant_model::Time;
use adjutant_model::story::StoryId;
use adjutant_store::file::{DataFolder, FolderHandle};
use adjutant_store::{StoreError, format_error_chain};
use thiserror::Error;

use adjutant_run_files::active_config::ActiveConfig;
pub use adjutant_run_files::attempt_files::EVIDENCE_FILE;
pub use adjutant_run_files::daemon_lock::{DaemonInfo, DaemonLock, DaemonLockError};
pub use adjutant_run_files::http_endpoint::HttpEndpointFile;
pub use event_queue::DaemonHandle;
pub use live_settings::{ConfigSource, ConfigUpdate, accept_config};
pub use single_tick::{finish_pending_work, preview_tick, tick};
pub use status_snapshot::{ActiveRun, EndedRun, StatusSnapshot, WaitingTask};
pub use story_step::STORY_VARIABLE;

use adjutant_config::redact::SecretRedactor;
use adjutant_config::{Config, SharedConfig};
use adjutant_engine::fleet::{FleetSetup, MembershipError};
use adjutant_engine::ipc::IpcServer;
use adjutant_engine::request_inspector::RequestInspector;
use adjutant_engine::service::{EngineError, EngineHandle, EngineService};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_process::process_table;
use adjutant_runs::supervisor::RunSupervisor;
use adjutant_stories::reconcile::{ReconcilerConfig, StoryReconciler, wake_channel};
use adjutant_stories::{LocalProjectFiles, StepChecks};
use event_backlog::EventBacklog;
use event_queue::{EventQueue, SignalListener};
use fleet_membership::FleetMembership;
use job_runner::JobRunner;
use live_settings::{BusyAgents, LiveSettings};
use process_backend::ProcessBackend;

use crate::notifier::{NoticeDispatcher, NoticeMessage, NotifierSetup, Where};
use crate::run_manager::AssignMode;

/// The kind of a store error. Only the kind is compared, because the text of the same problem can
/// differ from one attempt to the next.
type StoreErrorKind = std::mem::Discriminant<StoreError>;

type DaemonRunManager = run_manager::RunManager<EngineHandle, ProcessBackend>;

/// How long file changes are collected before the engine reads the files.
const FILE_CHANGE_DELAY: Duration = Duration::from_millis(100);

/// The most run events taken from the queue in one pass. A message has at most 1 MiB, so this
/// bounds the memory.
const RUN_EVENTS_PER_PASS_MAX: usize = 16;

/// How often to retry work that needs a person first, such as a merge into a branch
/// with uncommitted changes.
const MERGE_RETRY_PAUSE: Duration = Duration::from_secs(5);

/// How often to make sure that the data folder is still there.
const FOLDER_CHECK_PAUSE: Duration = Duration::from_secs(5);

/// How often to retry a commit that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

pub struct DaemonOptions {
    pub folder: DataFolder,
    pub config: Config,
    pub config_source: ConfigSource,
    /// The program that has the commands `shim` and `script-agent`: this one.
    pub program: PathBuf,
    pub until: ExitCondition,
    /// The longest time between two status snapshots; `None` if only changes are shown.
    pub snapshot_interval: Option<Duration>,
    /// The only story to assign work for; `None` means every task.
    pub only: Option<StoryId>,
    /// `None` if the daemon runs without a fleet.
    pub fleet: Option<FleetSetup>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCondition {
    /// When a signal or a handle asks it to.
    Requested,
    /// When no task can run any more.
    Idle,
}

#[derive(Debug, Error)]
pub enum DaemonError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the engine has stopped")]
    Engine(#[from] EngineError),
    #[error("cannot join the fleet")]
    Unfit(#[from] MembershipError),
    #[error("cannot {attempt}")]
    Io {
        attempt: &'static str,
        #[source]
        source: io::Error,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownPhase {
    Running,
    /// Assigns no more work, and waits for the current runs to end.
    Draining,
    /// Stops the current runs, and waits until they have ended.
    Stopping,
    /// Leaves at once; runs continue without the daemon.
    Immediate,
}

/// What the daemon reports to its caller, to be shown to the operator.
#[derive(Debug, Clone, Copy)]
pub enum DaemonUpdate<'a> {
    Status(&'a StatusSnapshot),
    /// An operation fails for this reason and is retried until it succeeds.
    Stuck(&'a str),
    /// The operation that failed before has succeeded.
    Recovered,
    /// A notice whose target is the console.
    Notice(&'a NoticeMessage),
    /// The file of the configuration was changed.
    Config(&'a ConfigUpdate),
}

#[derive(Debug)]
pub struct DaemonExit {
    pub phase: ShutdownPhase,
    /// How many runs continue without the daemon.
    pub runs: usize,
    /// Why the folder could not be closed cleanly, if it could not. No data is lost.
    pub close_error: Option<StoreError>,
    /// What was done and what is left, if the daemon left because it was idle.
    pub summary: Option<IdleSummary>,
}

pub struct ProjectDaemon {
    client: EngineHandle,
    run_manager: DaemonRunManager,
    events: EventQueue,
    until: ExitCondition,
    started_at: Time,
    settings: LiveSettings,
    redactor: SecretRedactor,
    /// The data folder.
    root: PathBuf,
    active_config_written: bool,
    poll: Duration,
    slots: u32,
    phase: ShutdownPhase,
    backlog: EventBacklog,
    /// The runs of the last status snapshot.
    last_running: Vec<ActiveRun>,
    /// The kind of the error that was last reported as [`DaemonUpdate::Stuck`].
    stuck: Option<StoreErrorKind>,
    /// Whether the data folder cannot be written until a person puts it right.
    has_folder_fault: bool,
    folder: FolderHandle,
    watch: Option<task_file_watcher::TaskFileWatcher>,
    stories: StoryReconciler,
    /// `None` if the daemon runs without a fleet.
    membership: Option<FleetMembership>,
    ipc_server: IpcServer,
    notifier: NoticeDispatcher,
    /// Other servers that ask the engine, such as HTTP. They are dropped before the engine stops.
    servers: Vec<Box<dyn Any + Send>>,
    service: EngineService,
}

impl ProjectDaemon {
    /// Starts the daemon on a folder. `_held` proves that this process has the daemon lock.
    pub fn start(options: DaemonOptions, _held: &DaemonLock) -> Result<Self, DaemonError> {
        let io = |attempt| move |source| DaemonError::Io { attempt, source };
        let DaemonOptions {
            folder,
            config,
            config_source,
            program,
            until,
            snapshot_interval: interval,
            only,
            fleet,
        } = options;
        let root = folder.root().to_owned();
        let handle = FolderHandle::open(&root)?;
        let settings = LiveSettings::new(folder.clone(), config.clone(), config_source, only);
        let policy = settings.policy().clone();
        let redactor = SecretRedactor::default();
        let (engine, secret, mut membership) =
            FleetMembership::open(&folder, fleet, &config, policy.clone(), &redactor)?;
        let targets = Where::new(config.clone(), &root, &folder.workspace());
        let notifier_setup =
            NotifierSetup { targets, policy: policy.clone(), mark: secret.folder_id() };
        let signals = SignalListener::listen().map_err(io("listen for signals"))?;
        let (events, run_events) = EventQueue::start(signals).map_err(io("start a thread"))?;
        let supervisor = RunSupervisor::with_sink(&root, program.clone(), secret, run_events)
            .with_redactor(redactor.clone());
        let node = membership.as_ref().map(|membership| membership.member().node().clone());
        let inspector = RequestInspector::new(
            root.clone(),
            Arc::new(LocalProjectFiles::new(folder.workspace(), node.clone())),
        );
        let (waker, wake_receiver) = wake_channel();
        let (commit_waker, changed) = (waker.clone(), events.commit_callback());
        let tell = move || {
            changed();
            commit_waker.wake();
        };
        let service = engine.start(tell).with_inspector(inspector);
        let client = service.handle();
        let place = ReconcilerConfig {
            home: folder.workspace(),
            data: root.clone(),
            poll: config.scheduler.poll.0,
            node,
            checks: StepChecks::new(program.clone(), Some(&root), settings.shared()),
            trust: None,
        };
        let stories = StoryReconciler::start(
            place,
            client.clone(),
            (waker, wake_receiver),
            events.commit_callback(),
        );
        let stories = stories.map_err(io("start a thread"))?;
        let notifier = NoticeDispatcher::start(notifier_setup, &client, events.commit_callback());
        let notifier = notifier.map_err(io("start a thread"))?;
        if let Some(membership) = &mut membership {
            membership.start(&client, policy, Box::new(events.commit_callback()))?;
        }
        // Before anything is started: orphans of a shim that is killed stay below this process.
        process_table::become_subreaper().map_err(io("adopt orphans of runs"))?;
        let ipc_server =
            IpcServer::open(&root, client.clone()).map_err(io("open the daemon's socket"))?;
        let ttl = config.scheduler.heartbeat_ttl.0;
        let poll = config.scheduler.poll.0.min(ttl / 4).max(Duration::from_millis(10));
        let poll = interval.map_or(poll, |interval| interval.min(poll));
        // Without the watcher, edits of task files are noticed at the next poll.
        let watch =
            task_file_watcher::TaskFileWatcher::start(&root, events.file_change_sender()).ok();
        let (slots, leaving) = (config.scheduler.concurrency, ShutdownPhase::Running);
        let jobs = JobRunner::with_threads(events.commit_callback());
        let backend =
            ProcessBackend::new(folder, config, program, supervisor, client.clone(), jobs)
                .with_fleet_member(membership.as_ref().map(FleetMembership::member));
        let run_manager = DaemonRunManager::new(client.clone(), backend);
        let (backlog, stuck) = (EventBacklog::default(), None);
        Ok(Self {
            client,
            run_manager,
            events,
            until,
            started_at: SystemClock.now(),
            settings,
            redactor,
            root,
            active_config_written: false,
            poll,
            slots,
            phase: leaving,
            backlog,
            last_running: vec![],
            stuck,
            has_folder_fault: false,
            folder: handle,
            watch,
            stories,
            membership,
            ipc_server,
            notifier,
            servers: vec![],
            service,
        })
    }

    pub fn client(&self) -> EngineHandle {
        self.client.clone()
    }

    /// Returns the configuration in effect, which follows its file.
    pub fn shared_config(&self) -> SharedConfig {
        self.settings.shared()
    }

    /// Returns what redacts the secrets of the project. A secret that is added is redacted from then
    /// on in everything the daemon commits.
    pub fn redactor(&self) -> SecretRedactor {
        self.redactor.clone()
    }

    /// Keeps a server that asks the engine alive until the daemon leaves.
    pub fn attach(&mut self, server: Box<dyn Any + Send>) {
        self.servers.push(server);
    }

    /// Returns a handle by which another thread can ask the daemon to leave.
    pub fn handle(&self) -> DaemonHandle {
        self.events.handle()
    }

    /// Works until it is time to leave. Calls `show` whenever something may have changed.
    pub fn run(
        mut self,
        show: &mut dyn FnMut(DaemonUpdate<'_>),
    ) -> Result<DaemonExit, DaemonError> {
        self.run_manager.adopt_all()?;
        loop {
            let patience = match self.run_once(show) {
                Ok(Some(patience)) => {
                    self.report_recovered(show);
                    patience
                }
                Ok(None) => break,
                // For example a full disk: retried until it succeeds, or until the daemon is
                // asked to leave.
                Err(DaemonError::Engine(error)) if is_transient_error(&error) => {
                    self.report_stuck(&error, show);
                    if self.can_leave() {
                        break;
                    }
                    RETRY_PAUSE
                }
                Err(error) => return Err(error),
            };
            self.wait(patience)?;
        }
        let summary = self.idle_summary()?;
        Ok(DaemonExit { summary, ..self.leave() })
    }

    /// Returns the summary of a daemon that leaves because no task can run any more.
    fn idle_summary(&self) -> Result<Option<IdleSummary>, DaemonError> {
        if self.phase != ShutdownPhase::Running {
            return Ok(None);
        }
        let (since, now) = (self.started_at, SystemClock.now());
        Ok(Some(self.client.view(move |world| IdleSummary::new(world, since, now))?))
    }

    /// Leaves. Every answered request is in the journal by now, so failing to close the folder
    /// cleanly is no failure of the daemon.
    fn leave(self) -> DaemonExit {
        let Self {
            client,
            run_manager,
            events,
            watch,
            stories,
            membership,
            ipc_server,
            servers,
            service,
            ..
        } = self;
        ActiveConfig::remove(&self.root, std::process::id());
        let (notifier, leaving, runs) =
            (self.notifier, self.phase, run_manager.active_runs().count());
        // The engine stops only when the last client handle is dropped.
        drop((
            servers,
            notifier,
            watch,
            stories,
            membership,
            ipc_server,
            run_manager,
            events,
            client,
        ));
        DaemonExit { phase: leaving, runs, close_error: service.stop().err(), summary: None }
    }

    /// Works once, and returns how long to wait before the next time; `None` when it is
    /// time to leave.
    fn run_once(
        &mut self,
        show: &mut dyn FnMut(DaemonUpdate<'_>),
    ) -> Result<Option<Duration>, DaemonError> {
        // Leave at once, with messages unread: the next daemon reads them.
        if self.phase == ShutdownPhase::Immediate {
            return Ok(None);
        }
        self.refresh_settings(show)?;
        self.do_due_work()?;
        for call in self.notifier.console_messages() {
            show(DaemonUpdate::Notice(&call.letter));
            call.confirm();
        }
        let glance = StatusSnapshot::capture(
            &self.client,
            &self.run_manager,
            &self.last_running,
            self.slots,
            self.phase,
        )?;
        show(DaemonUpdate::Status(&glance));
        self.last_running = glance.running;
        if self.should_leave()? {
            return Ok(None);
        }
        self.sleep_duration().map(Some)
    }

    /// Does everything that can be done now.
    fn do_due_work(&mut self) -> Result<(), DaemonError> {
        if let Some(membership) = &self.membership {
            membership.check_membership()?;
        }
        self.commit_backlog()?;
        self.run_manager.do_due_work(self.assign_mode())?;
        if let Some(membership) = &self.membership {
            return Ok(membership.maintain_runs(&self.client, &mut self.run_manager)?);
        }
        // Only a fleet needs to know which runs have ended.
        drop(self.run_manager.take_ended());
        Ok(())
    }

    /// Applies what has changed about the settings, before work is assigned by them.
    fn refresh_settings(
        &mut self,
        show: &mut dyn FnMut(DaemonUpdate<'_>),
    ) -> Result<(), DaemonError> {
        let update = self.settings.look();
        let busy = if self.settings.has_pending_agents() {
            self.client.view(BusyAgents::find)?
        } else {
            BusyAgents::default()
        };
        let changed = self.settings.apply(&busy);
        if changed {
            let policy = self.settings.policy();
            self.slots = policy.scheduler.concurrency;
            self.redactor.add_project(&self.root, self.settings.config());
            self.run_manager.backend_mut().set_config(self.settings.config());
            match &self.membership {
                Some(membership) => membership.set_policy(policy.clone()),
                None => self.client.set_policy(policy.clone()),
            }
        }
        if changed || !self.active_config_written {
            self.write_active_config();
        }
        if let Some(update) = &update {
            show(DaemonUpdate::Config(update));
        }
        Ok(())
    }

    /// Tells other processes which configuration this daemon works by. If the file cannot be
    /// written now, it is written at the next turn.
    fn write_active_config(&mut self) {
        self.active_config_written = self.settings.active_config().write(&self.root).is_ok();
    }

    /// Returns whether to assign work. A leaving fleet node assigns nothing until the other nodes
    /// know that it leaves, because it could still assign tasks to itself. Then it keeps ticking:
    /// otherwise its leases would expire before its runs end, and no other node would get work.
    fn assign_mode(&self) -> AssignMode {
        let others = |membership: &FleetMembership| membership.announce_leaving();
        match self.phase {
            ShutdownPhase::Running => AssignMode::Assign,
            ShutdownPhase::Draining | ShutdownPhase::Stopping
                if self.membership.as_ref().is_some_and(others) =>
            {
                AssignMode::Assign
            }
            ShutdownPhase::Draining | ShutdownPhase::Stopping | ShutdownPhase::Immediate => {
                AssignMode::Drain
            }
        }
    }

    /// Reports the error, unless the same kind of error was reported last.
    fn report_stuck(&mut self, error: &EngineError, show: &mut dyn FnMut(DaemonUpdate<'_>)) {
        let (trouble, is_folder_fault) = match error {
            EngineError::Store(error) => {
                (std::mem::discriminant(&**error), error.is_folder_fault())
            }
            EngineError::Stopped => (std::mem::discriminant(&StoreError::Stopped), false),
        };
        self.has_folder_fault = is_folder_fault;
        if self.stuck.replace(trouble) == Some(trouble) {
            return;
        }
        let mut text = format_error_chain(error);
        if is_folder_fault {
            text += "; nothing is decided until that is put right, and the first signal ends the \
                     daemon";
        }
        show(DaemonUpdate::Stuck(&text));
    }

    fn report_recovered(&mut self, show: &mut dyn FnMut(DaemonUpdate<'_>)) {
        self.has_folder_fault = false;
        if self.stuck.take().is_some() {
            show(DaemonUpdate::Recovered);
        }
    }

    /// Waits for the next event, then takes every event that is there and commits the run events
    /// together. Events that cannot be committed now stay in the backlog, so no message is lost and
    /// a signal is still obeyed.
    fn wait(&mut self, patience: Duration) -> Result<(), DaemonError> {
        let behind = !self.backlog.has_no_run_events();
        let mut next = self.next_event(patience);
        if next.is_none() && self.watch.is_none() {
            self.backlog.add_files(None);
        }
        let mut count = 0;
        while let Some(one) = next {
            match one {
                event_queue::DaemonEvent::Committed => {}
                event_queue::DaemonEvent::FilesChanged(tasks) => self.backlog.add_files(tasks),
                event_queue::DaemonEvent::Run(event) => {
                    self.backlog.push_run_event(event);
                    count += 1;
                }
                event_queue::DaemonEvent::Signal(signal) => self.apply_signal(signal),
            }
            // A run that never stops printing must not keep the daemon from its other work.
            next = if count < RUN_EVENTS_PER_PASS_MAX { self.events.next() } else { None };
        }
        // Earlier events are still waiting; the next turn retries them together with the new ones.
        if behind { Ok(()) } else { self.try_commit_backlog() }
    }

    /// Waits for the next event. Returns early if the data folder is gone: no event tells of that
    /// when a folder above it was moved.
    fn next_event(&mut self, patience: Duration) -> Option<event_queue::DaemonEvent> {
        let until = Instant::now() + patience;
        loop {
            let next = self.events.wait(time_until(until).min(FOLDER_CHECK_PAUSE));
            let is_over = next.is_some() || time_until(until).is_zero();
            if is_over || (!self.has_folder_fault && self.folder.check().is_err()) {
                return next;
            }
        }
    }

    /// Commits the backlog, and keeps it if the store cannot commit now.
    fn try_commit_backlog(&mut self) -> Result<(), DaemonError> {
        match self.commit_backlog() {
            Err(error) if is_transient_error(&error) => Ok(()),
            committed => Ok(committed?),
        }
    }

    /// Commits the backlog, and admits as many new run events as were committed.
    fn commit_backlog(&mut self) -> Result<(), EngineError> {
        let count = self.backlog.run_event_count();
        self.backlog.commit(&self.client, &mut self.run_manager)?;
        self.events.admit_run_events(count);
        Ok(())
    }

    fn apply_signal(&mut self, signal: event_queue::ShutdownSignal) {
        // Neither the end of a run nor an order to stop it can be committed.
        if self.has_folder_fault {
            self.phase = ShutdownPhase::Immediate;
            return;
        }
        self.phase = match (signal, self.phase) {
            (event_queue::ShutdownSignal::Interrupt, ShutdownPhase::Running) => {
                ShutdownPhase::Draining
            }
            (event_queue::ShutdownSignal::Interrupt, ShutdownPhase::Draining)
            | (
                event_queue::ShutdownSignal::Quit,
                ShutdownPhase::Running | ShutdownPhase::Draining | ShutdownPhase::Stopping,
            ) => {
                self.backlog.request_stop_all();
                ShutdownPhase::Stopping
            }
            (
                event_queue::ShutdownSignal::Interrupt | event_queue::ShutdownSignal::Terminate,
                _,
            )
            | (event_queue::ShutdownSignal::Quit, ShutdownPhase::Immediate) => {
                ShutdownPhase::Immediate
            }
        };
    }

    /// Returns whether the daemon was asked to leave and no run or job keeps it, even if the
    /// backlog cannot be committed.
    fn can_leave(&self) -> bool {
        match self.phase {
            ShutdownPhase::Immediate => true,
            ShutdownPhase::Draining => {
                self.run_manager.is_empty() && !self.run_manager.is_busy() && self.stories.is_idle()
            }
            ShutdownPhase::Stopping => self.run_manager.is_empty(),
            ShutdownPhase::Running => false,
        }
    }

    fn should_leave(&self) -> Result<bool, DaemonError> {
        Ok(match self.phase {
            ShutdownPhase::Immediate | ShutdownPhase::Draining | ShutdownPhase::Stopping => {
                self.can_leave()
            }
            ShutdownPhase::Running
                if self.until == ExitCondition::Idle
                    && self.run_manager.is_empty()
                    && !self.run_manager.is_busy() =>
            {
                let now = SystemClock.now();
                let look = move |world: &World| (is_idle(world, now), world.last_event());
                let (idle, last) = self.client.view(look)?;
                idle && self.stories.has_settled(last) && !self.notifier.is_busy()
            }
            ShutdownPhase::Running => false,
        })
    }

    /// Returns how long the daemon may sleep if no event arrives.
    fn sleep_duration(&self) -> Result<Duration, DaemonError> {
        let next = self.client.view(|world| next_wake_time(world, SystemClock.now()))?;
        let until = |time: Time| {
            let left = time.as_millis().saturating_sub(SystemClock.now().as_millis());
            Duration::from_millis(u64::try_from(left).unwrap_or(0)) + Duration::from_millis(1)
        };
        let poll = if self.run_manager.is_waiting() {
            self.poll.min(MERGE_RETRY_PAUSE)
        } else {
            self.poll
        };
        let poll = self.settings.next_look().map_or(poll, |soon| soon.min(poll));
        Ok(next.map_or(poll, |time| until(time).min(poll)))
    }
}

/// Returns whether a retry can succeed.
fn is_transient_error(error: &EngineError) -> bool {
    match error {
        EngineError::Store(error) => !matches!(**error, StoreError::Stopped | StoreError::Newer(_)),
        EngineError::Stopped => false,
    }
}

/// Returns the time until a moment; zero if it has passed.
fn time_until(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}
