//! Builds the command, environment and files that start a configured agent, and parses its output.
//!
//! Each agent kind has an adapter in its own file; `adapter.rs` holds the shared types.

pub mod acp;
mod adapter;
mod claude;
mod codex;
mod gemini;
mod goose;
mod opencode;
mod output_text;
pub mod program;
mod self_report;
mod stream_parser;
mod version;
mod webhook;

#[cfg(test)]
mod golden_tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_config::{self as config, Kind, Scheduler, StdoutMessages};
use adjutant_model::usage::UsageBudget;
use adjutant_run_files::dialect_files::{DialectFiles, RESULT_VARIABLE};
use adjutant_run_files::sandbox_spec::CommandSandbox;
use adjutant_run_files::shim_spec::{
    AgentEnvironment, AofLineMode, OrderDelivery, ReportSpec, RunLimits, StopTarget, to_millis,
};
use adjutant_store::taskfile;
use serde_json::Value;

pub use adapter::{
    AgentStreamEvent, LimitResetTime, LocalNow, ModelUsage, SignInDetection, TestedVersions,
};
pub use self_report::{AgentSelfReport, ReachedLimit};
pub use stream_parser::AgentStreamParser;
pub use version::VersionWarnings;

pub use adapter::RUN_VARIABLES;
use adapter::{AdapterInput, COMMON_VARIABLES, PROVIDER_VARIABLES, StartPlan};

/// Holds the run's token. The daemon and the shim find every process of a run by this variable.
pub const TOKEN_VARIABLE: &str = "ADJUTANT_RUN_TOKEN";

/// Tells a run that it is sandboxed, and by which mechanism.
pub const SANDBOX_VARIABLE: &str = "ADJUTANT_SANDBOX";

/// Everything the shim needs to start a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLaunch {
    pub command: Vec<String>,
    pub workspace: PathBuf,
    /// The caller adds the variables that identify the run.
    pub environment: AgentEnvironment,
    pub prompt: OrderDelivery,
    /// Whether lines that start with `AOF/1` are messages or plain output.
    pub lines: AofLineMode,
    /// The file in which the agent leaves its report; `None` if it reports in another way.
    pub report: Option<ReportSpec>,
    pub limits: RunLimits,
    pub order: String,
    /// Further files to write into the attempt folder, as (name, content).
    pub files: Vec<(String, String)>,
    /// The agent kind whose event stream the shim parses; `None` if the output is not parsed.
    pub stream_kind: Option<Kind>,
    /// The session id, where Adjutant chooses it instead of the agent.
    pub session: Option<String>,
    /// What confines the agent.
    pub sandbox: CommandSandbox,
    /// Which processes get the request to terminate.
    pub terminate_scope: StopTarget,
    /// A warning about the program's version, for agents that do not report their version.
    pub version_warning: Option<String>,
}

/// Where a run starts, and which session it resumes.
#[derive(Debug, Clone, Copy)]
pub struct LaunchContext<'a> {
    /// The folder that contains the data folder.
    pub home: &'a Path,
    /// The `adjutant` executable, which plays script agents and is the MCP server of other agents.
    pub program: &'a Path,
    pub attempt: &'a Path,
    /// A unique name for the run.
    pub name: &'a str,
    pub resume: Option<ResumedSession<'a>>,
    pub budget: UsageBudget,
    /// The environment variables that hold secrets of Adjutant: no agent inherits them.
    pub secret_variables: &'a [String],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumedSession<'a> {
    /// The agent's own id for the session.
    pub session: &'a str,
    /// The full work order, for an agent that cannot resume and starts over.
    pub full_order: &'a str,
}

impl<'a> LaunchContext<'a> {
    /// Describes a run without a session to resume and without budget limits.
    pub fn new(home: &'a Path, program: &'a Path) -> Self {
        let budget = UsageBudget::default();
        let secret_variables = &[];
        let (attempt, name, resume) = (home, "adjutant", None);
        Self { home, program, attempt, name, resume, budget, secret_variables }
    }
}

