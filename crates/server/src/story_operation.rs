//! Operations on a story's files, like the commands of the same names.

use adjutant_config::Config;
use adjutant_model::AgentId;
use adjutant_model::story::{Step, StepFailReason, StoryId};
use adjutant_query::failure::CommandFailure;
use adjutant_query::story::configured_agent;
use adjutant_stories::{
    HookTrigger, StepChecks, StoryAutomation, StoryCommandAnswer, StoryProject,
};

/// An operation on a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoryOperation {
    Start {
        /// The stories that must be done before this one continues.
        blocked_by: Vec<StoryId>,
        /// Whether agents perform the steps.
        auto: bool,
        /// Whether to start over if the story is running or done.
        force: bool,
    },
    /// Starts the next executor, or says what the story waits for.
    Next {
        /// A message for the next executor.
        note: Option<String>,
    },
    Approve {
        /// A message for the next executor.
        note: Option<String>,
    },
    Reject {
        /// `None` for a rejection without a reason that has a route.
        reason: Option<StepFailReason>,
        /// A message for the next executor.
        note: Option<String>,
    },
    /// Moves the story back to a step.
    Rollback {
        step: Step,
        /// A message for the next executor.
        note: Option<String>,
    },
    /// Reopens a story that was done.
    Reopen {
        step: Step,
        /// A message for the next executor.
        note: Option<String>,
    },
    /// Lets agents perform the steps, or has people start them.
    Drive(StoryAutomation),
    /// Processes the executor's hand-over.
    ProcessHandOver,
    /// Reports that the executor failed.
    ExecutorFailed { error: String },
}

/// Performs an operation and returns the story's new state.
pub(crate) fn apply_operation(
    project: &StoryProject<'_>,
    config: &Config,
    checks: &StepChecks,
    story: &StoryId,
    operation: &StoryOperation,
) -> Result<StoryCommandAnswer, CommandFailure> {
    // Check that the agent exists, and what is accepted, before anything is changed.
    match operation {
        StoryOperation::Start { auto: true, .. } => {
            configured_agent(config, None)?;
            project.require_accepted_commands()?;
        }
        StoryOperation::Drive(StoryAutomation::Agents(agent)) => {
            drop(configured_agent(config, agent.as_ref().map(AgentId::as_str))?);
        }
        _ => {}
    }
    let own = Some(story);
    let (done, attempt) = match operation {
        StoryOperation::Start { blocked_by, auto, force } => {
            let started = project.start(story, blocked_by, *force);
            let started = started.and_then(|answer| match auto {
                true => project.set_automation(own, &StoryAutomation::Agents(None)),
                false => Ok(answer),
            });
            (started, "cannot start the story")
        }
        StoryOperation::Next { note } => {
            (project.continue_story(own, note.clone()), "cannot continue the story")
        }
        StoryOperation::Approve { note } => {
            (project.approve(own, note.clone()), "cannot approve the step")
        }
        StoryOperation::Reject { reason, note } => {
            (project.reject(own, *reason, note.clone()), "cannot reject the step")
        }
        StoryOperation::Rollback { step, note } => {
            (project.rollback(own, *step, note.clone()), "cannot roll the story back")
        }
        StoryOperation::Reopen { step, note } => {
            (project.reopen(story, *step, note.clone()), "cannot reopen the story")
        }
        StoryOperation::Drive(drive) => {
            (project.set_automation(own, drive), "cannot change who performs the steps")
        }
        StoryOperation::ProcessHandOver => (
            project.hook(own, HookTrigger::ExecutorEnded, checks),
            "cannot process the executor's hand-over",
        ),
        StoryOperation::ExecutorFailed { error } => {
            (project.report_error(own, error), "cannot record the executor's error")
        }
    };
    let answer = done?;
    match answer.refusal() {
        Some(refusal) => Err(CommandFailure::from_story_refusal(refusal, &answer, attempt)),
        None => Ok(answer),
    }
}
