//! The step rules: for every step, which steps can follow it and within what limits.

use std::collections::{BTreeMap, BTreeSet};

use super::{Step, StepFailReason};

/// A step may be dispatched this many times its `max_attempts` in one story before a
/// person is asked.
const DISPATCH_FACTOR: u32 = 2;

/// The rule of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRule {
    pub display_name: String,
    pub next_on_pass: Step,
    /// The next step after a failure, if `on_fail` has none for its reason.
    pub next_on_fail: Step,
    pub on_fail: BTreeMap<StepFailReason, Step>,
    /// How often the step is tried in a row; at least 1.
    pub max_attempts: u32,
    /// How many minutes an executor may take; 0 for a step without an executor.
    pub timeout_min: u32,
    /// Whether a person does this step.
    pub requires_human: bool,
    /// Whether the step is expected to leave failing tests.
    pub treat_failing_as_pass: bool,
    /// The files an executor is told to read; `{story}` stands for the story's name.
    pub claude_reads: Vec<String>,
    /// The files an executor is expected to write.
    pub claude_writes: Vec<String>,
    /// A command that must succeed after the step.
    pub post_check: Option<String>,
    /// The check is skipped if this file does not exist.
    pub post_check_needs: Option<String>,
    pub step_instruction: String,
}

/// The rules of all steps, and the project's test settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRuleTable {
    steps: BTreeMap<Step, StepRule>,
    /// The command that runs the project's tests, if it is configured.
    pub test_command: Option<String>,
    /// The format of the test output, if it is configured.
    pub test_format: Option<String>,
    /// The file with the test report, relative to the project root, if it is configured.
    pub test_report: Option<String>,
    pub test_timeout_min: u32,
}

/// A rules table without a rule for this step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingStepRule(pub Step);

impl StepRuleTable {
    /// Makes a table. Every step but `done` needs a rule.
    pub fn new(
        steps: BTreeMap<Step, StepRule>,
        test_timeout_min: u32,
    ) -> Result<Self, MissingStepRule> {
        let missing = |step: &Step| *step != Step::Done && !steps.contains_key(step);
        match Step::ALL.into_iter().find(missing) {
            Some(step) => Err(MissingStepRule(step)),
            None => Ok(Self {
                steps,
                test_command: None,
                test_format: None,
                test_report: None,
                test_timeout_min,
            }),
        }
    }

    /// Returns the rule of a step; `None` for `done`.
    pub fn get(&self, step: Step) -> Option<&StepRule> {
        self.steps.get(&step)
    }

    /// Returns the steps of a person that a story has to pass from a step on, itself included, if
    /// every step passes.
    pub fn human_steps_from(&self, step: Step) -> BTreeSet<Step> {
        let next = |step: &Step| self.get(*step).map(|rule| rule.next_on_pass);
        let path = std::iter::successors(Some(step), next).take(Step::ALL.len());
        path.filter(|step| self.is_human_step(*step)).collect()
    }

    pub fn is_human_step(&self, step: Step) -> bool {
        self.get(step).is_some_and(|rule| rule.requires_human)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Step, &StepRule)> {
        self.steps.iter().map(|(step, rule)| (*step, rule))
    }
}

impl StepRule {
    /// Returns the next step after a failure.
    pub fn route(&self, reason: Option<StepFailReason>) -> Step {
        reason.and_then(|reason| self.on_fail.get(&reason).copied()).unwrap_or(self.next_on_fail)
    }

    /// Returns how often the step may be dispatched in one story before a person is asked.
    pub fn dispatches_max(&self) -> u32 {
        self.max_attempts.saturating_mul(DISPATCH_FACTOR)
    }
}

impl std::fmt::Display for MissingStepRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no rule for the step {}", self.0)
    }
}

impl std::error::Error for MissingStepRule {}
