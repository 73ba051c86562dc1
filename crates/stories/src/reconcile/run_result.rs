//! What the end of a step's run means for its story.

use adjutant_core::story::AdvanceResult;
use adjutant_core::story::judge::RulesState;
use adjutant_model::run::RunExit;
use adjutant_model::story::StoryId;
use adjutant_run_files::attempt_files::ProcessExit;
use adjutant_run_files::run_ref::attempt_folder;
use adjutant_runs::agent::AgentSelfReport;

use super::story_board::{ReconcilerConfig, RunningStep};
use crate::driver::{HookTrigger, StepChecks, StoryCommandResult, StoryError, StoryProject};
use crate::files::noted_change;

/// Processes the result of a step's run.
pub(super) fn process_run_result(
    config: &ReconcilerConfig,
    step: &RunningStep,
) -> Result<(), StoryError> {
    let project = config.open_project()?;
    let story = &step.story;
    let folder = attempt_folder(&config.data, &step.run.task, step.run.attempt);
    let changed = noted_change(&folder);
    let is_changed = changed.is_some();
    let rules = changed.map_or(RulesState::Unchanged, RulesState::Changed);
    let checks = &config.checks.clone().with_rules_state(rules);
    if is_changed {
        // However the run ended, a person decides.
        return project.hook(Some(story), HookTrigger::ExecutorEnded, checks).map(drop);
    }
    let ended = folder.exit().ok().flatten();
    let (exit, tail) = ended.map_or((ProcessExit::Lost, String::new()), |it| (it.exit, it.tail));
    let telemetry = folder.telemetry().ok().flatten();
    if telemetry.as_ref().is_some_and(AgentSelfReport::is_in_trouble) {
        return undo_dispatch(&project, story, checks);
    }
    match &exit {
        ProcessExit::Code(0) => {
            return run_hook(
                &project,
                story,
                HookTrigger::ExecutorEnded,
                checks,
                "the executor left no hand-over",
            );
        }
        ProcessExit::Stopped(_) => return project.undo_dispatch(story).map(drop),
        // `poll` marks the step as timed out, and a person must decide.
        ProcessExit::TimedOut => {
            project.poll()?;
        }
        ProcessExit::Code(_)
        | ProcessExit::Signal(_)
        | ProcessExit::Idle
        | ProcessExit::OverBudget
        | ProcessExit::Lost
        | ProcessExit::NotStarted(_) => {}
    }
    let words = RunExit::from(&exit).in_words();
    let tail = telemetry.map_or(tail.clone(), |telemetry| telemetry.exit_text(&exit, &tail));
    let tail = tail.trim();
    let error = if tail.is_empty() { words } else { format!("{words}: {tail}") };
    run_hook(&project, story, HookTrigger::IfHandedOver, checks, &error)
}

/// Undoes the dispatch if the agent could not work, for example at a usage limit: that is not the
/// step's fault and spends no attempt. A hand-over that it left before still counts.
fn undo_dispatch(
    project: &StoryProject<'_>,
    story: &StoryId,
    checks: &StepChecks,
) -> Result<(), StoryError> {
    match project.hook(Some(story), HookTrigger::IfHandedOver, checks)?.result {
        StoryCommandResult::StaleHandOver | StoryCommandResult::Advance(AdvanceResult::Nothing) => {
            project.undo_dispatch(story).map(drop)
        }
        // The step has a result, or is not running any more.
        StoryCommandResult::Advance(_) | StoryCommandResult::Status(_) => Ok(()),
    }
}

/// Runs the hook on what a run left. The run is over, so a missing or stale hand-over is a failure.
fn run_hook(
    project: &StoryProject<'_>,
    story: &StoryId,
    trigger: HookTrigger,
    checks: &StepChecks,
    error: &str,
) -> Result<(), StoryError> {
    let hooked = project.hook(Some(story), trigger, checks)?;
    let error = match hooked.result {
        StoryCommandResult::StaleHandOver => &hooked.warnings.join("; "),
        StoryCommandResult::Advance(AdvanceResult::Nothing) => error,
        // The step has a result, or is not running any more.
        StoryCommandResult::Advance(_) | StoryCommandResult::Status(_) => return Ok(()),
    };
    project.report_error(Some(story), error).map(drop)
}
