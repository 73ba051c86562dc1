//! `adjutant story …`: drives stories through the step pipeline, using only the project's files.

mod approve;
mod auto;
mod board_sync;
mod diff;
mod hook;
mod init;
mod list;
mod next;
mod person_check;
mod poll;
mod prompt;
mod reject;
mod reopen;
mod report_error;
mod rollback;
mod start;
mod status;
mod story_watcher;
mod why;

pub(super) use board_sync::submit_update;
pub(super) use person_check::require_person;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_daemon::STORY_VARIABLE;
use adjutant_model::story::{Step, StepFailReason, StoryId};
use adjutant_process::clock::SystemClock;
use adjutant_stories::files::StoryFolder;
use adjutant_stories::{StoryCommandAnswer, StoryError, StoryProject};

use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour, clean, clean_lines};
use person_check::{ReportCaller, require_executor};

/// Move stories through the step pipeline, from scenarios to a commit
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  adjutant story init           create the files that stories need
  adjutant story start US-005   start a story
  adjutant story next           start its next step and print the prompt
  adjutant story auto US-005    let agents do the steps")]
pub(crate) enum StoryCommand {
    Init(init::StoryInitArgs),
    Start(start::StoryStartArgs),
    Next(next::StoryNextArgs),
    Hook(hook::StoryHookArgs),
    Approve(approve::StoryApproveArgs),
    Reject(reject::StoryRejectArgs),
    Auto(auto::StoryAutoArgs),
    Status(status::StoryStatusArgs),
    List(list::StoryListArgs),
    Rollback(rollback::StoryRollbackArgs),
    Reopen(reopen::StoryReopenArgs),
    ReportError(report_error::StoryReportErrorArgs),
    Poll(poll::StoryPollArgs),
    Prompt(prompt::StoryPromptArgs),
    Why(why::StoryWhyArgs),
    Diff(diff::StoryDiffArgs),
}

impl StoryCommand {
    pub(crate) fn run(
        self,
        data: Option<&Path>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        if let Some((project, attempt)) = self.decision() {
            require_person(project, attempt, data, out)?;
        }
        let caller = match self.executor_report() {
            Some((which, attempt)) => {
                let (project, story) = (which.place.project.as_deref(), which.named_story());
                require_executor(project, story.as_ref(), attempt, data, out)?
            }
            None => ReportCaller::Person,
        };
        let changed = self.changed_project().cloned();
        let code = self.dispatch(caller, data, out)?;
        if let Some(folder) = changed.and_then(|project| project.find_folder().ok()) {
            board_sync::update_tasks(folder.root(), data, out);
        }
        Ok(code)
    }

    /// Returns the project whose stories the command may change; `None` for commands that only
    /// read, and for `auto`, which updates the tasks itself.
    fn changed_project(&self) -> Option<&StoryProjectArgs> {
        match self {
            Self::Start(start) => Some(&start.place),
            Self::Next(next) => Some(&next.which.place),
            Self::Hook(hook) => Some(&hook.which.place),
            Self::Approve(approve) => Some(&approve.which.place),
            Self::Reject(reject) => Some(&reject.which.place),
            Self::Rollback(rollback) => Some(&rollback.which.place),
            Self::Reopen(reopen) => Some(&reopen.place),
            Self::ReportError(report) => Some(&report.which.place),
            Self::Poll(poll) => Some(&poll.place),
            Self::Auto(_)
            | Self::Init(_)
            | Self::Status(_)
            | Self::List(_)
            | Self::Prompt(_)
            | Self::Why(_)
            | Self::Diff(_) => None,
        }
    }

    /// Returns the named project and the words of a refusal, if only a person may give the command.
    fn decision(&self) -> Option<(Option<&Path>, &'static str)> {
        let (project, attempt) = match self {
            Self::Init(init) => (&init.project, "cannot set up the project"),
            Self::Start(start) => (&start.place.project, "cannot start the story"),
            Self::Next(next) => (&next.which.place.project, "cannot continue the story"),
            Self::Approve(approve) => (&approve.which.place.project, "cannot approve the step"),
            Self::Reject(reject) => (&reject.which.place.project, "cannot reject the step"),
            Self::Auto(auto) => (&auto.which.place.project, "cannot let agents do the steps"),
            Self::Rollback(back) => (&back.which.place.project, "cannot move the story back"),
            Self::Reopen(reopen) => (&reopen.place.project, "cannot reopen the story"),
            // The commands of an executor (see `executor_report`), and those that only read.
            Self::Hook(_)
            | Self::ReportError(_)
            | Self::Poll(_)
            | Self::Status(_)
            | Self::List(_)
            | Self::Prompt(_)
            | Self::Why(_)
            | Self::Diff(_) => return None,
        };
        Some((project.as_deref(), attempt))
    }

    /// Returns the story and the words of a refusal, if the command is for the executor of its step,
    /// and for a person.
    fn executor_report(&self) -> Option<(&StorySelectionArgs, &'static str)> {
        match self {
            Self::Hook(hook) => Some((&hook.which, "cannot process the hand-over")),
            Self::ReportError(report) => Some((&report.which, "cannot record the error")),
            _ => None,
        }
    }

    fn dispatch(
        self,
        caller: ReportCaller,
        data: Option<&Path>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        match self {
            Self::Init(init) => init.run(out),
            Self::Start(start) => start.run(data, out),
            Self::Next(next) => next.run(out),
            Self::Hook(hook) => hook.run(caller, data, out),
            Self::Approve(approve) => approve.run(out),
            Self::Reject(reject) => reject.run(out),
            Self::Auto(auto) => auto.run(data, out),
            Self::Status(status) => status.run(out),
            Self::List(list) => list.run(out),
            Self::Rollback(rollback) => rollback.run(out),
            Self::Reopen(reopen) => reopen.run(out),
            Self::ReportError(report) => report.run(out),
            Self::Poll(poll) => poll.run(out),
            Self::Prompt(prompt) => prompt.run(out),
            Self::Why(why) => why.run(data, out),
            Self::Diff(diff) => diff.run(out),
        }
    }
}