impl AgentLaunch {
    pub fn for_agent(
        agent: &config::Agent,
        scheduler: &Scheduler,
        here: &LaunchContext<'_>,
        order: String,
    ) -> Self {
        let home = here.home;
        let workspace = agent.workspace.as_ref().map_or(home.to_owned(), |inner| home.join(inner));
        let start = build_start(agent, scheduler, here, &workspace);
        let limits = RunLimits {
            timeout_ms: agent.timeout().map(to_millis),
            idle_timeout_ms: agent.idle_timeout().map(to_millis),
            budget_tokens: here.budget.tokens,
            budget_cost: here.budget.cost,
            ..RunLimits::new(
                scheduler.grace.0,
                scheduler.heartbeat_ttl.0.max(Duration::from_secs(1)),
            )
        };
        let mut set = start.environment;
        set.extend(agent.env.clone());
        let stream_kind = has_stream(agent.kind).then_some(agent.kind);
        Self {
            command: resolve_command(&start.command, &workspace),
            workspace,
            environment: inherited_environment(agent, here.secret_variables, set),
            prompt: adapter::prompt_delivery(agent.kind, to_shim_prompt(agent.prompt)),
            lines: line_mode(agent),
            report: None,
            limits,
            order,
            files: start.files,
            stream_kind,
            session: start.session,
            sandbox: CommandSandbox::None,
            terminate_scope: start.terminate_scope,
            version_warning: None,
        }
    }

    /// Applies the task's time limits, which override the agent's.
    #[must_use]
    pub fn with_task_limits(mut self, task: taskfile::TaskTimeLimits) -> Self {
        let limit = |limit: taskfile::DurationLimit| limit.as_duration().map(to_millis);
        if let Some(own) = task.timeout {
            self.limits.timeout_ms = limit(own);
        }
        if let Some(own) = task.idle_timeout {
            self.limits.idle_timeout_ms = limit(own);
        }
        self
    }

    /// Adds the work order as a document and tells the agent where to leave its report. `folder` is
    /// the attempt folder.
    #[must_use]
    pub fn with_forms(mut self, forms: DialectFiles, folder: &Path, order: String) -> Self {
        self.environment.set.extend(forms.variables(folder));
        self.report = Some(forms.report());
        self.files.push((forms.order.to_owned(), order));
        self
    }
}

impl AgentLaunch {
    /// Confines the agent. Its report is redirected to `own`, its folder inside the attempt folder.
    #[must_use]
    pub fn with_sandbox(mut self, own: &Path, sandbox: CommandSandbox) -> Self {
        self.environment.set.insert(SANDBOX_VARIABLE.to_owned(), sandbox.level().to_string());
        let name = own.file_name().map(|name| name.to_string_lossy().into_owned());
        if let (Some(report), Some(name)) = (&mut self.report, name) {
            let path = path_text(&own.join(&report.file));
            self.environment.set.insert(RESULT_VARIABLE.to_owned(), path);
            report.file = format!("{name}/{}", report.file);
        }
        self.sandbox = sandbox;
        self
    }
}

/// Returns what an agent inherits: for kinds with an adapter the variables that the adapter and
/// `env_pass` list, for the others everything. The secrets of Adjutant are left out in either case.
fn inherited_environment(
    agent: &config::Agent,
    secret_variables: &[String],
    set: BTreeMap<String, String>,
) -> AgentEnvironment {
    // `adjutant webhook-agent`, which signs the work order, needs the agent's own secret.
    let secrets = secret_variables.iter().filter(|name| agent.secret_env.as_ref() != Some(*name));
    AgentEnvironment {
        pass: passed_variables(agent.kind)
            .map(|names| names.map(str::to_owned).chain(agent.env_pass.iter().cloned()).collect()),
        deny: agent.env_deny.iter().chain(secrets).cloned().collect(),
        set,
    }
}

/// Returns the variables that agents of this kind inherit; `None` if they inherit all.
fn passed_variables(kind: Kind) -> Option<impl Iterator<Item = &'static str>> {
    let (providers, own): (&[_], &[_]) = match kind {
        Kind::Claude => (&[], claude::PASSED_VARIABLES),
        Kind::Codex => (&[], codex::PASSED_VARIABLES),
        Kind::Gemini => (&[], gemini::PASSED_VARIABLES),
        Kind::Opencode => (PROVIDER_VARIABLES, opencode::PASSED_VARIABLES),
        Kind::Goose => (PROVIDER_VARIABLES, goose::PASSED_VARIABLES),
        Kind::Acp => (PROVIDER_VARIABLES, acp::PASSED_VARIABLES),
        Kind::Command | Kind::Script | Kind::Webhook => return None,
    };
    Some(COMMON_VARIABLES.iter().chain(providers).chain(own).copied())
}

