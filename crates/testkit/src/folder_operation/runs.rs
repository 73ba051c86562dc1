//! Operations of scheduler and runs: assignment, heartbeats, exits and late reports.

use std::fs;
use std::path::Path;

use adjutant_engine::{EngineRequest, Request};
use adjutant_model::request::MessageOrigin;
use adjutant_model::run::RunExit;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::{Actor, Command};
use serde_json::{Value, json};

use super::FolderOperation;
use super::given::{AGENT, READY_TASK, id, set_up_project};
use crate::crash_child::{CrashChild, RANDOM_NUMBER, open_engine};
use crate::message::{completion, progress};
use crate::project::{TestProject, operator_request};

pub(super) const ALL: &[FolderOperation] = &[
    FolderOperation::new("give_out", |child| child.submit(&[tick()]), &["applied"]),
    FolderOperation::new("give_out_and_start", assign_and_start, &["applied", "settled"]),
    on_running_task("beat", |child| child.submit(&[beat()]), &["applied"]),
    on_running_task("beat_refused", |child| child.submit(&[forged_heartbeat()]), &["rejected"]),
    on_running_task("line", |child| child.submit(&[line(1, 1, &half_way())]), &["applied"]),
    on_running_task("exit_without_a_result", |child| child.submit(&[exit(1, 3)]), &["applied"]),
    on_running_task("exit_after_a_report", report_and_exit, &["applied", "applied", "settled"]),
    on_running_task("exit_with_a_result_left", |child| child.submit(&[exit(1, 0)]), &["applied"])
        .after_hand_edit(leave_a_result),
    on_running_task(
        "exit_with_a_bad_result_left",
        |child| child.submit(&[exit(1, 0)]),
        &["applied"],
    )
    .after_hand_edit(leave_a_bad_result),
    on_running_task("cancel_a_run", cancel_and_stop, &["applied", "settled", "applied"]),
    on_running_task("lease_expires", |child| child.submit(&[tick()]), &["applied"]),
    on_running_task("reclaim", |child| child.submit(&[tick()]), &["applied"])
        .after_hand_edit(write_stale_heartbeat),
    on_running_task(
        "reclaim_and_give_out_again",
        reclaim_and_reassign,
        &["applied", "applied", "applied"],
    )
    .after_hand_edit(write_stale_heartbeat),
    FolderOperation {
        prepare: Some(set_up_third_attempt),
        ..FolderOperation::new("give_up", fail_last_attempt, &["applied"])
    },
    FolderOperation {
        prepare: Some(set_up_third_attempt),
        ..FolderOperation::new("salvage", salvage, &["rejected"])
    },
    FolderOperation {
        prepare: Some(set_up_salvaged_report),
        ..FolderOperation::new("apply_salvage", apply_salvage, &["applied"])
    },
];

const fn on_running_task(
    name: &'static str,
    act: fn(&mut CrashChild),
    answers: &'static [&'static str],
) -> FolderOperation {
    FolderOperation { prepare: Some(set_up_run), ..FolderOperation::new(name, act, answers) }
}

/// The project at work, with a run of the ready task: attempt 1, fence 1.
fn set_up_run(project: &TestProject) {
    set_up_and_submit(project, &[tick()]);
}

/// Two failed attempts, and a third that runs: attempt 3, fence 3.
fn set_up_third_attempt(project: &TestProject) {
    set_up_and_submit(project, &[tick(), exit(1, 1)]);
    project.clock.set("2026-02-09T21:10:00.000Z");
    submit_each(project, &[tick(), exit(2, 1)]);
    project.clock.set("2026-02-09T21:29:00.000Z");
    submit_each(project, &[tick()]);
}

fn set_up_salvaged_report(project: &TestProject) {
    set_up_third_attempt(project);
    submit_each(project, &[late_report()]);
}

fn set_up_and_submit(project: &TestProject, requests: &[EngineRequest]) {
    set_up_project(project);
    submit_each(project, requests);
}

fn submit_each(project: &TestProject, requests: &[EngineRequest]) {
    let mut engine = open_engine(project.folder(), &project.clock);
    for request in requests {
        let answered = engine.submit_one(request.clone()).expect("an answer");
        assert!(!answered.events.is_empty(), "{request:?} did nothing");
    }
    engine.rest().expect("at rest");
}

