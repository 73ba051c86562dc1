//! The files of stories: where one stands, what its executors leave, and the rules it goes by.

use adjutant_core::pipeline::story::STORY_CHARS_MAX;
use adjutant_core::pipeline::{
    Hold, Reason as StoryReason, Status as StepStatus, Step as StoryStep,
};
use adjutant_store::story::rules::{FORMATS, MINUTES_MAX};
use schemars::{JsonSchema, json_schema};
use serde_json::Value;

use super::described;
use super::text::NOT_BLANK;
use super::time::RFC_3339;

described! {
    /// The name of a story, such as US-005: letters, digits, `-`, `_` and `.`, a letter or digit
    /// first.
    StoryName => json_schema!({
        "type": "string",
        "maxLength": STORY_CHARS_MAX,
        "pattern": r"^[\p{Alphabetic}\p{N}][\p{Alphabetic}\p{N}._-]*$",
        "examples": ["US-005"],
    })
}

described! {
    /// A step of the pipeline.
    StepWord => json_schema!({"type": "string", "enum": StoryStep::ALL.map(StoryStep::as_str)})
}

described! {
    /// How a step stands.
    StatusWord => json_schema!({
        "type": "string", "enum": StepStatus::ALL.map(StepStatus::as_str),
    })
}

described! {
    /// Why a step failed, as far as it decides where the story goes.
    ReasonWord => json_schema!({
        "type": "string", "enum": StoryReason::ALL.map(StoryReason::as_str),
    })
}

described! {
    /// Why a step failed, as a state says it: where it says nothing, that is no reason.
    ReasonOrNone => json_schema!({
        "type": "string",
        "enum": StoryReason::ALL.map(StoryReason::as_str).into_iter().chain(["", "null", "~"])
            .collect::<Vec<_>>(),
    })
}

described! {
    /// Why a person is waited for.
    HoldWord => json_schema!({"type": "string", "enum": Hold::ALL.map(Hold::as_str)})
}

described! {
    /// How an executor says its step went.
    ClaimWord => json_schema!({"type": "string", "enum": ["pass", "failing", "needs_human"]})
}

described! {
    /// A whole number from 1.
    FromOne => json_schema!({"type": "integer", "minimum": 1, "maximum": u32::MAX})
}

described! {
    /// An RFC 3339 time, or milliseconds since 1970.
    Moment => json_schema!({
        "anyOf": [
            {"type": "string", "format": "date-time", "pattern": RFC_3339},
            {"type": "integer"},
        ],
    })
}

/// Where a story stands: `STATE.json`. Fields that are not listed are kept as they are.
#[derive(JsonSchema)]
pub(super) struct State {
    /// The project.
    project: Option<String>,
    /// The story; none while the project is being set up.
    story: Option<StoryName>,
    /// The present step.
    step: StepWord,
    /// Which try in a row this is.
    attempt: Option<FromOne>,
    /// How many there may be, from the rules.
    max_attempts: Option<Value>,
    /// How the step stands.
    status: StatusWord,
    /// Why it failed.
    reason: Option<ReasonOrNone>,
    /// When its executor was started.
    dispatched_at: Option<Moment>,
    /// When that executor ended.
    completed_at: Option<Moment>,
    /// How many minutes it may take, from the rules.
    timeout_min: Option<Value>,
    tests: Option<Tests>,
    /// The tests that failed.
    failing_tests: Option<Vec<String>>,
    /// Whether the check after the step succeeded.
    lint_pass: Option<bool>,
    /// What the executor says it changed.
    files_changed: Option<Vec<String>>,
    /// Stories that must be done first.
    blocked_by: Option<Vec<StoryName>>,
    /// What a person has to say to the next executor.
    human_note: Option<String>,
    /// What went wrong last, in words.
    last_error: Option<String>,
    /// Whether the note has been in a prompt.
    human_note_told: Option<bool>,
    /// Why a person is asked: one of the words there are, or else it counts as absent.
    waiting_for: Option<String>,
    /// What went wrong before the present dispatch.
    previous_error: Option<String>,
    /// How often each step was dispatched in this story.
    dispatches: Option<Value>,
    /// The step at which a story that was done was taken up again.
    reopened_from: Option<StepWord>,
    /// What the papers were when the present executor was started.
    papers_before: Option<Value>,
    /// Who started the present executor: a run as `TASK-… ATTEMPT FENCE`, or a caller of `next`.
    dispatched_by: Option<Value>,
    /// When the story began.
    started_at: Option<Value>,
    /// The commit the project was at then.
    base_commit: Option<Value>,
    /// Whether agents do its steps.
    auto: Option<Value>,
    /// The agent that does them; none where any may.
    agent: Option<Value>,
    /// When a person last began it, took it up again, or set it to go by itself.
    taken_up_at: Option<Value>,
    /// The mark of the last call over HTTP that carried a key and changed it.
    last_request: Option<Value>,
}

/// What the tests came to.
#[derive(JsonSchema)]
struct Tests {
    /// How many passed.
    pass: Option<u64>,
    /// How many failed.
    fail: Option<u64>,
    /// How many were left out.
    skip: Option<u64>,
}

