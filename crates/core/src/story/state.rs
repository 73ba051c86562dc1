//! The state of a story: step, attempts, test results, and why the story waits.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_model::Time;

use super::{
    ExecutorMessage, Step, StepFailReason, StepRuleTable, StepStatus, StoryHold, StoryId,
    StoryPosition,
};

/// The content of `STATE.json`, as far as decisions need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryState {
    pub project: String,
    /// `None` while a project is being set up.
    pub story: Option<StoryId>,
    pub step: Step,
    /// The attempt of the step in a row, from 1.
    pub attempt: u32,
    pub status: StepStatus,
    pub reason: Option<StepFailReason>,
    /// When the step's executor was started.
    pub dispatched_at: Option<Time>,
    /// When that executor ended.
    pub completed_at: Option<Time>,
    /// The counts of the last test run; `None` if they are not known.
    pub tests: Option<TestTotals>,
    pub failing_tests: Vec<String>,
    /// Whether the check after the step succeeded.
    pub lint_pass: Option<bool>,
    /// The files that the executor says it changed.
    pub files_changed: Vec<String>,
    /// The stories that must be done before this one continues.
    pub blocked_by: Vec<StoryId>,
    /// A person's message to the next executor.
    pub human_note: Option<HumanNote>,
    pub last_error: Option<String>,
    /// What the last executor said beside its result. It stays while the next one works, whose
    /// prompt includes it.
    pub message: Option<ExecutorMessage>,
    /// What went wrong before the current dispatch, for the executor's prompt.
    pub previous: Option<String>,
    /// Why the story waits for a person.
    pub hold: Option<StoryHold>,
    /// How often each step was dispatched in this story.
    pub dispatches: BTreeMap<Step, u32>,
    /// The step at which a finished story was reopened.
    pub reopened_from: Option<Step>,
    /// The steps of a person that are still ahead, as of the last move by this state machine.
    pub human_steps: BTreeSet<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TestTotals {
    pub pass: u64,
    pub fail: u64,
    pub skip: u64,
}

/// A person's message to an executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HumanNote {
    pub text: String,
    /// Whether an executor has received the message.
    pub is_delivered: bool,
}

impl StoryState {
    /// Returns the state of a story before its first dispatch.
    pub fn new(project: &str, story: Option<StoryId>, step: Step) -> Self {
        Self {
            project: project.to_owned(),
            story,
            step,
            attempt: 1,
            status: StepStatus::Pending,
            reason: None,
            dispatched_at: None,
            completed_at: None,
            tests: None,
            failing_tests: vec![],
            lint_pass: None,
            files_changed: vec![],
            blocked_by: vec![],
            human_note: None,
            last_error: None,
            message: None,
            previous: None,
            hold: None,
            dispatches: BTreeMap::new(),
            reopened_from: None,
            human_steps: BTreeSet::new(),
        }
    }

    /// Returns the state described by a task's copy of the position; fields that the copy
    /// lacks are empty.
    pub fn from_position(position: &StoryPosition, project: &str) -> Self {
        Self {
            attempt: position.attempt,
            status: position.status,
            reason: position.reason,
            hold: position.hold,
            last_error: position.error.as_deref().map(str::to_owned),
            message: ExecutorMessage::new(position.said.as_deref(), [], None),
            ..Self::new(project, Some(position.story.clone()), position.step)
        }
    }

    /// Returns the first step of a person that the position skips, because another program moved the
    /// story past it.
    pub fn skipped_human_step(&self, rules: &StepRuleTable) -> Option<Step> {
        let ahead = rules.human_steps_from(self.step);
        let is_skipped = |step: &&Step| rules.is_human_step(**step) && !ahead.contains(*step);
        self.human_steps.iter().find(is_skipped).copied()
    }

    /// Returns the story to a step of a person that its position skips.
    #[must_use]
    pub fn returned_to_human_step(&self, step: Step) -> Self {
        Self {
            step,
            attempt: 1,
            status: StepStatus::NeedsHuman,
            hold: Some(StoryHold::Review),
            reason: None,
            last_error: Some(format!(
                "the state file was set to {} ({}) without {step}",
                self.step, self.status
            )),
            ..self.clone()
        }
    }

    pub fn is_done(&self) -> bool {
        self.step == Step::Done
    }

    /// Returns whether the project is set up, so that only a story could go on. Every step after
    /// `bootstrap` is about a story.
    pub fn is_without_story(&self) -> bool {
        let is_set_up = self.step != Step::Bootstrap || self.status == StepStatus::Pass;
        self.story.is_none() && is_set_up
    }

    /// Returns how often the current step was dispatched in this story.
    pub fn dispatch_count(&self) -> u32 {
        self.dispatches.get(&self.step).copied().unwrap_or(0)
    }

    /// Returns why the story waits for a person. The file may have been written by another program,
    /// which need not give a reason.
    pub fn hold(&self, rules: &StepRuleTable) -> StoryHold {
        let human = rules.get(self.step).is_some_and(|rule| rule.requires_human);
        if human { StoryHold::Review } else { self.hold.unwrap_or(StoryHold::Asked) }
    }

    /// Returns the step that follows: by the route of the reason after
    /// a failure, else `next_on_pass`.
    pub fn next_step(&self, rules: &StepRuleTable) -> Option<Step> {
        let rule = rules.get(self.step)?;
        Some(match self.status {
            StepStatus::Failing => rule.route(self.reason),
            StepStatus::Pending
            | StepStatus::Running
            | StepStatus::Pass
            | StepStatus::NeedsHuman
            | StepStatus::Timeout => rule.next_on_pass,
        })
    }
}
