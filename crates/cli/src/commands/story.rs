//! `adjutant story …`: drives a story from its scenarios to a commit, on a project's files alone.

mod approve;
mod auto;
mod board;
mod hook;
mod init;
mod list;
mod next;
mod poll;
mod prompt;
mod reject;
mod reopen;
mod report_error;
mod rollback;
mod start;
mod status;
mod tell;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_core::Reason as Refused;
use adjutant_core::command::Caller;
use adjutant_core::pipeline::{Reason, Step, StoryId};
use adjutant_runtime::SystemClock;
use adjutant_runtime::daemon::STORY_VARIABLE;
use adjutant_runtime::story::{Answer, Project, StoryError};
use adjutant_store::story::FolderError;

use crate::error::Failure;
use crate::output::{Colour, Output, clean, clean_lines};
use crate::person::caller;

pub(crate) use tell::tell;

/// Drive stories from their scenarios to a commit, on a project's files alone
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Story {
    Init(init::Init),
    Start(start::Start),
    Next(next::Next),
    Hook(hook::Hook),
    Approve(approve::Approve),
    Reject(reject::Reject),
    Auto(auto::Auto),
    Status(status::Status),
    List(list::List),
    Rollback(rollback::Rollback),
    Reopen(reopen::Reopen),
    ReportError(report_error::ReportError),
    Poll(poll::Poll),
    Prompt(prompt::Prompt),
}

impl Story {
    pub(crate) fn run(self, data: Option<&Path>, out: &Output) -> Result<ExitCode, Failure> {
        let place = self.changes().cloned();
        let done = self.work(data, out)?;
        if let Some(project) = place.and_then(|place| place.open().ok()) {
            board::follow(&project, data, out);
        }
        Ok(done)
    }

    /// Returns where the command may change how a story stands.
    fn changes(&self) -> Option<&InProject> {
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
            Self::Auto(auto) => Some(&auto.which.place),
            Self::Init(_) | Self::Status(_) | Self::List(_) | Self::Prompt(_) => None,
        }
    }

    fn work(self, data: Option<&Path>, out: &Output) -> Result<ExitCode, Failure> {
        match self {
            Self::Init(init) => init.run(out),
            Self::Start(start) => start.run(data, out),
            Self::Next(next) => next.run(out),
            Self::Hook(hook) => hook.run(out),
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
        }
    }
}

/// Which project.
#[derive(Debug, Clone, clap::Args)]
struct InProject {
    /// The project [default: the one around the working directory]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// Which story of which project.
#[derive(Debug, clap::Args)]
struct Which {
    #[command(flatten)]
    place: InProject,
    /// The story [default: the one that is not done]
    #[arg(long, value_name = "ID", value_parser = story)]
    story: Option<StoryId>,
}

impl Which {
    /// Returns the story that is named. An executor of ours works on one, and need not name it.
    fn story(&self) -> Option<StoryId> {
        let own = || StoryId::parse(&std::env::var(STORY_VARIABLE).ok()?).ok();
        self.story.clone().or_else(own)
    }
}

impl InProject {
    fn open(&self) -> Result<Project<'static>, Failure> {
        static CLOCK: SystemClock = SystemClock;
        let found = match &self.project {
            Some(root) if !root.is_dir() => {
                let message = format!("there is no folder {}", root.display());
                return Err(Failure::usage(message));
            }
            Some(root) => Project::at(root, &CLOCK),
            None => {
                let here = std::env::current_dir().map_err(|error| {
                    Failure::broken("cannot tell the working directory", &error)
                })?;
                Project::find(&here, &CLOCK)
            }
        };
        found.map_err(failure)
    }
}

fn story(text: &str) -> Result<StoryId, String> {
    StoryId::parse(text).map_err(|error| error.to_string())
}

fn step(text: &str) -> Result<Step, String> {
    let all = Step::ALL.map(Step::as_str).join(", ");
    Step::parse(text).ok_or_else(|| format!("must be one of: {all}"))
}

/// A reason to say no: one that a story is routed by, or none in particular.
fn reason(text: &str) -> Result<Rejection, String> {
    if matches!(text, "default" | "null") {
        return Ok(Rejection(None));
    }
    let all = Reason::ALL.map(Reason::as_str).join(", ");
    let known = Reason::parse(text).map(|reason| Rejection(Some(reason)));
    known.ok_or_else(|| format!("must be one of: default, {all}"))
}

#[derive(Debug, Clone, Copy)]
struct Rejection(Option<Reason>);

/// Refuses what only a person may say, inside a run.
fn persons_only(attempt: &str) -> Result<(), Failure> {
    match caller() {
        Caller::Operator(_) => Ok(()),
        Caller::InsideRun(_) => {
            let why = "this is for a person, and was called from inside a run";
            let failure = Failure::story_refused(Refused::OperatorOnly.as_str(), attempt, why);
            Err(failure.hint("an executor says what it has to say in .ai/HANDOFF.md"))
        }
    }
}

