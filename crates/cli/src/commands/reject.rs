//! `adjutant reject`: sends work in review back to be done again.

use std::process::ExitCode;

use adjutant_core::Command;

use super::task::change;
use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Send work that is in review back: it is ready to be done again
#[derive(Debug, clap::Args)]
pub(crate) struct Reject {
    /// The task
    id: String,
    /// What is wrong with it; whoever works on it next is told
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Reject {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        if self.reason.trim().is_empty() {
            return Err(Failure::usage("a rejection needs a reason").hint("--reason TEXT"));
        }
        let reason = self.reason;
        change(data, out, &format!("cannot reject {id}"), Command::Reject { id, reason })
    }
}