/// The front matter of `HANDOFF.md`, and what `executor-result` says: what an executor leaves.
#[derive(JsonSchema)]
pub(super) struct Handoff {
    /// The story it is about.
    story: StoryName,
    /// The step it is about.
    step: StepWord,
    /// The attempt it is about.
    attempt: FromOne,
    /// How it went.
    status: ClaimWord,
    /// Why not better.
    reason: Option<ReasonWord>,
    /// What was changed.
    files_changed: Option<Vec<String>>,
    /// How many tests passed.
    tests_pass: Option<u64>,
    /// How many tests failed.
    tests_fail: Option<u64>,
    /// How many tests were left out.
    tests_skip: Option<u64>,
    /// In one sentence what was done, in `executor-result`.
    summary: Option<String>,
    /// The commit that was made, in the hand-over of `commit`.
    commit_hash: Option<String>,
}

described! {
    /// A text that says something.
    Words => json_schema!({"type": "string", "pattern": NOT_BLANK})
}

described! {
    /// A text that says something; null where there is none.
    WordsOrNull => json_schema!({
        "oneOf": [{"type": "string", "pattern": NOT_BLANK}, {"type": "null"}],
    })
}

described! {
    /// How many minutes something may take.
    Minutes => json_schema!({"type": "integer", "minimum": 0, "maximum": MINUTES_MAX})
}

described! {
    /// How often something may be tried in a row.
    Attempts => json_schema!({"type": "integer", "minimum": 1, "maximum": 1000})
}

described! {
    /// How the output of tests is written; null where that is found from the output.
    FormatOrNull => json_schema!({
        "oneOf": [{"type": "string", "enum": FORMATS}, {"type": "null"}],
    })
}

described! {
    /// A path from the root of the project that stays inside; null where there is none.
    InsideOrNull => json_schema!({"oneOf": [{"type": "string", "minLength": 1}, {"type": "null"}]})
}

/// Where a story goes that failed, by the reason; `default` where no other fits.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Routes {
    /// Where no other fits.
    default: Option<StepWord>,
    /// What was to be done breaks a principle of the project.
    constitution_violation: Option<StepWord>,
    /// What is wanted is not clear.
    needs_clarification: Option<StepWord>,
    /// A threshold that a test needs is nowhere written.
    nfr_missing: Option<StepWord>,
    /// It touched what the story is not about.
    scope_warning: Option<StepWord>,
    /// The tests did not end in time.
    test_timeout: Option<StepWord>,
}

/// The rules of each step, by its name; what is not named stays as it is.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
struct Steps {
    /// The rules of `bootstrap`.
    bootstrap: Option<Rule>,
    /// The rules of `bdd`.
    bdd: Option<Rule>,
    /// The rules of `sdd-delta`.
    sdd_delta: Option<Rule>,
    /// The rules of `contract`.
    contract: Option<Rule>,
    /// The rules of `review`.
    review: Option<Rule>,
    /// The rules of `scaffold`.
    scaffold: Option<Rule>,
    /// The rules of `impl`.
    r#impl: Option<Rule>,
    /// The rules of `verify`.
    verify: Option<Rule>,
    /// The rules of `custom`.
    custom: Option<Rule>,
    /// The rules of `commit`.
    commit: Option<Rule>,
    /// The rules of `update-memory`.
    update_memory: Option<Rule>,
}

/// The rules of a project's stories: `step-rules.yaml`, over those there are, field by field.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct StepRules {
    /// The rules of each step.
    steps: Option<Steps>,
    /// The command that runs the project's tests.
    test_command: Option<WordsOrNull>,
    /// How its output is written; found from the output where this is absent.
    test_format: Option<FormatOrNull>,
    /// The file it leaves its report in.
    test_report: Option<InsideOrNull>,
    /// How many minutes the tests may take.
    test_timeout_min: Option<Minutes>,
}

/// The rules of a step, as far as a project says something of its own.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Rule {
    /// What a person calls the step.
    display_name: Option<Words>,
    /// Where a story goes if it went well.
    next_on_pass: Option<StepWord>,
    /// Where a story goes if it did not, and no route fits.
    next_on_fail: Option<StepWord>,
    on_fail: Option<Routes>,
    /// How often it is tried in a row.
    max_attempts: Option<Attempts>,
    /// How many minutes an executor may take.
    timeout_min: Option<Minutes>,
    /// Whether a person does this step.
    requires_human: Option<bool>,
    /// Whether failing tests are what this step is for.
    treat_failing_as_pass: Option<bool>,
    /// What an executor is told to read, with `{story}` for the name of the story.
    claude_reads: Option<Vec<String>>,
    /// What an executor is expected to write.
    claude_writes: Option<Vec<String>>,
    /// A command that must succeed after the step; null where there is none.
    post_check: Option<WordsOrNull>,
    /// A file without which that command makes no sense.
    post_check_needs: Option<WordsOrNull>,
    /// What an executor is told to do.
    step_instruction: Option<Words>,
}
