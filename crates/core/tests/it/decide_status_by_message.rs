//! Every kind of message about a task in every status, as one table.
//!
//! Each line reads: status of the task + message -> answer | events | status afterwards. Any agent
//! may report on these tasks; `who_may_speak` covers the others.

use adjutant_core::input::{FilePresence, MessageFacts};
use adjutant_core::{Decision, World, decide};
use adjutant_model::completion::{
    CompletionReport, HandoffRef, RunResult, TestReport, WorkOutcome,
};
use adjutant_model::event::{Event, ReportChannel};
use adjutant_model::relative_path::RelPath;
use adjutant_model::review::ReviewPolicy;
use adjutant_model::{Status, Task, Timestamp};
use serde_json::{Value, json};

use crate::support::{
    TaskBuilder, after, agent, check_text, completion, events, handoff_accepted, handoff_rejected,
    handoff_request, id, message_with, notified_moves, notify_policy, now, send, status_update,
    task, verdict, world,
};

/// A message about task 1, with its name in the table and the review policy it needs.
struct MessageRow {
    name: String,
    review: ReviewPolicy,
    message: Value,
}

fn row(name: impl Into<String>, message: Value) -> MessageRow {
    MessageRow { name: name.into(), review: ReviewPolicy::Required, message }
}

fn completions(review: ReviewPolicy, suffix: &'static str) -> impl Iterator<Item = MessageRow> {
    WorkOutcome::ALL.into_iter().map(move |outcome| MessageRow {
        name: format!("completion {outcome}{suffix}"),
        review,
        message: completion(1, "swe", outcome),
    })
}

/// Every kind of message, in the order of the table.
fn rows() -> Vec<MessageRow> {
    let to = |to| row(format!("status.update to {to}"), status_update(1, "swe", Some(to)));
    let mut rows: Vec<MessageRow> = completions(ReviewPolicy::Required, "").collect();
    rows.extend(completions(ReviewPolicy::NotNeeded, ", no review"));
    rows.push(row("status.update", status_update(1, "swe", None)));
    rows.extend(Status::ALL.map(to));
    rows.extend([
        row("handoff.request as child", handoff_request(1, 2, "swe", "qa")),
        row("handoff.request as parent", handoff_request(2, 1, "swe", "qa")),
        row("handoff.accepted", handoff_accepted(1, "swe")),
        row("handoff.rejected", handoff_rejected(1, "swe")),
    ]);
    rows
}

/// Task 1 is the one in the table; task 2 is the other task of a handoff.
fn given(one: Task) -> World {
    world([one, task(2, Status::Ready)])
}

fn render(world: &World, name: &str, decision: &Decision) -> String {
    let status = |world: &World| world.task(&id(1)).map(Task::status).expect("task 1");
    let (before, after) = (status(world), status(&after(world, decision)));
    let (verdict, events) = (verdict(decision), events(decision));
    format!("{before:<11} + {name:<34} -> {verdict} | {events} | {after}\n")
}

#[test]
fn message_in_every_status_matches_the_table() {
    let mut actual = String::new();
    for status in Status::ALL {
        for row in rows() {
            let world = given(task(1, status).review(row.review));
            actual += &render(&world, &row.name, &send(&world, &row.message));
        }
    }
    check_text(&actual, TABLE);
}

#[test]
fn answer_names_the_task_and_its_current_status() {
    for status in Status::ALL {
        for row in rows() {
            let world = given(task(1, status).review(row.review));
            let decision = send(&world, &row.message);
            let about = decision.answer.task.clone().expect("a task in the answer");
            let stands = after(&world, &decision).task(&about).map(Task::status);
            assert_eq!(decision.answer.status, stands, "{status} + {}", row.name);
            assert_eq!(row.message["taskId"], about.as_str());
            assert_eq!(decision.answer.problems, []);
        }
    }
}

#[test]
fn lease_changes_nothing_but_self_approval_and_handoff_of_the_task() {
    for row in rows() {
        let free = given(task(1, Status::InProgress).review(row.review));
        let leased = given(task(1, Status::InProgress).leased_to("swe", 1).review(row.review));
        let [free, leased] =
            [free, leased].map(|world| render(&world, &row.name, &send(&world, &row.message)));
        match &*row.name {
            "status.update to done" => {
                assert_eq!(leased, free.replace("invalid_transition", "self_approval"));
            }
            "handoff.request as child" => {
                assert!(leased.contains("-> rejected unauthorized_agent |"), "{leased}");
            }
            _ => assert_eq!(leased, free),
        }
    }
}

