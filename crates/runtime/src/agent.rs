//! How an agent of the configuration is started, and how what it says is read.
//!
//! Each kind has an adapter, which is one file; what they have in common is in `adapter.rs`.

pub mod acp;
mod adapter;
mod claude;
mod codex;
mod ear;
mod gemini;
mod goose;
mod opencode;
mod told;
mod version;
mod webhook;
mod words;

#[cfg(test)]
mod golden_tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_store::taskfile;

use adjutant_core::account::Budget;
use serde_json::Value;

use crate::config::{self, Kind, Scheduler};
use crate::dialect::{Forms, RESULT_VARIABLE};
use crate::shim::spec::{Asks, Environment, Limits, Lines, Prompt, Report, millis};

pub use adapter::{Heard, Now, SignedIn, Tried, Until, Used};
pub use ear::Ear;
pub use told::{Limited, Told};
pub(crate) use version::Versions;

pub use adapter::RUN_VARIABLES;
use adapter::{Given, Start};

/// The variable that holds a run's token, and by which everything a run started is known.
pub const TOKEN_VARIABLE: &str = "ADJUTANT_RUN_TOKEN";

/// The variable that says that a run is confined, and by what.
pub const SANDBOX_VARIABLE: &str = "ADJUTANT_SANDBOX";

/// How to start a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder the agent works in.
    pub workspace: PathBuf,
    /// What its environment is made of; what names the run is added to it.
    pub environment: Environment,
    /// How it gets its work order.
    pub prompt: Prompt,
    /// Whether its lines `AOF/1 …` are messages.
    pub lines: Lines,
    /// In what document it says what came of it, if it does.
    pub report: Option<Report>,
    /// How long it may take and be silent, and how it is stopped.
    pub limits: Limits,
    /// Its work order.
    pub order: String,
    /// Further papers for the folder of the attempt, by name.
    pub papers: Vec<(String, String)>,
    /// Whose stream of events is read in what it prints.
    pub reads: Option<Kind>,
    /// What its conversation will be known by, where that is for us to say.
    pub session: Option<String>,
    /// The folders and files it may write to; none if it may write wherever its user can.
    pub confined: Option<Vec<PathBuf>>,
    /// Who is asked to end when it is to.
    pub asks: Asks,
    /// What is to be said of the version of its program, where the agent does not tell it.
    pub untried: Option<String>,
}

/// Where a run is started, and what it goes on from.
#[derive(Debug, Clone, Copy)]
pub struct Here<'a> {
    /// The folder that holds the data folder.
    pub home: &'a Path,
    /// This program, which plays some agents and is the MCP server of others.
    pub program: &'a Path,
    /// The folder of the attempt.
    pub attempt: &'a Path,
    /// A name for the run that no other has.
    pub name: &'a str,
    /// The conversation to go on with.
    pub resume: Option<Resume<'a>>,
    /// How much the run may use.
    pub budget: Budget,
}

/// A conversation to go on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume<'a> {
    /// What the agent knows it by.
    pub session: &'a str,
    /// The work order for an agent that finds it cannot, and begins anew.
    pub anew: &'a str,
}

impl<'a> Here<'a> {
    /// A run that begins anew and has no limits.
    pub fn new(home: &'a Path, program: &'a Path) -> Self {
        let budget = Budget::default();
        Self { home, program, attempt: home, name: "adjutant", resume: None, budget }
    }
}

impl Launch {
    /// Says how to start an agent.
    pub fn of(
        agent: &config::Agent,
        scheduler: &Scheduler,
        here: &Here<'_>,
        order: String,
    ) -> Self {
        let home = here.home;
        let workspace = agent.workspace.as_ref().map_or(home.to_owned(), |inner| home.join(inner));
        let start = start(agent, scheduler, here, &workspace);
        let limits = Limits {
            timeout_ms: agent.timeout().map(millis),
            idle_timeout_ms: agent.idle_timeout().map(millis),
            budget_tokens: here.budget.tokens,
            budget_cost: here.budget.cost,
            ..Limits::new(scheduler.grace.0, scheduler.heartbeat_ttl.0.max(Duration::from_secs(1)))
        };
        let mut set = start.environment;
        set.extend(agent.env.clone());
        let reads = has_stream(agent.kind).then_some(agent.kind);
        Self {
            command: command(&start.command, &workspace),
            workspace,
            environment: Environment { deny: agent.env_deny.clone(), set },
            prompt: adapter::prompt(agent.kind, prompt(agent.prompt)),
            lines: if reads.is_some() { Lines::Output } else { Lines::Messages },
            report: None,
            limits,
            order,
            papers: start.papers,
            reads,
            session: start.session,
            confined: None,
            asks: start.asks,
            untried: None,
        }
    }

