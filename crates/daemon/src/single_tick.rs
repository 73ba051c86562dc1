//! One scheduler run without a daemon: handles ended runs, assigns work, starts it, and returns.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use adjutant_config::run_token::TokenSecret;
use adjutant_config::{Config, SharedConfig};
use adjutant_engine::engine::Engine;
use adjutant_engine::request_inspector::RequestInspector;
use adjutant_engine::service::{EngineError, EngineHandle, EngineService};
use adjutant_engine::tick::TickOutcome;
use adjutant_model::TaskId;
use adjutant_model::run::RunLiveness;
use adjutant_runs::supervisor::{self, RunEvent, RunRef, RunSupervisor};
use adjutant_store::file::DataFolder;
use adjutant_store::{Store, StoreError};
use adjutant_stories::reconcile::{self, ReconcilerConfig};
use adjutant_stories::{LocalProjectFiles, StepChecks};

use super::job_runner::JobRunner;
use super::process_backend::ProcessBackend;
use super::{DaemonError, DaemonRunManager};
use crate::run_manager;

/// Does one scheduler run on a folder, with an engine that was just opened on it. The runs it
/// starts continue after it returns.
pub fn tick<S: Store + Send + 'static>(
    folder: &DataFolder,
    config: &Config,
    program: PathBuf,
    engine: Engine<S>,
) -> Result<TickOutcome, DaemonError> {
    with_run_manager(folder, config, program, engine, |run_manager, events, stories| {
        run_manager.run_single_tick(
            || events.recv().ok(),
            || reconcile::reconcile_once(&stories.config, &stories.engine),
        )
    })
}

/// Performs the pending checks and merges, and returns when they are done. Starts no run.
pub fn finish_pending_work<S: Store + Send + 'static>(
    folder: &DataFolder,
    config: &Config,
    program: PathBuf,
    engine: Engine<S>,
) -> Result<(), DaemonError> {
    with_run_manager(folder, config, program, engine, |run_manager, _, _| {
        run_manager.perform_checks_and_merges()
    })
}

/// What is needed to reconcile stories.
struct StoryContext {
    config: ReconcilerConfig,
    engine: EngineHandle,
}

fn with_run_manager<T, S: Store + Send + 'static>(
    folder: &DataFolder,
    config: &Config,
    program: PathBuf,
    engine: Engine<S>,
    work: impl FnOnce(
        &mut DaemonRunManager,
        &Receiver<RunEvent>,
        &StoryContext,
    ) -> Result<T, EngineError>,
) -> Result<T, DaemonError> {
    let root = folder.root();
    let io =
        |source| DaemonError::Io { attempt: "read the token secret of the data folder", source };
    let secret = TokenSecret::open(root).map_err(io)?;
    let reconciler_config = ReconcilerConfig {
        home: folder.workspace(),
        data: root.to_owned(),
        poll: config.scheduler.poll.0,
        node: None,
        checks: StepChecks::new(program.clone(), Some(root), SharedConfig::new(config.clone())),
        trust: None,
    };
    let inspector = RequestInspector::new(
        root.to_owned(),
        Arc::new(LocalProjectFiles::new(folder.workspace(), None)),
    );
    let redactor = engine.redactor().clone();
    redactor.add_project(root, config);
    let service =
        EngineService::start(engine.with_secret(Some(secret.clone()))).with_inspector(inspector);
    let (supervisor, events) = RunSupervisor::new(root, program.clone(), secret);
    let supervisor = supervisor.with_redactor(redactor);
    let client = service.handle();
    let (folder, config) = (folder.clone(), config.clone());
    let backend = ProcessBackend::new(
        folder,
        config,
        program,
        supervisor,
        client.clone(),
        JobRunner::inline(),
    );
    let mut run_manager = DaemonRunManager::new(client, backend);
    let stories = StoryContext { config: reconciler_config, engine: service.handle() };
    let done = work(&mut run_manager, &events, &stories);
    drop(stories);
    drop((run_manager, events));
    let stopped = service.stop();
    let done = done?;
    stopped?;
    Ok(done)
}

/// Returns what a scheduler run would do, and changes nothing. As in a real one, a run whose
/// process lives is not stale, no matter how old its heartbeat is.
pub fn preview_tick<S: Store>(
    folder: &DataFolder,
    engine: &mut Engine<S>,
) -> Result<TickOutcome, StoreError> {
    let is_alive = |run: &RunRef| {
        matches!(
            supervisor::local_run_state(&run.attempt_folder(folder.root())),
            Ok(supervisor::LocalRunState::Alive)
        )
    };
    let runs = run_manager::known_runs(engine.world()).into_iter().filter(is_alive);
    let lives: BTreeMap<TaskId, RunLiveness> =
        runs.map(|run| (run.task, RunLiveness::Alive)).collect();
    engine.tick_dry(&lives)
}