#[test]
fn lease_ends_with_the_move_and_becomes_the_last_run() {
    let world = given(task(1, Status::InProgress).leased_to("swe", 7));
    let moved = after(&world, &send(&world, &completion(1, "swe", WorkOutcome::Done)));
    let mut expected = task(1, Status::Review).last_run_by("swe", 7).reported_by("swe");
    expected.reported_fence = Some(7);
    expected.history.reason = moved.task(&id(1)).expect("there").history.reason.clone();
    assert!(expected.history.reason.is_some(), "whoever reviews it is told what was said");
    expected.updated_at = now();
    expected.last_transition_at = now();
    assert_eq!(moved.task(&id(1)), Some(&expected));
}

#[test]
fn handoff_links_the_child_and_leaves_the_parent_unchanged() {
    let world = given(task(1, Status::InProgress));
    let after = after(&world, &send(&world, &handoff_request(2, 1, "swe", "qa")));
    let mut child = task(2, Status::Ready).child_of(1).depth(1).routed_to("qa");
    child.updated_at = now();
    assert_eq!(after.task(&id(2)), Some(&child));
    assert_eq!(after.task(&id(1)), world.task(&id(1)));
}

/// Returns the reason of every move, and the notices.
fn reasons(message: &Value) -> (Vec<String>, Vec<(Status, String)>) {
    let world = given(task(1, Status::InProgress).review(ReviewPolicy::NotNeeded));
    let world = world.with_policy(notify_policy());
    let decision = send(&world, message);
    let reason = |event: &Event| match event {
        Event::TaskTransitioned { reason, .. } => Some(reason.clone()),
        _ => None,
    };
    let moves = decision.events.iter().filter_map(|it| reason(&it.event));
    (moves.collect(), notified_moves(&decision))
}

fn told(to: Status, reason: &str) -> (Status, String) {
    (to, reason.to_owned())
}

#[test]
fn completion_reason_is_blockers_if_blocked_else_notes() {
    let check = |outcome, reason: &str, to: &[Status]| {
        let (moves, effects) = reasons(&completion(1, "swe", outcome));
        assert_eq!(moves, vec![reason; to.len()], "{outcome}");
        let expected: Vec<(Status, String)> = to.iter().map(|to| told(*to, reason)).collect();
        assert_eq!(effects, expected, "{outcome}");
    };
    let notes = "Core logic is there";
    check(WorkOutcome::Done, notes, &[Status::Review, Status::Done]);
    check(WorkOutcome::NeedsReview, notes, &[Status::Review]);
    check(WorkOutcome::Partial, notes, &[Status::Review]);
    check(WorkOutcome::Blocked, "Awaiting API key; Need credentials", &[Status::Blocked]);
    let mut without = completion(1, "swe", WorkOutcome::Blocked);
    without["payload"]["blockers"] = json!([]);
    assert_eq!(reasons(&without).0, [notes]);
}

#[test]
fn status_update_reason_is_blockers_notes_or_progress() {
    let check = |payload: Value, reason: &str| {
        let mut message = status_update(1, "swe", Some(Status::Ready));
        for (key, value) in payload.as_object().expect("an object") {
            message["payload"][key] = value.clone();
        }
        assert_eq!(reasons(&message), (vec![reason.to_owned()], vec![]));
    };
    check(json!({"blockers": ["a", "b"], "notes": "n"}), "a; b");
    check(json!({"blockers": [], "notes": "n"}), "n");
    check(json!({"notes": " "}), "Half way");
    check(json!({}), "Half way");
}

#[test]
fn rejected_handoff_blocks_the_child_with_its_reason() {
    let mut message = handoff_rejected(1, "swe");
    let blocked_for = |message: &Value, reason: &str| {
        let expected = (vec![reason.to_owned()], vec![told(Status::Blocked, reason)]);
        assert_eq!(reasons(message), expected);
    };
    blocked_for(&message, "Insufficient context");
    message["payload"]["reason"] = json!(" ");
    blocked_for(&message, "handoff rejected");
}

