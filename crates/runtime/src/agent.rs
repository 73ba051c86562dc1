//! How an agent of the configuration is started: from its settings to a command.

use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_store::taskfile;

use crate::config::{self, Kind, Scheduler};
use crate::dialect::Forms;
use crate::shim::spec::{Environment, Limits, Lines, Prompt, Report, millis};

/// The variable that holds a run's token, and by which everything a run started is known.
pub const TOKEN_VARIABLE: &str = "ADJUTANT_RUN_TOKEN";

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
}

/// An agent of a kind that cannot be started yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("agents of the kind {} cannot be started yet", .0.as_str())]
pub struct NotYet(pub Kind);

impl Launch {
    /// Says how to start an agent.
    ///
    /// `home` is the folder that holds the data folder, and `program` is this one, which plays the
    /// agents of the kind `script`.
    pub fn of(
        agent: &config::Agent,
        scheduler: &Scheduler,
        home: &Path,
        program: &Path,
        order: String,
    ) -> Result<Self, NotYet> {
        let workspace = agent.workspace.as_ref().map_or(home.to_owned(), |inner| home.join(inner));
        let command = match agent.kind {
            Kind::Command => command(&agent.command, &workspace),
            Kind::Script => {
                let script = workspace.join(agent.script.as_deref().unwrap_or(Path::new("")));
                vec![text(program), "script-agent".to_owned(), text(&script)]
            }
            Kind::Claude
            | Kind::Codex
            | Kind::Gemini
            | Kind::Opencode
            | Kind::Goose
            | Kind::Acp
            | Kind::Webhook => return Err(NotYet(agent.kind)),
        };
        let limits = Limits {
            timeout_ms: agent.timeout().map(millis),
            idle_timeout_ms: agent.idle_timeout().map(millis),
            ..Limits::new(scheduler.grace.0, scheduler.heartbeat_ttl.0.max(Duration::from_secs(1)))
        };
        let environment = Environment {
            deny: agent.env_deny.clone(),
            set: agent.env.clone().into_iter().collect(),
        };
        let (prompt, lines) = (prompt(agent.prompt), Lines::Messages);
        let (report, papers) = (None, vec![]);
        Ok(Self { command, workspace, environment, prompt, lines, report, limits, order, papers })
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

    fn launch(agent: &Agent) -> Result<Launch, NotYet> {
        let (home, program) = (Path::new("/home/project"), Path::new("/bin/adjutant"));
        Launch::of(agent, &Scheduler::default(), home, program, "Do it.".to_owned())
    }

    #[test]
    fn a_command_is_started_as_it_is_written() {
        let agent = Agent {
            command: vec!["./fix.sh".into(), "./x".into()],
            workspace: Some("sub".into()),
            ..Agent::new(Kind::Command)
        };
        let made = launch(&agent).expect("it can be started");
        assert_eq!(made.command, ["/home/project/sub/./fix.sh", "./x"]);
        assert_eq!(made.workspace, Path::new("/home/project/sub"));
        assert_eq!((made.limits.timeout_ms, made.limits.grace_ms), (None, 10_000));
        let agent = Agent { command: vec!["cargo".into()], ..Agent::new(Kind::Command) };
        assert_eq!(launch(&agent).map(|made| made.command), Ok(vec!["cargo".to_owned()]));
    }

    #[test]
    fn a_script_is_played_by_this_program() {
        let agent = Agent { script: Some("crew/a.yaml".into()), ..Agent::new(Kind::Script) };
        let made = launch(&agent).expect("it can be started");
        assert_eq!(made.command, ["/bin/adjutant", "script-agent", "/home/project/crew/a.yaml"]);
        assert_eq!(made.limits.timeout_ms, Some(3_600_000));
    }

    #[test]
    fn what_a_task_says_of_its_time_counts_before_what_its_agent_says() {
        let agent = Agent { script: Some("a.yaml".into()), ..Agent::new(Kind::Script) };
        let times = |timeout, idle_timeout| {
            let made = launch(&agent).expect("it can be started");
            let limits = made.within(taskfile::Limits { timeout, idle_timeout }).limits;
            (limits.timeout_ms, limits.idle_timeout_ms)
        };
        let after = |secs| Some(taskfile::Limit::After(Duration::from_secs(secs)));
        assert_eq!(times(None, None), (Some(3_600_000), Some(900_000)));
        assert_eq!(times(after(7200), None), (Some(7_200_000), Some(900_000)));
        assert_eq!(times(Some(taskfile::Limit::Off), after(1)), (None, Some(1_000)));
    }

    #[test]
    fn other_kinds_are_refused_where_they_are_used() {
        let refused = launch(&Agent::new(Kind::Codex)).map_err(|not_yet| not_yet.to_string());
        assert_eq!(refused, Err("agents of the kind codex cannot be started yet".to_owned()));
    }
}
