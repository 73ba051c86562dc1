//! `adjutant task show`: one task, whole.

use std::process::ExitCode;

use adjutant_core::{Answer, Reason, Status, TaskId};
use adjutant_store::document::task_file;

use crate::data::{Data, task_id};
use crate::error::Failure;
use crate::output::{Output, clean_lines};
use crate::view::task::{Body, TaskView};

/// Show a task: its fields and its body
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The task
    id: String,
}

impl Show {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = task_id(&self.id)?;
        let view = TaskView::find(&data.folder, &id);
        let Some(view) = view else { return not_found(data, &id) };
        if out.is_json() {
            out.document(&view.json(Body::Shown))?;
            return Ok(ExitCode::SUCCESS);
        }
        for line in view.lines(out) {
            out.line(&line)?;
        }
        if !view.body().trim().is_empty() {
            out.line("")?;
            out.line(&clean_lines(view.body().trim_end()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Says why a task cannot be shown: it is not there, or its file is no task.
pub(super) fn not_found(data: &Data, id: &TaskId) -> Result<ExitCode, Failure> {
    let there = |status: &Status| data.folder.root().join(task_file(*status, id)).exists();
    let reason = match Status::ALL.iter().any(there) {
        true => Reason::TaskUnreadable,
        false => Reason::TaskNotFound,
    };
    Err(Failure::refused(format!("cannot show {id}"), &Answer::rejected(reason, Some(id.clone()))))
}
