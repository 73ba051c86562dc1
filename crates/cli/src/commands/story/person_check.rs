//! Refuses decisions about stories inside a run: only a person may make them.
//!
//! A story needs no data folder, so every data folder that the process may belong to is asked.

use std::path::{Path, PathBuf};

use adjutant_config::run_token::TokenSecret;
use adjutant_core::input::TokenOwner;
use adjutant_model::Reason;
use adjutant_model::command::{CommandCaller, OperatorAction};
use adjutant_model::story::StoryId;
use adjutant_process::clock::SystemClock;
use adjutant_process::process_table;
use adjutant_run_files::attempt_files::AttemptFolder;
use adjutant_run_files::live_shims::{LiveShims, ProcessOrigin, ShimKind};
use adjutant_store::file::DATA_FOLDER;
use adjutant_stories::StoryProject;
use adjutant_stories::files::{StepRun, StoryFolder};

use crate::caller::{caller_for_folder, caller_from_env};
use crate::data::{ProjectData, data_folder_from_env};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Fails inside a run, and records the refusal in the event log of the run's data folder.
pub(in crate::commands) fn require_person(
    project: Option<&Path>,
    attempt: &str,
    data: Option<&Path>,
    out: &CommandOutput,
) -> Result<(), CommandFailure> {
    for folder in data_folders(&project_root(project), data) {
        if let CommandCaller::InsideRun(_) = caller_for_folder(&folder) {
            let recorded = ProjectData::find(Some(&folder))
                .and_then(|data| data.require_operator(OperatorAction::Story, attempt, out));
            return Err(recorded.err().unwrap_or_else(|| refusal(attempt)));
        }
    }
    match caller_from_env() {
        CommandCaller::Operator(_) => Ok(()),
        CommandCaller::InsideRun(_) => Err(refusal(attempt)),
    }
}

/// Who reports on a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportCaller {
    Person,
    /// The run that does the step.
    Executor,
}

/// Returns who reports on a step. Fails inside a run, unless the step of the story was dispatched to that run. The refusal is in the
/// event log of the run's data folder.
pub(super) fn require_executor(
    project: Option<&Path>,
    story: Option<&StoryId>,
    attempt: &str,
    data: Option<&Path>,
    out: &CommandOutput,
) -> Result<ReportCaller, CommandFailure> {
    let root = project_root(project);
    let step_run = find_step_run(&root, story);
    let is_own =
        |run: &StepRun| data_folders(&root, data).iter().any(|folder| is_called_by(folder, run));
    if step_run.as_ref().is_some_and(is_own) {
        return Ok(ReportCaller::Executor);
    }
    require_person(project, attempt, data, out).map(|()| ReportCaller::Person)
}

/// Returns the run that the current step of a story was dispatched to; `None` if there is no such
/// run, or if the files cannot be read. Then only a person may report.
fn find_step_run(root: &Path, story: Option<&StoryId>) -> Option<StepRun> {
    let project = StoryProject::at(root, &SystemClock).ok()?;
    project.status(story).ok()?.1.step_run()
}

/// Returns whether this process belongs to a run: by the process table, else by the token that only
/// this run was given.
fn is_called_by(data: &Path, run: &StepRun) -> bool {
    match LiveShims::new(data).own_origin() {
        ProcessOrigin::Inside(shim) => {
            shim.kind == ShimKind::Run
                && shim.task.as_ref() == Some(&run.task)
                && shim.fence == Some(run.fence)
        }
        ProcessOrigin::Outside => {
            let token = std::env::var("ADJUTANT_RUN_TOKEN").unwrap_or_default();
            let tasks = std::slice::from_ref(&run.task);
            TokenSecret::read(data).is_ok_and(|secret| {
                let owner = secret.verify(Some(&token), tasks);
                matches!(owner, TokenOwner::Run { fence, .. } if fence == run.fence)
            })
        }
        ProcessOrigin::Orphan | ProcessOrigin::Unknown => false,
    }
}

fn refusal(attempt: &str) -> CommandFailure {
    let why = "only a person may do this, and the command was called inside a run";
    CommandFailure::story_refused(Reason::OperatorOnly.as_str(), attempt, why)
        .with_hint("an executor reports in .ai/HANDOFF.md")
}

fn project_root(named: Option<&Path>) -> PathBuf {
    let here = || std::env::current_dir().unwrap_or_default();
    let around = || StoryFolder::find(&here()).map(|folder| folder.root().to_owned());
    let root = named.map_or_else(|| around().unwrap_or_else(|_| here()), Path::to_owned);
    root.canonicalize().unwrap_or(root)
}

/// Returns the data folders that a run in this project may belong to: the named ones, the project's
/// own, and those of shims above this process that work on the project.
fn data_folders(project: &Path, named: Option<&Path>) -> Vec<PathBuf> {
    let shims = process_table::working_folders_of_ancestors("shim");
    let of_shim = |folder: PathBuf| AttemptFolder::new(&folder).data_folder().to_owned();
    let works_here =
        |data: &PathBuf| data.parent().is_some_and(|workspace| project.starts_with(workspace));
    let named = named.map(Path::to_owned).into_iter().chain(data_folder_from_env());
    let named = named.flat_map(|named| [named.join(DATA_FOLDER), named]);
    let found = named
        .chain([project.join(DATA_FOLDER)])
        .chain(shims.into_iter().map(of_shim).filter(works_here));
    found.filter(|folder| folder.is_dir()).collect()
}
