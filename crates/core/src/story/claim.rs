//! What an executor claims: the files it left, and whether they are about the current attempt.

use super::{ExecutorMessage, StepFailReason, StepStatus, StoryState, TestTotals};

/// What was found in place of one hand-over file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundHandOver {
    /// The file is missing or empty.
    Missing,
    /// The file is unchanged since before the current executor was started.
    Unchanged,
    /// The file cannot be parsed; the text says why.
    Invalid(String),
    Content(HandOverContent),
}

/// The hand-over files that an executor may have left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandOverFiles {
    /// The file `executor-result`.
    pub result: FoundHandOver,
    /// The story's own hand-over; `None` if the project has only the shared one.
    pub own_handoff: Option<FoundHandOver>,
    /// `HANDOFF.md`, which all stories share.
    pub handoff: FoundHandOver,
}

/// The content of a hand-over file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HandOverContent {
    pub story: Option<String>,
    pub step: Option<String>,
    pub attempt: Option<String>,
    pub claimed: ClaimedResult,
}

/// The values that an executor wrote, not yet interpreted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimedResult {
    pub status: Option<String>,
    pub reason: Option<String>,
    pub tests: Option<TestTotals>,
    pub files_changed: Vec<String>,
    /// What the executor says beside the result.
    pub message: Option<Box<ExecutorMessage>>,
}

/// What an executor claims about the current attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecutorClaim {
    Missing,
    /// A file cannot be parsed; the text says why.
    Unreadable(String),
    /// The files are about another story, step or attempt; the text says which.
    Stale(String),
    Stated(ClaimedResult),
}

/// Whether another story may have written the shared files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherStories {
    None,
    /// Another story is in progress too, so a file must name its story.
    Running,
}

impl ExecutorClaim {
    /// Finds the claim about the current attempt. `executor-result` takes precedence over the
    /// story's own hand-over, and that over `HANDOFF.md`.
    ///
    /// Also returns warnings about the files.
    pub fn find(
        hand_overs: &HandOverFiles,
        state: &StoryState,
        others: OtherStories,
    ) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        let result =
            read_claim(".ai/executor-result", &hand_overs.result, state, others, &mut warnings);
        let own = match (&hand_overs.own_handoff, &state.story) {
            (Some(own), Some(story)) => {
                let name = format!(".ai/handoffs/{story}.md");
                read_claim(&name, own, state, OtherStories::None, &mut warnings)
            }
            _ => Self::Missing,
        };
        if own != Self::Missing {
            return (choose(result, own), warnings);
        }
        if hand_overs.own_handoff.is_some() && hand_overs.is_handoff_of_another(state) {
            return (choose(result, own), warnings);
        }
        let handoff =
            read_claim(".ai/HANDOFF.md", &hand_overs.handoff, state, others, &mut warnings);
        (choose(result, handoff), warnings)
    }
}

impl HandOverFiles {
    /// For a story without a hand-over of its own.
    pub fn from_shared(result: &FoundHandOver, handoff: &FoundHandOver) -> Self {
        Self { result: result.clone(), own_handoff: None, handoff: handoff.clone() }
    }

    /// Returns whether the shared hand-over names another story. It is then ignored
    /// without a warning.
    fn is_handoff_of_another(&self, state: &StoryState) -> bool {
        let FoundHandOver::Content(content) = &self.handoff else { return false };
        let own = state.story.as_ref().map(adjutant_model::story::StoryId::as_str);
        content.story.is_some() && content.story.as_deref() != own
    }
}

fn read_claim(
    name: &str,
    found: &FoundHandOver,
    state: &StoryState,
    others: OtherStories,
    warnings: &mut Vec<String>,
) -> ExecutorClaim {
    match found {
        FoundHandOver::Missing => ExecutorClaim::Missing,
        FoundHandOver::Unchanged => {
            warnings.push(format!("stale: {name} has not changed since the executor started"));
            ExecutorClaim::Missing
        }
        FoundHandOver::Invalid(why) => {
            warnings.push(format!("{name} cannot be read: {why}"));
            ExecutorClaim::Unreadable(format!("{name} cannot be read: {why}"))
        }
        FoundHandOver::Content(content) => match find_mismatch(content, state, others) {
            Some(why) => {
                warnings.push(format!("stale: {name} {why}"));
                ExecutorClaim::Stale(format!("{name} {why}"))
            }
            None => ExecutorClaim::Stated(content.claimed.clone()),
        },
    }
}

