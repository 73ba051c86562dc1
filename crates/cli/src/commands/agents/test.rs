//! `adjutant agents test`: a tiny task for one agent, in a data folder of its own.

use std::process::ExitCode;
use std::time::Duration;

use adjutant_core::command::{Caller, Chore, NewTask, Start};
use adjutant_core::task::{Review, Routing};
use adjutant_core::{AgentId, Command, Status, Task, TaskId};
use adjutant_runtime::config::{Agent, Config, Limit};
use adjutant_runtime::daemon::{Daemon, Held, Leaving, Options, Sight, Until};
use adjutant_runtime::shim::files::{Folder as Attempt, LOG};
use adjutant_runtime::{Engine, Request, SystemClock};
use adjutant_store::FileStore;
use adjutant_store::file::{Folder, read_world};
use serde_json::json;

use crate::commands::up;
use crate::data::{Data, accepted, this_program};
use crate::error::Failure;
use crate::output::{Colour, Output, clean_lines};
use crate::person::operator;

/// Give an agent a tiny task, in a data folder of its own, and say what came of it
#[derive(Debug, clap::Args)]
#[command(after_help = "The agent works where it always works, and is told to change nothing.\n\
    Exit code: 0 if it reported that it is done, else 1.")]
pub(crate) struct Test {
    /// The agent
    name: String,
}

/// How long an agent without a limit of its own may take.
const PATIENCE: Duration = Duration::from_mins(2);

const TITLE: &str = "Say hello";
const BODY: &str = "This is a test: change no file, and report at once that it is done.\n";

impl Test {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        data.permit(Chore::Test, "cannot test an agent", out)?;
        let Some(agent) = data.config().agents.get(&self.name) else {
            return Err(Failure::usage(format!("there is no agent {:?}", self.name))
                .hint("`adjutant agents` lists them"));
        };
        let failed = |error| Failure::broken("cannot make a folder for the test", &error);
        let home = tempfile::Builder::new().prefix("adjutant-test-").tempdir().map_err(failed)?;
        let folder = Folder::init(home.path())?;
        let config = alone(data, &folder, &self.name, agent);
        if agent.has_worktree() {
            std::fs::create_dir_all(folder.root().join("workspace")).map_err(failed)?;
        }
        let Some(task) = work(&folder, &self.name, &config)? else {
            let attempt = format!("cannot say whether {} works", self.name);
            let why = "the test was stopped before it was over, and the agent with it";
            return Err(Failure::interrupted(attempt, why));
        };
        let log = Attempt::at(
            &folder.root().join("runs").join(task.id.as_str()).join("attempts").join("1"),
        );
        let printed = std::fs::read(log.join(LOG)).unwrap_or_default();
        if task.status() == Status::Done {
            free(data, &self.name, out)?;
        }
        let warning = log.told().ok().flatten().and_then(|told| told.untried);
        tell(&self.name, &task, warning.as_deref(), &String::from_utf8_lossy(&printed), out)
    }
}

/// Has an agent given work again that could not work before.
fn free(data: &Data, name: &str, out: &Output) -> Result<(), Failure> {
    let Ok(agent) = AgentId::parse(name) else { return Ok(()) };
    let command = Command::Free { agent };
    data.submit(Request::Command { by: Caller::Operator(operator()), command }, out).map(drop)
}

/// Makes a configuration with this agent alone, which works where it always does, once.
fn alone(data: &Data, folder: &Folder, name: &str, agent: &Agent) -> Config {
    let home = data.folder.workspace();
    let home = std::path::absolute(&home).unwrap_or(home);
    let workspace = match &agent.workspace {
        // There is nothing to work on: the task is none of the project's.
        Some(_) if agent.has_worktree() => folder.root().join("workspace"),
        Some(inner) => home.join(inner),
        None => home.clone(),
    };
    let limit = Limit::After(agent.timeout().map_or(PATIENCE, |own| own.min(PATIENCE)));
    let agent =
        Agent { workspace: Some(workspace), timeout: Some(limit), merge: None, ..agent.clone() };
    let mut config = Config { scheduler: data.config().scheduler.clone(), ..Config::default() };
    config.scheduler.attempts_max = 1;
    config.scheduler.concurrency = 1;
    config.agents.insert(name.to_owned(), agent);
    config
}

