//! `adjutant tick`: runs the scheduler once and cleans up after runs that have ended.

use std::process::ExitCode;

use adjutant_core::schedule::{ScheduleAction, TaskRecovery};
use adjutant_daemon as daemon;
use adjutant_engine::TickOutcome;
use adjutant_model::Time;
use adjutant_model::command::OperatorAction;
use serde_json::{Map, Value, json};

use crate::data::{ProjectData, this_program};
use crate::folder_writer::rest;
use crate::output::CommandOutput;
use crate::output::error::{CommandFailure, daemon_failure};

/// Run the scheduler once: assign ready tasks and clean up after runs that have ended
#[derive(Debug, clap::Args)]
#[command(after_help = "\
`adjutant up` does this all the time; use `tick` where no daemon is running.

Examples:
  adjutant tick            assign what is ready, start the runs and return
  adjutant tick --dry-run  show what it would do")]
pub(crate) struct TickArgs {
    /// Show the actions without doing anything
    #[arg(long)]
    dry_run: bool,
    /// Use this time instead of the current one
    #[arg(long, value_name = "TIME", value_parser = crate::time_argument::start)]
    now: Option<Time>,
}

impl TickArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        data.require_operator(OperatorAction::Tick, "cannot run the scheduler", out)?;
        if data.is_in_fleet() && !self.dry_run {
            return Err(CommandFailure::report_usage_error(
                "in a fleet only `adjutant up` assigns tasks",
            ));
        }
        let accepted;
        let data = if self.dry_run {
            data
        } else {
            accepted = data.with_accepted_config("cannot assign work", out)?;
            accepted.require_git("cannot assign work")?;
            &accepted
        };
        let mut engine = data.open_engine_at(self.now)?;
        let ticked = if self.dry_run {
            let ticked = daemon::preview_tick(&data.folder, &mut engine)?;
            rest(&mut engine, out);
            ticked
        } else {
            daemon::tick(&data.folder, data.config(), this_program()?, engine)
                .map_err(daemon_failure)?
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
            out.line("nothing to do")?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn document(ticked: &TickOutcome, executed: usize) -> Value {
    json!({
        "now": ticked.now.to_string(),
        "actions": ticked.actions.iter().map(action_json).collect::<Value>(),
        "actionsExecuted": executed,
    })
}

/// Returns an action as JSON: its type, its task, and the fields of its type.
fn action_json(action: &ScheduleAction) -> Value {
    let mut fields = Map::new();
    fields.insert("type".into(), action.kind().into());
    fields.insert("taskId".into(), action.task().as_str().into());
    let more = match action {
        ScheduleAction::StaleHeartbeat { recovery, .. }
        | ScheduleAction::ExpireLease { recovery, .. }
        | ScheduleAction::RunLost { recovery, .. } => json!({"recovery": recovery_word(*recovery)}),
        ScheduleAction::RunOver { fence, .. } => json!({"fence": fence}),
        ScheduleAction::RenewLease { fence, expires_at, .. } => {
            json!({"fence": fence, "expiresAt": expires_at.to_string()})
        }
        ScheduleAction::Block { dependency, .. } => json!({"dependency": dependency.as_str()}),
        ScheduleAction::Unblock { .. } => json!({}),
        ScheduleAction::Assign { agent, node, attempt, fence, .. } => {
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

fn recovery_word(recovery: TaskRecovery) -> &'static str {
    match recovery {
        TaskRecovery::Result(outcome) => outcome.as_str(),
        TaskRecovery::Reclaim => "reclaim",
        TaskRecovery::Deadletter => "deadletter",
    }
}

fn line(action: &ScheduleAction) -> String {
    let more = match action {
        ScheduleAction::StaleHeartbeat { recovery, .. }
        | ScheduleAction::ExpireLease { recovery, .. }
        | ScheduleAction::RunLost { recovery, .. } => format!(": {}", recovery_word(*recovery)),
        ScheduleAction::Block { dependency, .. } => {
            format!(": {dependency} is cancelled or was given up")
        }
        ScheduleAction::Assign { agent, attempt, .. } => format!(": to {agent}, attempt {attempt}"),
        ScheduleAction::RenewLease { expires_at, .. } => format!(": until {expires_at}"),
        ScheduleAction::RunOver { .. } | ScheduleAction::Unblock { .. } => String::new(),
    };
    format!("{} {}{more}", action.task(), action.kind())
}
