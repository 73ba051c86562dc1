//! `adjutant fleet`: shows the nodes that share a project, and restores a fleet from a folder.

use std::process::ExitCode;

use adjutant_engine::fleet::{KnownNodes, NodeInfo};
use adjutant_model::NodeId;
use adjutant_model::command::OperatorAction;
use adjutant_store::FleetNetwork;
use clap::Subcommand;
use serde_json::{Value, json};

use crate::data::ProjectData;
use crate::fleet_connection;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour};
use crate::table::{self, TableCell};

/// Show the nodes of a fleet, or restore a fleet from this folder
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant fleet status   show the nodes and the leader
  adjutant fleet restore  start the fleet again after its servers lost their data")]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    what: FleetCommand,
}

#[derive(Debug, Subcommand)]
enum FleetCommand {
    /// Show the nodes, the leader, and how many commits each node is behind
    #[command(after_help = "\
Examples:
  adjutant fleet status")]
    Status,
    /// Publish this folder as the data of the fleet, on servers that are new or lost their data
    #[command(after_help = "\
Run it on the node with the newest data. It fails if the servers already have data of the fleet.

Examples:
  adjutant fleet restore")]
    Restore,
}

impl FleetArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        if matches!(self.what, FleetCommand::Restore) {
            let attempt = "cannot restore the fleet from this folder";
            data.require_operator(OperatorAction::Restore, attempt, out)?;
        }
        if !data.is_in_fleet() {
            return Err(CommandFailure::report_usage_error("this project is not in a fleet")
                .with_hint("set `store = \"nats://host:port,…\"` in adjutant.toml"));
        }
        match self.what {
            FleetCommand::Status => status(data, out),
            FleetCommand::Restore => restore(data, out),
        }
    }
}

fn restore(data: &ProjectData, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
    let version = fleet_connection::restore(&data.folder, data.config())?;
    if out.is_json() {
        out.document(&json!({ "version": version.0 }))?;
    } else {
        out.line(&format!("the fleet continues from this folder, at version {version}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn status(data: &ProjectData, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
    let servers = fleet_connection::connect(&data.folder, data.config())?;
    let term = data.config().nats.term.0;
    let net: &dyn FleetNetwork = &servers;
    let decider = net.current_leader(term)?;
    let KnownNodes(nodes) = KnownNodes::fetch(net)?;
    let end = net.version()?.0;
    let is_decider = |node: &str| decider.as_ref().is_some_and(|who| who.as_str() == node);
    if out.is_json() {
        let each = |(node, info): (&NodeId, &NodeInfo)| {
            node_json(node.as_str(), info, is_decider(node.as_str()), end)
        };
        let who = decider.as_ref().map(NodeId::as_str);
        let nodes: Vec<Value> = nodes.iter().map(each).collect();
        out.document(&json!({ "version": end, "decider": who, "nodes": nodes }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if nodes.is_empty() {
        out.line("no node is up; start one with `adjutant up`")?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<[TableCell; 6]> = nodes
        .iter()
        .map(|(node, info)| row(node.as_str(), info, is_decider(node.as_str()), end))
        .collect();
    table::print(out, ["NODE", "ROLE", "BEHIND", "RUNS", "SINCE", "AGENTS"], &rows)?;
    if decider.is_none() {
        out.line("there is no leader at the moment; a node takes over within seconds")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(node: &str, info: &NodeInfo, decides: bool, end: u64) -> [TableCell; 6] {
    let role = if decides {
        TableCell::coloured(TextColour::Green, "leader")
    } else {
        TableCell::new("follower")
    };
    let agents: Vec<String> =
        info.agents.iter().map(|(name, agent)| format!("{name} ({})", agent.slots)).collect();
    let mut has = agents.join(", ");
    if !info.labels.is_empty() {
        has = format!("{has} [{}]", info.labels.join(", "));
    }
    [
        TableCell::new(node),
        role,
        TableCell::new(end.saturating_sub(info.version).to_string()),
        TableCell::new(format!("{} of {}", info.runs, info.concurrency)),
        TableCell::new(info.since.clone()),
        TableCell::new(has),
    ]
}

fn node_json(node: &str, info: &NodeInfo, decides: bool, end: u64) -> Value {
    let agents: serde_json::Map<String, Value> =
        info.agents.iter().map(|(name, agent)| (name.clone(), agent.slots.into())).collect();
    json!({
        "node": node,
        "decides": decides,
        "version": info.version,
        "behind": end.saturating_sub(info.version),
        "runs": info.runs,
        "concurrency": info.concurrency,
        "labels": info.labels,
        "agents": agents,
        "since": info.since,
        "program": info.program,
    })
}
