//! Operations: messages of agents.

use adjutant_engine::EngineRequest;
use adjutant_model::command::InitialStatus;
use serde_json::{Value, json};

use super::FolderOperation;
use super::commands::reject;
use super::given::{AGENT, IN_PROGRESS_TASK, NO_REVIEW_TASK, READY_TASK, REVIEW_TASK, start_task};
use crate::crash_child::CrashChild;
use crate::message::{completion, envelope, handoff, progress};
use crate::project::{TestProject, add_request, message_request};

pub(super) const ALL: &[FolderOperation] = &[
    FolderOperation::new(
        "completion_done",
        |child| report(child, IN_PROGRESS_TASK, "done"),
        &["applied"],
    ),
    FolderOperation::new(
        "completion_done_twice_moved",
        |child| report(child, NO_REVIEW_TASK, "done"),
        &["applied"],
    ),
    FolderOperation::new(
        "completion_blocked",
        |child| report(child, IN_PROGRESS_TASK, "blocked"),
        &["applied"],
    ),
    FolderOperation::new(
        "completion_needs_review",
        |child| report(child, IN_PROGRESS_TASK, "needs_review"),
        &["applied"],
    ),
    FolderOperation::new(
        "completion_partial",
        |child| report(child, IN_PROGRESS_TASK, "partial"),
        &["applied"],
    ),
    FolderOperation::new(
        "completion_again",
        |child| report(child, REVIEW_TASK, "partial"),
        &["applied"],
    ),
    FolderOperation::new("status_progress", |child| send_message(child, &half_way()), &["applied"]),
    FolderOperation::new(
        "status_moves",
        |child| send_message(child, &status(IN_PROGRESS_TASK, "blocked")),
        &["applied"],
    ),
    FolderOperation::new(
        "status_moves_nowhere",
        |child| send_message(child, &status(IN_PROGRESS_TASK, "backlog")),
        &["applied"],
    ),
    FolderOperation::new(
        "handoff_request",
        |child| send_message(child, &handoff_request()),
        &["applied"],
    ),
    FolderOperation::new(
        "handoff_accepted",
        |child| acknowledge(child, true),
        &["applied", "applied"],
    ),
    FolderOperation::new(
        "handoff_rejected",
        |child| acknowledge(child, false),
        &["applied", "applied"],
    ),
    FolderOperation::new(
        "handoff_refused",
        |child| send_message(child, &missing_child()),
        &["rejected"],
    ),
    FolderOperation::new(
        "message_of_a_stranger",
        |child| send_message(child, &stranger()),
        &["rejected"],
    ),
    FolderOperation::new(
        "message_of_no_known_type",
        |child| send_message(child, &unknown()),
        &["unknown"],
    ),
    FolderOperation::new(
        "message_that_is_no_json",
        |child| child.submit(&[broken()]),
        &["rejected"],
    ),
    FolderOperation::new("group", |child| child.submit(&group()), &[GROUP_ANSWERS]),
    FolderOperation::new(
        "progress_again_and_again",
        send_progress_often,
        &["applied", "applied", "applied", "applied"],
    ),
    FolderOperation {
        prepare: Some(set_up_many_tasks),
        ..FolderOperation::new("crowd", send_for_all_tasks, &[CROWD_ANSWERS])
    },
    FolderOperation::new("effects", report_and_settle, &["applied", "settled"]),
];

fn send_message(child: &mut CrashChild, message: &Value) {
    child.submit(&[message_request(message)]);
}

fn report(child: &mut CrashChild, task: &str, outcome: &str) {
    send_message(child, &completion(task, AGENT, outcome));
}

fn half_way() -> Value {
    progress(IN_PROGRESS_TASK, AGENT, "Half way there")
}

fn status(task: &str, to: &str) -> Value {
    let payload = json!({"taskId": task, "agentId": AGENT, "status": to, "notes": "So it is."});
    envelope("status.update", task, AGENT, &payload)
}

fn handoff_request() -> Value {
    handoff(READY_TASK, IN_PROGRESS_TASK, AGENT, "swe-qa")
}

fn missing_child() -> Value {
    handoff("TASK-2026-02-09-099", IN_PROGRESS_TASK, AGENT, "swe-qa")
}

fn acknowledge(child: &mut CrashChild, accepted: bool) {
    send_message(child, &handoff_request());
    let kind = if accepted { "handoff.accepted" } else { "handoff.rejected" };
    let payload = json!({"taskId": READY_TASK, "accepted": accepted, "reason": "As it is."});
    send_message(child, &envelope(kind, READY_TASK, "swe-qa", &payload));
}

fn stranger() -> Value {
    completion(IN_PROGRESS_TASK, "other-agent", "done")
}

fn unknown() -> Value {
    envelope("weather.report", IN_PROGRESS_TASK, AGENT, &json!({"rain": true}))
}

fn broken() -> EngineRequest {
    EngineRequest::message(b"AOF/1 {\"protocol\": ".to_vec())
}

const GROUP_ANSWERS: &str = "applied,applied,applied,applied,rejected,applied,applied,ignored";

/// A task written twice, one that moves and is written, a new one, and noise.
fn group() -> Vec<EngineRequest> {
    vec![
        message_request(&half_way()),
        message_request(&progress(IN_PROGRESS_TASK, AGENT, "Nearly there")),
        message_request(&handoff_request()),
        message_request(&completion(IN_PROGRESS_TASK, AGENT, "done")),
        message_request(&stranger()),
        reject(),
        add_request("One more", InitialStatus::Backlog),
        EngineRequest::message(b"good morning".to_vec()),
    ]
}

/// Files are replaced: first of the same task, then of another.
fn send_progress_often(child: &mut CrashChild) {
    for (task, text) in [
        (IN_PROGRESS_TASK, "First"),
        (IN_PROGRESS_TASK, "Second"),
        (NO_REVIEW_TASK, "Third"),
        (IN_PROGRESS_TASK, "Fourth"),
    ] {
        send_message(child, &progress(task, AGENT, text));
    }
}

/// As many tasks as one commit handles in parallel.
const CROWD: usize = 16;
const CROWD_ANSWERS: &str = "applied,applied,applied,applied,applied,applied,applied,applied,\
    applied,applied,applied,applied,applied,applied,applied,applied";

fn numbered_task(number: usize) -> String {
    format!("TASK-2026-02-09-{:03}", number + 1)
}

fn set_up_many_tasks(project: &TestProject) {
    let mut engine = project.open_engine();
    for number in 0..CROWD {
        engine.submit_one(add_request("One of many", InitialStatus::Ready)).expect("added");
        start_task(&mut engine, &numbered_task(number));
    }
    engine.rest().expect("at rest");
}

/// One task moves, the others stay where they are.
fn send_for_all_tasks(child: &mut CrashChild) {
    let says = |number| match number {
        0 => status(&numbered_task(0), "blocked"),
        _ => progress(&numbered_task(number), AGENT, "Half way there"),
    };
    let requests: Vec<EngineRequest> =
        (0..CROWD).map(|number| message_request(&says(number))).collect();
    child.submit(&requests);
}

fn report_and_settle(child: &mut CrashChild) {
    report(child, IN_PROGRESS_TASK, "done");
    child.settle_effects();
}