/// Rows: current status; columns: requested status, without any other field. `=` nothing to do, `m`
/// moved, `.` refused and not logged.
const BARE_UPDATES: &str = "
backlog     = m . m . . m .
ready       m = m m . . m m
in-progress . m = m m . m m
blocked     m m . = m . m m
review      . m m m = m m .
done        . . . . . = . .
cancelled   . . . . . . = .
deadletter  . m . . . . m =
";

#[test]
fn status_update_with_only_a_status_moves_or_does_nothing() {
    let cell = |from, to| {
        let mut message = status_update(1, "swe", Some(to));
        message["payload"].as_object_mut().expect("an object").remove("progress");
        let decision = send(&given(task(1, from)), &message);
        match (verdict(&decision).as_str(), events(&decision).as_str()) {
            ("noop", "received") => "=",
            ("noop invalid_transition", "received warned(invalid_transition)") => ".",
            ("applied", moved) if moved == format!("received transitioned({from}->{to})") => "m",
            _ => "?",
        }
    };
    let line = |from: Status| {
        let cells = Status::ALL.map(|to| cell(from, to)).join(" ");
        format!("{from:<11} {cells}\n")
    };
    check_text(&Status::ALL.map(line).concat(), BARE_UPDATES);
}

#[test]
fn missing_files_only_add_a_warning() {
    let check = |summary, handoff, expected: &str| {
        let facts = MessageFacts { summary, handoff, ..MessageFacts::default() };
        let world = given(task(1, Status::InProgress));
        let message = message_with(&completion(1, "swe", WorkOutcome::Done), facts);
        let decision = decide(&world, &message, now());
        assert_eq!(verdict(&decision), "applied");
        assert_eq!(
            events(&decision),
            format!("received completed {expected}transitioned(in-progress->review)")
        );
    };
    let (there, missing) = (FilePresence::Present, FilePresence::Missing);
    check(there, there, "");
    check(missing, there, "warned(summary_file_not_found) ");
    check(there, missing, "warned(handoff_file_not_found) ");
    check(missing, missing, "warned(summary_file_not_found) warned(handoff_file_not_found) ");
}

#[test]
fn completion_is_stored_whole_with_sender_and_time() {
    let world = given(task(1, Status::InProgress));
    let decision = send(&world, &completion(1, "swe", WorkOutcome::Partial));
    let path = |text| RelPath::parse(text).expect("a good path");
    let result = RunResult {
        task: id(1),
        agent: agent("swe"),
        completed_at: Timestamp::parse("2026-02-09T21:10:00.000Z").expect("a good time"),
        completion: CompletionReport {
            outcome: WorkOutcome::Partial,
            summary_ref: path("outputs/summary.md"),
            handoff_ref: HandoffRef,
            deliverables: vec![path("src/users.rs")],
            tests: TestReport { total: 10, passed: 8, failed: 2 },
            blockers: vec!["Awaiting API key".into(), "Need credentials".into()],
            notes: "Core logic is there".into(),
        },
    };
    let kept = Event::TaskCompleted { result: Box::new(result), channel: ReportChannel::Message };
    assert_eq!(decision.events.get(1).map(|it| &it.event), Some(&kept));
}