/// Returns what a file is about, if it is not about the current attempt.
fn find_mismatch(
    content: &HandOverContent,
    state: &StoryState,
    others: OtherStories,
) -> Option<String> {
    let story = state.story.as_ref().map_or("", |story| story.as_str());
    let wrong =
        |named: &Option<String>, is: &str| named.as_deref().is_some_and(|named| named != is);
    if wrong(&content.story, story) && !story.is_empty() {
        return Some(format!(
            "is about the story {}",
            content.story.as_deref().unwrap_or_default()
        ));
    }
    if content.story.is_none() && others == OtherStories::Running {
        return Some("names no story, and several stories are running".to_owned());
    }
    if wrong(&content.step, state.step.as_str()) {
        return Some(format!("is about the step {}", content.step.as_deref().unwrap_or_default()));
    }
    let attempt = content.attempt.as_deref()?;
    (attempt.parse() != Ok(state.attempt)).then(|| format!("is about the attempt {attempt}"))
}

fn choose(result: ExecutorClaim, handoff: ExecutorClaim) -> ExecutorClaim {
    match (result, handoff) {
        (ExecutorClaim::Stated(first), ExecutorClaim::Stated(second)) => {
            ExecutorClaim::Stated(merge(first, second))
        }
        (ExecutorClaim::Stated(first), other)
            if first.status.is_none() && first.reason.is_none() =>
        {
            match other {
                ExecutorClaim::Missing => ExecutorClaim::Stated(first),
                other => other,
            }
        }
        (ExecutorClaim::Stated(first), _) => ExecutorClaim::Stated(first),
        (
            ExecutorClaim::Missing | ExecutorClaim::Unreadable(_) | ExecutorClaim::Stale(_),
            ExecutorClaim::Stated(second),
        ) => ExecutorClaim::Stated(second),
        (ExecutorClaim::Missing, other) => other,
        (first @ (ExecutorClaim::Unreadable(_) | ExecutorClaim::Stale(_)), _) => first,
    }
}

/// Fills gaps of the first file from the second.
fn merge(first: ClaimedResult, second: ClaimedResult) -> ClaimedResult {
    let (status, reason) = match first.status {
        Some(status) => (Some(status), first.reason),
        None => (second.status, first.reason.or(second.reason)),
    };
    let files_changed =
        if first.files_changed.is_empty() { second.files_changed } else { first.files_changed };
    let message = match (first.message, second.message) {
        (Some(first), Some(second)) => Some(Box::new(first.or(*second))),
        (first, second) => first.or(second),
    };
    ClaimedResult { status, reason, tests: first.tests.or(second.tests), files_changed, message }
}

impl ClaimedResult {
    /// Reads the status: the three defined words, common synonyms, and anything else as failing.
    /// Every word but the defined ones adds a warning.
    pub fn status(&self, warnings: &mut Vec<String>) -> Option<StepStatus> {
        let text = self.status.as_deref()?;
        let status = match text {
            "pass" => return Some(StepStatus::Pass),
            "failing" => return Some(StepStatus::Failing),
            "needs_human" => return Some(StepStatus::NeedsHuman),
            other => match other.to_lowercase().as_str() {
                "pass" | "passing" | "passed" | "done" | "complete" | "completed" => {
                    StepStatus::Pass
                }
                "needs_human" | "needs-human" | "needs human" => StepStatus::NeedsHuman,
                _ => StepStatus::Failing,
            },
        };
        warnings.push(format!("the status {text:?} counts as {status}"));
        Some(status)
    }

    /// Reads the reason; an unknown one adds a warning and counts as none.
    pub fn reason(&self, warnings: &mut Vec<String>) -> Option<StepFailReason> {
        let text = self.reason.as_deref()?;
        if matches!(text, "" | "null" | "~") {
            return None;
        }
        let reason = StepFailReason::parse(text);
        if reason.is_none() {
            let start: String = text.chars().take(80).collect();
            warnings.push(format!("the reason {start:?} is unknown and was ignored"));
        }
        reason
    }
}