#[derive(Debug, Clone, clap::Args)]
struct StoryProjectArgs {
    /// The project's folder [default: the project around the working directory]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct StorySelectionArgs {
    #[command(flatten)]
    place: StoryProjectArgs,
    /// The id of the story [default: the only story that is not done]
    #[arg(long, value_name = "ID", value_parser = story)]
    story: Option<StoryId>,
}

impl StorySelectionArgs {
    /// Returns the story that the option names, else the one that the environment
    /// of an executor names.
    fn named_story(&self) -> Option<StoryId> {
        let own = || StoryId::parse(&std::env::var(STORY_VARIABLE).ok()?).ok();
        self.story.clone().or_else(own)
    }
}

impl StoryProjectArgs {
    fn open(&self) -> Result<StoryProject<'static>, CommandFailure> {
        StoryProject::open(self.find_folder()?, &SystemClock).map_err(to_failure)
    }

    fn find_folder(&self) -> Result<StoryFolder, CommandFailure> {
        match &self.project {
            Some(root) if !root.is_dir() => {
                let message = format!("the folder {} does not exist", root.display());
                Err(CommandFailure::report_usage_error(message))
            }
            Some(root) => Ok(StoryFolder::at(root)),
            None => {
                let here = std::env::current_dir().map_err(|error| {
                    CommandFailure::broken("cannot find the working directory", &error)
                })?;
                StoryFolder::find(&here).map_err(|error| to_failure(error.into()))
            }
        }
    }
}

fn story(text: &str) -> Result<StoryId, String> {
    StoryId::parse(text).map_err(|error| error.to_string())
}

fn step(text: &str) -> Result<Step, String> {
    let all = Step::ALL.map(Step::as_str).join(", ");
    Step::parse(text).ok_or_else(|| format!("must be one of: {all}"))
}

/// Parses the reason for a rejection: one that selects a route, or `default` for none.
fn parse_reject_reason(text: &str) -> Result<RejectReasonArg, String> {
    if matches!(text, "default" | "null") {
        return Ok(RejectReasonArg(None));
    }
    let all = StepFailReason::ALL.map(StepFailReason::as_str).join(", ");
    let known = StepFailReason::parse(text).map(|reason| RejectReasonArg(Some(reason)));
    known.ok_or_else(|| format!("must be one of: default, {all}"))
}

#[derive(Debug, Clone, Copy)]
struct RejectReasonArg(Option<StepFailReason>);

/// Prints an answer. A refusal is a failure.
fn print(
    out: &CommandOutput,
    answer: &StoryCommandAnswer,
    attempt: &str,
) -> Result<ExitCode, CommandFailure> {
    fail_if_refused(answer, attempt)?;
    if out.is_json() {
        out.document(&answer.to_json())?;
    } else {
        for warning in &answer.warnings {
            out.warn(warning);
        }
        line(out, answer)?;
        if let Some(error) = &answer.state.last_error {
            out.line(&format!("last error: {}", clean(error)))?;
        }
        out.line(&clean_lines(&answer.caller_instruction()))?;
        if let Some(prompt) = &answer.prompt {
            out.line(&format!("\n{}", clean_lines(prompt)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn fail_if_refused(answer: &StoryCommandAnswer, attempt: &str) -> Result<(), CommandFailure> {
    let Some(refusal) = answer.refusal() else { return Ok(()) };
    Err(CommandFailure::from_story_refusal(refusal, answer, attempt))
}

/// Warns about state files that cannot be read.
fn warn_about_broken_states(
    project: &StoryProject<'_>,
    out: &CommandOutput,
) -> Result<(), CommandFailure> {
    for error in project.broken_files().map_err(to_failure)? {
        out.warn(&error.to_string());
    }
    Ok(())
}

/// Prints the position of each story, one line each.
fn print_all(
    project: &StoryProject<'_>,
    answers: &[StoryCommandAnswer],
    out: &CommandOutput,
) -> Result<ExitCode, CommandFailure> {
    warn_about_broken_states(project, out)?;
    if out.is_json() {
        out.document(&answers.iter().map(StoryCommandAnswer::to_json).collect::<Vec<_>>())?;
    } else {
        answers.iter().try_for_each(|answer| line(out, answer))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the position of a story in one line.
fn line(out: &CommandOutput, answer: &StoryCommandAnswer) -> Result<(), CommandFailure> {
    use adjutant_model::story::StepStatus;
    let state = &answer.state;
    let colour = match state.status {
        _ if state.is_done() => TextColour::Green,
        StepStatus::Pass => TextColour::Green,
        StepStatus::Failing | StepStatus::Timeout => TextColour::Red,
        StepStatus::NeedsHuman => TextColour::Yellow,
        StepStatus::Running => TextColour::Blue,
        StepStatus::Pending => TextColour::Plain,
    };
    let story = state.story.as_ref().map_or("(no story)", |story| story.as_str());
    let status = if state.is_done() { "done" } else { state.status.as_str() };
    let reason = state.reason.map_or(String::new(), |reason| format!(" ({reason})"));
    let of = format!("attempt {} of {}", state.attempt, answer.max_attempts);
    let status = out.paint(colour, status);
    out.line(&format!("{story}  {}  {of}  {status}{reason}", state.step))
}

pub(crate) fn to_failure(error: StoryError) -> CommandFailure {
    error.into()
}