const TABLE: &str = "
backlog     + completion done                    -> applied | received completed warned(invalid_transition) | backlog
backlog     + completion blocked                 -> applied | received completed transitioned(backlog->blocked) | blocked
backlog     + completion needs_review            -> applied | received completed warned(invalid_transition) | backlog
backlog     + completion partial                 -> applied | received completed warned(invalid_transition) | backlog
backlog     + completion done, no review         -> applied | received completed warned(invalid_transition) warned(invalid_transition) | backlog
backlog     + completion blocked, no review      -> applied | received completed transitioned(backlog->blocked) | blocked
backlog     + completion needs_review, no review -> applied | received completed warned(invalid_transition) | backlog
backlog     + completion partial, no review      -> applied | received completed warned(invalid_transition) | backlog
backlog     + status.update                      -> applied | received logged | backlog
backlog     + status.update to backlog           -> applied | received logged | backlog
backlog     + status.update to ready             -> applied | received transitioned(backlog->ready) | ready
backlog     + status.update to in-progress       -> applied invalid_transition | received warned(invalid_transition) logged | backlog
backlog     + status.update to blocked           -> applied | received transitioned(backlog->blocked) | blocked
backlog     + status.update to review            -> applied invalid_transition | received warned(invalid_transition) logged | backlog
backlog     + status.update to done              -> applied invalid_transition | received warned(invalid_transition) logged | backlog
backlog     + status.update to cancelled         -> applied | received transitioned(backlog->cancelled) | cancelled
backlog     + status.update to deadletter        -> applied invalid_transition | received warned(invalid_transition) logged | backlog
backlog     + handoff.request as child           -> applied | received delegation.requested | backlog
backlog     + handoff.request as parent          -> applied | received delegation.requested | backlog
backlog     + handoff.accepted                   -> applied | received delegation.accepted | backlog
backlog     + handoff.rejected                   -> applied | received transitioned(backlog->blocked) delegation.rejected(Insufficient context) | blocked
ready       + completion done                    -> applied | received completed warned(invalid_transition) | ready
ready       + completion blocked                 -> applied | received completed transitioned(ready->blocked) | blocked
ready       + completion needs_review            -> applied | received completed warned(invalid_transition) | ready
ready       + completion partial                 -> applied | received completed warned(invalid_transition) | ready
ready       + completion done, no review         -> applied | received completed warned(invalid_transition) warned(invalid_transition) | ready
ready       + completion blocked, no review      -> applied | received completed transitioned(ready->blocked) | blocked
ready       + completion needs_review, no review -> applied | received completed warned(invalid_transition) | ready
ready       + completion partial, no review      -> applied | received completed warned(invalid_transition) | ready
ready       + status.update                      -> applied | received logged | ready
ready       + status.update to backlog           -> applied | received transitioned(ready->backlog) | backlog
ready       + status.update to ready             -> applied | received logged | ready
ready       + status.update to in-progress       -> applied | received transitioned(ready->in-progress) | in-progress
ready       + status.update to blocked           -> applied | received transitioned(ready->blocked) | blocked
ready       + status.update to review            -> applied invalid_transition | received warned(invalid_transition) logged | ready
ready       + status.update to done              -> applied invalid_transition | received warned(invalid_transition) logged | ready
ready       + status.update to cancelled         -> applied | received transitioned(ready->cancelled) | cancelled
ready       + status.update to deadletter        -> applied | received transitioned(ready->deadletter) | deadletter
ready       + handoff.request as child           -> applied | received delegation.requested | ready
ready       + handoff.request as parent          -> applied | received delegation.requested | ready
ready       + handoff.accepted                   -> applied | received delegation.accepted | ready
ready       + handoff.rejected                   -> applied | received transitioned(ready->blocked) delegation.rejected(Insufficient context) | blocked
in-progress + completion done                    -> applied | received completed transitioned(in-progress->review) | review
in-progress + completion blocked                 -> applied | received completed transitioned(in-progress->blocked) | blocked
in-progress + completion needs_review            -> applied | received completed transitioned(in-progress->review) | review
in-progress + completion partial                 -> applied | received completed transitioned(in-progress->review) | review
in-progress + completion done, no review         -> applied | received completed transitioned(in-progress->review) transitioned(review->done) | done
in-progress + completion blocked, no review      -> applied | received completed transitioned(in-progress->blocked) | blocked
in-progress + completion needs_review, no review -> applied | received completed transitioned(in-progress->review) | review
in-progress + completion partial, no review      -> applied | received completed transitioned(in-progress->review) | review
in-progress + status.update                      -> applied | received logged | in-progress
in-progress + status.update to backlog           -> applied invalid_transition | received warned(invalid_transition) logged | in-progress
in-progress + status.update to ready             -> applied | received transitioned(in-progress->ready) | ready
in-progress + status.update to in-progress       -> applied | received logged | in-progress
in-progress + status.update to blocked           -> applied | received transitioned(in-progress->blocked) | blocked
in-progress + status.update to review            -> applied | received transitioned(in-progress->review) | review
in-progress + status.update to done              -> applied invalid_transition | received warned(invalid_transition) logged | in-progress
in-progress + status.update to cancelled         -> applied | received transitioned(in-progress->cancelled) | cancelled
in-progress + status.update to deadletter        -> applied | received transitioned(in-progress->deadletter) | deadletter
in-progress + handoff.request as child           -> applied | received delegation.requested | in-progress
in-progress + handoff.request as parent          -> applied | received delegation.requested | in-progress
in-progress + handoff.accepted                   -> applied | received delegation.accepted | in-progress
in-progress + handoff.rejected                   -> applied | received transitioned(in-progress->blocked) delegation.rejected(Insufficient context) | blocked
blocked     + completion done                    -> applied | received completed transitioned(blocked->review) | review
blocked     + completion blocked                 -> applied | received completed | blocked
blocked     + completion needs_review            -> applied | received completed transitioned(blocked->review) | review
blocked     + completion partial                 -> applied | received completed transitioned(blocked->review) | review
blocked     + completion done, no review         -> applied | received completed transitioned(blocked->review) transitioned(review->done) | done
blocked     + completion blocked, no review      -> applied | received completed | blocked
blocked     + completion needs_review, no review -> applied | received completed transitioned(blocked->review) | review
blocked     + completion partial, no review      -> applied | received completed transitioned(blocked->review) | review
blocked     + status.update                      -> applied | received logged | blocked
blocked     + status.update to backlog           -> applied | received transitioned(blocked->backlog) | backlog
blocked     + status.update to ready             -> applied | received transitioned(blocked->ready) | ready
blocked     + status.update to in-progress       -> applied invalid_transition | received warned(invalid_transition) logged | blocked
blocked     + status.update to blocked           -> applied | received logged | blocked
blocked     + status.update to review            -> applied | received transitioned(blocked->review) | review
blocked     + status.update to done              -> applied invalid_transition | received warned(invalid_transition) logged | blocked
blocked     + status.update to cancelled         -> applied | received transitioned(blocked->cancelled) | cancelled
blocked     + status.update to deadletter        -> applied | received transitioned(blocked->deadletter) | deadletter
blocked     + handoff.request as child           -> applied | received delegation.requested | blocked
blocked     + handoff.request as parent          -> applied | received delegation.requested | blocked
blocked     + handoff.accepted                   -> applied | received delegation.accepted | blocked
blocked     + handoff.rejected                   -> applied | received delegation.rejected(Insufficient context) | blocked
review      + completion done                    -> applied | received completed | review
review      + completion blocked                 -> applied | received completed transitioned(review->blocked) | blocked
review      + completion needs_review            -> applied | received completed | review
review      + completion partial                 -> applied | received completed | review
review      + completion done, no review         -> applied | received completed transitioned(review->done) | done
review      + completion blocked, no review      -> applied | received completed transitioned(review->blocked) | blocked
review      + completion needs_review, no review -> applied | received completed | review
review      + completion partial, no review      -> applied | received completed | review
review      + status.update                      -> applied | received logged | review
review      + status.update to backlog           -> applied invalid_transition | received warned(invalid_transition) logged | review
review      + status.update to ready             -> applied | received transitioned(review->ready) | ready
review      + status.update to in-progress       -> applied | received transitioned(review->in-progress) | in-progress
review      + status.update to blocked           -> applied | received transitioned(review->blocked) | blocked
review      + status.update to review            -> applied | received logged | review
review      + status.update to done              -> applied | received transitioned(review->done) | done
review      + status.update to cancelled         -> applied | received transitioned(review->cancelled) | cancelled
review      + status.update to deadletter        -> applied invalid_transition | received warned(invalid_transition) logged | review
review      + handoff.request as child           -> applied | received delegation.requested | review
review      + handoff.request as parent          -> applied | received delegation.requested | review
review      + handoff.accepted                   -> applied | received delegation.accepted | review
review      + handoff.rejected                   -> applied | received transitioned(review->blocked) delegation.rejected(Insufficient context) | blocked
done        + completion done                    -> noop task_closed | received | done
done        + completion blocked                 -> noop task_closed | received | done
done        + completion needs_review            -> noop task_closed | received | done
done        + completion partial                 -> noop task_closed | received | done
done        + completion done, no review         -> noop task_closed | received | done
done        + completion blocked, no review      -> noop task_closed | received | done
done        + completion needs_review, no review -> noop task_closed | received | done
done        + completion partial, no review      -> noop task_closed | received | done
done        + status.update                      -> applied | received logged | done
done        + status.update to backlog           -> applied invalid_transition | received warned(invalid_transition) logged | done
done        + status.update to ready             -> applied invalid_transition | received warned(invalid_transition) logged | done
done        + status.update to in-progress       -> applied invalid_transition | received warned(invalid_transition) logged | done
done        + status.update to blocked           -> applied invalid_transition | received warned(invalid_transition) logged | done
done        + status.update to review            -> applied invalid_transition | received warned(invalid_transition) logged | done
done        + status.update to done              -> applied | received logged | done
done        + status.update to cancelled         -> applied invalid_transition | received warned(invalid_transition) logged | done
done        + status.update to deadletter        -> applied invalid_transition | received warned(invalid_transition) logged | done
done        + handoff.request as child           -> rejected task_closed | received delegation.rejected(task_closed) rejected(task_closed) | done
done        + handoff.request as parent          -> applied | received delegation.requested | done
done        + handoff.accepted                   -> noop task_closed | received | done
done        + handoff.rejected                   -> noop task_closed | received | done
cancelled   + completion done                    -> noop task_closed | received | cancelled
cancelled   + completion blocked                 -> noop task_closed | received | cancelled
cancelled   + completion needs_review            -> noop task_closed | received | cancelled
cancelled   + completion partial                 -> noop task_closed | received | cancelled
cancelled   + completion done, no review         -> noop task_closed | received | cancelled
cancelled   + completion blocked, no review      -> noop task_closed | received | cancelled
cancelled   + completion needs_review, no review -> noop task_closed | received | cancelled
cancelled   + completion partial, no review      -> noop task_closed | received | cancelled
cancelled   + status.update                      -> applied | received logged | cancelled
cancelled   + status.update to backlog           -> applied invalid_transition | received warned(invalid_transition) logged | cancelled
cancelled   + status.update to ready             -> applied invalid_transition | received warned(invalid_transition) logged | cancelled
cancelled   + status.update to in-progress       -> applied invalid_transition | received warned(invalid_transition) logged | cancelled
cancelled   + status.update to blocked           -> applied invalid_transition | received warned(invalid_transition) logged | cancelled
cancelled   + status.update to review            -> applied invalid_transition | received warned(invalid_transition) logged | cancelled
cancelled   + status.update to done              -> applied invalid_transition | received warned(invalid_transition) logged | cancelled
cancelled   + status.update to cancelled         -> applied | received logged | cancelled
cancelled   + status.update to deadletter        -> applied invalid_transition | received warned(invalid_transition) logged | cancelled
cancelled   + handoff.request as child           -> rejected task_closed | received delegation.rejected(task_closed) rejected(task_closed) | cancelled
cancelled   + handoff.request as parent          -> applied | received delegation.requested | cancelled
cancelled   + handoff.accepted                   -> noop task_closed | received | cancelled
cancelled   + handoff.rejected                   -> noop task_closed | received | cancelled
deadletter  + completion done                    -> applied | received completed warned(invalid_transition) | deadletter
deadletter  + completion blocked                 -> applied | received completed warned(invalid_transition) | deadletter
deadletter  + completion needs_review            -> applied | received completed warned(invalid_transition) | deadletter
deadletter  + completion partial                 -> applied | received completed warned(invalid_transition) | deadletter
deadletter  + completion done, no review         -> applied | received completed warned(invalid_transition) warned(invalid_transition) | deadletter
deadletter  + completion blocked, no review      -> applied | received completed warned(invalid_transition) | deadletter
deadletter  + completion needs_review, no review -> applied | received completed warned(invalid_transition) | deadletter
deadletter  + completion partial, no review      -> applied | received completed warned(invalid_transition) | deadletter
deadletter  + status.update                      -> applied | received logged | deadletter
deadletter  + status.update to backlog           -> applied invalid_transition | received warned(invalid_transition) logged | deadletter
deadletter  + status.update to ready             -> applied | received transitioned(deadletter->ready) | ready
deadletter  + status.update to in-progress       -> applied invalid_transition | received warned(invalid_transition) logged | deadletter
deadletter  + status.update to blocked           -> applied invalid_transition | received warned(invalid_transition) logged | deadletter
deadletter  + status.update to review            -> applied invalid_transition | received warned(invalid_transition) logged | deadletter
deadletter  + status.update to done              -> applied invalid_transition | received warned(invalid_transition) logged | deadletter
deadletter  + status.update to cancelled         -> applied | received transitioned(deadletter->cancelled) | cancelled
deadletter  + status.update to deadletter        -> applied | received logged | deadletter
deadletter  + handoff.request as child           -> applied | received delegation.requested | deadletter
deadletter  + handoff.request as parent          -> applied | received delegation.requested | deadletter
deadletter  + handoff.accepted                   -> applied | received delegation.accepted | deadletter
deadletter  + handoff.rejected                   -> applied | received warned(invalid_transition) delegation.rejected(Insufficient context) | deadletter
";
