//! Where the story stands that a task is.

use schemars::{JsonSchema, json_schema};

use crate::schema::described;
use crate::schema::story::{HoldWord, ReasonWord, StatusWord, StepWord, StoryName};

described! {
    /// A count, from 1.
    Count => json_schema!({"type": "integer", "minimum": 1})
}

/// Where the story stands now.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoryMoved {
    /// The story.
    id: StoryName,
    /// The present step.
    step: StepWord,
    /// Which try of it in a row this is.
    attempt: Count,
    /// How many there may be.
    max_attempts: Count,
    /// How the step stands.
    status: StatusWord,
    /// Whether agents do its steps.
    auto: bool,
    /// Why it failed.
    reason: Option<ReasonWord>,
    /// Why a person is waited for.
    waiting_for: Option<HoldWord>,
    /// The stories it waits for that are not done.
    #[schemars(length(min = 1))]
    waits_for: Option<Vec<StoryName>>,
    /// The fence of the run that does the present step, if it is one of ours.
    fence: Option<u64>,
    /// What went wrong last, in words.
    last_error: Option<String>,
    /// The node of a fleet that has its files.
    node: Option<String>,
}
