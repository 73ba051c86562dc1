//! `adjutant fleet`: the machines that share a project.

use std::process::ExitCode;

use adjutant_core::NodeId;
use adjutant_core::command::Chore;
use adjutant_runtime::fleet::{Known, NodeInfo};
use adjutant_store::Net;
use clap::Subcommand;
use serde_json::{Value, json};

use crate::data::Data;
use crate::error::Failure;
use crate::fleet;
use crate::output::{Colour, Output};
use crate::table::{self, Cell};

/// Look at the machines that share the project
#[derive(Debug, clap::Args)]
pub(crate) struct Fleet {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Say which nodes there are, who decides, and how far each has followed
    Status,
    /// Make this folder the fleet's, on servers that have none: when a cluster was lost, or is new
    Restore,
}

impl Fleet {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        if !data.is_shared() {
            return Err(Failure::usage("this project is not shared by a fleet")
                .hint("`store = \"nats://host:port,…\"` in adjutant.toml makes it one"));
        }
        match self.what {
            What::Status => status(data, out),
            What::Restore => restore(data, out),
        }
    }
}

fn restore(data: &Data, out: &Output) -> Result<ExitCode, Failure> {
    data.permit(Chore::Restore, "cannot make this folder the fleet's", out)?;
    let version = fleet::restore(data)?;
    if out.is_json() {
        out.document(&json!({ "version": version.0 }))?;
    } else {
        out.line(&format!("the fleet goes on from this folder, at version {version}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn status(data: &Data, out: &Output) -> Result<ExitCode, Failure> {
    let servers = fleet::connect(data)?;
    let term = data.config().nats.term.0;
    let net: &dyn Net = &servers;
    let decider = net.decider(term)?;
    let Known(nodes) = Known::of(net)?;
    let end = net.version()?.0;
    let is_decider = |node: &str| decider.as_ref().is_some_and(|who| who.as_str() == node);
    if out.is_json() {
        let each = |(node, info): (&NodeId, &NodeInfo)| {
            described(node.as_str(), info, is_decider(node.as_str()), end)
        };
        let who = decider.as_ref().map(NodeId::as_str);
        let nodes: Vec<Value> = nodes.iter().map(each).collect();
        out.document(&json!({ "version": end, "decider": who, "nodes": nodes }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if nodes.is_empty() {
        out.line("no node is up; `adjutant up` on any of them makes it one")?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<[Cell; 6]> = nodes
        .iter()
        .map(|(node, info)| row(node.as_str(), info, is_decider(node.as_str()), end))
        .collect();
    table::print(out, ["NODE", "ROLE", "BEHIND", "RUNS", "SINCE", "AGENTS"], &rows)?;
    if decider.is_none() {
        out.line("nobody decides at this moment; a node takes over within seconds")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(node: &str, info: &NodeInfo, decides: bool, end: u64) -> [Cell; 6] {
    let role =
        if decides { Cell::coloured(Colour::Green, "decides") } else { Cell::new("follows") };
    let agents: Vec<String> =
        info.agents.iter().map(|(name, agent)| format!("{name} ({})", agent.slots)).collect();
    let mut has = agents.join(", ");
    if !info.labels.is_empty() {
        has = format!("{has} [{}]", info.labels.join(", "));
    }
    [
        Cell::new(node),
        role,
        Cell::new(end.saturating_sub(info.version).to_string()),
        Cell::new(format!("{} of {}", info.runs, info.concurrency)),
        Cell::new(info.since.clone()),
        Cell::new(has),
    ]
}

fn described(node: &str, info: &NodeInfo, decides: bool, end: u64) -> Value {
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