/// Has the agent work on a task, and returns the task as it is then; none if somebody did not want
/// to wait for that.
fn work(folder: &Folder, name: &str, config: &Config) -> Result<Option<Task>, Failure> {
    let id = add(folder, name, config)?;
    let held = Held::take(folder.root(), &up::me()).map_err(|error| up::failure(&error))?;
    let options = || -> Result<Options, Failure> {
        Ok(Options {
            folder: folder.clone(),
            config: config.clone(),
            program: this_program()?,
            until: Until::Idle,
            glances: None,
            only: None,
            fleet: None,
        })
    };
    let daemon = Daemon::start(options()?, &held)?;
    let handle = daemon.handle();
    let left = daemon.run(&mut |sight| {
        // There is one run, and whoever interrupts the test does not want it.
        if matches!(sight, Sight::Glance(glance) if glance.leaving == Leaving::Draining) {
            handle.stop();
        }
    })?;
    if left.runs > 0 {
        // Its folder is about to go, and nobody else would ever end it.
        let daemon = Daemon::start(options()?, &held)?;
        daemon.handle().stop();
        daemon.run(&mut |_| {})?;
    }
    if left.leaving != Leaving::No {
        return Ok(None);
    }
    let task = read_world(folder)?.task(&id).cloned();
    task.map(Some).ok_or_else(|| Failure::gone(format!("{id} is not there any more")))
}

fn add(folder: &Folder, name: &str, config: &Config) -> Result<TaskId, Failure> {
    let (store, loaded) = FileStore::open(folder)?;
    let mut engine = Engine::start(store, loaded, Box::new(SystemClock), config.policy())?;
    let new = NewTask {
        title: TITLE.to_owned(),
        body: BODY.to_owned(),
        routing: Routing { agent: AgentId::parse(name).ok(), ..Routing::default() },
        review: Review::NotNeeded,
        start: Start::Ready,
        ..NewTask::default()
    };
    let command = Command::Add(Box::new(new));
    let by = Caller::Operator(operator());
    let answered = accepted(
        engine.submit_one(Request::Command { by, command })?,
        "cannot add a task for the test",
    )?;
    engine.rest()?;
    answered.answer.task.ok_or_else(|| Failure::gone("the task of the test is not there"))
}

/// Says in words why an agent came to nothing.
fn why_not(task: &Task) -> Option<String> {
    let parked = task.trials.parked().last().map(|parked| match parked.until {
        Some(until) => format!("it has reached a limit, until {until}: {}", parked.reason),
        None => format!("it cannot be used: {}", parked.reason),
    });
    parked.or_else(|| task.trials.reason.as_deref().map(ToOwned::to_owned))
}

fn tell(
    name: &str,
    task: &Task,
    warning: Option<&str>,
    printed: &str,
    out: &Output,
) -> Result<ExitCode, Failure> {
    let ok = task.status() == Status::Done;
    let reason = why_not(task);
    let reason = reason.as_deref();
    if out.is_json() {
        out.document(&json!({
            "agent": name, "ok": ok, "status": task.status().as_str(), "reason": reason,
            "warning": warning, "output": printed,
        }))?;
        return Ok(ExitCode::from(u8::from(!ok)));
    }
    if ok {
        out.line(&out.paint(Colour::Green, &format!("{name} works: it reported done")))?;
    } else {
        let why = reason.unwrap_or("nobody said why");
        let text = format!("{name} does not work: {} ({})", why, task.status());
        out.line(&out.paint(Colour::Red, &crate::output::clean(&text)))?;
    }
    if let Some(warning) = warning {
        let text = format!("{name}: {}", crate::output::clean(warning));
        out.line(&out.paint(Colour::Yellow, &text))?;
    }
    if !printed.trim().is_empty() {
        out.line("what it printed:")?;
        out.line(&clean_lines(printed.trim_end()))?;
    }
    Ok(ExitCode::from(u8::from(!ok)))
}
