//! Whose word counts for a task: lease holders, routed agents, run tokens, and nobody's own praise.

use crate::support::{
    Given, after, completion, events, handoff_accepted, handoff_rejected, handoff_request, id,
    message_with, now, operator, send, status_update, task, tasks, verdict, world,
};
use adjutant_core::Policy;
use adjutant_core::answer::Verdict;
use adjutant_core::aof;
use adjutant_core::command::Caller;
use adjutant_core::completion::Outcome;
use adjutant_core::input::{Facts, Found, Token};
use adjutant_core::task::Review;
use adjutant_core::{Command, Decision, Event, Input, Status, Task, TaskId, World, decide};
use serde_json::{Value, json};

const MAY: &str = "applied";
const MAY_NOT: &str = "rejected unauthorized_agent";

/// Checks what `from` is told when it speaks for task 1, by every message that is judged on it.
fn check_word(one: &Task, from: &str, expected: &str) {
    let world = world([one.clone()]);
    for message in [
        completion(1, from, Outcome::Partial),
        status_update(1, from, None),
        status_update(1, from, Some(Status::Cancelled)),
        handoff_accepted(1, from),
        handoff_rejected(1, from),
    ] {
        let decision = send(&world, &message);
        let kind = &message["type"];
        assert_eq!(verdict(&decision), expected, "{kind} from {from}");
        if expected == MAY_NOT {
            assert_eq!(events(&decision), "received rejected(unauthorized_agent)");
            assert_eq!(tasks(&after(&world, &decision)), tasks(&world));
        }
    }
}

#[test]
fn for_a_leased_task_its_holder_speaks_and_no_other() {
    let leased = task(1, Status::InProgress).leased_to("swe", 1);
    check_word(&leased, "swe", MAY);
    check_word(&leased, "qa", MAY_NOT);
    check_word(&leased, "SWE", MAY_NOT);
    check_word(&leased, "swe ", MAY_NOT);
    let routed = leased.routed_to("qa");
    check_word(&routed, "swe", MAY);
    check_word(&routed, "qa", MAY_NOT);
}

#[test]
fn an_expired_lease_still_speaks() {
    let leased = task(1, Status::InProgress).leased_to("swe", 1).expired();
    check_word(&leased, "swe", MAY);
    check_word(&leased, "qa", MAY_NOT);
}

#[test]
fn a_newer_lease_silences_the_one_before() {
    let again = task(1, Status::InProgress).leased_to("qa", 2).last_run_by("swe", 1);
    check_word(&again, "qa", MAY);
    check_word(&again, "swe", MAY_NOT);
}

#[test]
fn for_a_task_without_a_lease_its_routed_agent_speaks_wherever_it_stands() {
    for status in Status::ALL.into_iter().filter(|it| !it.is_closed()) {
        let routed = task(1, status).routed_to("swe").last_run_by("qa", 1);
        check_word(&routed, "swe", MAY);
        check_word(&routed, "qa", MAY_NOT);
    }
}

#[test]
fn for_a_task_with_neither_anyone_speaks() {
    for status in Status::ALL.into_iter().filter(|it| !it.is_closed()) {
        check_word(&task(1, status), "swe", MAY);
        check_word(&task(1, status), "anyone", MAY);
    }
}

#[test]
fn nobody_speaks_for_a_task_that_is_not_there_or_cannot_be_read() {
    let check = |world: &World, expected: &str| {
        let decision = send(world, &completion(1, "swe", Outcome::Done));
        assert_eq!(verdict(&decision), format!("rejected {expected}"));
        assert_eq!(events(&decision), format!("received rejected({expected})"));
    };
    let mut without = world([]);
    check(&without, "task_not_found");
    without.set_unreadable(id(1));
    check(&without, "task_unreadable");
}

/// Checks a handoff of task 2, the child, from task 1, the parent.
fn check_handoff(parent: Option<Task>, child: Option<Task>, from: &str, expected: (&str, &str)) {
    let world = world(parent.into_iter().chain(child));
    let decision = send(&world, &handoff_request(2, 1, from, "qa"));
    assert_eq!((verdict(&decision).as_str(), events(&decision).as_str()), expected);
    if expected.0 != MAY {
        assert_eq!(tasks(&after(&world, &decision)), tasks(&world));
    }
}

const REQUESTED: (&str, &str) = ("applied", "received delegation.requested");
const NOT_YOURS: (&str, &str) =
    (MAY_NOT, "received delegation.rejected(unauthorized_agent) rejected(unauthorized_agent)");
