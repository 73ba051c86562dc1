//! `adjutant task show`: shows the fields, the work and the body of one task.

use std::process::ExitCode;

use adjutant_model::{Answer, Reason, Status, TaskId};
use adjutant_query::task::{TaskView, read_regular_file};
use adjutant_store::file::read_file_fault;
use adjutant_store::taskfile;

use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean, clean_lines};
use crate::view::{task, work_summary};

/// Show a task: its fields, attempts, checks and description
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant task show 042
  adjutant task show 042 --json")]
pub(crate) struct TaskShowArgs {
    /// The id of the task
    id: String,
}

impl TaskShowArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let id = data.task_id(&self.id)?;
        let view = TaskView::find(&data.folder, &id);
        let Some(view) = view else {
            return not_found(data, &id, &format!("cannot show {id}"));
        };
        let fault = read_file_fault(data.folder.root(), &id);
        let view = view.with_hold(fault.as_ref());
        if let Some(fault) = &fault {
            out.warn(&format!("{id} is on hold: {fault}; {}", fault.fix));
        }
        if out.is_json() {
            out.document(&view)?;
            return Ok(ExitCode::SUCCESS);
        }
        for line in task::lines(&view, out) {
            out.line(&line)?;
        }
        for (name, text) in work_lines(data, &id, view.status) {
            out.line(&task::labelled(out, name, &clean(&text)))?;
        }
        if !view.body().trim().is_empty() {
            out.line("")?;
            out.line(&clean_lines(view.body().trim_end()))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns labelled lines about the work on a task so far.
fn work_lines(data: &ProjectData, id: &TaskId, status: Status) -> Vec<(&'static str, String)> {
    let file = data.task_path(id).and_then(|path| read_regular_file(&path));
    let text = file.and_then(|bytes| String::from_utf8(bytes).ok());
    let parsed = text.and_then(|text| taskfile::parse(&text, Some(id), Some(status)).ok());
    parsed.map(|parsed| work_summary::lines(data, &parsed.task)).unwrap_or_default()
}

/// Fails because a task does not exist, or with the problems of its file.
pub(crate) fn not_found(
    data: &ProjectData,
    id: &TaskId,
    attempt: &str,
) -> Result<ExitCode, CommandFailure> {
    let Some(path) = data.task_path(id) else {
        let answer = Answer::rejected(Reason::TaskNotFound, Some(id.clone()));
        return Err(CommandFailure::refused(attempt, &answer));
    };
    let mut answer = Answer::rejected(Reason::TaskUnreadable, Some(id.clone()));
    let text = read_regular_file(&path).and_then(|bytes| String::from_utf8(bytes).ok());
    // The status does not matter: the file's problems are the same in every folder.
    let parsed = text.map(|text| taskfile::parse(&text, Some(id), Some(Status::Ready)));
    if let Some(Err(problems)) = parsed {
        answer.problems = problems;
    }
    Err(CommandFailure::refused(attempt, &answer))
}
