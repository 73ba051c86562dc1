//! `adjutant agents`: the configured agents, those installed on this machine, and their load.

mod allow;
mod test;

use std::process::ExitCode;

use adjutant_config::NetworkAccess;
use adjutant_query::agents::{AgentLoad, AgentView, AgentsView, FoundAgent, NodeAgents};

use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour, clean};
use crate::table::{self, TableCell};
use crate::view::work_summary::format_usage;

/// List the configured agents with their load, and agents installed on this machine
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant agents              list the agents
  adjutant agents test claude  check that one works")]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    what: Option<AgentsCommand>,
}

#[derive(Debug, clap::Subcommand)]
enum AgentsCommand {
    Test(test::AgentTestArgs),
    Allow(allow::AgentAllowArgs),
}

impl AgentsArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        match self.what {
            Some(AgentsCommand::Test(test)) => test.run(data, out),
            Some(AgentsCommand::Allow(allow)) => allow.run(data, out),
            None => show(data, out),
        }
    }
}

fn show(data: &ProjectData, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
    let load = AgentLoad::new(&data.load_fleet_world(out)?);
    let view = AgentsView::new(&data.folder, data.config(), &load);
    if out.is_json() {
        out.document(&view)?;
        return Ok(ExitCode::SUCCESS);
    }
    let AgentsView { agents, found, nodes } = &view;
    if agents.is_empty() {
        out.line("no agents are configured; add `[agents.NAME]` to adjutant.toml")?;
    } else {
        let rows: Vec<[TableCell; 5]> = agents.iter().map(cells).collect();
        table::print(out, ["AGENT", "KIND", "SLOTS", "TODAY", "PROGRAM"], &rows)?;
    }
    for agent in agents {
        if let Some(warning) = &agent.warning {
            let text = format!("{}: {}", agent.name, clean(warning));
            out.line(&out.paint(TextColour::Yellow, &text))?;
        }
    }
    for agent in agents.iter().filter(|agent| !agent.sandbox.is_none()) {
        let network = data.config().agents.get(&agent.name).map(|agent| &agent.network);
        let network = network.map_or(String::new(), describe_network);
        out.line(&format!("{}: sandbox {}{network}", agent.name, agent.sandbox))?;
    }
    for agent in agents.iter().filter(|agent| !agent.hosts.is_empty()) {
        let hosts = agent.hosts.join(", ");
        out.line(&format!("{}: its program connects to {hosts}", agent.name))?;
    }
    for NodeAgents { node, agents } in nodes {
        let agents = agents.iter().map(|(agent, slots)| format!("{agent} ({slots})"));
        out.line(&format!("on {node}: {}", agents.collect::<Vec<_>>().join(", ")))?;
    }
    for FoundAgent { kind, program } in found {
        let path = clean(&program.display().to_string());
        out.line(&format!("installed but not configured: {kind} ({path})"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Describes what an agent may connect to; empty if that is everything.
fn describe_network(network: &NetworkAccess) -> String {
    match network {
        NetworkAccess::Open => String::new(),
        NetworkAccess::Off => ", no network".to_owned(),
        NetworkAccess::Hosts(hosts) if hosts.is_empty() => ", network to no host".to_owned(),
        NetworkAccess::Hosts(hosts) => {
            let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
            format!(", network only to {}", hosts.join(", "))
        }
    }
}

fn cells(agent: &AgentView) -> [TableCell; 5] {
    let program = match (&agent.program, &agent.problem) {
        (Some(path), _) => TableCell::new(path.display().to_string()),
        (None, problem) => {
            TableCell::coloured(TextColour::Red, problem.as_deref().unwrap_or_default())
        }
    };
    let today = agent.today;
    [
        TableCell::new(&agent.name),
        TableCell::new(agent.kind),
        TableCell::new(format!("{} of {}", agent.used, agent.slots)),
        TableCell::new(if today.is_nothing() { String::new() } else { format_usage(today) }),
        program,
    ]
}
