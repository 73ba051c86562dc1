//! `adjutant why`: what holds a task back.

use std::process::ExitCode;

use adjutant_core::schedule;
use adjutant_runtime::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::data::{Data, task_id};
use crate::error::Failure;
use crate::output::Output;

/// Say what holds a task back, a sentence each
#[derive(Debug, clap::Args)]
pub(crate) struct Why {
    /// The task
    id: String,
}

impl Why {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = task_id(&self.id)?;
        let world = data.world(out)?;
        if world.task(&id).is_none() && !world.unreadable().contains(&id) {
            return Err(Failure::not_found(&id, "cannot say why"));
        }
        let holds = schedule::why(&world, &id, SystemClock.now());
        if out.is_json() {
            let reasons: Value =
                holds.iter().map(|hold| json!({"code": hold.code, "text": hold.text})).collect();
            let runnable = holds.is_empty();
            let said = json!({"taskId": id.as_str(), "runnable": runnable, "reasons": reasons});
            out.document(&said)?;
            return Ok(ExitCode::SUCCESS);
        }
        if holds.is_empty() {
            out.line("nothing holds it back: the next tick can give it out")?;
        }
        for hold in holds {
            out.line(&crate::output::clean(&hold.text))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
