//! `adjutant agents test`: gives one agent a tiny task in a temporary data folder.

use std::process::ExitCode;
use std::time::Duration;

use adjutant_config::{Agent, Config, TimeLimit};
use adjutant_daemon::{
    ConfigSource, DaemonLock, DaemonOptions, DaemonUpdate, ExitCondition, ProjectDaemon,
    ShutdownPhase,
};
use adjutant_engine::{Engine, EngineRequest};
use adjutant_model::command::{CommandCaller, InitialStatus, NewTask, OperatorAction};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::task::TaskRouting;
use adjutant_model::{AgentId, Command, Status, Task, TaskId};
use adjutant_process::clock::SystemClock;
use adjutant_run_files::attempt_files::{AttemptFolder as Attempt, LOG};
use adjutant_runs::agent::AgentSelfReport;
use adjutant_runs::agent::program::find_program_problems;
use adjutant_store::FileStore;
use adjutant_store::file::{DataFolder, read_world};
use serde_json::json;

use crate::caller::operator;
use crate::commands::up;
use crate::data::{ProjectData, require_accepted, this_program};
use crate::output::error::{CommandFailure, daemon_failure};
use crate::output::{CommandOutput, TextColour, clean_lines};

/// Test an agent: give it a tiny task in a temporary data folder
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The agent works in its usual workspace and is told not to change any file.
Exit code: 0 if it reported done, else 1.

Examples:
  adjutant agents test claude")]
pub(crate) struct AgentTestArgs {
    /// The name of the agent in adjutant.toml
    name: String,
}

/// The longest time an agent may take, even if its own timeout is longer.
const TEST_TIMEOUT_MAX: Duration = Duration::from_mins(2);

const TITLE: &str = "Say hello";
const BODY: &str = "This is a test. Do not change any file. Report done at once.\n";

impl AgentTestArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        data.require_operator(OperatorAction::Test, "cannot test an agent", out)?;
        let data = &data.with_accepted_config("cannot test an agent", out)?;
        let Some(agent) = data.config().agents.get(&self.name) else {
            return Err(CommandFailure::report_usage_error(format!(
                "no agent {:?} is configured",
                self.name
            ))
            .with_hint("`adjutant agents` lists the configured agents"));
        };
        let failed = |error| CommandFailure::broken("cannot create a folder for the test", &error);
        let home = tempfile::Builder::new().prefix("adjutant-test-").tempdir().map_err(failed)?;
        let folder = DataFolder::init(home.path())?;
        let config = single_agent_config(data, &folder, &self.name, agent);
        if agent.has_worktree() {
            std::fs::create_dir_all(folder.root().join("workspace")).map_err(failed)?;
        }
        let Some(task) = run_test_task(&folder, &self.name, &config)? else {
            let attempt = format!("cannot test {}", self.name);
            let why = "the test was interrupted, and the agent was stopped";
            return Err(CommandFailure::interrupted(attempt, why));
        };
        let log = Attempt::new(
            &folder.root().join("runs").join(task.id.as_str()).join("attempts").join("1"),
        );
        let printed = std::fs::read(log.join(LOG)).unwrap_or_default();
        if task.status() == Status::Done {
            unpark_agent(data, &self.name, out)?;
        }
        let warning =
            log.telemetry::<AgentSelfReport>().ok().flatten().and_then(|told| told.untried);
        let problem = find_program_problems(&config, &folder.workspace()).into_values().next();
        let problem = problem.map(|problem| format!("it cannot be started: {problem}"));
        let reason = failure_reason(&task).or(problem);
        let printed = String::from_utf8_lossy(&printed);
        print_result(&self.name, &task, (reason.as_deref(), warning.as_deref()), &printed, out)
    }
}

/// Unparks an agent: the test has shown that it works again.
fn unpark_agent(data: &ProjectData, name: &str, out: &CommandOutput) -> Result<(), CommandFailure> {
    let Ok(agent) = AgentId::parse(name) else { return Ok(()) };
    let command = Command::Free { agent };
    data.submit(EngineRequest::command(CommandCaller::Operator(operator()), command), out).map(drop)
}

/// Makes a configuration with this agent alone, one attempt, and its usual workspace.
fn single_agent_config(
    data: &ProjectData,
    folder: &DataFolder,
    name: &str,
    agent: &Agent,
) -> Config {
    let home = data.folder.workspace();
    let home = std::path::absolute(&home).unwrap_or(home);
    let workspace = match &agent.workspace {
        // The task is not one of the project's, so it needs no work tree.
        Some(_) if agent.has_worktree() => folder.root().join("workspace"),
        Some(inner) => home.join(inner),
        None => home.clone(),
    };
    let limit =
        TimeLimit::After(agent.timeout().map_or(TEST_TIMEOUT_MAX, |own| own.min(TEST_TIMEOUT_MAX)));
    let agent = Agent {
        workspace: Some(workspace),
        timeout: Some(limit),
        merge: None,
        // Checks judge the files of the project, which the test does without.
        checks: None,
        // `auto` could stand for another level in the folder of the test.
        sandbox: agent.sandbox_level().into(),
        ..agent.clone()
    };
    let mut config = Config { scheduler: data.config().scheduler.clone(), ..Config::default() };
    config.scheduler.attempts_max = 1;
    config.scheduler.concurrency = 1;
    config.agents.insert(name.to_owned(), agent);
    config
}

