//! Tests of `adjutant session-end`.

use adjutant_model::Status;
use serde_json::{Value, json};

use crate::commands::support::{CliProject, completion};

const ID: &str = "TASK-2026-02-09-001";

fn result(outcome: &str) -> Value {
    json!({
        "taskId": ID,
        "agentId": "swe",
        "completedAt": "2026-02-09T21:10:00.000Z",
        "outcome": outcome,
        "summaryRef": "outputs/summary.md",
        "handoffRef": "outputs/handoff.md",
        "deliverables": [],
        "tests": {"total": 3, "passed": 3, "failed": 0},
        "blockers": ["No key"],
        "notes": "So far.",
    })
}

fn left_behind(result: &str) -> CliProject {
    let project = CliProject::foreign();
    project.task(ID, Status::InProgress, "routing:\n  agent: swe\n");
    project.write(&format!("runs/{ID}/run_result.json"), result);
    project
}

#[test]
fn result_left_behind_is_applied() {
    let project = left_behind(&result("blocked").to_string());
    let answer = project.json(["session-end"]);
    assert_eq!(
        answer,
        json!({
            "result": "applied", "reason": null, "taskId": null, "events": [2, 3], "status": null,
            "errors": [], "moved": [{"taskId": ID, "from": "in-progress", "to": "blocked"}],
        })
    );
    assert_eq!(project.types(), ["folder.adopted", "task.completed", "task.transitioned"]);
    assert_eq!(project.events()[2]["payload"]["reason"], "No key");
    assert_eq!(project.does(["session-end"]), "no results to apply\n");
}

#[test]
fn result_file_stays_as_agent_wrote_it() {
    let mut left = result("partial");
    left["model"] = json!("a field of its own");
    let project = left_behind(&left.to_string());
    project.does(["session-end"]);
    assert_eq!(project.read(&format!("runs/{ID}/run_result.json")), left.to_string());
    assert_eq!(project.events()[1]["payload"]["leftBehind"], true);
}

#[test]
fn session_end_text_is_one_line_per_move() {
    let project = left_behind(&result("partial").to_string());
    assert_eq!(project.does(["session-end", ID]), format!("{ID} in-progress → review\n"));
}

#[test]
fn result_that_is_invalid_is_salvaged_and_moves_nothing() {
    let mut wrong = result("done");
    wrong["tests"]["failed"] = json!(-1);
    let project = left_behind(&wrong.to_string());
    let said = project.does(["session-end"]);
    let expected = format!(
        "{ID} run_result.json was not applied (invalid_run_result); it is kept in salvage\n"
    );
    assert_eq!(said, expected);
    let rejected = &project.events()[1]["payload"];
    let errors = json!(["tests.failed: must be non-negative"]);
    assert_eq!(*rejected, json!({"reason": "invalid_run_result", "errors": errors}));
    let salvaged = format!("runs/{ID}/salvage/3-run_result.json");
    assert_eq!(project.files().get(&salvaged), Some(&wrong.to_string()));
    assert_eq!(project.does(["session-end"]), "no results to apply\n");
}

#[test]
fn runs_of_original_program_are_adopted() {
    let project = CliProject::foreign();
    project.task(ID, Status::InProgress, "");
    project.write(&format!("state/runs/{ID}/run_result.json"), result("partial").to_string());
    assert_eq!(project.does(["session-end"]), format!("{ID} in-progress → review\n"));
    assert!(project.path(&format!("runs/{ID}/run_result.json")).is_file());
}

#[test]
fn result_of_earlier_work_is_not_applied_again() {
    let project = left_behind(&result("blocked").to_string());
    project.does(["session-end"]);
    for status in ["backlog", "ready", "in-progress"] {
        project.does(["task", "move", ID, status]);
    }
    assert_eq!(project.does(["session-end"]), "no results to apply\n");
}

#[test]
fn report_on_ready_task_is_not_applied_when_work_starts() {
    let project = CliProject::new();
    let id = project.add(["one", "--agent", "swe", "--status", "ready"]);
    let (code, answer) = project.send(completion(&id, "swe", "done").to_string().as_bytes());
    assert_eq!((code, &answer["status"]), (0, &json!("ready")));
    project.does(["task", "move", &id, "in-progress"]);
    assert_eq!(project.does(["session-end"]), "no results to apply\n");
}