/// Prints an answer; a refusal is an error.
fn print(out: &Output, answer: &Answer, attempt: &str) -> Result<ExitCode, Failure> {
    accepted(answer, attempt)?;
    if out.is_json() {
        out.document(&answer.json())?;
    } else {
        for warning in &answer.warnings {
            out.warn(warning);
        }
        line(out, answer)?;
        if let Some(error) = &answer.state.last_error {
            out.line(&format!("last error: {}", clean(error)))?;
        }
        out.line(&clean(&answer.caller_instruction()))?;
        if let Some(prompt) = &answer.prompt {
            out.line(&format!("\n{}", clean_lines(prompt)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Turns a refusal into a failure.
fn accepted(answer: &Answer, attempt: &str) -> Result<(), Failure> {
    let Some(refusal) = answer.refusal else { return Ok(()) };
    let failure = Failure::story_refused(refusal.as_str(), attempt, refusal.meaning());
    Err(failure.hint(answer.caller_instruction()))
}

/// Says which files no story can be read from.
fn warn_of_broken(project: &Project<'_>, out: &Output) -> Result<(), Failure> {
    for error in project.broken().map_err(failure)? {
        out.warn(&error.to_string());
    }
    Ok(())
}

/// Prints where stories stand, a line each.
fn print_all(project: &Project<'_>, answers: &[Answer], out: &Output) -> Result<ExitCode, Failure> {
    warn_of_broken(project, out)?;
    if out.is_json() {
        out.document(&answers.iter().map(Answer::json).collect())?;
    } else {
        answers.iter().try_for_each(|answer| line(out, answer))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints in a line where a story stands.
fn line(out: &Output, answer: &Answer) -> Result<(), Failure> {
    use adjutant_core::pipeline::Status;
    let state = &answer.state;
    let colour = match state.status {
        _ if state.is_done() => Colour::Green,
        Status::Pass => Colour::Green,
        Status::Failing | Status::Timeout => Colour::Red,
        Status::NeedsHuman => Colour::Yellow,
        Status::Running => Colour::Blue,
        Status::Pending => Colour::Plain,
    };
    let story = state.story.as_ref().map_or("(no story)", |story| story.as_str());
    let status = if state.is_done() { "done" } else { state.status.as_str() };
    let reason = state.reason.map_or(String::new(), |reason| format!(" ({reason})"));
    let of = format!("attempt {} of {}", state.attempt, answer.max_attempts);
    let status = out.paint(colour, status);
    out.line(&format!("{story}  {}  {of}  {status}{reason}", state.step))
}

/// Turns an error about stories into what a person is told.
pub(crate) fn failure(error: StoryError) -> Failure {
    let attempt = "cannot work on the story";
    match error {
        StoryError::Folder(FolderError::BadState { path, problems }) => {
            let causes = problems.iter().map(ToString::to_string).collect();
            let message = format!("{} makes no sense", path.display());
            Failure::story_invalid("invalid_state", message, causes)
                .hint("mend the file by hand; nothing was changed")
        }
        StoryError::Folder(FolderError::BadRules(bad)) => {
            Failure::story_invalid("invalid_rules", "cannot use the rules", vec![bad.to_string()])
        }
        StoryError::Folder(error @ FolderError::NotFound(_)) => {
            Failure::story_refused("no_project", attempt, error.to_string())
                .hint("`adjutant story init` makes a project ready for stories")
        }
        StoryError::Folder(error) => Failure::broken(attempt, &error),
        StoryError::Prompt(error) => {
            let mut causes = vec![error.to_string()];
            causes.extend(std::error::Error::source(&error).map(ToString::to_string));
            Failure::story_invalid("invalid_template", "cannot make the prompt", causes)
        }
        StoryError::NoStory => Failure::story_refused("no_story", attempt, error.to_string())
            .hint("`adjutant story start ID` starts one"),
        StoryError::Several(_) => {
            Failure::story_refused("several_stories", attempt, error.to_string())
                .hint("name one with --story")
        }
        StoryError::NotFound(_) => {
            Failure::story_refused("story_not_found", attempt, error.to_string())
                .hint("`adjutant story list` shows the stories there are")
        }
        StoryError::Started { step: Step::Done, .. } => {
            Failure::story_refused("already_done", "cannot start the story", error.to_string())
                .hint("`adjutant story reopen` takes it up again, --force starts it anew")
        }
        StoryError::Started { .. } => {
            Failure::story_refused("already_started", "cannot start the story", error.to_string())
                .hint("`adjutant story next` goes on with it, --force starts it anew")
        }
    }
}