/// Has the agent work on a task and returns the task afterwards; `None` if
/// the test was interrupted.
fn run_test_task(
    folder: &DataFolder,
    name: &str,
    config: &Config,
) -> Result<Option<Task>, CommandFailure> {
    let id = add_test_task(folder, name, config)?;
    let held = DaemonLock::take(folder.root(), &up::own_daemon_info())
        .map_err(|error| up::lock_failure(&error))?;
    let options = || -> Result<DaemonOptions, CommandFailure> {
        Ok(DaemonOptions {
            folder: folder.clone(),
            config: config.clone(),
            config_source: ConfigSource::Fixed,
            program: this_program()?,
            until: ExitCondition::Idle,
            snapshot_interval: None,
            only: None,
            fleet: None,
        })
    };
    let daemon = ProjectDaemon::start(options()?, &held).map_err(daemon_failure)?;
    let handle = daemon.handle();
    let left = daemon.run(&mut |update| {
        // The only run is that of the test, so an interrupt stops it.
        if matches!(update, DaemonUpdate::Status(snapshot) if snapshot.phase == ShutdownPhase::Draining)
        {
            handle.stop();
        }
    });
    let left = left.map_err(daemon_failure)?;
    if left.runs > 0 {
        // The folder is about to be deleted, and no other daemon would ever stop the run.
        let daemon = ProjectDaemon::start(options()?, &held).map_err(daemon_failure)?;
        daemon.handle().stop();
        daemon.run(&mut |_| {}).map_err(daemon_failure)?;
    }
    if left.phase != ShutdownPhase::Running {
        return Ok(None);
    }
    let task = read_world(folder)?.task(&id).cloned();
    task.map(Some).ok_or_else(|| CommandFailure::gone(format!("{id} no longer exists")))
}

fn add_test_task(
    folder: &DataFolder,
    name: &str,
    config: &Config,
) -> Result<TaskId, CommandFailure> {
    let (store, loaded) = FileStore::open(folder)?;
    let mut engine = Engine::start(store, loaded, Box::new(SystemClock), config.policy())?;
    let new = NewTask {
        title: TITLE.to_owned(),
        body: BODY.to_owned(),
        routing: TaskRouting { agent: AgentId::parse(name).ok(), ..TaskRouting::default() },
        review: ReviewPolicy::NotNeeded,
        start: InitialStatus::Ready,
        ..NewTask::default()
    };
    let command = Command::Add(Box::new(new));
    let by = CommandCaller::Operator(operator());
    let answered = require_accepted(
        engine.submit_one(EngineRequest::command(by, command))?,
        "cannot add a task for the test",
    )?;
    engine.rest()?;
    answered.answer.task.ok_or_else(|| CommandFailure::gone("the task of the test is missing"))
}

/// Explains why the test failed, if the reason is known.
fn failure_reason(task: &Task) -> Option<String> {
    let parked = task.history.parked().last().map(|parked| match parked.until {
        Some(until) => format!("it has reached its usage limit, until {until}: {}", parked.reason),
        None => format!("it cannot be used: {}", parked.reason),
    });
    parked.or_else(|| task.history.reason.as_deref().map(ToOwned::to_owned))
}

fn print_result(
    name: &str,
    task: &Task,
    (reason, warning): (Option<&str>, Option<&str>),
    printed: &str,
    out: &CommandOutput,
) -> Result<ExitCode, CommandFailure> {
    let ok = task.status() == Status::Done;
    if out.is_json() {
        out.document(&json!({
            "agent": name, "ok": ok, "status": task.status().as_str(), "reason": reason,
            "warning": warning, "output": printed,
        }))?;
        return Ok(ExitCode::from(u8::from(!ok)));
    }
    if ok {
        out.line(&out.paint(TextColour::Green, &format!("{name} works: it reported done")))?;
    } else {
        let why = reason.unwrap_or("the reason is unknown");
        let text = format!("{name} does not work: {why}");
        out.line(&out.paint(TextColour::Red, &crate::output::clean(&text)))?;
        // Else it was not started.
        if task.status() == Status::Deadletter {
            out.line(
                "the test task asks only for a report; an agent with `workspace = \"worktree\"` gets an \
                 empty folder for it",
            )?;
        }
    }
    if let Some(warning) = warning {
        let text = format!("{name}: {}", crate::output::clean(warning));
        out.line(&out.paint(TextColour::Yellow, &text))?;
    }
    if !printed.trim().is_empty() {
        out.line("its output:")?;
        out.line(&clean_lines(printed.trim_end()))?;
    }
    Ok(ExitCode::from(u8::from(!ok)))
}
