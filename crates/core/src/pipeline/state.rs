//! Where a story stands.

use std::collections::BTreeMap;

use super::{Reason, Rules, Status, Step, StoryId};
use crate::Time;

/// Where a story stands: what `STATE.json` says, as far as decisions need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The project it belongs to.
    pub project: String,
    /// The story; none while a project is being set up.
    pub story: Option<StoryId>,
    /// The present step.
    pub step: Step,
    /// Which try of it in a row this is, from 1.
    pub attempt: u32,
    /// How the step stands.
    pub status: Status,
    /// Why it failed.
    pub reason: Option<Reason>,
    /// When its executor was started.
    pub dispatched_at: Option<Time>,
    /// When that executor ended.
    pub completed_at: Option<Time>,
    /// What the tests came to, when they last ran.
    pub tests: Option<Tests>,
    /// The tests that failed then.
    pub failing_tests: Vec<String>,
    /// Whether the check after the step succeeded.
    pub lint_pass: Option<bool>,
    /// What the executor says it changed.
    pub files_changed: Vec<String>,
    /// Stories that must be done before this one goes on.
    pub blocked_by: Vec<StoryId>,
    /// What a person has to say to the next executor.
    pub human_note: Option<Note>,
    /// What went wrong last, in words.
    pub last_error: Option<String>,
    /// What went wrong before the present dispatch, for whoever tries again.
    pub previous: Option<String>,
    /// Why a person is waited for.
    pub hold: Option<Hold>,
    /// How often each step was dispatched in this story.
    pub dispatches: BTreeMap<Step, u32>,
    /// The step at which a story that was done was taken up again.
    pub reopened_from: Option<Step>,
}

/// What the tests came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tests {
    /// How many passed.
    pub pass: u64,
    /// How many failed.
    pub fail: u64,
    /// How many were left out.
    pub skip: u64,
}

/// What a person has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The words.
    pub text: String,
    /// Whether an executor has been told.
    pub told: bool,
}

/// Why a person is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hold {
    /// The step is a person's.
    Review,
    /// The step was tried as often as it may be in a row.
    Stuck,
    /// The step was dispatched as often as it may be in one story.
    Limit,
    /// The executor asked for a person.
    Asked,
    /// Nothing says how the step went.
    NoVerdict,
}

impl Hold {
    /// Every reason to wait for a person.
    pub const ALL: [Self; 5] =
        [Self::Review, Self::Stuck, Self::Limit, Self::Asked, Self::NoVerdict];

    /// Returns the name that files use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Stuck => "stuck",
            Self::Limit => "limit",
            Self::Asked => "asked",
            Self::NoVerdict => "no_verdict",
        }
    }

    /// Says it in words, of a step.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Review => "waits for a person",
            Self::Stuck => "was tried as often as it may be in a row",
            Self::Limit => "was dispatched as often as it may be in one story",
            Self::Asked => "asks for a person",
            Self::NoVerdict => "ended, and nothing says how it went",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hold| hold.as_str() == text)
    }
}

impl State {
    /// Makes the state of a story that begins.
    pub fn begin(project: &str, story: Option<StoryId>, step: Step) -> Self {
        Self {
            project: project.to_owned(),
            story,
            step,
            attempt: 1,
            status: Status::Pending,
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
            previous: None,
            hold: None,
            dispatches: BTreeMap::new(),
            reopened_from: None,
        }
    }

    /// Says whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        self.step == Step::Done
    }

    /// Returns how often the present step was dispatched in this story.
    pub fn dispatched(&self) -> u32 {
        self.dispatches.get(&self.step).copied().unwrap_or(0)
    }

    /// Returns why a person is waited for. A state that somebody else wrote may not say so.
    pub fn hold(&self, rules: &Rules) -> Hold {
        let human = rules.of(self.step).is_some_and(|rule| rule.requires_human);
        if human { Hold::Review } else { self.hold.unwrap_or(Hold::Asked) }
    }

    /// Returns the step that follows: where a failing one is routed to, else where a pass leads.
    pub fn next_step(&self, rules: &Rules) -> Option<Step> {
        let rule = rules.of(self.step)?;
        Some(match self.status {
            Status::Failing => rule.route(self.reason),
            Status::Pending
            | Status::Running
            | Status::Pass
            | Status::NeedsHuman
            | Status::Timeout => rule.next_on_pass,
        })
    }
}
