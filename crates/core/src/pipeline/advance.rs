//! What something does to a story. Every rule about where a story goes is here.

use super::decision::{Decision, Refusal, Said};
use super::input::{Input, Report, Verdict};
use super::{Hold, Note, Reason, Rule, Rules, State, Status, Step, StoryId};
use crate::Time;

const MINUTE_MILLIS: i64 = 60_000;

/// Decides what an input does to a story.
///
/// The same rules, state and input give the same decision. A refusal leaves the state as it was.
pub fn advance(rules: &Rules, state: &State, input: &Input) -> Decision {
    let mut next = state.clone();
    let said = match input {
        Input::Next { now, note, open } => go_on(rules, &mut next, *now, note.as_deref(), open),
        Input::Onward { now } => onward(rules, &mut next, *now),
        Input::Stopped => stopped(rules, &mut next),
        Input::Ended(report) => ended(rules, &mut next, report),
        Input::Approve { note } => approve(rules, &mut next, note.as_deref()),
        Input::Reject { reason, note } => reject(rules, &mut next, *reason, note.as_deref()),
        Input::Poll { now } => poll(rules, &mut next, *now),
        Input::Broke { now, error } => broke(rules, &mut next, *now, error),
        Input::Rollback { step, note } => rollback(rules, &mut next, *step, note.as_deref()),
        Input::Reopen { step, note } => reopen(rules, &mut next, *step, note.as_deref()),
    };
    if matches!(said, Said::Refused(_)) {
        return Decision { state: state.clone(), said };
    }
    Decision { state: next, said }
}

fn go_on(
    rules: &Rules,
    state: &mut State,
    now: Time,
    note: Option<&str>,
    open: &[StoryId],
) -> Said {
    let Some(rule) = rules.of(state.step) else { return Said::Done };
    leave_note(state, note);
    match state.status {
        Status::Running if rule.requires_human => return hold_for(state, Hold::Review),
        Status::Running => return still_running(rule, state, now),
        Status::Timeout => return Said::TimedOut,
        Status::NeedsHuman => return Said::Waits(state.hold(rules)),
        Status::Pending | Status::Pass | Status::Failing => {}
    }
    if !open.is_empty() {
        return Said::Blocked(open.to_owned());
    }
    match leave(rule, state) {
        Some(hold) => hold_for(state, hold),
        None => enter(rules, state, now),
    }
}

/// Goes to the step that is next, and starts nobody.
fn onward(rules: &Rules, state: &mut State, now: Time) -> Said {
    let Some(rule) = rules.of(state.step) else { return Said::Done };
    match state.status {
        Status::Running if rule.requires_human => return hold_for(state, Hold::Review),
        Status::Running | Status::NeedsHuman | Status::Timeout => return Said::Nothing,
        Status::Pending | Status::Pass | Status::Failing => {}
    }
    let before = (state.step, state.status, state.attempt);
    if let Some(hold) = leave(rule, state) {
        return hold_for(state, hold);
    }
    match arrive(rules, state, now) {
        Some(said) => said,
        None if before == (state.step, state.status, state.attempt) => Said::Nothing,
        None => Said::Moved,
    }
}

/// Goes from a step that has come to something to the one that is next. Returns why a person is
/// asked, if the step may not be tried again.
fn leave(rule: &Rule, state: &mut State) -> Option<Hold> {
    match state.status {
        Status::Pass => pass_on(rule, state),
        Status::Failing if is_red_right(rule, state) => pass_on(rule, state),
        Status::Failing => return fail_on(rule, state),
        Status::Pending | Status::Running | Status::NeedsHuman | Status::Timeout => {}
    }
    None
}

/// Failing tests are what a scaffold is for. Anything that went wrong besides is not.
fn is_red_right(rule: &Rule, state: &State) -> bool {
    rule.treat_failing_as_pass && state.reason.is_none() && state.last_error.is_none()
}

fn pass_on(rule: &Rule, state: &mut State) {
    move_to(state, rule.next_on_pass);
    state.reason = None;
    state.last_error = None;
}

/// Routes by the reason first, and only then counts: a reason that leads elsewhere is no retry.
fn fail_on(rule: &Rule, state: &mut State) -> Option<Hold> {
    let target = rule.route(state.reason);
    if target != state.step {
        move_to(state, target);
        return None;
    }
    if state.attempt >= rule.max_attempts {
        return Some(Hold::Stuck);
    }
    state.attempt += 1;
    state.status = Status::Pending;
    None
}

fn move_to(state: &mut State, step: Step) {
    state.step = step;
    state.attempt = 1;
    state.status = Status::Pending;
    state.hold = None;
}

/// Begins the present step, whichever way the story came to it.
fn enter(rules: &Rules, state: &mut State, now: Time) -> Said {
    arrive(rules, state, now).unwrap_or_else(|| dispatch(state, now))
}