    /// Lets the task say how long it may take: what it says counts, and not what its agent says.
    #[must_use]
    pub fn within(mut self, task: taskfile::Limits) -> Self {
        let limit = |limit: taskfile::Limit| limit.as_duration().map(millis);
        if let Some(own) = task.timeout {
            self.limits.timeout_ms = limit(own);
        }
        if let Some(own) = task.idle_timeout {
            self.limits.idle_timeout_ms = limit(own);
        }
        self
    }

    /// Gives an agent its order as a document, and tells where it leaves its report. `folder` is
    /// that of the attempt.
    #[must_use]
    pub fn with_forms(mut self, forms: Forms, folder: &Path, order: String) -> Self {
        self.environment.set.extend(forms.variables(folder));
        self.report = Some(forms.report());
        self.papers.push((forms.order.to_owned(), order));
        self
    }
}

impl Launch {
    /// Confines an agent to what it may write. `own` is a folder in the folder of its attempt that
    /// is its own: its report is left there.
    #[must_use]
    pub fn confine(mut self, own: &Path, writable: Vec<PathBuf>) -> Self {
        self.environment.set.insert(SANDBOX_VARIABLE.to_owned(), "landlock".to_owned());
        let name = own.file_name().map(|name| name.to_string_lossy().into_owned());
        if let (Some(report), Some(name)) = (&mut self.report, name) {
            let path = text(&own.join(&report.file));
            self.environment.set.insert(RESULT_VARIABLE.to_owned(), path);
            report.file = format!("{name}/{}", report.file);
        }
        self.confined = Some(writable);
        self
    }
}

/// Returns how an agent is started, by its adapter.
fn start(agent: &config::Agent, scheduler: &Scheduler, here: &Here<'_>, workspace: &Path) -> Start {
    let program = text(here.program);
    let given = Given {
        agent,
        program: &program,
        folder: here.attempt,
        name: here.name,
        resume: here.resume,
        cost: here.budget.cost,
        grace_ms: millis(scheduler.grace.0),
    };
    match agent.kind {
        Kind::Command => {
            let all = agent.command.iter().chain(&agent.args).cloned();
            Start { command: all.collect(), ..Start::default() }
        }
        Kind::Script => {
            let script = workspace.join(agent.script.as_deref().unwrap_or(Path::new("")));
            let command = vec![program.clone(), "script-agent".to_owned(), text(&script)];
            Start { command, ..Start::default() }
        }
        Kind::Claude => claude::start(&given),
        Kind::Codex => codex::start(&given),
        Kind::Goose => goose::start(&given),
        Kind::Acp => acp::start(&given),
        Kind::Gemini => gemini::start(&given),
        Kind::Opencode => opencode::start(&given),
        Kind::Webhook => webhook::start(&given),
    }
}

/// Reads a line of what an agent of a kind prints.
pub fn read(kind: Kind, line: &Value) -> Vec<Heard> {
    match kind {
        Kind::Claude => claude::read(line),
        Kind::Codex => codex::read(line),
        Kind::Goose => goose::read(line),
        Kind::Acp | Kind::Gemini | Kind::Opencode => acp::read(line),
        Kind::Webhook | Kind::Command | Kind::Script => vec![],
    }
}

/// Reads a line of the log that the program of a kind writes beside its stream. Some tell only
/// there that they wait for a limit to end.
pub fn read_log(kind: Kind, line: &str) -> Vec<Heard> {
    let heard = match kind {
        Kind::Gemini => gemini::read_log(line),
        Kind::Opencode => opencode::read_log(line),
        Kind::Goose => goose::read_log(line),
        Kind::Claude | Kind::Codex | Kind::Acp | Kind::Webhook | Kind::Command | Kind::Script => {
            None
        }
    };
    heard.into_iter().collect()
}

