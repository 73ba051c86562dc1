//! The state machine of a story: every rule about which step comes next is here.

use std::collections::BTreeSet;

use adjutant_model::Time;

use super::decision::{AdvanceResult, StoryDecision, StoryRefusal};
use super::input::{MeasuredTests, StepReport, StepVerdict, StoryInput};
use super::{
    HumanNote, Step, StepFailReason, StepRule, StepRuleTable, StepStatus, StoryHold, StoryId,
    StoryState,
};

const MINUTE_MILLIS: i64 = 60_000;

/// Decides what an input does to a story.
///
/// The same rules, state and input give the same decision. A refusal leaves the state unchanged.
pub fn advance_story(
    rules: &StepRuleTable,
    state: &StoryState,
    input: &StoryInput,
) -> StoryDecision {
    let mut next = state.clone();
    let result = match input {
        StoryInput::Next { now, note, open } => {
            continue_story(rules, &mut next, *now, note.as_deref(), open)
        }
        StoryInput::NextWithoutDispatch { now } => move_without_dispatch(rules, &mut next, *now),
        StoryInput::Stopped => undo_dispatch(rules, &mut next),
        StoryInput::Ended(report) => record_report(rules, &mut next, report),
        StoryInput::Approve { note } => approve(rules, &mut next, note.as_deref()),
        StoryInput::Reject { reason, note } => reject(rules, &mut next, *reason, note.as_deref()),
        StoryInput::Poll { now } => poll(rules, &mut next, *now),
        StoryInput::Failed { now, error } => record_failure(rules, &mut next, *now, error),
        StoryInput::Rollback { step, note } => rollback(rules, &mut next, *step, note.as_deref()),
        StoryInput::Reopen { step, note } => reopen(rules, &mut next, *step, note.as_deref()),
    };
    if matches!(result, AdvanceResult::Refused(_)) {
        return StoryDecision { state: state.clone(), result };
    }
    if next != *state {
        next.human_steps = human_steps_ahead(rules, &next);
    }
    StoryDecision { state: next, result }
}

/// Returns the steps of a person that the story has yet to pass. One that a person passed is behind.
fn human_steps_ahead(rules: &StepRuleTable, state: &StoryState) -> BTreeSet<Step> {
    let mut steps = rules.human_steps_from(state.step);
    if state.status == StepStatus::Pass {
        steps.remove(&state.step);
    }
    steps
}

fn continue_story(
    rules: &StepRuleTable,
    state: &mut StoryState,
    now: Time,
    note: Option<&str>,
    open: &[StoryId],
) -> AdvanceResult {
    let Some(rule) = rules.get(state.step) else { return AdvanceResult::Done };
    if state.is_without_story() {
        return AdvanceResult::Nothing;
    }
    set_note(state, note);
    match state.status {
        StepStatus::Running if rule.requires_human => {
            return wait_for_human(state, StoryHold::Review);
        }
        StepStatus::Running => return check_timeout(rule, state, now),
        StepStatus::Timeout => return AdvanceResult::TimedOut,
        StepStatus::NeedsHuman => return AdvanceResult::NeedsHuman(state.hold(rules)),
        StepStatus::Pending | StepStatus::Pass | StepStatus::Failing => {}
    }
    if !open.is_empty() {
        return AdvanceResult::Blocked(open.to_owned());
    }
    match leave_step(rule, state) {
        Some(hold) => wait_for_human(state, hold),
        None => start_step(rules, state, now),
    }
}

/// Moves to the next step without starting an executor.
fn move_without_dispatch(
    rules: &StepRuleTable,
    state: &mut StoryState,
    now: Time,
) -> AdvanceResult {
    let Some(rule) = rules.get(state.step) else { return AdvanceResult::Done };
    if state.is_without_story() {
        return AdvanceResult::Nothing;
    }
    match state.status {
        StepStatus::Running if rule.requires_human => {
            return wait_for_human(state, StoryHold::Review);
        }
        StepStatus::Running | StepStatus::NeedsHuman | StepStatus::Timeout => {
            return AdvanceResult::Nothing;
        }
        StepStatus::Pending | StepStatus::Pass | StepStatus::Failing => {}
    }
    let before = (state.step, state.status, state.attempt);
    if let Some(hold) = leave_step(rule, state) {
        return wait_for_human(state, hold);
    }
    match enter_step(rules, state, now) {
        Some(result) => result,
        None if before == (state.step, state.status, state.attempt) => AdvanceResult::Nothing,
        None => AdvanceResult::Moved,
    }
}

