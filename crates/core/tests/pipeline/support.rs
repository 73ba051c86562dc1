//! Stories in the state a test needs.

use adjutant_core::Time;
use adjutant_core::pipeline::{
    Decision, Input, Reason, Report, Rules, State, Status, Step, StoryId, Verdict, advance,
};

/// Returns the rules of the protocol.
pub(crate) fn rules() -> Rules {
    adjutant_store::story::rules::defaults()
}

/// Returns a time so many minutes after the start of every test.
pub(crate) fn minute(minutes: i64) -> Time {
    let start = Time::parse("2026-02-13T14:30:00.000Z").expect("a good time");
    Time::from_millis(start.as_millis() + minutes * 60_000)
}

pub(crate) fn story(name: &str) -> StoryId {
    StoryId::parse(name).expect("a good name")
}

/// Returns a story at a step, as it stands there after one dispatch.
pub(crate) fn at(step: Step, status: Status) -> State {
    let mut state = State::begin("cart-app", Some(story("US-005")), step);
    state.status = status;
    if status != Status::Pending {
        state.dispatched_at = Some(minute(0));
        state.dispatches.insert(step, 1);
    }
    state
}

/// Returns a story whose step failed for a reason.
pub(crate) fn failing(step: Step, reason: Option<Reason>) -> State {
    State { reason, ..at(step, Status::Failing) }
}

/// Says: go on.
pub(crate) fn next() -> Input {
    Input::Next { now: minute(1), note: None, open: vec![] }
}

/// Says that an executor ended so.
pub(crate) fn ended(verdict: Verdict) -> Input {
    Input::Ended(Report {
        at: minute(1),
        verdict,
        tests: None,
        failing_tests: vec![],
        lint_pass: None,
        files_changed: vec![],
    })
}

pub(crate) fn failed(reason: Option<Reason>) -> Verdict {
    Verdict::Failing { reason, error: None }
}

pub(crate) fn decide(state: &State, input: &Input) -> Decision {
    advance(&rules(), state, input)
}

/// Does one thing after the other, and returns what was said last and where the story stands.
pub(crate) fn after(state: &State, inputs: &[Input]) -> Decision {
    let mut decision = decide(state, &inputs[0]);
    for input in &inputs[1..] {
        decision = decide(&decision.state, input);
    }
    decision
}

/// Says in a line where a story stands.
pub(crate) fn line(decision: &Decision) -> String {
    let state = &decision.state;
    let reason = state.reason.map_or(String::new(), |reason| format!(" {reason}"));
    let hold = state.hold.map_or(String::new(), |hold| format!(" ({})", hold.as_str()));
    format!("{} {} {}{reason}{hold}", state.step, state.attempt, state.status)
}
