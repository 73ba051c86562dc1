//! What agents say.

use adjutant_core::command::Start;
use adjutant_runtime::Request;
use serde_json::{Value, json};

use super::Deed;
use super::commands::reject;
use super::given::{AGENT, READY, REVIEWED, UNREVIEWED, WORKING, start};
use crate::hand::Hand;
use crate::message::{completion, envelope, handoff, progress};
use crate::project::{Project, add, send};

pub(super) const ALL: &[Deed] = &[
    Deed::new("completion_done", |hand| report(hand, WORKING, "done"), &["applied"]),
    Deed::new("completion_done_twice_moved", |hand| report(hand, UNREVIEWED, "done"), &["applied"]),
    Deed::new("completion_blocked", |hand| report(hand, WORKING, "blocked"), &["applied"]),
    Deed::new(
        "completion_needs_review",
        |hand| report(hand, WORKING, "needs_review"),
        &["applied"],
    ),
    Deed::new("completion_partial", |hand| report(hand, WORKING, "partial"), &["applied"]),
    Deed::new("completion_again", |hand| report(hand, REVIEWED, "partial"), &["applied"]),
    Deed::new("status_progress", |hand| say(hand, &half_way()), &["applied"]),
    Deed::new("status_moves", |hand| say(hand, &status(WORKING, "blocked")), &["applied"]),
    Deed::new("status_moves_nowhere", |hand| say(hand, &status(WORKING, "backlog")), &["applied"]),
    Deed::new("handoff_request", |hand| say(hand, &asked()), &["applied"]),
    Deed::new("handoff_accepted", |hand| acknowledge(hand, true), &["applied", "applied"]),
    Deed::new("handoff_rejected", |hand| acknowledge(hand, false), &["applied", "applied"]),
    Deed::new("handoff_refused", |hand| say(hand, &missing_child()), &["rejected"]),
    Deed::new("message_of_a_stranger", |hand| say(hand, &stranger()), &["rejected"]),
    Deed::new("message_of_no_known_type", |hand| say(hand, &unknown()), &["unknown"]),
    Deed::new("message_that_is_no_json", |hand| hand.submit(&[broken()]), &["rejected"]),
    Deed::new("group", |hand| hand.submit(&group()), &[GROUP_ANSWERS]),
    Deed::new("progress_again_and_again", say_often, &["applied", "applied", "applied", "applied"]),
    Deed { given: Some(crowd), ..Deed::new("crowd", all_speak, &[CROWD_ANSWERS]) },
    Deed::new("effects", owe_and_settle, &["applied", "settled"]),
];

fn say(hand: &mut Hand, message: &Value) {
    hand.submit(&[send(message)]);
}

fn report(hand: &mut Hand, task: &str, outcome: &str) {
    say(hand, &completion(task, AGENT, outcome));
}

fn half_way() -> Value {
    progress(WORKING, AGENT, "Half way there")
}

fn status(task: &str, to: &str) -> Value {
    let payload = json!({"taskId": task, "agentId": AGENT, "status": to, "notes": "So it is."});
    envelope("status.update", task, AGENT, &payload)
}

fn asked() -> Value {
    handoff(READY, WORKING, AGENT, "swe-qa")
}

fn missing_child() -> Value {
    handoff("TASK-2026-02-09-099", WORKING, AGENT, "swe-qa")
}

fn acknowledge(hand: &mut Hand, accepted: bool) {
    say(hand, &asked());
    let kind = if accepted { "handoff.accepted" } else { "handoff.rejected" };
    let payload = json!({"taskId": READY, "accepted": accepted, "reason": "As it is."});
    say(hand, &envelope(kind, READY, "swe-qa", &payload));
}

fn stranger() -> Value {
    completion(WORKING, "somebody-else", "done")
}

fn unknown() -> Value {
    envelope("weather.report", WORKING, AGENT, &json!({"rain": true}))
}

fn broken() -> Request {
    Request::Message(b"AOF/1 {\"protocol\": ".to_vec())
}

const GROUP_ANSWERS: &str = "applied,applied,applied,applied,rejected,applied,applied,ignored";

/// A task written to twice, one that moves and is written to, one that is new, and noise.
fn group() -> Vec<Request> {
    vec![
        send(&half_way()),
        send(&progress(WORKING, AGENT, "Nearly there")),
        send(&asked()),
        send(&completion(WORKING, AGENT, "done")),
        send(&stranger()),
        reject(),
        add("One more", Start::Backlog),
        Request::Message(b"good morning".to_vec()),
    ]
}

/// Files are written anew: first of the same task, then of another.
fn say_often(hand: &mut Hand) {
    for (task, text) in
        [(WORKING, "First"), (WORKING, "Second"), (UNREVIEWED, "Third"), (WORKING, "Fourth")]
    {
        say(hand, &progress(task, AGENT, text));
    }
}

/// As many as a commit does side by side.
const CROWD: usize = 16;
const CROWD_ANSWERS: &str = "applied,applied,applied,applied,applied,applied,applied,applied,\
    applied,applied,applied,applied,applied,applied,applied,applied";

fn member(number: usize) -> String {
    format!("TASK-2026-02-09-{:03}", number + 1)
}

fn crowd(project: &Project) {
    let mut engine = project.engine();
    for number in 0..CROWD {
        engine.submit_one(add("One of many", Start::Ready)).expect("added");
        start(&mut engine, &member(number));
    }
    engine.rest().expect("at rest");
}

/// One moves, the others stay where they are.
fn all_speak(hand: &mut Hand) {
    let says = |number| match number {
        0 => status(&member(0), "blocked"),
        _ => progress(&member(number), AGENT, "Half way there"),
    };
    let said: Vec<Request> = (0..CROWD).map(|number| send(&says(number))).collect();
    hand.submit(&said);
}

fn owe_and_settle(hand: &mut Hand) {
    report(hand, WORKING, "done");
    hand.settle();
}
