//! `adjutant task diff`: what the work on a task changed.

use std::process::ExitCode;

use crate::data::Data;
use crate::error::Failure;
use crate::output::{Output, clean, clean_lines};

/// Show what the work on a task changed, against what it started from
///
/// For tasks whose agent has a work tree of its own. What lies uncommitted there is not shown.
#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    /// The task
    id: String,
}

impl Diff {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        let diff = data.yard().diff(&id);
        let diff = diff.map_err(|why| {
            Failure::not_possible(format!("cannot show what {id} changed"), &clean(&why.0))
        })?;
        let text = String::from_utf8_lossy(&diff);
        if out.is_json() {
            let document = serde_json::json!({"taskId": id.as_str(), "diff": text});
            out.document(&document)?;
        } else if out.is_terminal() {
            out.line(&clean_lines(text.trim_end()))?;
        } else {
            out.bytes(&diff)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
