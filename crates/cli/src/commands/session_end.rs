//! `adjutant session-end`: applies the results that agents left in `run_result.json`.

use std::process::ExitCode;

use adjutant_engine::Request;
use adjutant_model::{Event, RecordedEvent};
use adjutant_query::answer::answer_document;
use serde_json::json;

use crate::data::{ProjectData, require_accepted};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Apply results that agents left in `run_result.json`
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant session-end      apply the results of all tasks in progress
  adjutant session-end 042  apply the result of one task")]
pub(crate) struct SessionEndArgs {
    /// The id of the task [default: all tasks in progress]
    id: Option<String>,
}

impl SessionEndArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let id = self.id.as_deref().map(|id| data.task_id(id)).transpose()?;
        if let Some(id) = id.as_ref().filter(|id| data.task_path(id).is_none()) {
            return Err(CommandFailure::not_found(id, "cannot apply the result"));
        }
        let answered = data.submit(Request::SessionEnd(id), out)?;
        let answered = require_accepted(answered, "cannot apply the results of runs")?;
        if out.is_json() {
            let mut document = json!(answer_document(&answered));
            document["moved"] = answered
                .events
                .iter()
                .filter_map(task_transition)
                .map(|(id, from, to)| json!({"taskId": id, "from": from, "to": to}))
                .collect();
            out.document(&document)?;
            return Ok(ExitCode::SUCCESS);
        }
        if answered.events.is_empty() {
            out.line("no results to apply")?;
        }
        for (id, from, to) in answered.events.iter().filter_map(task_transition) {
            out.line(&format!("{id} {from} → {to}"))?;
        }
        for recorded in &answered.events {
            if let (Event::RunSalvaged { file, reason, .. }, Some(id)) =
                (&recorded.new_event.event, &recorded.new_event.task)
            {
                out.line(&format!(
                    "{id} {file} was not applied ({reason}); it is kept in salvage"
                ))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn task_transition(recorded: &RecordedEvent) -> Option<(&str, &'static str, &'static str)> {
    match (&recorded.new_event.event, &recorded.new_event.task) {
        (Event::TaskTransitioned { from, to, .. }, Some(id)) => {
            Some((id.as_str(), from.as_str(), to.as_str()))
        }
        _ => None,
    }
}
