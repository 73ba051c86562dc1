//! The schemas of story files: `STATE.json`, `HANDOFF.md` and `step-rules.yaml`.

#![expect(dead_code, reason = "the fields of these types are described and never filled")]

use adjutant_model::schema::{NOT_BLANK, RFC_3339};
use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryId};
use adjutant_stories::files::rules::{MINUTES_MAX, TEST_FORMATS};
use schemars::{JsonSchema, json_schema};
use serde_json::Value;

/// Declares a type whose schema is written by hand. Its doc comment becomes the description.
macro_rules! described {
    ($(#[doc = $doc:literal])+ $name:ident => $schema:expr) => {
        $(#[doc = $doc])+
        struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut schema: schemars::Schema = $schema;
                let description = [$($doc.trim()),+].join(" ");
                schema.insert("description".into(), description.into());
                schema
            }
        }
    };
}

described! {
    /// Why a step failed. Empty, `null` and `~` mean that there is no reason.
    ReasonOrNone => json_schema!({
        "type": "string",
        "enum": StepFailReason::ALL.map(StepFailReason::as_str).into_iter().chain(["", "null", "~"])
            .collect::<Vec<_>>(),
    })
}

described! {
    /// The result of a step, as the executor reports it.
    ClaimWord => json_schema!({"type": "string", "enum": ["pass", "failing", "needs_human"]})
}

described! {
    /// A whole number of at least 1.
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

/// The state of a story: `STATE.json`. Fields that are not listed are kept as they are.
#[derive(JsonSchema)]
pub(super) struct State {
    /// The name of the project.
    project: Option<String>,
    /// The id of the story; absent while the project is being set up.
    story: Option<StoryId>,
    /// The current step.
    step: Step,
    /// The number of the current attempt at the step.
    attempt: Option<FromOne>,
    /// The maximum number of attempts, from the step rules.
    max_attempts: Option<Value>,
    /// The status of the step.
    status: StepStatus,
    /// Why the step failed.
    reason: Option<ReasonOrNone>,
    /// When the executor was started.
    dispatched_at: Option<Moment>,
    /// When the executor ended.
    completed_at: Option<Moment>,
    /// The time limit of the executor in minutes, from the step rules.
    timeout_min: Option<Value>,
    tests: Option<Tests>,
    /// The tests that failed.
    failing_tests: Option<Vec<String>>,
    /// Whether the check after the step succeeded.
    lint_pass: Option<bool>,
    /// The files that the executor reports as changed.
    files_changed: Option<Vec<String>>,
    /// Stories that must be done first.
    blocked_by: Option<Vec<StoryId>>,
    /// A note of a person for the next executor.
    human_note: Option<String>,
    /// The last error, as text.
    last_error: Option<String>,
    /// What the last executor said in one sentence.
    executor_summary: Option<String>,
    /// What the last executor asks a person.
    executor_questions: Option<Vec<String>>,
    /// The text of the last executor's hand-over.
    executor_notes: Option<String>,
    /// Whether a prompt has included the note.
    human_note_told: Option<bool>,
    /// Why the step needs a person. An unknown value counts as absent.
    waiting_for: Option<String>,
    /// The last error before the current dispatch.
    previous_error: Option<String>,
    /// How often each step was dispatched in this story.
    dispatches: Option<Value>,
    /// The step at which a story that was done was reopened.
    reopened_from: Option<Step>,
    /// The steps of a person that are still ahead.
    human_steps: Option<Value>,
    /// Fingerprints of the hand-over files when the current executor was started.
    papers_before: Option<Value>,
    /// What started the current executor: a run as `TASK-… ATTEMPT FENCE`, or a caller of `next`.
    dispatched_by: Option<Value>,
    /// When the story was started.
    started_at: Option<Value>,
    /// The commit of the project when the story was started.
    base_commit: Option<Value>,
    /// Whether agents do the steps.
    auto: Option<Value>,
    /// The agent that does the steps; absent if any agent may.
    agent: Option<Value>,
    /// When a person last started the story, reopened it, or let agents do the steps.
    taken_up_at: Option<Value>,
    /// The idempotency key of the last HTTP call that changed the story.
    last_request: Option<Value>,
}

/// The results of the tests.
#[derive(JsonSchema)]
struct Tests {
    /// How many passed.
    pass: Option<u64>,
    /// How many failed.
    fail: Option<u64>,
    /// How many were skipped.
    skip: Option<u64>,
}

/// The hand-over of an executor: the front matter of `HANDOFF.md`, or `executor-result`.
#[derive(JsonSchema)]
pub(super) struct Handoff {
    /// The id of the story.
    story: StoryId,
    /// The step that the executor performed.
    step: Step,
    /// The number of the attempt.
    attempt: FromOne,
    /// The result of the step.
    status: ClaimWord,
    /// Why the step failed, or needs a person.
    reason: Option<StepFailReason>,
    /// The files that were changed.
    files_changed: Option<Vec<String>>,
    /// How many tests passed.
    tests_pass: Option<u64>,
    /// How many tests failed.
    tests_fail: Option<u64>,
    /// How many tests were skipped.
    tests_skip: Option<u64>,
    /// A summary of the work in one sentence.
    summary: Option<String>,
    /// Questions for a person.
    questions: Option<Vec<String>>,
    /// The commit that was made, in the hand-over of `commit`.
    commit_hash: Option<String>,
}

described! {
    /// A text that is not blank.
    Words => json_schema!({"type": "string", "pattern": NOT_BLANK})
}

described! {
    /// A text that is not blank, or null for none.
    WordsOrNull => json_schema!({
        "oneOf": [{"type": "string", "pattern": NOT_BLANK}, {"type": "null"}],
    })
}

described! {
    /// A number of minutes.
    Minutes => json_schema!({"type": "integer", "minimum": 0, "maximum": MINUTES_MAX})
}

described! {
    /// A number of attempts.
    Attempts => json_schema!({"type": "integer", "minimum": 1, "maximum": 1000})
}

described! {
    /// The format of the test output; null to detect it.
    FormatOrNull => json_schema!({
        "oneOf": [{"type": "string", "enum": TEST_FORMATS}, {"type": "null"}],
    })
}

described! {
    /// A path relative to the project, inside of it; null for none.
    InsideOrNull => json_schema!({"oneOf": [{"type": "string", "minLength": 1}, {"type": "null"}]})
}

/// The next step after a failure, by its reason; `default` applies to all other reasons.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Routes {
    /// The next step for all other reasons.
    default: Option<Step>,
    /// The work would violate the constitution of the project.
    constitution_violation: Option<Step>,
    /// The requirements are not clear.
    needs_clarification: Option<Step>,
    /// A threshold that a test needs is not defined.
    nfr_missing: Option<Step>,
    /// The work touched files outside the scope of the story.
    scope_warning: Option<Step>,
    /// The tests exceeded their time limit.
    test_timeout: Option<Step>,
}