/// Comes to the present step. Returns what is said if no executor can do it.
fn arrive(rules: &Rules, state: &mut State, now: Time) -> Option<Said> {
    let Some(rule) = rules.of(state.step) else {
        state.status = Status::Pass;
        state.completed_at = Some(now);
        state.reopened_from = None;
        return Some(Said::Done);
    };
    if rule.requires_human {
        return Some(hold_for(state, Hold::Review));
    }
    if state.dispatched() >= rule.dispatches_max() {
        return Some(hold_for(state, Hold::Limit));
    }
    None
}

fn dispatch(state: &mut State, now: Time) -> Said {
    *state.dispatches.entry(state.step).or_default() += 1;
    state.status = Status::Running;
    state.dispatched_at = Some(now);
    state.completed_at = None;
    state.hold = None;
    state.lint_pass = None;
    state.previous = what_went_wrong(state);
    state.reason = None;
    state.last_error = None;
    if let Some(note) = &mut state.human_note {
        note.told = true;
    }
    Said::Dispatched
}

/// Says what led to the present dispatch, if it was no pass.
fn what_went_wrong(state: &State) -> Option<String> {
    let reason = state.reason.map(|reason| reason.as_str().to_owned());
    let said: Vec<String> = reason.into_iter().chain(state.last_error.clone()).collect();
    if said.is_empty() { None } else { Some(said.join(": ")) }
}

fn hold_for(state: &mut State, hold: Hold) -> Said {
    state.status = Status::NeedsHuman;
    state.hold = Some(hold);
    Said::Waits(hold)
}

fn still_running(rule: &Rule, state: &mut State, now: Time) -> Said {
    let Some(since) = state.dispatched_at else {
        return time_out(state, now, "nothing says when its executor was started".to_owned());
    };
    let millis = now.as_millis().saturating_sub(since.as_millis()).max(0);
    let minutes = (millis / MINUTE_MILLIS).unsigned_abs();
    if rule.timeout_min > 0 && millis > i64::from(rule.timeout_min) * MINUTE_MILLIS {
        let why = format!("no report within {} minutes", rule.timeout_min);
        return time_out(state, now, why);
    }
    Said::Running { minutes }
}

fn time_out(state: &mut State, now: Time, why: String) -> Said {
    state.status = Status::Timeout;
    state.completed_at = Some(now);
    state.last_error = Some(why);
    forget_told_note(state);
    Said::TimedOut
}

fn poll(rules: &Rules, state: &mut State, now: Time) -> Said {
    match (rules.of(state.step), state.status) {
        (None, _) => Said::Done,
        (Some(rule), Status::Running) if !rule.requires_human => still_running(rule, state, now),
        (Some(_), _) => Said::Nothing,
    }
}

fn ended(rules: &Rules, state: &mut State, report: &Report) -> Said {
    if state.status == Status::Timeout && !state.is_done() {
        return Said::Refused(Refusal::TooLate);
    }
    if !is_at_work(rules, state) {
        return Said::Refused(Refusal::NotRunning);
    }
    state.completed_at = Some(report.at);
    if report.tests.is_some() {
        state.tests = report.tests;
        state.failing_tests.clone_from(&report.failing_tests);
    }
    state.lint_pass = report.lint_pass;
    state.files_changed.clone_from(&report.files_changed);
    forget_told_note(state);
    take(state, &report.verdict)
}

fn take(state: &mut State, verdict: &Verdict) -> Said {
    state.last_error = None;
    match verdict {
        Verdict::Pass => {
            state.status = Status::Pass;
            state.reason = None;
        }
        Verdict::Failing { reason, error } => {
            state.status = Status::Failing;
            state.reason = *reason;
            state.last_error.clone_from(error);
        }
        Verdict::Asked { reason } => {
            state.reason = *reason;
            hold_for(state, Hold::Asked);
        }
        Verdict::Unknown => {
            state.reason = None;
            state.last_error = Some("nothing says how the step went".to_owned());
            hold_for(state, Hold::NoVerdict);
        }
    }
    Said::Recorded
}

/// Takes a dispatch back: the next executor is told what this one was.
fn stopped(rules: &Rules, state: &mut State) -> Said {
    if !is_at_work(rules, state) {
        return Said::Refused(Refusal::NotRunning);
    }
    if let Some(count) = state.dispatches.get_mut(&state.step) {
        *count = count.saturating_sub(1);
    }
    state.status = Status::Pending;
    state.dispatched_at = None;
    state.last_error = state.previous.take();
    if let Some(note) = &mut state.human_note {
        note.told = false;
    }
    Said::Moved
}