fn tick() -> EngineRequest {
    Request::Tick { lives: [].into() }.into()
}

fn beat() -> EngineRequest {
    Request::Beat { task: id(READY_TASK), fence: 1 }.into()
}

fn forged_heartbeat() -> EngineRequest {
    Request::LifeSign { task: id(READY_TASK), by: Actor::System, token: "1-x".to_owned() }.into()
}

fn line(fence: u64, attempt: u32, message: &Value) -> EngineRequest {
    let (task, kind, flaw) = (id(READY_TASK), None, None);
    let nonce = Some(RunNonce::from_random(RANDOM_NUMBER));
    let (seq, needs_token, from_socket) = (1, false, false);
    let origin = MessageOrigin::RunOutput {
        task,
        attempt,
        fence,
        nonce,
        seq,
        kind,
        flaw,
        needs_token,
        from_socket,
        refused: None,
    };
    Request::Message { origin, text: format!("AOF/1 {message}").into_bytes() }.into()
}

fn exit(fence: u64, code: i32) -> EngineRequest {
    let tail = "The last words.".to_owned();
    Request::RunExited {
        task: id(READY_TASK),
        fence,
        exit: RunExit::Code(code),
        tail,
        telemetry: Box::default(),
    }
    .into()
}

fn half_way() -> Value {
    progress(READY_TASK, AGENT, "Half way there")
}

/// A report of the first run during the third.
fn late_report() -> EngineRequest {
    line(1, 1, &completion(READY_TASK, AGENT, "done"))
}

fn assign_and_start(child: &mut CrashChild) {
    child.submit(&[tick()]);
    child.settle_effects();
}

fn report_and_exit(child: &mut CrashChild) {
    child.submit(&[line(1, 1, &completion(READY_TASK, AGENT, "done"))]);
    child.submit(&[exit(1, 0)]);
    child.settle_effects();
}

fn cancel_and_stop(child: &mut CrashChild) {
    child.submit(&[operator_request(Command::Cancel {
        id: id(READY_TASK),
        reason: "No more.".to_owned(),
    })]);
    child.settle_effects();
    let (exit, tail) = (RunExit::Stopped, String::new());
    child.submit(&[Request::RunExited {
        task: id(READY_TASK),
        fence: 1,
        exit,
        tail,
        telemetry: Box::default(),
    }
    .into()]);
}

fn reclaim_and_reassign(child: &mut CrashChild) {
    child.submit(&[tick()]);
    child.submit(&[exit(1, 1)]);
    child.clock.set("2026-02-09T21:40:00.000Z");
    child.submit(&[tick()]);
}

fn fail_last_attempt(child: &mut CrashChild) {
    child.submit(&[exit(3, 1)]);
}

fn salvage(child: &mut CrashChild) {
    child.submit(&[late_report()]);
}

fn apply_salvage(child: &mut CrashChild) {
    let name = SALVAGED_FILE.to_owned();
    child.submit(&[operator_request(Command::ApplySalvage {
        id: id(READY_TASK),
        name,
        text: None,
    })]);
}

/// The file that [`set_up_salvaged_report`] leaves, named by the number of its event.
const SALVAGED_FILE: &str = "33-message.json";

fn leave_a_result(root: &Path) {
    let result = json!({
        "taskId": READY_TASK, "agentId": AGENT, "completedAt": "2026-02-09T21:20:00.000Z",
        "outcome": "needs_review", "summaryRef": "outputs/summary.md",
        "handoffRef": "outputs/handoff.md", "deliverables": [],
        "tests": {"total": 1, "passed": 1, "failed": 0}, "blockers": [], "notes": "So far.",
    });
    write_run_file(root, "run_result.json", &result);
}

fn leave_a_bad_result(root: &Path) {
    write_run_file(root, "run_result.json", &json!({"outcome": "splendid"}));
}

fn write_stale_heartbeat(root: &Path) {
    let beat = json!({
        "taskId": READY_TASK, "agentId": AGENT, "lastHeartbeat": "2026-02-09T21:00:00.000Z",
        "beatCount": 1, "expiresAt": "2026-02-09T21:05:00.000Z",
    });
    write_run_file(root, "run_heartbeat.json", &beat);
}

fn write_run_file(root: &Path, name: &str, value: &Value) {
    fs::write(root.join("runs").join(READY_TASK).join(name), format!("{value:#}\n"))
        .expect("written");
}