const NESTED: (&str, &str) = (
    "rejected nested_delegation",
    "received delegation.rejected(nested_delegation) rejected(nested_delegation)",
);

#[test]
fn a_handoff_is_judged_by_who_may_speak_for_the_parent() {
    let (parent, child) = (task(1, Status::InProgress), task(2, Status::Ready));
    let check = |parent: &Task, child: &Task, from, expected| {
        check_handoff(Some(parent.clone()), Some(child.clone()), from, expected);
    };
    let leased = parent.clone().leased_to("swe", 1);
    check(&parent, &child, "anyone", REQUESTED);
    check(&leased, &child, "swe", REQUESTED);
    check(&leased, &child, "qa", NOT_YOURS);
    check(&leased.clone().expired(), &child, "swe", REQUESTED);
    check(&parent.clone().routed_to("swe"), &child, "swe", REQUESTED);
    check(&parent.clone().routed_to("swe"), &child, "qa", NOT_YOURS);
    // Whose the child is makes no difference.
    let theirs = child.clone().routed_to("qa");
    check(&leased, &theirs, "swe", REQUESTED);
    check(&leased, &theirs, "qa", NOT_YOURS);
}

#[test]
fn a_handoff_needs_both_tasks_and_goes_one_level_deep() {
    let (parent, child) = (task(1, Status::InProgress), task(2, Status::Ready));
    let missing_child = (
        "rejected task_not_found",
        "received delegation.rejected(task_not_found) rejected(task_not_found)",
    );
    let missing_parent =
        ("rejected parent_not_found", "received delegation.rejected(parent_not_found)");
    let check = |parent: &Task, child: &Task, expected| {
        check_handoff(Some(parent.clone()), Some(child.clone()), "swe", expected);
    };
    check_handoff(Some(parent.clone()), None, "swe", missing_child);
    check_handoff(None, Some(child.clone()), "swe", missing_parent);
    check_handoff(None, None, "swe", missing_child);
    check(&parent.clone().depth(1), &child, NESTED);
    check(&parent.clone().depth(u32::MAX), &child, NESTED);
    check(&parent, &child.clone().depth(1), REQUESTED);
    // A task cannot be handed to a part of itself, and one in a ring of parents to nothing.
    check(&parent.clone().child_of(2), &child, NESTED);
    check(&parent.clone().child_of(1), &child, NESTED);
    check(&parent.clone().child_of(99), &child, REQUESTED);
}

#[test]
fn an_acknowledgement_is_for_the_agent_the_handoff_named() {
    let start = world([
        task(1, Status::InProgress).leased_to("swe", 1),
        task(2, Status::Ready).routed_to("somebody"),
    ]);
    let handed = after(&start, &send(&start, &handoff_request(2, 1, "swe", "qa")));
    let check = |message: &Value, expected: &str| {
        assert_eq!(verdict(&send(&handed, message)), expected, "{message}");
    };
    check(&handoff_accepted(2, "qa"), MAY);
    check(&handoff_rejected(2, "qa"), MAY);
    for from in ["swe", "somebody"] {
        check(&handoff_accepted(2, from), MAY_NOT);
        check(&handoff_rejected(2, from), MAY_NOT);
    }
}

fn run_token(number: u64, fence: u64) -> Token {
    let task = id(number);
    Token::Run { task, fence }
}

fn send_with(world: &World, message: &Value, token: &Token) -> Decision {
    let facts = Facts { token: token.clone(), ..Facts::default() };
    decide(world, &message_with(message, facts), now())
}

/// Checks what "swe" is told when it completes task 1 with a token; without one where tokens are
/// required, and where they are not.
fn check_token(one: &Task, token: &Token, expected: &str) {
    let require_token = Policy { require_token: true, ..Policy::default() };
    let lax = world([one.clone()]);
    for world in [lax.clone(), lax.with_policy(require_token)] {
        let decision = send_with(&world, &completion(1, "swe", Outcome::Partial), token);
        let expected = match (token, world.policy().require_token) {
            (Token::None, true) => "rejected token_required",
            _ => expected,
        };
        assert_eq!(verdict(&decision), expected, "{token:?}");
        if expected != MAY {
            assert_eq!(tasks(&after(&world, &decision)), tasks(&world));
        }
    }
}

const UNKNOWN: &str = "rejected unknown_token";
const STALE: &str = "rejected stale_run";

