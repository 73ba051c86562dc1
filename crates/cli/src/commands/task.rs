//! `adjutant task …`: creates, shows and changes tasks.

mod add;
mod cancel;
mod copy;
mod diff;
mod edit;
mod import;
mod list;
mod move_to;
mod reopen;
mod retry;
mod show;

pub(super) use show::not_found;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_engine::{EngineAnswer, EngineRequest};
use adjutant_model::command::InitialStatus;
use adjutant_model::encoding::usd::millionths;
use adjutant_model::review::ReviewPolicy;
use adjutant_model::time_limits::DurationLimit;
use adjutant_model::{AgentId, AnswerVerdict, Command, Priority, Status, TaskId};
use adjutant_query::approval::ApprovalOutcome;
use adjutant_query::task::{DecidedTask, TaskView};

use crate::data::{ProjectData, require_accepted};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;
use crate::view::task::{colour, read_changed_task};

/// Create, show and change tasks
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  adjutant task add \"Fix the login form\" --status ready
  adjutant task list --status review
  adjutant task show 042")]
pub(crate) enum TaskCommand {
    Add(add::TaskAddArgs),
    List(list::TaskListArgs),
    Show(show::TaskShowArgs),
    Diff(diff::TaskDiffArgs),
    Edit(edit::TaskEditArgs),
    Move(move_to::TaskMoveArgs),
    Cancel(cancel::TaskCancelArgs),
    Retry(retry::TaskRetryArgs),
    Copy(copy::TaskCopyArgs),
    Reopen(reopen::TaskReopenArgs),
    Import(import::TaskImportArgs),
}

impl TaskCommand {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        match self {
            Self::Add(add) => add.run(data, out),
            Self::List(list) => list.run(data, out),
            Self::Show(show) => show.run(data, out),
            Self::Diff(diff) => diff.run(data, out),
            Self::Edit(edit) => edit.run(data, out),
            Self::Move(move_to) => move_to.run(data, out),
            Self::Cancel(cancel) => cancel.run(data, out),
            Self::Retry(retry) => retry.run(data, out),
            Self::Copy(copy) => copy.run(data, out),
            Self::Reopen(reopen) => reopen.run(data, out),
            Self::Import(import) => import.run(data, out),
        }
    }
}

/// Submits a command about one task and shows the task afterwards.
pub(super) fn submit_and_show(
    data: &ProjectData,
    out: &CommandOutput,
    attempt: &str,
    command: Command,
) -> Result<ExitCode, CommandFailure> {
    let answered = submit_command(data, out, attempt, command)?;
    let Some(id) = &answered.answer.task else { return Ok(ExitCode::SUCCESS) };
    let changed = ChangedTask::after(data, id, &answered)?;
    let warnings = &answered.answer.warnings;
    if out.is_json() && !warnings.is_empty() {
        out.document(&changed.view.with_warnings(warnings))?;
        return Ok(ExitCode::SUCCESS);
    }
    for warning in warnings {
        out.warn(warning);
    }
    changed.show(out)
}

/// Submits a command about a task and returns the task afterwards.
pub(super) fn submit_change(
    data: &ProjectData,
    out: &CommandOutput,
    id: &TaskId,
    attempt: &str,
    command: Command,
) -> Result<ChangedTask, CommandFailure> {
    let answered = submit_command(data, out, attempt, command)?;
    ChangedTask::after(data, id, &answered)
}

fn change_note(answered: &EngineAnswer) -> &'static str {
    if answered.answer.verdict == AnswerVerdict::Noop { UNCHANGED_NOTE } else { "" }
}

/// Submits a command; a refusal is a failure.
pub(super) fn submit_command(
    data: &ProjectData,
    out: &CommandOutput,
    attempt: &str,
    command: Command,
) -> Result<EngineAnswer, CommandFailure> {
    let answered = data.submit(EngineRequest::command(data.caller(), command), out)?;
    require_accepted(answered, attempt)
}

/// The note on a task that was already as requested.
pub(super) const UNCHANGED_NOTE: &str = " (unchanged)";

/// A task after a command.
pub(crate) struct ChangedTask {
    id: TaskId,
    view: TaskView,
    /// The status that a person is told.
    status: Status,
    /// What a person is told after the status; may be empty.
    note: String,
    /// The outcome of its approval, if it was approved.
    outcome: Option<ApprovalOutcome>,
}

impl ChangedTask {
    /// Reads the task as it is now.
    pub(super) fn read(
        data: &ProjectData,
        id: &TaskId,
        note: impl Into<String>,
    ) -> Result<Self, CommandFailure> {
        let view = read_changed_task(&data.folder, id)?;
        Ok(Self { id: id.clone(), status: view.status, view, note: note.into(), outcome: None })
    }

    /// Adds the outcome of an approval, which is part of the JSON and of the exit code.
    pub(super) fn with_outcome(self, outcome: Option<ApprovalOutcome>) -> Self {
        Self { outcome, ..self }
    }

