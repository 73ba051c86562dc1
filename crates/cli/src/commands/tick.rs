//! `adjutant tick`: gives out work once, and clears up what is over.

use std::process::ExitCode;

use adjutant_core::Time;
use adjutant_core::command::Chore;
use adjutant_core::schedule::{Action, Recovery};
use adjutant_runtime::{Ticked, daemon};
use serde_json::{Map, Value, json};

use crate::data::{Data, rest, this_program};
use crate::error::Failure;
use crate::output::Output;

/// Give out work once, and clear up after runs that are over
#[derive(Debug, clap::Args)]
pub(crate) struct Tick {
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Take it to be this time
    #[arg(long, value_name = "TIME", value_parser = super::task::time)]
    now: Option<Time>,
}

impl Tick {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        data.permit(Chore::Tick, "cannot give out work", out)?;
        if data.is_shared() && !self.dry_run {
            return Err(Failure::usage("in a fleet, `adjutant up` gives out work"));
        }
        let mut engine = data.engine_at(self.now)?;
        let ticked = if self.dry_run {
            let ticked = daemon::tick_dry(&data.folder, &mut engine)?;
            rest(&mut engine, out);
            ticked
        } else {
            daemon::tick(&data.folder, data.config(), this_program()?, engine)?
        };
        let executed = if self.dry_run { 0 } else { ticked.executed() };
        if out.is_json() {
            out.document(&document(&ticked, executed))?;
            return Ok(ExitCode::SUCCESS);
        }
        for action in &ticked.actions {
            out.line(&line(action))?;
        }
        if ticked.actions.is_empty() {
            out.line("there is nothing to do")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn document(ticked: &Ticked, executed: usize) -> Value {
    json!({
        "now": ticked.now.to_string(),
        "actions": ticked.actions.iter().map(described).collect::<Value>(),
        "actionsExecuted": executed,
    })
}

/// Describes an action: its type, its task, and what else there is to say about it.
fn described(action: &Action) -> Value {
    let mut fields = Map::new();
    fields.insert("type".into(), action.kind().into());
    fields.insert("taskId".into(), action.task().as_str().into());
    let more = match action {
        Action::StaleHeartbeat { recovery, .. }
        | Action::ExpireLease { recovery, .. }
        | Action::RunLost { recovery, .. } => json!({"recovery": recovered(*recovery)}),
        Action::RunOver { fence, .. } => json!({"fence": fence}),
        Action::RenewLease { fence, expires_at, .. } => {
            json!({"fence": fence, "expiresAt": expires_at.to_string()})
        }
        Action::Block { dependency, .. } => json!({"dependency": dependency.as_str()}),
        Action::Unblock { .. } => json!({}),
        Action::Assign { agent, node, attempt, fence, .. } => {
            let mut more = json!({"agent": agent.as_str(), "attempt": attempt, "fence": fence});
            if let Some(node) = node {
                more["node"] = node.as_str().into();
            }
            more
        }
    };
    if let Value::Object(more) = more {
        fields.extend(more);
    }
    fields.into()
}

fn recovered(recovery: Recovery) -> &'static str {
    match recovery {
        Recovery::Result(outcome) => outcome.as_str(),
        Recovery::Reclaim => "reclaim",
        Recovery::Deadletter => "deadletter",
    }
}

fn line(action: &Action) -> String {
    let more = match action {
        Action::StaleHeartbeat { recovery, .. }
        | Action::ExpireLease { recovery, .. }
        | Action::RunLost { recovery, .. } => format!(": {}", recovered(*recovery)),
        Action::Block { dependency, .. } => format!(": {dependency} was given up"),
        Action::Assign { agent, attempt, .. } => format!(": to {agent}, attempt {attempt}"),
        Action::RenewLease { expires_at, .. } => format!(": until {expires_at}"),
        Action::RunOver { .. } | Action::Unblock { .. } => String::new(),
    };
    format!("{} {}{more}", action.task(), action.kind())
}
