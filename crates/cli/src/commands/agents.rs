//! `adjutant agents`: who is configured, who is on the machine, and whether somebody works.

mod test;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_core::account::Usage;
use adjutant_core::schedule::spent_on;
use adjutant_core::{AgentId, NodeId, TaskId, Time, World};
use adjutant_runtime::config::{Agent, Kind, Sandbox};
use adjutant_runtime::http_post::Address;
use adjutant_runtime::shim::files::Folder as Attempt;
use adjutant_runtime::{Clock, SystemClock, sandbox};
use serde_json::{Map, Value, json};

use crate::data::Data;
use crate::error::Failure;
use crate::machine;
use crate::output::{Colour, Output, clean};
use crate::table::{self, Cell};
use crate::view::work;

/// Show the agents: who is configured, who is found on this machine, how many slots are used
#[derive(Debug, clap::Args)]
pub(crate) struct Agents {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Test(test::Test),
}

/// An agent of the configuration, as it stands.
struct Row<'a> {
    name: &'a str,
    agent: &'a Agent,
    used: usize,
    /// What it used today.
    today: Usage,
    /// Where what starts it is, or why it cannot be started.
    program: Result<PathBuf, String>,
    /// What is to be known of the version its last run told of.
    warning: Option<String>,
}

impl Agents {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        match self.what {
            Some(What::Test(test)) => test.run(data, out),
            None => show(data, out),
        }
    }
}

/// Returns who is configured and who is found on the machine, as JSON.
pub(crate) fn whole(data: &Data, load: &Load) -> Value {
    let (rows, found) = look(data, load);
    listing(&rows, &found, load)
}

fn listing(rows: &[Row<'_>], found: &[(Kind, PathBuf)], load: &Load) -> Value {
    let found: Vec<Value> =
        found.iter().map(|(kind, path)| json!({"kind": kind.as_str(), "program": path})).collect();
    let rows: Vec<Value> = rows.iter().map(document).collect();
    let mut whole = json!({"agents": rows, "found": found});
    if !load.nodes.is_empty() {
        let slots = |slots: &BTreeMap<AgentId, u32>| -> Map<String, Value> {
            slots.iter().map(|(agent, slots)| (agent.to_string(), (*slots).into())).collect()
        };
        let nodes = load.nodes.iter();
        whole["nodes"] =
            nodes.map(|(node, has)| json!({"node": node.as_str(), "agents": slots(has)})).collect();
    }
    whole
}

fn look<'d>(data: &'d Data, load: &Load) -> (Vec<Row<'d>>, Vec<(Kind, PathBuf)>) {
    let rows: Vec<Row<'_>> =
        data.config().agents.iter().map(|(name, agent)| row(data, load, name, agent)).collect();
    let found = machine::agents()
        .into_iter()
        .filter(|(kind, _)| !rows.iter().any(|row| row.agent.kind == *kind))
        .collect();
    (rows, found)
}