fn broke(rules: &Rules, state: &mut State, now: Time, error: &str) -> Said {
    if !is_at_work(rules, state) {
        return Said::Refused(Refusal::NotRunning);
    }
    state.status = Status::Failing;
    state.reason = None;
    state.completed_at = Some(now);
    state.last_error = Some(error.to_owned());
    forget_told_note(state);
    Said::Recorded
}

/// Says whether an executor is at work. A step of a person has none, whatever a file says.
fn is_at_work(rules: &Rules, state: &State) -> bool {
    let executors = |rule: &Rule| !rule.requires_human;
    state.status == Status::Running && rules.of(state.step).is_some_and(executors)
}

/// What approval means depends on what was asked: that work is good, or that it goes on.
fn approve(rules: &Rules, state: &mut State, note: Option<&str>) -> Said {
    let (Some(hold), Some(rule)) = (waits(rules, state), rules.of(state.step)) else {
        return nothing_waits(state);
    };
    leave_note(state, note);
    match hold {
        Hold::Review | Hold::NoVerdict => {
            state.status = Status::Pass;
            state.reason = None;
            state.last_error = None;
            state.hold = None;
        }
        Hold::Stuck | Hold::Limit | Hold::Asked => try_again(rule, state),
    }
    Said::Moved
}

fn reject(rules: &Rules, state: &mut State, reason: Option<Reason>, note: Option<&str>) -> Said {
    let (Some(_), Some(rule)) = (waits(rules, state), rules.of(state.step)) else {
        return nothing_waits(state);
    };
    leave_note(state, note);
    let target = rule.route(reason);
    if target == state.step {
        try_again(rule, state);
    } else {
        move_to(state, target);
        allow(rules, state);
    }
    state.reason = reason;
    Said::Moved
}

/// Returns for what a person is waited for, if one is. A time-out asks what being stuck asks.
fn waits(rules: &Rules, state: &State) -> Option<Hold> {
    if state.is_done() {
        return None;
    }
    let hold = state.hold(rules);
    match state.status {
        Status::NeedsHuman => Some(hold),
        // Nobody but a person can do a review, whatever a file says about it.
        Status::Pending | Status::Running | Status::Timeout if hold == Hold::Review => Some(hold),
        Status::Timeout => Some(Hold::Stuck),
        Status::Pending | Status::Running | Status::Pass | Status::Failing => None,
    }
}

fn nothing_waits(state: &State) -> Said {
    Said::Refused(match state.status {
        _ if state.is_done() => Refusal::AlreadyDone,
        Status::Running => Refusal::StillRunning,
        Status::Pending | Status::Pass | Status::Failing | Status::NeedsHuman | Status::Timeout => {
            Refusal::NothingWaits
        }
    })
}

/// Lets the present step be tried once more, because a person said so: what was used up counts as
/// an attempt, and where nothing is left the count begins anew.
fn try_again(rule: &Rule, state: &mut State) {
    state.attempt = if state.attempt < rule.max_attempts { state.attempt + 1 } else { 1 };
    if state.dispatched() >= rule.dispatches_max() {
        state.dispatches.remove(&state.step);
    }
    state.status = Status::Pending;
    state.hold = None;
}

/// Lets the step be dispatched that a person sent the story to.
fn allow(rules: &Rules, state: &mut State) {
    let used_up = |rule: &Rule| state.dispatched() >= rule.dispatches_max();
    if rules.of(state.step).is_some_and(used_up) {
        state.dispatches.remove(&state.step);
    }
}

fn rollback(rules: &Rules, state: &mut State, step: Step, note: Option<&str>) -> Said {
    if is_at_work(rules, state) {
        return Said::Refused(Refusal::StillRunning);
    }
    if state.is_done() {
        return Said::Refused(Refusal::AlreadyDone);
    }
    send_to(rules, state, step, note)
}

fn reopen(rules: &Rules, state: &mut State, step: Step, note: Option<&str>) -> Said {
    if !state.is_done() {
        return Said::Refused(Refusal::NotDone);
    }
    state.dispatches.clear();
    state.reopened_from = Some(step);
    send_to(rules, state, step, note)
}

fn send_to(rules: &Rules, state: &mut State, step: Step, note: Option<&str>) -> Said {
    if rules.of(step).is_none() {
        return Said::Refused(Refusal::BadStep(step));
    }
    move_to(state, step);
    allow(rules, state);
    state.reason = None;
    state.last_error = None;
    leave_note(state, note);
    Said::Moved
}

fn leave_note(state: &mut State, note: Option<&str>) {
    if let Some(text) = note.filter(|text| !text.trim().is_empty()) {
        state.human_note = Some(Note { text: text.to_owned(), told: false });
    }
}

/// A note stays until it has been in one prompt, and no longer than that executor is at work.
fn forget_told_note(state: &mut State) {
    if state.human_note.as_ref().is_some_and(|note| note.told) {
        state.human_note = None;
    }
}
