//! Steps about run results: `run_result.json`, left, read and written.

use adjutant_core::input::FoundResult;
use adjutant_engine::Request;
use adjutant_model::completion::HANDOFF_REF;
use adjutant_store::Store;
use serde_json::{Value, json};

use crate::file::{check_json, json_text};
use crate::scenario_state::{ScenarioState, task_id};
use crate::step_arguments::StepArguments;
use crate::steps::StepDefinition;

pub(crate) const STEPS: &[StepDefinition] = &[
    ("{agent} left a result for {task} with outcome {outcome}", write_result),
    ("{task} has no run result", |scene, words| {
        assert!(!scene.project.exists(&path(words.captured(0))));
    }),
    ("a session ends", |scene, _| scene.command(Request::SessionEnd(None).into())),
    ("the run result of {task} is:", |scene, words| {
        check_json(scene, &path(words.captured(0)), &words.json());
    }),
    ("the run result of {task} is what the message says", |scene, words| {
        check_json(scene, &path(words.captured(0)), &expected(&scene.message));
    }),
    ("the router reads the run result of {task} as its file has it", check_read),
    ("the router finds no run result for {task}", |scene, words| {
        assert_eq!(read_found_result(scene, words.captured(0)), None);
    }),
];

fn path(task: &str) -> String {
    format!("runs/{task}/run_result.json")
}

/// The result of an agent that died after its report was written and before it was applied.
fn write_result(scene: &mut ScenarioState, words: &StepArguments) {
    let (agent, task, outcome) = (words.captured(0), words.captured(1), words.captured(2));
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

/// A result repeats its message, with the sender, the time and the path of the hand-over.
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

fn read_found_result(scene: &mut ScenarioState, task: &str) -> Option<FoundResult> {
    scene.engine().store().result(&task_id(task)).expect("reading gives no error")
}

fn check_read(scene: &mut ScenarioState, words: &StepArguments) {
    let Some(FoundResult::Result(result)) = read_found_result(scene, words.captured(0)) else {
        panic!("no result in order");
    };
    check_json(scene, &path(words.captured(0)), &json!(*result));
}
