//! The rules table: for every step where a story goes from it, and within what limits.

use std::collections::BTreeMap;

use super::{Reason, Step};

/// How many times `max_attempts` a step may be dispatched in one story before a person is asked.
const VISITS_MAX: u32 = 2;

/// What holds for one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What a person calls the step.
    pub display_name: String,
    /// Where a story goes if it went well.
    pub next_on_pass: Step,
    /// Where a story goes if it did not, and no route fits.
    pub next_on_fail: Step,
    /// Where a story goes for a reason.
    pub on_fail: BTreeMap<Reason, Step>,
    /// How often it is tried in a row; at least 1.
    pub max_attempts: u32,
    /// How many minutes an executor may take; 0 where none works.
    pub timeout_min: u32,
    /// Whether a person does this step.
    pub requires_human: bool,
    /// Whether failing tests are what this step is for.
    pub treat_failing_as_pass: bool,
    /// What an executor is told to read, with `{story}` for the name of the story.
    pub claude_reads: Vec<String>,
    /// What an executor is expected to write.
    pub claude_writes: Vec<String>,
    /// A command that must succeed after the step.
    pub post_check: Option<String>,
    /// A file without which that command makes no sense.
    pub post_check_needs: Option<String>,
    /// What an executor is told to do.
    pub step_instruction: String,
}

/// The rules of every step, and what holds for all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    steps: BTreeMap<Step, Rule>,
    /// The command that runs the project's tests, if the project says so.
    pub test_command: Option<String>,
    /// How its output is written, if the project says so.
    pub test_format: Option<String>,
    /// The file it leaves its report in, from the root of the project, if the project says so.
    pub test_report: Option<String>,
    /// How many minutes the tests may take.
    pub test_timeout_min: u32,
}

/// A table that has no rule for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRule(pub Step);

impl Rules {
    /// Makes a table; every step that an executor or a person does needs a rule.
    pub fn new(steps: BTreeMap<Step, Rule>, test_timeout_min: u32) -> Result<Self, NoRule> {
        let missing = |step: &Step| *step != Step::Done && !steps.contains_key(step);
        match Step::ALL.into_iter().find(missing) {
            Some(step) => Err(NoRule(step)),
            None => Ok(Self {
                steps,
                test_command: None,
                test_format: None,
                test_report: None,
                test_timeout_min,
            }),
        }
    }

    /// Returns the rule of a step; a story that is done needs none.
    pub fn of(&self, step: Step) -> Option<&Rule> {
        self.steps.get(&step)
    }

    /// Returns the rules in the order of the steps.
    pub fn iter(&self) -> impl Iterator<Item = (Step, &Rule)> {
        self.steps.iter().map(|(step, rule)| (*step, rule))
    }
}

impl Rule {
    /// Returns where a story goes that failed.
    pub fn route(&self, reason: Option<Reason>) -> Step {
        reason.and_then(|reason| self.on_fail.get(&reason).copied()).unwrap_or(self.next_on_fail)
    }

    /// Returns how often the step may be dispatched in one story before a person is asked.
    pub fn dispatches_max(&self) -> u32 {
        self.max_attempts.saturating_mul(VISITS_MAX)
    }
}

impl std::fmt::Display for NoRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no rule for the step {}", self.0)
    }
}

impl std::error::Error for NoRule {}
