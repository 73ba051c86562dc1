//! `adjutant answer`: answers the question a task is blocked on.

use std::process::ExitCode;

use adjutant_core::Command;

use super::task::change;
use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Answer what a blocked task waits for: it is ready to go on, and the next run is told
#[derive(Debug, clap::Args)]
pub(crate) struct Answer {
    /// The task
    id: String,
    /// The answer
    text: String,
}

impl Answer {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        if self.text.trim().is_empty() {
            return Err(Failure::usage("an answer must say something").hint("answer ID TEXT"));
        }
        let text = self.text;
        change(data, out, &format!("cannot answer {id}"), Command::Answer { id, text })
    }
}
