//! What the scheduler does, and what runs do: work is given out, beats, ends, and comes too late.

use std::fs;
use std::path::Path;

use adjutant_core::run::Exit;
use adjutant_core::{Actor, Command};
use adjutant_runtime::Request;
use serde_json::{Value, json};

use super::Deed;
use super::given::{AGENT, READY, id, project_at_work};
use crate::hand::{Hand, open};
use crate::message::{completion, progress};
use crate::project::{Project, operator};

pub(super) const ALL: &[Deed] = &[
    Deed::new("give_out", |hand| hand.submit(&[tick()]), &["applied"]),
    Deed::new("give_out_and_start", give_out_and_start, &["applied", "settled"]),
    running("beat", |hand| hand.submit(&[beat()]), &["applied"]),
    running("beat_refused", |hand| hand.submit(&[forged()]), &["rejected"]),
    running("line", |hand| hand.submit(&[line(1, 1, &half_way())]), &["applied"]),
    running("exit_without_a_result", |hand| hand.submit(&[exit(1, 3)]), &["applied"]),
    running("exit_after_a_report", report_and_exit, &["applied", "applied", "settled"]),
    running("exit_with_a_result_left", |hand| hand.submit(&[exit(1, 0)]), &["applied"])
        .after(leave_a_result),
    running("exit_with_a_bad_result_left", |hand| hand.submit(&[exit(1, 0)]), &["applied"])
        .after(leave_a_bad_result),
    running("cancel_a_run", cancel_and_stop, &["applied", "settled", "applied"]),
    running("lease_expires", |hand| hand.submit(&[tick()]), &["applied"]),
    running("reclaim", |hand| hand.submit(&[tick()]), &["applied"]).after(stop_beating),
    running("reclaim_and_give_out_again", reclaim_and_go_on, &["applied", "applied", "applied"])
        .after(stop_beating),
    Deed { given: Some(tried_twice), ..Deed::new("give_up", give_up, &["applied"]) },
    Deed { given: Some(tried_twice), ..Deed::new("salvage", salvage, &["rejected"]) },
    Deed { given: Some(salvaged), ..Deed::new("apply_salvage", apply_salvage, &["applied"]) },
];

const fn running(name: &'static str, act: fn(&mut Hand), answers: &'static [&'static str]) -> Deed {
    Deed { given: Some(given_out), ..Deed::new(name, act, answers) }
}

/// The project at work, with a run of the task that was ready: attempt 1, fence 1.
fn given_out(project: &Project) {
    play(project, &[tick()]);
}

/// Two attempts came to nothing, and a third is under way: attempt 3, fence 3.
fn tried_twice(project: &Project) {
    play(project, &[tick(), exit(1, 1)]);
    project.clock.set("2026-02-09T21:10:00.000Z");
    again(project, &[tick(), exit(2, 1)]);
    project.clock.set("2026-02-09T21:29:00.000Z");
    again(project, &[tick()]);
}

fn salvaged(project: &Project) {
    tried_twice(project);
    again(project, &[late()]);
}

fn play(project: &Project, requests: &[Request]) {
    project_at_work(project);
    again(project, requests);
}

fn again(project: &Project, requests: &[Request]) {
    let mut engine = open(project.folder(), &project.clock);
    for request in requests {
        let answered = engine.submit_one(request.clone()).expect("an answer");
        assert!(!answered.events.is_empty(), "{request:?} did nothing");
    }
    engine.rest().expect("at rest");
}

fn tick() -> Request {
    Request::Tick { lives: [].into() }
}

fn beat() -> Request {
    Request::Beat { task: id(READY), fence: 1 }
}

fn forged() -> Request {
    Request::LifeSign { task: id(READY), by: Actor::System, token: "1-x".to_owned() }
}

fn line(fence: u64, attempt: u32, message: &Value) -> Request {
    let text = format!("AOF/1 {message}");
    Request::Line { task: id(READY), attempt, fence, seq: 1, text, kind: None, flaw: None }
}

fn exit(fence: u64, code: i32) -> Request {
    let tail = "The last words.".to_owned();
    Request::RunExited {
        task: id(READY),
        fence,
        exit: Exit::Code(code),
        tail,
        told: Box::default(),
    }
}

fn half_way() -> Value {
    progress(READY, AGENT, "Half way there")
}

/// What the first run says when there is a third.
fn late() -> Request {
    line(1, 1, &completion(READY, AGENT, "done"))
}

fn give_out_and_start(hand: &mut Hand) {
    hand.submit(&[tick()]);
    hand.settle();
}

fn report_and_exit(hand: &mut Hand) {
    hand.submit(&[line(1, 1, &completion(READY, AGENT, "done"))]);
    hand.submit(&[exit(1, 0)]);
    hand.settle();
}

fn cancel_and_stop(hand: &mut Hand) {
    hand.submit(&[operator(Command::Cancel { id: id(READY), reason: "No more.".to_owned() })]);
    hand.settle();
    let (exit, tail) = (Exit::Stopped, String::new());
    hand.submit(&[Request::RunExited {
        task: id(READY),
        fence: 1,
        exit,
        tail,
        told: Box::default(),
    }]);
}

fn reclaim_and_go_on(hand: &mut Hand) {
    hand.submit(&[tick()]);
    hand.submit(&[exit(1, 1)]);
    hand.clock.set("2026-02-09T21:40:00.000Z");
    hand.submit(&[tick()]);
}

fn give_up(hand: &mut Hand) {
    hand.submit(&[exit(3, 1)]);
}

fn salvage(hand: &mut Hand) {
    hand.submit(&[late()]);
}

fn apply_salvage(hand: &mut Hand) {
    let name = NAME.to_owned();
    hand.submit(&[operator(Command::ApplySalvage { id: id(READY), name, text: None })]);
}

/// What [`salvaged`] leaves, called by the number of its event.
const NAME: &str = "33-message.json";

fn leave_a_result(root: &Path) {
    let result = json!({
        "taskId": READY, "agentId": AGENT, "completedAt": "2026-02-09T21:20:00.000Z",
        "outcome": "needs_review", "summaryRef": "outputs/summary.md",
        "handoffRef": "outputs/handoff.md", "deliverables": [],
        "tests": {"total": 1, "passed": 1, "failed": 0}, "blockers": [], "notes": "So far.",
    });
    leave(root, "run_result.json", &result);
}

fn leave_a_bad_result(root: &Path) {
    leave(root, "run_result.json", &json!({"outcome": "splendid"}));
}

fn stop_beating(root: &Path) {
    let beat = json!({
        "taskId": READY, "agentId": AGENT, "lastHeartbeat": "2026-02-09T21:00:00.000Z",
        "beatCount": 1, "expiresAt": "2026-02-09T21:05:00.000Z",
    });
    leave(root, "run_heartbeat.json", &beat);
}

fn leave(root: &Path, name: &str, value: &Value) {
    fs::write(root.join("runs").join(READY).join(name), format!("{value:#}\n")).expect("written");
}
