//! `adjutant why`: what holds a task back.

use std::process::ExitCode;

use adjutant_core::schedule::{self, Hold};
use adjutant_core::{TaskId, World};
use adjutant_runtime::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Say what holds a task back, a sentence each
#[derive(Debug, clap::Args)]
pub(crate) struct Why {
    /// The task
    id: String,
}

/// Returns what holds a task back.
pub(crate) fn holds(world: &World, id: &TaskId) -> Result<Vec<Hold>, Failure> {
    if world.task(id).is_none() && !world.unreadable().contains(id) {
        return Err(Failure::not_found(id, "cannot say why"));
    }
    Ok(schedule::why(world, id, SystemClock.now()))
}

/// Returns what holds a task back as JSON.
pub(crate) fn json(id: &TaskId, holds: &[Hold]) -> Value {
    let reasons: Value =
        holds.iter().map(|hold| json!({"code": hold.code, "text": hold.text})).collect();
    json!({"taskId": id.as_str(), "runnable": holds.is_empty(), "reasons": reasons})
}

impl Why {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        let holds = holds(&data.world_of_all(out)?, &id)?;
        if out.is_json() {
            out.document(&json(&id, &holds))?;
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