#[test]
fn a_token_speaks_for_its_own_run_only() {
    let leased = task(1, Status::InProgress).leased_to("swe", 3);
    check_token(&leased, &Token::None, MAY);
    check_token(&leased, &Token::Unknown, UNKNOWN);
    check_token(&leased, &run_token(2, 3), UNKNOWN);
    check_token(&leased, &run_token(1, 2), STALE);
    check_token(&leased, &run_token(1, 3), MAY);
    // The token does not make an agent of another one.
    let theirs = task(1, Status::InProgress).leased_to("qa", 3);
    check_token(&theirs, &run_token(1, 3), MAY_NOT);
}

#[test]
fn between_two_leases_the_last_run_still_counts_as_the_newest() {
    let waiting = task(1, Status::Blocked).last_run_by("swe", 3);
    check_token(&waiting, &Token::None, MAY);
    check_token(&waiting, &run_token(1, 2), STALE);
    check_token(&waiting, &run_token(1, 3), MAY);
    let again = task(1, Status::InProgress).leased_to("swe", 4).last_run_by("swe", 3);
    check_token(&again, &run_token(1, 3), STALE);
    check_token(&again, &run_token(1, 4), MAY);
}

#[test]
fn what_an_older_run_reports_is_stale_whoever_it_says_it_is() {
    let theirs = task(1, Status::InProgress).leased_to("qa", 2);
    check_token(&theirs, &run_token(1, 1), STALE);
}

#[test]
fn what_an_older_run_reports_is_kept_aside() {
    let world = world([task(1, Status::InProgress).leased_to("swe", 2)]);
    let report = completion(1, "swe", Outcome::Done);
    let decision = send_with(&world, &report, &run_token(1, 1));
    assert_eq!(events(&decision), "received rejected(stale_run) salvaged(stale_run)");
    assert_eq!(salvaged(&decision), (id(1), report));
    assert_eq!(tasks(&after(&world, &decision)), tasks(&world));
}

#[test]
fn a_handoff_that_an_older_run_asks_for_is_kept_with_the_parent() {
    let parent = task(1, Status::InProgress).leased_to("swe", 2);
    let world = world([parent, task(2, Status::Ready)]);
    let mut request = handoff_request(2, 1, "swe", "qa");
    request["payload"]["urgency"] = json!("a field nobody here knows");
    let decision = send_with(&world, &request, &run_token(1, 1));
    assert_eq!(
        events(&decision),
        "received delegation.rejected(stale_run) rejected(stale_run) salvaged(stale_run)"
    );
    assert_eq!(salvaged(&decision), (id(1), request));
    assert_eq!(decision.answer.task, Some(id(2)));
}

/// Returns the task whose run something was kept of, and what was kept.
fn salvaged(decision: &Decision) -> (TaskId, Value) {
    let last = decision.events.last().expect("an event");
    let Event::RunSalvaged { text: Some(text), .. } = &last.event else {
        panic!("{last:?} keeps nothing");
    };
    let kept = serde_json::from_str(text).expect("JSON");
    (last.task.clone().expect("a task"), kept)
}

/// Task 1 after a run of "swe" under fence 3 has reported.
fn reported(one: Task, outcome: Outcome) -> World {
    let start = world([one.leased_to("swe", 3)]);
    let report = completion(1, "swe", outcome);
    after(&start, &send_with(&start, &report, &run_token(1, 3)))
}

#[test]
fn the_same_token_again_after_its_own_completion_does_nothing() {
    let plain = task(1, Status::InProgress);
    // Routed to another agent while it was leased: the answer is still not a refusal.
    let routed = plain.clone().routed_to("qa");
    for one in [plain, routed] {
        for outcome in Outcome::ALL {
            let world = reported(one.clone(), outcome);
            let again = send_with(&world, &completion(1, "swe", outcome), &run_token(1, 3));
            assert_eq!(again.answer.verdict, Verdict::Noop, "{outcome}");
            assert_eq!(events(&again), "received", "{outcome}");
        }
    }
}

#[test]
fn a_report_that_arrives_twice_does_not_undo_what_a_person_decided_in_between() {
    let blocked = reported(task(1, Status::InProgress), Outcome::Blocked);
    let command = Command::Retry { id: id(1) };
    let by = Caller::Operator(operator());
    let retry = Input::Command { by, command };
    let retried = after(&blocked, &decide(&blocked, &retry, now()));
    let report = completion(1, "swe", Outcome::Blocked);
    let again = send_with(&retried, &report, &run_token(1, 3));
    assert_eq!(tasks(&after(&retried, &again)), tasks(&retried));
}

