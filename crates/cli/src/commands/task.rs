//! `adjutant task …`: makes, shows and changes tasks.

mod add;
mod cancel;
mod diff;
mod edit;
pub(crate) mod list;
mod move_to;
mod retry;
mod show;

pub(super) use show::not_found;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_core::task::Review;
use adjutant_core::{AgentId, Command, Priority, Status, TaskId, Time, Verdict};
use adjutant_runtime::{Answered, Request};

use crate::data::{Data, accepted};
use crate::error::Failure;
use crate::output::Output;
use crate::view::task::{Body, changed, colour};

/// Make, show and change tasks
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Task {
    Add(add::Add),
    List(list::List),
    Show(show::Show),
    Diff(diff::Diff),
    Edit(edit::Edit),
    Move(move_to::Move),
    Cancel(cancel::Cancel),
    Retry(retry::Retry),
}

impl Task {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        match self {
            Self::Add(add) => add.run(data, out),
            Self::List(list) => list.run(data, out),
            Self::Show(show) => show.run(data, out),
            Self::Diff(diff) => diff.run(data, out),
            Self::Edit(edit) => edit.run(data, out),
            Self::Move(move_to) => move_to.run(data, out),
            Self::Cancel(cancel) => cancel.run(data, out),
            Self::Retry(retry) => retry.run(data, out),
        }
    }
}

/// Gives a command about one task, and shows the task as it is afterwards.
pub(super) fn change(
    data: &Data,
    out: &Output,
    attempt: &str,
    command: Command,
) -> Result<ExitCode, Failure> {
    let answered = give(data, out, attempt, command)?;
    let Some(id) = &answered.answer.task else { return Ok(ExitCode::SUCCESS) };
    let note = if answered.answer.verdict == Verdict::Noop { NOTHING } else { "" };
    show(data, out, id, note)
}

/// Gives a command, and makes sure that it was not refused.
pub(super) fn give(
    data: &Data,
    out: &Output,
    attempt: &str,
    command: Command,
) -> Result<Answered, Failure> {
    let answered = data.submit(Request::Command { by: data.caller(), command }, out)?;
    accepted(answered, attempt)
}

/// What is said of a task that was already as it should be.
pub(super) const NOTHING: &str = " (nothing to change)";

/// Shows a task that a command was about.
pub(super) fn show(
    data: &Data,
    out: &Output,
    id: &TaskId,
    note: &str,
) -> Result<ExitCode, Failure> {
    let view = changed(&data.folder, id)?;
    if out.is_json() {
        out.document(&view.json(Body::Left))?;
    } else {
        let status = out.paint(colour(view.status), view.status.as_str());
        out.line(&format!("{id} {status}{note}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads a body from where it was given.
fn body(text: Option<String>, file: Option<PathBuf>) -> Result<Option<String>, Failure> {
    match (text, file) {
        (Some(text), _) => Ok(Some(text)),
        (None, Some(path)) => read_text(&path).map(Some),
        (None, None) => Ok(None),
    }
}

fn read_text(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|error| Failure::broken(format!("cannot read {}", path.display()), &error))
}

pub(super) fn time(text: &str) -> Result<Time, String> {
    Time::parse(text).map_err(|error| error.to_string())
}

/// Whether finished work waits for somebody to look at it, or is done.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ReviewArg {
    Required,
    None,
}

impl From<ReviewArg> for Review {
    fn from(arg: ReviewArg) -> Self {
        match arg {
            ReviewArg::Required => Self::Required,
            ReviewArg::None => Self::NotNeeded,
        }
    }
}

fn priority(text: &str) -> Result<Priority, String> {
    let all = Priority::ALL.map(Priority::as_str).join(", ");
    Priority::parse(text).ok_or_else(|| format!("must be one of: {all}"))
}

pub(crate) fn agent(text: &str) -> Result<AgentId, String> {
    AgentId::parse(text).map_err(|error| error.to_string())
}

/// Reads the id of a task that an option names.
fn id(data: &Data, text: &str) -> Result<TaskId, Failure> {
    data.known_id(text).ok_or_else(|| {
        let hint = "the id of a task must match TASK-YYYY-MM-DD-NNN, or be one others know it by";
        Failure::usage(format!("there is no task {text:?}")).hint(hint)
    })
}

fn ids(data: &Data, texts: &[String]) -> Result<Vec<TaskId>, Failure> {
    texts.iter().map(|text| id(data, text)).collect()
}

pub(crate) fn status(text: &str) -> Result<Status, String> {
    let all = Status::ALL.map(Status::as_str).join(", ");
    Status::parse(text).ok_or_else(|| format!("must be one of: {all}"))
}
