//! `adjutant task move`: moves a task along the table.

use std::process::ExitCode;

use adjutant_core::{Command, Status};

use super::change;
use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Move a task to another status
#[derive(Debug, clap::Args)]
pub(crate) struct Move {
    /// The task
    id: String,
    /// Where to
    #[arg(value_parser = super::status)]
    status: Status,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

impl Move {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        let attempt = format!("cannot move {id} to {}", self.status);
        change(data, out, &attempt, Command::Move { id, to: self.status, reason: self.reason })
    }
}