/// Says whether agents of a kind print a stream of events, and are given our MCP server.
pub fn has_stream(kind: Kind) -> bool {
    match kind {
        Kind::Claude | Kind::Codex | Kind::Gemini | Kind::Opencode | Kind::Goose | Kind::Acp => {
            true
        }
        Kind::Command | Kind::Script | Kind::Webhook => false,
    }
}

/// Returns the versions of the program of a kind that its adapter was tried with.
pub fn tried(kind: Kind) -> Option<Tried> {
    match kind {
        Kind::Claude => Some(claude::TRIED),
        Kind::Codex => Some(codex::TRIED),
        Kind::Goose => Some(goose::TRIED),
        Kind::Gemini => Some(gemini::TRIED),
        Kind::Opencode => Some(opencode::TRIED),
        Kind::Acp | Kind::Command | Kind::Script | Kind::Webhook => None,
    }
}

/// Returns how it is seen that somebody is signed in with the program of a kind.
pub fn signed_in(kind: Kind) -> Option<SignedIn> {
    match kind {
        Kind::Claude => Some(claude::SIGNED_IN),
        Kind::Codex => Some(codex::SIGNED_IN),
        Kind::Goose => Some(goose::SIGNED_IN),
        Kind::Gemini => Some(gemini::SIGNED_IN),
        Kind::Opencode => Some(opencode::SIGNED_IN),
        Kind::Acp | Kind::Command | Kind::Script | Kind::Webhook => None,
    }
}

/// Returns the command. A program that is named by a path is looked for from the workspace.
fn command(command: &[String], workspace: &Path) -> Vec<String> {
    let mut command = command.to_owned();
    if let Some(program) = command.first_mut().filter(|program| program.contains('/')) {
        *program = text(&workspace.join(&*program));
    }
    command
}

fn prompt(prompt: config::Prompt) -> Prompt {
    match prompt {
        config::Prompt::Stdin => Prompt::Stdin,
        config::Prompt::Argument => Prompt::Argument,
        config::Prompt::File => Prompt::File,
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Agent;

    fn launch(agent: &Agent) -> Launch {
        let here = Here::new(Path::new("/home/project"), Path::new("/bin/adjutant"));
        Launch::of(agent, &Scheduler::default(), &here, "Do it.".to_owned())
    }

    #[test]
    fn a_command_is_started_as_it_is_written() {
        let agent = Agent {
            command: vec!["./fix.sh".into(), "./x".into()],
            workspace: Some("sub".into()),
            ..Agent::new(Kind::Command)
        };
        let made = launch(&agent);
        assert_eq!(made.command, ["/home/project/sub/./fix.sh", "./x"]);
        assert_eq!(made.workspace, Path::new("/home/project/sub"));
        assert_eq!((made.limits.timeout_ms, made.limits.grace_ms), (None, 10_000));
        let agent = Agent { command: vec!["cargo".into()], ..Agent::new(Kind::Command) };
        assert_eq!(launch(&agent).command, ["cargo"]);
    }

    #[test]
    fn a_script_is_played_by_this_program() {
        let agent = Agent { script: Some("crew/a.yaml".into()), ..Agent::new(Kind::Script) };
        let made = launch(&agent);
        assert_eq!(made.command, ["/bin/adjutant", "script-agent", "/home/project/crew/a.yaml"]);
        assert_eq!(made.limits.timeout_ms, Some(3_600_000));
    }

    #[test]
    fn what_a_task_says_of_its_time_counts_before_what_its_agent_says() {
        let agent = Agent { script: Some("a.yaml".into()), ..Agent::new(Kind::Script) };
        let times = |timeout, idle_timeout| {
            let made = launch(&agent);
            let limits = made.within(taskfile::Limits { timeout, idle_timeout }).limits;
            (limits.timeout_ms, limits.idle_timeout_ms)
        };
        let after = |secs| Some(taskfile::Limit::After(Duration::from_secs(secs)));
        assert_eq!(times(None, None), (Some(3_600_000), Some(900_000)));
        assert_eq!(times(after(7200), None), (Some(7_200_000), Some(900_000)));
        assert_eq!(times(Some(taskfile::Limit::Off), after(1)), (None, Some(1_000)));
    }
}
