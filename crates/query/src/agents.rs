//! The configured agents, those installed on this machine, and their load.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use adjutant_config::{Agent, Config, Kind};
use adjutant_core::World;
use adjutant_core::schedule::usage_on_day;
use adjutant_http_client::PostUrl;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::usage::TokenUsage;
use adjutant_model::{AgentId, NodeId, TaskId, Time};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_run_files::attempt_files::AttemptFolder;
use adjutant_runs::agent::program::find_agent_program;
use adjutant_runs::agent::{AgentSelfReport, needed_hosts};
use adjutant_runs::sandbox;
use adjutant_store::file::DataFolder;
use serde::Serialize;

use crate::installed_agents;
use crate::run::attempts_folder;

/// The configured agents, and those that are installed but not configured.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Agents"))]
pub struct AgentsView {
    /// The configured agents.
    pub agents: Vec<AgentView>,
    /// The agents on this machine that are not configured.
    pub found: Vec<FoundAgent>,
    /// The agents of each fleet node; absent on one machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeAgents>,
}

/// A configured agent.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentView {
    pub name: String,
    pub kind: &'static str,
    pub slots: u32,
    /// The number of slots in use.
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub used: usize,
    /// Token usage of today.
    pub today: TokenUsage,
    /// The path of its program or script; null if it cannot be started.
    pub program: Option<PathBuf>,
    /// Why it cannot be started.
    pub problem: Option<String>,
    /// A warning about the agent's version, from its last run.
    pub warning: Option<String>,
    /// The hosts that agents of its kind connect to by themselves.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub hosts: &'static [&'static str],
    /// What confines its runs.
    pub sandbox: SandboxLevel,
}

/// An agent that is installed on this machine but not configured.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoundAgent {
    pub kind: &'static str,
    pub program: PathBuf,
}

/// The agents of a fleet node.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeAgents {
    pub node: NodeId,
    /// The agents with their slots.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, u32>"))]
    pub agents: BTreeMap<AgentId, u32>,
}

impl AgentsView {
    pub fn new(folder: &DataFolder, config: &Config, load: &AgentLoad) -> Self {
        let agents = config.agents.iter();
        let is_new = |kind: Kind| !config.agents.values().any(|agent| agent.kind == kind);
        let found = installed_agents::find_agents().into_iter().filter(|(kind, _)| is_new(*kind));
        let nodes = load.nodes.iter();
        Self {
            agents: agents.map(|(name, agent)| AgentView::new(folder, load, name, agent)).collect(),
            found: found
                .map(|(kind, program)| FoundAgent { kind: kind.as_str(), program })
                .collect(),
            nodes: nodes
                .map(|(node, agents)| NodeAgents { node: node.clone(), agents: agents.clone() })
                .collect(),
        }
    }
}

impl AgentView {
    fn new(folder: &DataFolder, load: &AgentLoad, name: &str, agent: &Agent) -> Self {
        let id = AgentId::parse(name).ok();
        let last = id.as_ref().and_then(|id| load.last_runs.get(id));
        let warning = last.and_then(|(_, task, attempt)| {
            let attempts = attempts_folder(folder.root(), task);
            let attempt = AttemptFolder::new(&attempts.join(attempt.to_string()));
            attempt.telemetry::<AgentSelfReport>().ok().flatten()?.untried
        });
        let (program, problem) = match find_start(&folder.workspace(), agent) {
            Ok(program) => (Some(program), None),
            Err(problem) => (None, Some(problem)),
        };
        Self {
            name: name.to_owned(),
            kind: agent.kind.as_str(),
            slots: agent.slots,
            used: id.as_ref().and_then(|id| load.runs.get(id).copied()).unwrap_or(0),
            today: id.as_ref().and_then(|id| load.today.get(id).copied()).unwrap_or_default(),
            program,
            problem,
            warning,
            hosts: needed_hosts(agent.kind),
            sandbox: agent.sandbox_level(),
        }
    }
}

/// What the agents do now and did today, counted from the world.
pub struct AgentLoad {
    runs: BTreeMap<AgentId, usize>,
    today: BTreeMap<AgentId, TokenUsage>,
    /// The last run of each agent, and when its task was last updated.
    last_runs: BTreeMap<AgentId, (Time, TaskId, u32)>,
    /// The agents of each fleet node, with their slots.
    nodes: BTreeMap<NodeId, BTreeMap<AgentId, u32>>,
}

impl AgentLoad {
    /// Counts the runs and today's token usage of each agent.
    pub fn new(world: &World) -> Self {
        let mut runs = BTreeMap::<AgentId, usize>::new();
        let mut last = BTreeMap::<AgentId, (Time, TaskId, u32)>::new();
        for task in world.tasks() {
            let open = task.history.open.as_ref().map(|run| &run.agent);
            if let Some(agent) = open.or(task.lease().map(|lease| &lease.agent)) {
                *runs.entry(agent.clone()).or_default() += 1;
            }
            let run = task.lease().map(|lease| (&lease.agent, lease.attempt));
            let run = run.or(task.last_run.as_ref().map(|run| (&run.agent, run.attempt)));
            if let Some((agent, attempt)) = run {
                let this = (task.updated_at, task.id.clone(), attempt);
                let known = last.entry(agent.clone()).or_insert_with(|| this.clone());
                *known = this.max(known.clone());
            }
        }
        let today = usage_on_day(world, SystemClock.now()).into_iter();
        let today = today.map(|(agent, usage)| (agent.clone(), usage)).collect();
        let nodes = world.policy().nodes.iter();
        let nodes = nodes
            .map(|(node, at)| {
                (
                    node.clone(),
                    at.agents.iter().map(|(name, agent)| (name.clone(), agent.slots)).collect(),
                )
            })
            .collect();
        Self { runs, today, last_runs: last, nodes }
    }
}

/// Finds the program, script or address that an agent is started by.
fn find_start(home: &Path, agent: &Agent) -> Result<PathBuf, String> {
    let program = std::env::current_exe().unwrap_or_default();
    sandbox::check(agent.sandbox_level(), &program).map_err(|why| why.to_string())?;
    let workspace = agent.workspace.as_ref().map_or(home.to_owned(), |inner| home.join(inner));
    match agent.kind {
        Kind::Script => {
            let script = agent.script.clone().unwrap_or_default();
            // A worktree has the script if it is committed.
            if agent.has_worktree() && script.is_relative() {
                return Ok(script);
            }
            let script = workspace.join(script);
            let there = script.is_file();
            there.then_some(script).ok_or_else(|| "its script does not exist".to_owned())
        }
        Kind::Command
        | Kind::Acp
        | Kind::Claude
        | Kind::Codex
        | Kind::Gemini
        | Kind::Opencode
        | Kind::Goose => find_agent_program(agent, home)
            .unwrap_or_else(|| Ok(PathBuf::from(agent.command.first().map_or("", String::as_str)))),
        // An address may contain a secret; the display of `Address` hides it.
        Kind::Webhook => match PostUrl::parse(agent.url.as_deref().unwrap_or_default()) {
            Ok(address) => Ok(PathBuf::from(address.to_string())),
            Err(bad) => Err(format!("its url {bad}")),
        },
    }
}
