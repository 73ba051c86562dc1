//! Builders for stories in the state a test needs.

use adjutant_core::story::{
    MeasuredTests, StepReport, StepRule, StepRuleTable, StepVerdict, StoryDecision, StoryInput,
    StoryState, advance_story,
};
use adjutant_model::Time;
use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryId};
use serde_json::Value;

/// Returns the default step rules from the file that `adjutant-store` ships. The file is read here
/// field by field, because the crate that reads a project's own rules depends on this one.
pub(crate) fn rules() -> StepRuleTable {
    let text = include_str!("../../../../stories/src/files/step-rules.yaml");
    let file: Value = serde_saphyr::from_str(text).expect("YAML");
    let steps = file["steps"].as_object().expect("steps");
    let steps = steps.iter().map(|(name, rule)| (step_named(name), rule_from(rule))).collect();
    StepRuleTable::new(steps, number(&file["test_timeout_min"])).expect("a rule for every step")
}

fn rule_from(rule: &Value) -> StepRule {
    let routes = rule["on_fail"].as_object();
    let routes = routes.into_iter().flatten().filter_map(|(reason, step)| {
        Some((StepFailReason::parse(reason)?, step_named(step.as_str().expect("a step"))))
    });
    let next_on_fail = rule["next_on_fail"].as_str().or(rule["on_fail"]["default"].as_str());
    StepRule {
        display_name: text(&rule["display_name"]),
        next_on_pass: step_named(&text(&rule["next_on_pass"])),
        next_on_fail: step_named(next_on_fail.expect("a route for a failure")),
        on_fail: routes.collect(),
        max_attempts: number(&rule["max_attempts"]),
        timeout_min: number(&rule["timeout_min"]),
        requires_human: rule["requires_human"] == true,
        treat_failing_as_pass: rule["treat_failing_as_pass"] == true,
        claude_reads: texts(&rule["claude_reads"]),
        claude_writes: texts(&rule["claude_writes"]),
        post_check: rule["post_check"].as_str().map(str::to_owned),
        post_check_needs: rule["post_check_needs"].as_str().map(str::to_owned),
        step_instruction: text(&rule["step_instruction"]),
    }
}

fn step_named(name: &str) -> Step {
    Step::parse(name).expect("a step")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().expect("a list").iter().map(text).collect()
}

fn number(value: &Value) -> u32 {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).expect("a number")
}

/// Returns a time this many minutes after the start of the test.
pub(crate) fn minute(minutes: i64) -> Time {
    let start = Time::parse("2026-02-13T14:30:00.000Z").expect("a good time");
    Time::from_millis(start.as_millis() + minutes * 60_000)
}

pub(crate) fn story(name: &str) -> StoryId {
    StoryId::parse(name).expect("a good name")
}

/// Returns the state of a story at a step after one dispatch.
pub(crate) fn at(step: Step, status: StepStatus) -> StoryState {
    let mut state = StoryState::new("cart-app", Some(story("US-005")), step);
    state.status = status;
    if status != StepStatus::Pending {
        state.dispatched_at = Some(minute(0));
        state.dispatches.insert(step, 1);
    }
    state
}

/// Returns a story whose step failed for a reason.
pub(crate) fn failing(step: Step, reason: Option<StepFailReason>) -> StoryState {
    StoryState { reason, ..at(step, StepStatus::Failing) }
}

pub(crate) fn next() -> StoryInput {
    StoryInput::Next { now: minute(1), note: None, open: vec![] }
}

pub(crate) fn ended(verdict: StepVerdict) -> StoryInput {
    StoryInput::Ended(StepReport {
        at: minute(1),
        verdict,
        tests: MeasuredTests::NotNeeded,
        lint_pass: None,
        files_changed: vec![],
        message: None,
    })
}

pub(crate) fn failed(reason: Option<StepFailReason>) -> StepVerdict {
    StepVerdict::Failing { reason, error: None }
}

pub(crate) fn decide(state: &StoryState, input: &StoryInput) -> StoryDecision {
    advance_story(&rules(), state, input)
}

/// Advances a story by these inputs, and returns the last decision.
pub(crate) fn after(state: &StoryState, inputs: &[StoryInput]) -> StoryDecision {
    let mut decision = decide(state, &inputs[0]);
    for input in &inputs[1..] {
        decision = decide(&decision.state, input);
    }
    decision
}

/// Returns a decision as one line.
pub(crate) fn line(decision: &StoryDecision) -> String {
    let state = &decision.state;
    let reason = state.reason.map_or(String::new(), |reason| format!(" {reason}"));
    let hold = state.hold.map_or(String::new(), |hold| format!(" ({})", hold.as_str()));
    format!("{} {} {}{reason}{hold}", state.step, state.attempt, state.status)
}