    /// Returns what the command prints as JSON.
    pub(super) fn document(&self) -> DecidedTask<'_> {
        self.view.with_outcome(self.outcome.as_ref())
    }

    /// Returns 1 if the approved work could not be merged.
    pub(super) fn exit_code(&self) -> u8 {
        u8::from(self.outcome.as_ref().is_some_and(ApprovalOutcome::is_conflict))
    }

    /// Reads the task after a command, and tells the status that the command gave it: a daemon may
    /// have moved it since.
    fn after(
        data: &ProjectData,
        id: &TaskId,
        answered: &EngineAnswer,
    ) -> Result<Self, CommandFailure> {
        let read = Self::read(data, id, change_note(answered))?;
        Ok(Self { status: answered.answer.status.unwrap_or(read.status), ..read })
    }

    /// Prints the id and the status, or as JSON the task.
    pub(super) fn show(&self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        if out.is_json() {
            out.document(&self.document())?;
        } else {
            self.print_line(out)?;
        }
        Ok(ExitCode::from(self.exit_code()))
    }

    /// Prints the id and the status.
    pub(super) fn print_line(&self, out: &CommandOutput) -> Result<(), CommandFailure> {
        let status = out.paint(colour(self.status), self.status.as_str());
        out.line(&format!("{} {status}{}", self.id, self.note))
    }
}

/// Returns the body from its option or its file.
fn read_body(
    text: Option<String>,
    file: Option<PathBuf>,
) -> Result<Option<String>, CommandFailure> {
    match (text, file) {
        (Some(text), _) => Ok(Some(text)),
        (None, Some(path)) => read_text(&path).map(Some),
        (None, None) => Ok(None),
    }
}

fn read_text(path: &Path) -> Result<String, CommandFailure> {
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|error| CommandFailure::broken(format!("cannot read {}", path.display()), &error))
}

/// Whether a person must approve finished work.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ReviewArg {
    Required,
    None,
}

impl From<ReviewArg> for ReviewPolicy {
    fn from(arg: ReviewArg) -> Self {
        match arg {
            ReviewArg::Required => Self::Required,
            ReviewArg::None => Self::NotNeeded,
        }
    }
}

/// The status that a task begins with.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum StartArg {
    Backlog,
    Ready,
}

impl From<StartArg> for InitialStatus {
    fn from(arg: StartArg) -> Self {
        match arg {
            StartArg::Backlog => Self::Backlog,
            StartArg::Ready => Self::Ready,
        }
    }
}

fn priority(text: &str) -> Result<Priority, String> {
    let all = Priority::ALL.map(Priority::as_str).join(", ");
    Priority::parse(text).ok_or_else(|| format!("must be one of: {all}"))
}

/// Parses an amount of dollars into millionths.
fn dollars(text: &str) -> Result<u64, String> {
    let amount = text.parse().ok().and_then(millionths);
    amount.ok_or_else(|| "must be a number of dollars, such as 2.5".to_owned())
}

fn time_limit(text: &str) -> Result<DurationLimit, String> {
    DurationLimit::parse(text).map_err(|error| error.to_string())
}

pub(crate) fn agent(text: &str) -> Result<AgentId, String> {
    AgentId::parse(text).map_err(|error| error.to_string())
}

/// Returns the id of the task that an option names; an unknown task is a usage error.
fn option_task_id(data: &ProjectData, text: &str) -> Result<TaskId, CommandFailure> {
    data.find_task_id(text)?.ok_or_else(|| {
        CommandFailure::report_usage_error(format!("there is no task {text:?}"))
            .with_hint("`adjutant task list` lists the tasks")
    })
}

fn option_task_ids(data: &ProjectData, texts: &[String]) -> Result<Vec<TaskId>, CommandFailure> {
    texts.iter().map(|text| option_task_id(data, text)).collect()
}

#[cfg(test)]
mod tests {
    use adjutant_model::Actor;
    use adjutant_model::command::{CommandCaller, NewTask};
    use adjutant_store::file::DataFolder;

    use super::*;

    #[test]
    fn changed_task_tells_the_status_that_the_command_gave_it() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = DataFolder::init(home.path()).expect("a data folder");
        let data = ProjectData::find(Some(folder.root())).expect("found");
        let mut engine = data.open_engine().expect("opened");
        let mut submit = |command: Command| {
            let by = CommandCaller::Operator(Actor::human("alice"));
            engine.submit_one(EngineRequest::command(by, command)).expect("an answer")
        };
        let new = NewTask {
            title: "Paint".to_owned(),
            start: InitialStatus::Ready,
            ..NewTask::default()
        };
        let added = submit(Command::Add(Box::new(new)));
        let id = added.answer.task.clone().expect("a task");
        // As a daemon would, before the command reads the file.
        let (to, reason) = (Status::InProgress, String::new());
        submit(Command::Move { id: id.clone(), to, reason });
        engine.rest().expect("at rest");
        let changed = ChangedTask::after(&data, &id, &added).expect("read");
        assert_eq!((changed.status, changed.view.status), (Status::Ready, Status::InProgress));
    }
}
