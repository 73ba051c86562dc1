//! `adjutant task show`: one task, whole.

use std::process::ExitCode;

use adjutant_core::{Answer, Reason, Status, TaskId};
use adjutant_store::taskfile;

use crate::data::Data;
use crate::error::Failure;
use crate::output::{Colour, Output, clean, clean_lines};
use crate::view::task::{Body, TaskView, read_plain};
use crate::view::work;

/// Show a task: its fields and its body
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The task
    id: String,
}

impl Show {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let id = data.task_id(&self.id)?;
        let view = TaskView::find(&data.folder, &id);
        let Some(view) = view else {
            return not_found(data, &id, &format!("cannot show {id}"));
        };
        if out.is_json() {
            out.document(&view.json(Body::Shown))?;
            return Ok(ExitCode::SUCCESS);
        }
        for line in view.lines(out) {
            out.line(&line)?;
        }
        for (name, text) in worked(data, &id, view.status) {
            let name = out.paint(Colour::Dim, &format!("{name:<17}"));
            out.line(&format!("{name} {}", clean(&text)))?;
        }
        if !view.body().trim().is_empty() {
            out.line("")?;
            out.line(&clean_lines(view.body().trim_end()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns what came of the work on a task so far.
fn worked(data: &Data, id: &TaskId, status: Status) -> Vec<(&'static str, String)> {
    let file = data.task_path(id).and_then(|path| read_plain(&path));
    let text = file.and_then(|bytes| String::from_utf8(bytes).ok());
    let parsed = text.and_then(|text| taskfile::parse(&text, Some(id), Some(status)).ok());
    let root = data.folder.root();
    parsed.map(|parsed| work::lines(root, &parsed.task)).unwrap_or_default()
}

/// Says why nothing can be done with a task: it is not there, or its file is no task.
pub(crate) fn not_found(data: &Data, id: &TaskId, attempt: &str) -> Result<ExitCode, Failure> {
    let Some(path) = data.task_path(id) else {
        let answer = Answer::rejected(Reason::TaskNotFound, Some(id.clone()));
        return Err(Failure::refused(attempt, &answer));
    };
    let mut answer = Answer::rejected(Reason::TaskUnreadable, Some(id.clone()));
    let text = read_plain(&path).and_then(|bytes| String::from_utf8(bytes).ok());
    // Any status will do: what is wrong is wrong in every folder.
    let parsed = text.map(|text| taskfile::parse(&text, Some(id), Some(Status::Ready)));
    if let Some(Err(problems)) = parsed {
        answer.problems = problems;
    }
    Err(Failure::refused(attempt, &answer))
}