#[test]
fn a_handoff_is_sent_with_the_token_of_the_parents_run() {
    let parent = task(1, Status::InProgress).leased_to("swe", 3);
    let world = world([parent, task(2, Status::Ready)]);
    let check = |token, expected: &str| {
        let request = handoff_request(2, 1, "swe", "qa");
        assert_eq!(verdict(&send_with(&world, &request, &token)), expected);
    };
    check(run_token(1, 3), MAY);
    check(run_token(1, 2), STALE);
    check(run_token(2, 3), UNKNOWN);
    check(Token::Unknown, UNKNOWN);
}

const OWN_PRAISE: (&str, &str) = ("applied self_approval", "received warned(self_approval) logged");
const APPROVED: (&str, &str) = ("applied", "received transitioned(review->done)");

/// Checks what an update to done from "swe" does.
fn check_approval(reviewed: Task, expected: (&str, &str)) {
    let world = world([reviewed]);
    let decision = send(&world, &status_update(1, "swe", Some(Status::Done)));
    let actual = (verdict(&decision), events(&decision));
    assert_eq!((actual.0.as_str(), actual.1.as_str()), expected);
}

#[test]
fn who_did_the_work_cannot_approve_it() {
    let reviewed = || task(1, Status::Review);
    check_approval(reviewed(), APPROVED);
    check_approval(reviewed().last_run_by("swe", 1), OWN_PRAISE);
    check_approval(reviewed().reported_by("swe"), OWN_PRAISE);
    check_approval(reviewed().reported_by("qa").last_run_by("swe", 1), OWN_PRAISE);
    check_approval(reviewed().reported_by("swe").last_run_by("qa", 1), OWN_PRAISE);
    check_approval(reviewed().reported_by("qa").last_run_by("qa", 1), APPROVED);
}

#[test]
fn who_did_the_work_closes_it_where_no_review_is_needed() {
    let reviewed = task(1, Status::Review).review(Review::NotNeeded);
    check_approval(reviewed.clone().reported_by("swe").last_run_by("swe", 1), APPROVED);
    check_approval(reviewed, APPROVED);
}

#[test]
fn who_left_the_result_that_a_session_end_applied_cannot_approve_it() {
    let mut result = completion(1, "swe", Outcome::Done)["payload"].clone();
    result["taskId"] = json!(id(1).as_str());
    result["agentId"] = json!("swe");
    result["completedAt"] = json!("2026-02-09T21:10:00.000Z");
    let result = aof::parse_result(&id(1), &result).expect("a good result");
    let found = vec![(id(1), Found::Result(Box::new(result)))];
    let world = world([task(1, Status::InProgress)]);
    let ended = decide(&world, &Input::SessionEnd { found }, now());
    let reviewed = after(&world, &ended).task(&id(1)).cloned();
    let reviewed = reviewed.expect("task 1");
    assert_eq!(reviewed.status(), Status::Review);
    check_approval(reviewed, OWN_PRAISE);
}

#[test]
fn own_praise_without_another_word_changes_nothing() {
    let world = world([task(1, Status::Review).reported_by("swe")]);
    let mut praise = status_update(1, "swe", Some(Status::Done));
    praise["payload"] =
        json!({"taskId": id(1).as_str(), "agentId": "swe", "status": "done", "notes": ""});
    let decision = send(&world, &praise);
    assert_eq!(verdict(&decision), "noop self_approval");
    assert_eq!(events(&decision), "received warned(self_approval)");
    assert_eq!(tasks(&after(&world, &decision)), tasks(&world));
}

#[test]
fn whoever_worked_may_still_send_its_work_back_or_give_it_up() {
    let world = world([task(1, Status::Review).reported_by("swe").last_run_by("swe", 1)]);
    for to in [Status::Ready, Status::InProgress, Status::Blocked, Status::Cancelled] {
        let decision = send(&world, &status_update(1, "swe", Some(to)));
        assert_eq!(events(&decision), format!("received transitioned(review->{to})"));
    }
}

#[test]
fn a_path_that_leads_outside_by_a_link_stops_the_message_whoever_sends_it() {
    let world = world([task(1, Status::InProgress).leased_to("swe", 1)]);
    let facts = Facts {
        escapes: vec!["payload.summaryRef".to_owned(), "payload.deliverables[0]".to_owned()],
        ..Facts::default()
    };
    let message = message_with(&completion(1, "swe", Outcome::Done), facts);
    let decision = decide(&world, &message, now());
    let problems: Vec<String> = decision.answer.problems.iter().map(ToString::to_string).collect();
    assert_eq!(verdict(&decision), "rejected invalid_envelope");
    assert_eq!(events(&decision), "rejected(invalid_envelope)");
    assert_eq!(
        problems,
        [
            "payload.summaryRef: leads outside its folder by a link",
            "payload.deliverables[0]: leads outside its folder by a link",
        ]
    );
}
