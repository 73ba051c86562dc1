//! `adjutant task cancel`: gives a task up.

use std::process::ExitCode;

use adjutant_core::Command;

use super::change;
use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Give a task up
#[derive(Debug, clap::Args)]
pub(crate) struct Cancel {
    /// The task
    id: String,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

impl Cancel {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        let reason = self.reason;
        change(data, out, &format!("cannot cancel {id}"), Command::Cancel { id, reason })
    }
}
