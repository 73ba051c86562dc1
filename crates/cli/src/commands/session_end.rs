//! `adjutant session-end`: applies the results that were left behind.

use std::process::ExitCode;

use adjutant_core::{Event, Recorded};
use adjutant_runtime::Request;
use serde_json::json;

use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;
use crate::view::answer;

/// Apply results that agents left in `run_result.json` and that were never applied
#[derive(Debug, clap::Args)]
pub(crate) struct SessionEnd {
    /// The task [default: every task in progress]
    id: Option<String>,
}

impl SessionEnd {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = self.id.as_deref().map(|id| data.task_id(id)).transpose()?;
        if let Some(id) = id.as_ref().filter(|id| data.task_path(id).is_none()) {
            return Err(Failure::not_found(id, "cannot end the session"));
        }
        let answered = data.submit(Request::SessionEnd(id), out)?;
        if out.is_json() {
            let mut document = answer::json(&answered);
            document["moved"] = answered
                .events
                .iter()
                .filter_map(moved)
                .map(|(id, from, to)| json!({"taskId": id, "from": from, "to": to}))
                .collect();
            out.document(&document)?;
            return Ok(ExitCode::SUCCESS);
        }
        if answered.events.is_empty() {
            out.line("no result was left behind")?;
        }
        for (id, from, to) in answered.events.iter().filter_map(moved) {
            out.line(&format!("{id} {from} → {to}"))?;
        }
        for recorded in &answered.events {
            if let (Event::RunSalvaged { file, reason, .. }, Some(id)) =
                (&recorded.happened.event, &recorded.happened.task)
            {
                out.line(&format!("{id} {file} does not count ({reason}); it is kept in salvage"))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn moved(recorded: &Recorded) -> Option<(&str, &'static str, &'static str)> {
    match (&recorded.happened.event, &recorded.happened.task) {
        (Event::TaskTransitioned { from, to, .. }, Some(id)) => {
            Some((id.as_str(), from.as_str(), to.as_str()))
        }
        _ => None,
    }
}