/// The rules of each step, by its name. A step that is not listed keeps its defaults.
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

/// The step rules of a project: `step-rules.yaml`. Each field replaces its default.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct StepRules {
    /// The rules of each step.
    steps: Option<Steps>,
    /// The command that runs the project's tests.
    test_command: Option<WordsOrNull>,
    /// The format of the test output; detected if absent.
    test_format: Option<FormatOrNull>,
    /// The file that the test command writes its report to.
    test_report: Option<InsideOrNull>,
    /// The time limit of the tests, in minutes.
    test_timeout_min: Option<Minutes>,
}

/// The rules of a step. Each field replaces its default.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Rule {
    /// The name of the step that people see.
    display_name: Option<Words>,
    /// The next step after success.
    next_on_pass: Option<Step>,
    /// The next step after a failure, if no route matches.
    next_on_fail: Option<Step>,
    on_fail: Option<Routes>,
    /// The maximum number of attempts in a row.
    max_attempts: Option<Attempts>,
    /// The time limit of an executor, in minutes.
    timeout_min: Option<Minutes>,
    /// Whether a person performs this step.
    requires_human: Option<bool>,
    /// Whether failing tests count as success, because the step writes tests first.
    treat_failing_as_pass: Option<bool>,
    /// The files that the executor must read; `{story}` stands for the id of the story.
    claude_reads: Option<Vec<String>>,
    /// The files that the executor must write.
    claude_writes: Option<Vec<String>>,
    /// A command that must succeed after the step; null for none.
    post_check: Option<WordsOrNull>,
    /// A file that must exist for the command to be run.
    post_check_needs: Option<WordsOrNull>,
    /// The instruction for the executor.
    step_instruction: Option<Words>,
}