fn build_start(
    agent: &config::Agent,
    scheduler: &Scheduler,
    here: &LaunchContext<'_>,
    workspace: &Path,
) -> StartPlan {
    let program = path_text(here.program);
    let given = AdapterInput {
        agent,
        program: &program,
        folder: here.attempt,
        name: here.name,
        resume: here.resume,
        cost: here.budget.cost,
        grace_ms: to_millis(scheduler.grace.0),
    };
    match agent.kind {
        Kind::Command => {
            let all = agent.command.iter().chain(&agent.args).cloned();
            StartPlan { command: all.collect(), ..StartPlan::default() }
        }
        Kind::Script => {
            let script = workspace.join(agent.script.as_deref().unwrap_or(Path::new("")));
            let command = vec![program.clone(), "script-agent".to_owned(), path_text(&script)];
            StartPlan { command, ..StartPlan::default() }
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

/// Parses one JSON line of an agent's output.
pub fn parse_line(kind: Kind, line: &Value) -> Vec<AgentStreamEvent> {
    match kind {
        Kind::Claude => claude::read(line),
        Kind::Codex => codex::read(line),
        Kind::Goose => goose::read(line),
        Kind::Acp | Kind::Gemini | Kind::Opencode => acp::read(line),
        Kind::Webhook | Kind::Command | Kind::Script => vec![],
    }
}

/// Parses one line of the log that an agent prints beside its event stream. Some agents report only
/// there that they are waiting for a rate limit.
pub fn parse_log_line(kind: Kind, line: &str) -> Vec<AgentStreamEvent> {
    let events = match kind {
        Kind::Gemini => gemini::read_log(line),
        Kind::Opencode => opencode::read_log(line),
        Kind::Goose => goose::read_log(line),
        Kind::Claude | Kind::Codex | Kind::Acp | Kind::Webhook | Kind::Command | Kind::Script => {
            None
        }
    };
    events.into_iter().collect()
}

/// Returns whether agents of this kind print an event stream and get Adjutant's MCP server.
pub fn has_stream(kind: Kind) -> bool {
    match kind {
        Kind::Claude | Kind::Codex | Kind::Gemini | Kind::Opencode | Kind::Goose | Kind::Acp => {
            true
        }
        Kind::Command | Kind::Script | Kind::Webhook => false,
    }
}

/// Returns the program versions that the adapter was tested with.
pub fn tested_versions(kind: Kind) -> Option<TestedVersions> {
    match kind {
        Kind::Claude => Some(claude::TESTED_VERSIONS),
        Kind::Codex => Some(codex::TESTED_VERSIONS),
        Kind::Goose => Some(goose::TESTED_VERSIONS),
        Kind::Gemini => Some(gemini::TESTED_VERSIONS),
        Kind::Opencode => Some(opencode::TESTED_VERSIONS),
        Kind::Acp | Kind::Command | Kind::Script | Kind::Webhook => None,
    }
}

/// Returns the hosts that agents of this kind connect to by themselves, as their programs asked a proxy
/// for them. All of them use the proxy variables. What a provider or a project needs is not known.
pub fn needed_hosts(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Claude => claude::NEEDED_HOSTS,
        Kind::Codex => codex::NEEDED_HOSTS,
        Kind::Gemini => gemini::NEEDED_HOSTS,
        Kind::Opencode => opencode::NEEDED_HOSTS,
        // The host of goose is that of its provider.
        Kind::Goose | Kind::Acp | Kind::Command | Kind::Script | Kind::Webhook => &[],
    }
}

/// Returns how to detect that the user is signed in to the agent's program.
pub fn sign_in_detection(kind: Kind) -> Option<SignInDetection> {
    match kind {
        Kind::Claude => Some(claude::SIGN_IN_DETECTION),
        Kind::Codex => Some(codex::SIGN_IN_DETECTION),
        Kind::Goose => Some(goose::SIGN_IN_DETECTION),
        Kind::Gemini => Some(gemini::SIGN_IN_DETECTION),
        Kind::Opencode => Some(opencode::SIGN_IN_DETECTION),
        Kind::Acp | Kind::Command | Kind::Script | Kind::Webhook => None,
    }
}

/// Resolves a program given as a path against the workspace.
fn resolve_command(command: &[String], workspace: &Path) -> Vec<String> {
    let mut command = command.to_owned();
    if let Some(program) = command.first_mut().filter(|program| program.contains('/')) {
        *program = path_text(&workspace.join(&*program));
    }
    command
}

fn to_shim_prompt(prompt: config::Prompt) -> OrderDelivery {
    match prompt {
        config::Prompt::Stdin => OrderDelivery::Stdin,
        config::Prompt::Argument => OrderDelivery::Argument,
        config::Prompt::File => OrderDelivery::File,
    }
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns how lines `AOF/1 …` on the agent's standard output are treated.
fn line_mode(agent: &config::Agent) -> AofLineMode {
    match (agent.kind, agent.stdout_messages) {
        // What it prints is the answer of the configured address, and nothing else.
        (Kind::Webhook, _) => AofLineMode::Messages,
        (kind, _) if has_stream(kind) => AofLineMode::Output,
        (_, StdoutMessages::Off) => AofLineMode::Output,
        (_, StdoutMessages::Token) => AofLineMode::TokenMessages,
        (_, StdoutMessages::Any) => AofLineMode::Messages,
    }
}

#[cfg(test)]
mod tests {
    use adjutant_config::Agent;

    use super::*;

    fn launch(agent: &Agent) -> AgentLaunch {
        let here = LaunchContext::new(Path::new("/home/project"), Path::new("/bin/adjutant"));
        AgentLaunch::for_agent(agent, &Scheduler::default(), &here, "Do it.".to_owned())
    }

    #[test]
    fn command_agent_is_started_as_configured() {
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
    fn script_agent_is_played_by_adjutant_itself() {
        let agent = Agent { script: Some("crew/a.yaml".into()), ..Agent::new(Kind::Script) };
        let made = launch(&agent);
        assert_eq!(made.command, ["/bin/adjutant", "script-agent", "/home/project/crew/a.yaml"]);
        assert_eq!(made.limits.timeout_ms, Some(3_600_000));
    }

    #[test]
    fn task_time_limits_override_agent_time_limits() {
        let agent = Agent { script: Some("a.yaml".into()), ..Agent::new(Kind::Script) };
        let times = |timeout, idle_timeout| {
            let made = launch(&agent);
            let limits =
                made.with_task_limits(taskfile::TaskTimeLimits { timeout, idle_timeout }).limits;
            (limits.timeout_ms, limits.idle_timeout_ms)
        };
        let after = |secs| Some(taskfile::DurationLimit::After(Duration::from_secs(secs)));
        assert_eq!(times(None, None), (Some(3_600_000), Some(900_000)));
        assert_eq!(times(after(7200), None), (Some(7_200_000), Some(900_000)));
        assert_eq!(times(Some(taskfile::DurationLimit::Off), after(1)), (None, Some(1_000)));
    }
    #[test]
    fn agent_with_adapter_inherits_only_its_list_and_env_pass() {
        for kind in Kind::ALL {
            let agent = Agent { env_pass: vec!["CARGO_*".into()], ..Agent::new(kind) };
            let inherits = |name| launch(&agent).environment.inherits(name);
            let is_free = matches!(kind, Kind::Command | Kind::Script | Kind::Webhook);
            assert!(inherits("PATH") && inherits("CARGO_NET_OFFLINE"), "{}", kind.as_str());
            assert_eq!(inherits("DATABASE_URL"), is_free, "{}", kind.as_str());
            let needed = sign_in_detection(kind).map_or(&[][..], |detection| detection.variables);
            assert!(needed.iter().all(|name| inherits(name)), "{}", kind.as_str());
        }
    }

    #[test]
    fn secret_of_adjutant_is_inherited_by_no_agent_but_the_webhook_that_signs_with_it() {
        let secrets = ["HOOK_SECRET".to_owned(), "OPENAI_NOTIFY_URL".to_owned()];
        for kind in Kind::ALL {
            let secret_env = (kind == Kind::Webhook).then(|| "HOOK_SECRET".to_owned());
            let env_pass = vec!["*".to_owned()];
            let agent = Agent { secret_env, env_pass, ..Agent::new(kind) };
            let environment = inherited_environment(&agent, &secrets, BTreeMap::new());
            let seen = secrets.each_ref().map(|name| environment.inherits(name));
            assert_eq!(seen, [kind == Kind::Webhook, false], "{}", kind.as_str());
        }
    }
}
