//! Results of runs: `run_result.json`, left, read and written.

use adjutant_core::completion::HANDOFF_REF;
use adjutant_core::input::Found;
use adjutant_runtime::Request;
use adjutant_store::Store;
use adjutant_store::wire::RunResultWire;
use serde_json::{Value, json};

use crate::file::{check_json, json_text};
use crate::scene::{Scene, task_id};
use crate::steps::Known;
use crate::words::Words;

pub(crate) const STEPS: &[Known] = &[
    ("{agent} left a result for {task} with outcome {outcome}", leave),
    ("{task} has no run result", |scene, words| {
        assert!(!scene.project.has(&path(words.at(0))));
    }),
    ("a session ends", |scene, _| scene.command(Request::SessionEnd(None))),
    ("the run result of {task} is:", |scene, words| {
        check_json(scene, &path(words.at(0)), &words.json());
    }),
    ("the run result of {task} is what the message says", |scene, words| {
        check_json(scene, &path(words.at(0)), &expected(&scene.message));
    }),
    ("the router reads the run result of {task} as its file has it", check_read),
    ("the router finds no run result for {task}", |scene, words| {
        assert_eq!(found(scene, words.at(0)), None);
    }),
];

fn path(task: &str) -> String {
    format!("runs/{task}/run_result.json")
}

/// What an agent leaves that dies after its report was written and before it was applied.
fn leave(scene: &mut Scene, words: &Words) {
    let (agent, task, outcome) = (words.at(0), words.at(1), words.at(2));
    let result = json!({
        "taskId": task,
        "agentId": agent,
        "completedAt": "2026-02-09T20:45:00.000Z",
        "outcome": outcome,
        "summaryRef": "outputs/summary.md",
        "handoffRef": HANDOFF_REF,
        "deliverables": ["src/parser.rs"],
        "tests": {"total": 12, "passed": 11, "failed": 1},
        "blockers": ["The staging server is down"],
        "notes": "Left behind.",
    });
    scene.project.write(&path(task), &json_text(&result));
}

/// A result repeats its message, with the sender, the time and where the hand-over lies.
fn expected(message: &Value) -> Value {
    let payload = &message["payload"];
    let list = |field: &str| payload.get(field).cloned().unwrap_or_else(|| json!([]));
    json!({
        "taskId": message["taskId"],
        "agentId": message["fromAgent"],
        "completedAt": message["sentAt"],
        "outcome": payload["outcome"],
        "summaryRef": payload["summaryRef"],
        "handoffRef": HANDOFF_REF,
        "deliverables": list("deliverables"),
        "tests": payload["tests"],
        "blockers": list("blockers"),
        "notes": payload["notes"],
    })
}

fn found(scene: &mut Scene, task: &str) -> Option<Found> {
    scene.engine().store().result(&task_id(task)).expect("reading gives no error")
}

fn check_read(scene: &mut Scene, words: &Words) {
    let Some(Found::Result(result)) = found(scene, words.at(0)) else {
        panic!("no result in order");
    };
    check_json(scene, &path(words.at(0)), &json!(RunResultWire::from(&*result)));
}