fn show(data: &Data, out: &Output) -> Result<ExitCode, Failure> {
    let load = load(&data.world_of_all(out)?);
    let (rows, found) = look(data, &load);
    if out.is_json() {
        out.document(&listing(&rows, &found, &load))?;
        return Ok(ExitCode::SUCCESS);
    }
    let warned = |row: &Row<'_>| Some((row.name.to_owned(), row.warning.clone()?));
    let warnings: Vec<(String, String)> = rows.iter().filter_map(warned).collect();
    if rows.is_empty() {
        out.line("no agent is configured; `[agents.NAME]` in adjutant.toml makes one")?;
    } else {
        let rows: Vec<[Cell; 5]> = rows.iter().map(cells).collect();
        table::print(out, ["AGENT", "KIND", "SLOTS", "TODAY", "PROGRAM"], &rows)?;
    }
    for (name, warning) in &warnings {
        let text = format!("{name}: {}", clean(warning));
        out.line(&out.paint(Colour::Yellow, &text))?;
    }
    for (node, has) in &load.nodes {
        let has: Vec<String> =
            has.iter().map(|(agent, slots)| format!("{agent} ({slots})")).collect();
        out.line(&format!("on {node}: {}", has.join(", ")))?;
    }
    for (kind, path) in found {
        let path = clean(&path.display().to_string());
        out.line(&format!("found, and not configured: {} ({path})", kind.as_str()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What each agent has to do, and has used.
pub(crate) struct Load {
    runs: BTreeMap<AgentId, usize>,
    today: BTreeMap<AgentId, Usage>,
    /// The last run of each, and when its task was last touched.
    last: BTreeMap<AgentId, (Time, TaskId, u32)>,
    /// The agents each node of a fleet has, with their slots.
    nodes: BTreeMap<NodeId, BTreeMap<AgentId, u32>>,
}

/// Counts the runs of each agent, and what it used today.
pub(crate) fn load(world: &World) -> Load {
    let mut runs = BTreeMap::<AgentId, usize>::new();
    let mut last = BTreeMap::<AgentId, (Time, TaskId, u32)>::new();
    for task in world.tasks() {
        let open = task.trials.open.as_ref().map(|run| &run.agent);
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
    let today = spent_on(world, SystemClock.now()).into_iter();
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
    Load { runs, today, last, nodes }
}

fn row<'a>(data: &Data, load: &Load, name: &'a str, agent: &'a Agent) -> Row<'a> {
    let id = AgentId::parse(name).ok();
    let used = id.as_ref().and_then(|id| load.runs.get(id).copied()).unwrap_or(0);
    let last = id.as_ref().and_then(|id| load.last.get(id));
    let today = id.as_ref().and_then(|id| load.today.get(id).copied()).unwrap_or_default();
    let warning = last.and_then(|(_, task, attempt)| {
        let attempts = data.folder.root().join("runs").join(task.as_str()).join("attempts");
        Attempt::at(&attempts.join(attempt.to_string())).told().ok().flatten()?.untried
    });
    Row { name, agent, used, today, program: program(data, agent), warning }
}

/// Finds what an agent is started by.
fn program(data: &Data, agent: &Agent) -> Result<PathBuf, String> {
    if agent.sandbox == Sandbox::Landlock {
        sandbox::check().map_err(|why| why.to_string())?;
    }
    let home = data.folder.workspace();
    let workspace = agent.workspace.as_ref().map_or(home.clone(), |inner| home.join(inner));
    let missing = |what: &str| format!("{what} is not there");
    match agent.kind {
        Kind::Script => {
            let script = workspace.join(agent.script.clone().unwrap_or_default());
            let there = script.is_file();
            there.then_some(script).ok_or_else(|| missing("its script"))
        }
        Kind::Command | Kind::Acp => {
            let name = agent.command.first().map_or("", String::as_str);
            started_by(name, &workspace).ok_or_else(|| missing(name))
        }
        Kind::Claude | Kind::Codex | Kind::Gemini | Kind::Opencode | Kind::Goose => {
            let name = agent.command.first().map_or(agent.kind.as_str(), String::as_str);
            started_by(name, &workspace).ok_or_else(|| missing(name))
        }
        // Where it is shows no more of it than it must: an address may open a door.
        Kind::Webhook => match Address::parse(agent.url.as_deref().unwrap_or_default()) {
            Ok(address) => Ok(PathBuf::from(address.to_string())),
            Err(bad) => Err(format!("its url {bad}")),
        },
    }
}

/// Finds a program as a run does: by its path from the workspace, else as a shell does.
fn started_by(name: &str, workspace: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        Some(workspace.join(name)).filter(|path| machine::is_program(path))
    } else {
        machine::find(name)
    }
}

fn document(row: &Row<'_>) -> Value {
    json!({
        "name": row.name,
        "kind": row.agent.kind.as_str(),
        "slots": row.agent.slots,
        "used": row.used,
        "today": work::usage(row.today),
        "program": row.program.as_ref().ok(),
        "problem": row.program.as_ref().err(),
        "warning": row.warning,
    })
}

fn cells(row: &Row<'_>) -> [Cell; 5] {
    let program = match &row.program {
        Ok(path) => Cell::new(path.display().to_string()),
        Err(problem) => Cell::coloured(Colour::Red, problem.as_str()),
    };
    let slots = Cell::new(format!("{} of {}", row.used, row.agent.slots));
    let today = if row.today.is_nothing() { String::new() } else { work::used(row.today) };
    [Cell::new(row.name), Cell::new(row.agent.kind.as_str()), slots, Cell::new(today), program]
}