/// Moves on from a step that passed or failed. Returns why a person is needed, if the step must not
/// be tried again.
fn leave_step(rule: &StepRule, state: &mut StoryState) -> Option<StoryHold> {
    match state.status {
        StepStatus::Pass => route_pass(rule, state),
        StepStatus::Failing if is_expected_failure(rule, state) => route_pass(rule, state),
        StepStatus::Failing => return route_failure(rule, state),
        StepStatus::Pending
        | StepStatus::Running
        | StepStatus::NeedsHuman
        | StepStatus::Timeout => {}
    }
    None
}

/// Returns whether the failure is the expected one: a scaffold step should leave failing tests, but
/// nothing else may have gone wrong.
fn is_expected_failure(rule: &StepRule, state: &StoryState) -> bool {
    rule.treat_failing_as_pass && state.reason.is_none() && state.last_error.is_none()
}

fn route_pass(rule: &StepRule, state: &mut StoryState) {
    move_to(state, rule.next_on_pass);
    state.reason = None;
    state.last_error = None;
}

/// Routes by the reason first and counts the attempt second: a reason that leads to another step is
/// not a retry.
fn route_failure(rule: &StepRule, state: &mut StoryState) -> Option<StoryHold> {
    let target = rule.route(state.reason);
    if target != state.step {
        move_to(state, target);
        return None;
    }
    if state.attempt >= rule.max_attempts {
        return Some(StoryHold::Stuck);
    }
    state.attempt += 1;
    state.status = StepStatus::Pending;
    None
}

fn move_to(state: &mut StoryState, step: Step) {
    state.step = step;
    state.attempt = 1;
    state.status = StepStatus::Pending;
    state.hold = None;
}

/// Starts the current step.
fn start_step(rules: &StepRuleTable, state: &mut StoryState, now: Time) -> AdvanceResult {
    enter_step(rules, state, now).unwrap_or_else(|| dispatch(state, now))
}

/// Enters the current step without starting an executor. Returns an answer if no executor can
/// do the step.
fn enter_step(rules: &StepRuleTable, state: &mut StoryState, now: Time) -> Option<AdvanceResult> {
    let Some(rule) = rules.get(state.step) else {
        state.status = StepStatus::Pass;
        state.completed_at = Some(now);
        state.reopened_from = None;
        return Some(AdvanceResult::Done);
    };
    if rule.requires_human {
        return Some(wait_for_human(state, StoryHold::Review));
    }
    if state.dispatch_count() >= rule.dispatches_max() {
        return Some(wait_for_human(state, StoryHold::Limit));
    }
    None
}

fn dispatch(state: &mut StoryState, now: Time) -> AdvanceResult {
    *state.dispatches.entry(state.step).or_default() += 1;
    state.status = StepStatus::Running;
    state.dispatched_at = Some(now);
    state.completed_at = None;
    state.hold = None;
    state.lint_pass = None;
    state.previous = failure_summary(state);
    state.reason = None;
    state.last_error = None;
    if let Some(note) = &mut state.human_note {
        note.is_delivered = true;
    }
    AdvanceResult::Dispatched
}

/// Returns what went wrong before the current dispatch, for the next executor's prompt.
fn failure_summary(state: &StoryState) -> Option<String> {
    let reason = state.reason.map(|reason| reason.as_str().to_owned());
    let parts: Vec<String> = reason.into_iter().chain(state.last_error.clone()).collect();
    if parts.is_empty() { None } else { Some(parts.join(": ")) }
}

fn wait_for_human(state: &mut StoryState, hold: StoryHold) -> AdvanceResult {
    state.status = StepStatus::NeedsHuman;
    state.hold = Some(hold);
    AdvanceResult::NeedsHuman(hold)
}

fn check_timeout(rule: &StepRule, state: &mut StoryState, now: Time) -> AdvanceResult {
    let Some(since) = state.dispatched_at else {
        return time_out(state, now, "the start time of its executor is unknown".to_owned());
    };
    let millis = now.as_millis().saturating_sub(since.as_millis()).max(0);
    let minutes = (millis / MINUTE_MILLIS).unsigned_abs();
    if rule.timeout_min > 0 && millis > i64::from(rule.timeout_min) * MINUTE_MILLIS {
        let why = format!("no report within {} minutes", rule.timeout_min);
        return time_out(state, now, why);
    }
    AdvanceResult::Running { minutes }
}

fn time_out(state: &mut StoryState, now: Time, why: String) -> AdvanceResult {
    state.status = StepStatus::Timeout;
    state.completed_at = Some(now);
    state.last_error = Some(why);
    state.message = None;
    remove_delivered_note(state);
    AdvanceResult::TimedOut
}

