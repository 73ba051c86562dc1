//! `adjutant fleet`: shows the nodes that share a project, makes the key of a node, and restores a
//! fleet from a folder.

use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_engine::fleet::{KnownNodes, NodeInfo};
use adjutant_model::NodeId;
use adjutant_model::command::OperatorAction;
use adjutant_store::FleetNetwork;
use clap::Subcommand;
use serde_json::{Value, json};

use crate::data::ProjectData;
use crate::fleet_connection;
use crate::node_key_file::open_key;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour};
use crate::table::{self, TableCell};

/// Show the nodes of a fleet, make the key of a node, or restore a fleet
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant fleet status   show the nodes and the leader
  adjutant fleet key      print the line that makes this node a member of a fleet
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
    /// Print the name and the public key of this node, for `accepted_keys` on every node
    #[command(after_help = "\
The key is made if there is none yet. It stays on this machine, and only its owner can read it.

Examples:
  adjutant fleet key
  adjutant fleet key --file nats.nk   make a key for a NATS user, and print its public part")]
    Key {
        /// The file with the key, relative to the data folder; it need not be the node's own key
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
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
        if let FleetCommand::Key { file } = &self.what {
            return key(data, file.as_ref(), out);
        }
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
            FleetCommand::Key { file } => key(data, file.as_ref(), out),
        }
    }
}

/// Prints a public key. The key of the node comes with its name, as a line of `accepted_keys`.
fn key(
    data: &ProjectData,
    file: Option<&PathBuf>,
    out: &CommandOutput,
) -> Result<ExitCode, CommandFailure> {
    data.require_operator(OperatorAction::NodeKey, "cannot show the key of this node", out)?;
    let nats = &data.config().nats;
    let is_own = file.is_none_or(|file| *file == nats.node_key);
    let path = data.folder.root().join(file.unwrap_or(&nats.node_key));
    let public = open_key(&path)?.public().to_string();
    let node = fleet_connection::own_identity(data.config())?.node;
    let file = path.display().to_string();
    match (out.is_json(), is_own) {
        (true, true) => out.document(&json!({ "node": node, "key": public, "file": file }))?,
        (true, false) => out.document(&json!({ "key": public, "file": file }))?,
        (false, true) => out.line(&format!("{node} {public}"))?,
        (false, false) => out.line(&public)?,
    }
    Ok(ExitCode::SUCCESS)
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
