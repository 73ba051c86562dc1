//! Who may report on a task: lease holders, routed agents and run tokens; no agent may approve
//! its own work.

use adjutant_core::input::{FoundResult, MessageFacts, TokenOwner};
use adjutant_core::protocols::aof;
use adjutant_core::{Decision, Input, World, decide};
use adjutant_model::answer::{AnswerVerdict, Reason};
use adjutant_model::command::CommandCaller;
use adjutant_model::completion::WorkOutcome;
use adjutant_model::review::ReviewPolicy;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::{Command, Event, Policy, Status, Task, TaskId};
use serde_json::{Value, json};

use crate::support::{
    TaskBuilder, after, completion, events, handoff_accepted, handoff_rejected, handoff_request,
    id, message_with, now, operator, send, status_update, task, tasks, verdict, world,
};

const MAY: &str = "applied";
const MAY_NOT: &str = "rejected unauthorized_agent";

/// Checks the answer to `from` for task 1, for every message that is judged on that task.
fn check_word(one: &Task, from: &str, expected: &str) {
    let world = world([one.clone()]);
    for message in [
        completion(1, from, WorkOutcome::Partial),
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
fn leased_task_takes_reports_only_from_its_holder() {
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
fn expired_lease_still_allows_reports() {
    let leased = task(1, Status::InProgress).leased_to("swe", 1).expired();
    check_word(&leased, "swe", MAY);
    check_word(&leased, "qa", MAY_NOT);
}

#[test]
fn newer_lease_replaces_the_older_one() {
    let again = task(1, Status::InProgress).leased_to("qa", 2).last_run_by("swe", 1);
    check_word(&again, "qa", MAY);
    check_word(&again, "swe", MAY_NOT);
}

#[test]
fn unleased_task_takes_reports_from_its_routed_agent_in_any_status() {
    for status in Status::ALL.into_iter().filter(|it| !it.is_closed()) {
        let routed = task(1, status).routed_to("swe").last_run_by("qa", 1);
        check_word(&routed, "swe", MAY);
        check_word(&routed, "qa", MAY_NOT);
    }
}

#[test]
fn unrouted_task_takes_reports_from_any_agent() {
    for status in Status::ALL.into_iter().filter(|it| !it.is_closed()) {
        check_word(&task(1, status), "swe", MAY);
        check_word(&task(1, status), "anyone", MAY);
    }
}

#[test]
fn missing_or_unreadable_task_takes_no_reports() {
    let check = |world: &World, expected: &str| {
        let decision = send(world, &completion(1, "swe", WorkOutcome::Done));
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
fn handoff_needs_the_right_to_report_on_the_parent() {
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
}

#[test]
fn handoff_needs_the_right_to_the_child() {
    let leased = task(1, Status::InProgress).leased_to("swe", 1);
    let child = task(2, Status::Ready);
    let check = |child: &Task, expected| {
        check_handoff(Some(leased.clone()), Some(child.clone()), "swe", expected);
    };
    check(&child, REQUESTED);
    check(&child.clone().routed_to("swe"), REQUESTED);
    // Routed to another agent: only the parent or the sender that created it may hand it over.
    let theirs = child.clone().routed_to("dev");
    check(&theirs, NOT_YOURS);
    check(&theirs.clone().child_of(1), REQUESTED);
    check(&Task { created_by: "swe".into(), ..theirs.clone() }, REQUESTED);
    check(&theirs.child_of(3), NOT_YOURS);
    // An agent works on it.
    let taken = task(2, Status::InProgress).leased_to("dev", 1);
    check(&taken, NOT_YOURS);
    check(&taken.clone().child_of(1), NOT_YOURS);
    check(&Task { created_by: "swe".into(), ..taken }, NOT_YOURS);
    // The same handoff again, while its agent works.
    let repeated = task(2, Status::InProgress).leased_to("qa", 1).routed_to("qa").child_of(1);
    check(&repeated, REQUESTED);
}

#[test]
fn acknowledgement_on_closed_task_changes_nothing() {
    for status in [Status::Done, Status::Cancelled] {
        let world = world([task(1, status).routed_to("qa")]);
        for message in [handoff_accepted(1, "qa"), handoff_rejected(1, "qa")] {
            let decision = send(&world, &message);
            assert_eq!(verdict(&decision), "noop task_closed", "{message}");
            assert_eq!(events(&decision), "received");
        }
    }
}

#[test]
fn message_through_run_speaks_as_agent_of_that_run() {
    let current = task(1, Status::InProgress).leased_to("swe", 2).last_run_by("dev", 1);
    let ended = task(1, Status::Review).last_run_by("swe", 2);
    for one in [&current, &ended] {
        let start = world([one.clone()]);
        for message in [
            completion(1, "reviewer", WorkOutcome::Partial),
            status_update(1, "reviewer", None),
            status_update(1, "reviewer", Some(Status::Done)),
            handoff_accepted(1, "reviewer"),
            handoff_rejected(1, "reviewer"),
        ] {
            let decision = send_with(&start, &message, &run_token(1, 2));
            assert_eq!(verdict(&decision), "rejected agentId_mismatch", "{message}");
            assert_eq!(events(&decision), "received rejected(agentId_mismatch)");
            assert_eq!(tasks(&after(&start, &decision)), tasks(&start));
        }
        let own = send_with(&start, &status_update(1, "swe", None), &run_token(1, 2));
        assert_eq!(verdict(&own), MAY);
    }
    let start = world([current, task(2, Status::Ready)]);
    let forged = send_with(&start, &handoff_request(2, 1, "reviewer", "qa"), &run_token(1, 2));
    assert_eq!(verdict(&forged), "rejected agentId_mismatch");
    assert_eq!(tasks(&after(&start, &forged)), tasks(&start));
}

#[test]
fn run_cannot_approve_its_own_task_under_any_name() {
    let refusal_of = |start: &World, from: &str| {
        let update = status_update(1, from, Some(Status::Done));
        let decision = send_with(start, &update, &run_token(1, 1));
        assert_eq!(tasks(&after(start, &decision))[0].status(), Status::Review, "{from}");
        decision.answer.reason
    };
    let ran = world([task(1, Status::Review).last_run_by("swe", 1)]);
    assert_eq!(refusal_of(&ran, "swe"), Some(Reason::SelfApproval));
    assert_eq!(refusal_of(&ran, "reviewer"), Some(Reason::AgentIdMismatch));
    // Neither the lease nor the last run names an agent that could be compared.
    let start = world([task(1, Status::Review)]);
    for from in ["swe", "reviewer"] {
        assert_eq!(refusal_of(&start, from), Some(Reason::StaleRun), "{from}");
    }
    let outside = send(&start, &status_update(1, "reviewer", Some(Status::Done)));
    assert_eq!(tasks(&after(&start, &outside))[0].status(), Status::Done);
}

#[test]
fn handoff_needs_both_tasks_and_nests_one_level() {
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
    // A task cannot be handed to its own child, and nothing can be handed over in a
    // ring of parents.
    check(&parent.clone().child_of(2), &child, NESTED);
    check(&parent.clone().child_of(1), &child, NESTED);
    check(&parent.clone().child_of(99), &child, REQUESTED);
}

#[test]
fn acknowledgement_is_taken_only_from_the_agent_of_the_handoff() {
    let start = world([task(1, Status::InProgress).leased_to("swe", 1), task(2, Status::Ready)]);
    let handed = after(&start, &send(&start, &handoff_request(2, 1, "swe", "qa")));
    let check = |message: &Value, expected: &str| {
        assert_eq!(verdict(&send(&handed, message)), expected, "{message}");
    };
    check(&handoff_accepted(2, "qa"), MAY);
    check(&handoff_rejected(2, "qa"), MAY);
    for from in ["swe", "dev"] {
        check(&handoff_accepted(2, from), MAY_NOT);
        check(&handoff_rejected(2, from), MAY_NOT);
    }
}

fn run_token(number: u64, fence: u64) -> TokenOwner {
    let task = id(number);
    TokenOwner::Run { nonce: None, task, fence }
}

fn send_with(world: &World, message: &Value, token: &TokenOwner) -> Decision {
    let facts = MessageFacts { token: token.clone(), ..MessageFacts::default() };
    decide(world, &message_with(message, facts), now())
}

/// Checks the answer to "swe" when it completes task 1 with this token, under policies that require
/// a token and that do not.
fn check_token(one: &Task, token: &TokenOwner, expected: &str) {
    let require_token = Policy { require_token: true, ..Policy::default() };
    let lax = world([one.clone()]);
    for world in [lax.clone(), lax.with_policy(require_token)] {
        let decision = send_with(&world, &completion(1, "swe", WorkOutcome::Partial), token);
        let expected = match (token, world.policy().require_token) {
            (TokenOwner::None, true) => "rejected token_required",
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
fn token_is_valid_only_for_its_own_run() {
    let leased = task(1, Status::InProgress).leased_to("swe", 3);
    check_token(&leased, &TokenOwner::None, MAY);
    check_token(&leased, &TokenOwner::Unknown, UNKNOWN);
    check_token(&leased, &run_token(2, 3), UNKNOWN);
    check_token(&leased, &run_token(1, 2), STALE);
    check_token(&leased, &run_token(1, 3), MAY);
    // The token of another agent's run speaks for that agent.
    let theirs = task(1, Status::InProgress).leased_to("qa", 3);
    check_token(&theirs, &run_token(1, 3), "rejected agentId_mismatch");
}

#[test]
fn token_of_another_history_is_stale() {
    let token = |number| TokenOwner::Run {
        task: id(1),
        fence: 3,
        nonce: Some(RunNonce::from_random(number)),
    };
    let leased = task(1, Status::InProgress).leased_to("swe", 3).with_nonce(5);
    let over = task(1, Status::Blocked).last_run_by("swe", 3).with_nonce(5);
    for one in [leased, over] {
        check_token(&one, &token(5), MAY);
        for other in [token(6), run_token(1, 3), run_token(1, 4)] {
            check_token(&one, &other, STALE);
        }
    }
    // The store knows no run of this task.
    check_token(&task(1, Status::Blocked), &token(5), STALE);
}

#[test]
fn last_run_counts_as_newest_between_two_leases() {
    let waiting = task(1, Status::Blocked).last_run_by("swe", 3);
    check_token(&waiting, &TokenOwner::None, MAY);
    check_token(&waiting, &run_token(1, 2), STALE);
    check_token(&waiting, &run_token(1, 3), MAY);
    let again = task(1, Status::InProgress).leased_to("swe", 4).last_run_by("swe", 3);
    check_token(&again, &run_token(1, 3), STALE);
    check_token(&again, &run_token(1, 4), MAY);
}

#[test]
fn stale_run_report_is_refused_for_any_agent_name() {
    let theirs = task(1, Status::InProgress).leased_to("qa", 2);
    check_token(&theirs, &run_token(1, 1), STALE);
}

#[test]
fn stale_run_report_is_salvaged() {
    let world = world([task(1, Status::InProgress).leased_to("swe", 2)]);
    let report = completion(1, "swe", WorkOutcome::Done);
    let decision = send_with(&world, &report, &run_token(1, 1));
    assert_eq!(events(&decision), "received rejected(stale_run) salvaged(stale_run)");
    assert_eq!(salvaged(&decision), (id(1), report));
    assert_eq!(tasks(&after(&world, &decision)), tasks(&world));
}

#[test]
fn stale_run_handoff_is_salvaged_with_the_parent() {
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

/// Returns the task of a salvaged report, and the report.
fn salvaged(decision: &Decision) -> (TaskId, Value) {
    let last = decision.events.last().expect("an event");
    let Event::RunSalvaged { text: Some(text), .. } = &last.event else {
        panic!("{last:?} keeps nothing");
    };
    let kept = serde_json::from_str(text).expect("JSON");
    (last.task.clone().expect("a task"), kept)
}

/// Task 1 after a run of "swe" under fence 3 has reported.
fn reported(one: Task, outcome: WorkOutcome) -> World {
    let start = world([one.leased_to("swe", 3)]);
    let report = completion(1, "swe", outcome);
    after(&start, &send_with(&start, &report, &run_token(1, 3)))
}

#[test]
fn token_reused_after_its_own_completion_is_a_noop() {
    let plain = task(1, Status::InProgress);
    // Routed to another agent during the lease: the answer is still not a refusal.
    let routed = plain.clone().routed_to("qa");
    for one in [plain, routed] {
        for outcome in WorkOutcome::ALL {
            let world = reported(one.clone(), outcome);
            let again = send_with(&world, &completion(1, "swe", outcome), &run_token(1, 3));
            assert_eq!(again.answer.verdict, AnswerVerdict::Noop, "{outcome}");
            assert_eq!(events(&again), "received", "{outcome}");
        }
    }
}

#[test]
fn duplicate_report_does_not_undo_a_decision_in_between() {
    let blocked = reported(task(1, Status::InProgress), WorkOutcome::Blocked);
    let command = Command::Retry { id: id(1) };
    let by = CommandCaller::Operator(operator());
    let retry = Input::Command { by, command };
    let retried = after(&blocked, &decide(&blocked, &retry, now()));
    let report = completion(1, "swe", WorkOutcome::Blocked);
    let again = send_with(&retried, &report, &run_token(1, 3));
    assert_eq!(tasks(&after(&retried, &again)), tasks(&retried));
}

#[test]
fn handoff_needs_the_token_of_the_parent_run() {
    let parent = task(1, Status::InProgress).leased_to("swe", 3);
    let world = world([parent, task(2, Status::Ready)]);
    let check = |token, expected: &str| {
        let request = handoff_request(2, 1, "swe", "qa");
        assert_eq!(verdict(&send_with(&world, &request, &token)), expected);
    };
    check(run_token(1, 3), MAY);
    check(run_token(1, 2), STALE);
    check(run_token(2, 3), UNKNOWN);
    check(TokenOwner::Unknown, UNKNOWN);
}

const OWN_PRAISE: (&str, &str) = ("applied self_approval", "received warned(self_approval) logged");
const APPROVED: (&str, &str) = ("applied", "received transitioned(review->done)");

/// Checks the decision on an update to done from "swe".
fn check_approval(reviewed: Task, expected: (&str, &str)) {
    let world = world([reviewed]);
    let decision = send(&world, &status_update(1, "swe", Some(Status::Done)));
    let actual = (verdict(&decision), events(&decision));
    assert_eq!((actual.0.as_str(), actual.1.as_str()), expected);
}

#[test]
fn worker_cannot_approve_its_own_work() {
    let reviewed = || task(1, Status::Review);
    check_approval(reviewed(), APPROVED);
    check_approval(reviewed().last_run_by("swe", 1), OWN_PRAISE);
    check_approval(reviewed().reported_by("swe"), OWN_PRAISE);
    check_approval(reviewed().reported_by("qa").last_run_by("swe", 1), OWN_PRAISE);
    check_approval(reviewed().reported_by("swe").last_run_by("qa", 1), OWN_PRAISE);
    check_approval(reviewed().reported_by("qa").last_run_by("qa", 1), APPROVED);
}

#[test]
fn worker_may_close_its_work_if_no_review_is_needed() {
    let reviewed = task(1, Status::Review).review(ReviewPolicy::NotNeeded);
    check_approval(reviewed.clone().reported_by("swe").last_run_by("swe", 1), APPROVED);
    check_approval(reviewed, APPROVED);
}

#[test]
fn author_of_result_applied_at_session_end_cannot_approve_it() {
    let mut result = completion(1, "swe", WorkOutcome::Done)["payload"].clone();
    result["taskId"] = json!(id(1).as_str());
    result["agentId"] = json!("swe");
    result["completedAt"] = json!("2026-02-09T21:10:00.000Z");
    let result = aof::parse_run_result(&id(1), &result).expect("a good result");
    let found = vec![(id(1), FoundResult::Result(Box::new(result)))];
    let world = world([task(1, Status::InProgress)]);
    let ended = decide(&world, &Input::SessionEnd { found }, now());
    let reviewed = after(&world, &ended).task(&id(1)).cloned();
    let reviewed = reviewed.expect("task 1");
    assert_eq!(reviewed.status(), Status::Review);
    check_approval(reviewed, OWN_PRAISE);
}

#[test]
fn self_approval_without_notes_changes_nothing() {
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
fn worker_may_send_its_own_work_back_or_cancel_it() {
    let world = world([task(1, Status::Review).reported_by("swe").last_run_by("swe", 1)]);
    for to in [Status::Ready, Status::InProgress, Status::Blocked, Status::Cancelled] {
        let decision = send(&world, &status_update(1, "swe", Some(to)));
        assert_eq!(events(&decision), format!("received transitioned(review->{to})"));
    }
}

#[test]
fn path_that_escapes_through_a_link_refuses_the_message() {
    let world = world([task(1, Status::InProgress).leased_to("swe", 1)]);
    let facts = MessageFacts {
        escaping_paths: vec!["payload.summaryRef".to_owned(), "payload.deliverables[0]".to_owned()],
        ..MessageFacts::default()
    };
    let message = message_with(&completion(1, "swe", WorkOutcome::Done), facts);
    let decision = decide(&world, &message, now());
    let problems: Vec<String> = decision.answer.problems.iter().map(ToString::to_string).collect();
    assert_eq!(verdict(&decision), "rejected invalid_envelope");
    assert_eq!(events(&decision), "rejected(invalid_envelope)");
    assert_eq!(
        problems,
        [
            "payload.summaryRef: leads outside its folder through a symbolic link",
            "payload.deliverables[0]: leads outside its folder through a symbolic link",
        ]
    );
}