fn poll(rules: &StepRuleTable, state: &mut StoryState, now: Time) -> AdvanceResult {
    match (rules.get(state.step), state.status) {
        (None, _) => AdvanceResult::Done,
        (Some(rule), StepStatus::Running) if !rule.requires_human => {
            check_timeout(rule, state, now)
        }
        (Some(_), _) => AdvanceResult::Nothing,
    }
}

/// Returns why a report about the current step would be refused.
pub fn report_refusal(rules: &StepRuleTable, state: &StoryState) -> Option<StoryRefusal> {
    match state.status {
        StepStatus::Timeout if !state.is_done() => Some(StoryRefusal::TooLate),
        _ if !is_executor_running(rules, state) => Some(StoryRefusal::NotRunning),
        _ => None,
    }
}

fn record_report(
    rules: &StepRuleTable,
    state: &mut StoryState,
    report: &StepReport,
) -> AdvanceResult {
    if let Some(refusal) = report_refusal(rules, state) {
        return AdvanceResult::Refused(refusal);
    }
    state.completed_at = Some(report.at);
    record_tests(state, &report.tests);
    state.lint_pass = report.lint_pass;
    state.files_changed.clone_from(&report.files_changed);
    state.message.clone_from(&report.message);
    remove_delivered_note(state);
    apply_verdict(state, &report.verdict)
}

fn record_tests(state: &mut StoryState, tests: &MeasuredTests) {
    match tests {
        MeasuredTests::NotNeeded => {}
        MeasuredTests::Unknown => {
            state.tests = None;
            state.failing_tests = vec![];
        }
        MeasuredTests::Counted { totals, failing } => {
            state.tests = Some(*totals);
            state.failing_tests.clone_from(failing);
        }
    }
}

fn apply_verdict(state: &mut StoryState, verdict: &StepVerdict) -> AdvanceResult {
    state.last_error = None;
    match verdict {
        StepVerdict::Pass => {
            state.status = StepStatus::Pass;
            state.reason = None;
        }
        StepVerdict::Failing { reason, error } => {
            state.status = StepStatus::Failing;
            state.reason = *reason;
            state.last_error.clone_from(error);
        }
        StepVerdict::NeedsHuman { reason, error } => {
            state.reason = *reason;
            state.last_error.clone_from(error);
            wait_for_human(state, StoryHold::Asked);
        }
        StepVerdict::Unknown => {
            state.reason = None;
            state.last_error = Some("the step ended without a result".to_owned());
            wait_for_human(state, StoryHold::NoVerdict);
        }
    }
    AdvanceResult::Recorded
}

/// Takes a dispatch back: the next executor gets the same prompt as the stopped one.
fn undo_dispatch(rules: &StepRuleTable, state: &mut StoryState) -> AdvanceResult {
    if !is_executor_running(rules, state) {
        return AdvanceResult::Refused(StoryRefusal::NotRunning);
    }
    if let Some(count) = state.dispatches.get_mut(&state.step) {
        *count = count.saturating_sub(1);
    }
    state.status = StepStatus::Pending;
    state.dispatched_at = None;
    state.last_error = state.previous.take();
    if let Some(note) = &mut state.human_note {
        note.is_delivered = false;
    }
    AdvanceResult::Moved
}

fn record_failure(
    rules: &StepRuleTable,
    state: &mut StoryState,
    now: Time,
    error: &str,
) -> AdvanceResult {
    if !is_executor_running(rules, state) {
        return AdvanceResult::Refused(StoryRefusal::NotRunning);
    }
    state.status = StepStatus::Failing;
    state.reason = None;
    state.completed_at = Some(now);
    state.last_error = Some(error.to_owned());
    state.message = None;
    remove_delivered_note(state);
    AdvanceResult::Recorded
}

/// Returns whether an executor works on the step. A step for a person has no executor, even if a
/// file says it is running.
fn is_executor_running(rules: &StepRuleTable, state: &StoryState) -> bool {
    let executors = |rule: &StepRule| !rule.requires_human;
    state.status == StepStatus::Running && rules.get(state.step).is_some_and(executors)
}

/// The meaning of an approval depends on what was asked: either the work passes, or the step
/// is tried again.
fn approve(rules: &StepRuleTable, state: &mut StoryState, note: Option<&str>) -> AdvanceResult {
    let (Some(hold), Some(rule)) = (pending_hold(rules, state), rules.get(state.step)) else {
        return refuse_answer(state);
    };
    set_note(state, note);
    match hold {
        StoryHold::Review | StoryHold::NoVerdict => {
            state.status = StepStatus::Pass;
            state.reason = None;
            state.last_error = None;
            state.hold = None;
        }
        StoryHold::Stuck | StoryHold::Limit | StoryHold::Asked => try_again(rule, state),
    }
    AdvanceResult::Moved
}

