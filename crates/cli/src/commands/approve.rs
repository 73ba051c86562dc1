//! `adjutant approve`: accepts work in review.

use std::process::ExitCode;

use adjutant_core::Command;

use super::task::change;
use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Accept work that is in review: it is done
#[derive(Debug, clap::Args)]
pub(crate) struct Approve {
    /// The task
    id: String,
    /// Anything to say about it, for the record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
}

impl Approve {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        let note = if self.note.is_empty() { "approved".to_owned() } else { self.note };
        change(data, out, &format!("cannot approve {id}"), Command::Approve { id, note })
    }
}
