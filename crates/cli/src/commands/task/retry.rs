//! `adjutant task retry`: lets a task that is stuck be tried again.

use std::process::ExitCode;

use adjutant_core::Command;

use super::change;
use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Let a task that is blocked or in deadletter be tried again, or one that waits be tried at once
#[derive(Debug, clap::Args)]
pub(crate) struct Retry {
    /// The task
    id: String,
}

impl Retry {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        change(data, out, &format!("cannot retry {id}"), Command::Retry { id })
    }
}