fn reject(
    rules: &StepRuleTable,
    state: &mut StoryState,
    reason: Option<StepFailReason>,
    note: Option<&str>,
) -> AdvanceResult {
    let (Some(_), Some(rule)) = (pending_hold(rules, state), rules.get(state.step)) else {
        return refuse_answer(state);
    };
    set_note(state, note);
    let target = rule.route(reason);
    if target == state.step {
        try_again(rule, state);
    } else {
        move_to(state, target);
        reset_dispatches(rules, state);
    }
    state.reason = reason;
    AdvanceResult::Moved
}

/// Returns what the story waits for a person for. A timeout asks the same question as a stuck step.
fn pending_hold(rules: &StepRuleTable, state: &StoryState) -> Option<StoryHold> {
    if state.is_done() {
        return None;
    }
    let hold = state.hold(rules);
    match state.status {
        StepStatus::NeedsHuman => Some(hold),
        // Only a person can do a review, regardless of the status in the file.
        StepStatus::Pending | StepStatus::Running | StepStatus::Timeout
            if hold == StoryHold::Review =>
        {
            Some(hold)
        }
        StepStatus::Timeout => Some(StoryHold::Stuck),
        StepStatus::Pending | StepStatus::Running | StepStatus::Pass | StepStatus::Failing => None,
    }
}

fn refuse_answer(state: &StoryState) -> AdvanceResult {
    AdvanceResult::Refused(match state.status {
        _ if state.is_done() => StoryRefusal::AlreadyDone,
        StepStatus::Running => StoryRefusal::StillRunning,
        StepStatus::Pending
        | StepStatus::Pass
        | StepStatus::Failing
        | StepStatus::NeedsHuman
        | StepStatus::Timeout => StoryRefusal::NotWaiting,
    })
}

/// Lets the step be tried once more, because a person said so. This counts as an attempt; if all
/// attempts are used, counting starts again.
fn try_again(rule: &StepRule, state: &mut StoryState) {
    state.attempt = if state.attempt < rule.max_attempts { state.attempt + 1 } else { 1 };
    if state.dispatch_count() >= rule.dispatches_max() {
        state.dispatches.remove(&state.step);
    }
    state.status = StepStatus::Pending;
    state.hold = None;
}

/// Resets the dispatch count of the step that a person sent the story to, if it is used up.
fn reset_dispatches(rules: &StepRuleTable, state: &mut StoryState) {
    let used_up = |rule: &StepRule| state.dispatch_count() >= rule.dispatches_max();
    if rules.get(state.step).is_some_and(used_up) {
        state.dispatches.remove(&state.step);
    }
}

fn rollback(
    rules: &StepRuleTable,
    state: &mut StoryState,
    step: Step,
    note: Option<&str>,
) -> AdvanceResult {
    if is_executor_running(rules, state) {
        return AdvanceResult::Refused(StoryRefusal::StillRunning);
    }
    if state.is_done() {
        return AdvanceResult::Refused(StoryRefusal::AlreadyDone);
    }
    send_to(rules, state, step, note)
}

fn reopen(
    rules: &StepRuleTable,
    state: &mut StoryState,
    step: Step,
    note: Option<&str>,
) -> AdvanceResult {
    if !state.is_done() {
        return AdvanceResult::Refused(StoryRefusal::NotDone);
    }
    state.dispatches.clear();
    state.reopened_from = Some(step);
    send_to(rules, state, step, note)
}

fn send_to(
    rules: &StepRuleTable,
    state: &mut StoryState,
    step: Step,
    note: Option<&str>,
) -> AdvanceResult {
    if rules.get(step).is_none() {
        return AdvanceResult::Refused(StoryRefusal::BadStep(step));
    }
    move_to(state, step);
    reset_dispatches(rules, state);
    state.reason = None;
    state.last_error = None;
    set_note(state, note);
    AdvanceResult::Moved
}

fn set_note(state: &mut StoryState, note: Option<&str>) {
    if let Some(text) = note.filter(|text| !text.trim().is_empty()) {
        state.human_note = Some(HumanNote { text: text.to_owned(), is_delivered: false });
    }
}

/// Removes a note that an executor has received: a note is for one executor only.
fn remove_delivered_note(state: &mut StoryState) {
    if state.human_note.as_ref().is_some_and(|note| note.is_delivered) {
        state.human_note = None;
    }
}
