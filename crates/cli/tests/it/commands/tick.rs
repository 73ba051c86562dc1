//! Tests of `adjutant tick`, `why`, `inbox` and `answer`.

use adjutant_model::Status;
use serde_json::{Value, json};

use crate::commands::support::{CliProject, run};

const ID: &str = "TASK-2026-02-09-001";

/// An agent that works for as long as its run folder exists.
const CREW: &str = r#"
[agents.fixer]
kind = "command"
command = ["sh", "-c", "while [ -d \"$ADJUTANT_RUN_DIR\" ]; do sleep 0.05; done"]
"#;

fn with_crew() -> CliProject {
    let project = CliProject::new();
    project.write("adjutant.toml", CREW);
    project
}

/// Makes a folder with a task in progress whose heartbeat expires at ten o'clock.
fn beating() -> CliProject {
    let project = CliProject::foreign();
    project.task(ID, Status::InProgress, "");
    let beat = json!({"taskId": ID, "expiresAt": "2026-02-10T10:00:00.000Z"});
    project.write(&format!("runs/{ID}/run_heartbeat.json"), beat.to_string());
    project.write(&format!("runs/{ID}/run.json"), "{\"status\": \"running\"}");
    project
}

#[test]
fn tick_dry_run_lists_actions_and_changes_nothing() {
    let project = beating();
    project.does(["task", "list"]);
    let before = project.digest();
    let at = |time: &str| project.json(["tick", "--dry-run", "--now", time]);
    let stale = json!({"type": "stale_heartbeat", "taskId": ID, "recovery": "reclaim"});
    assert_eq!(
        at("2026-02-10T10:05:00.000Z"),
        json!({"now": "2026-02-10T10:05:00.000Z", "actions": [stale], "actionsExecuted": 0})
    );
    let nothing = json!({"now": "2026-02-10T09:59:00.000Z", "actions": [], "actionsExecuted": 0});
    assert_eq!(at("2026-02-10T09:59:00.000Z"), nothing);
    assert_eq!(project.digest(), before);
    assert_eq!(project.types(), ["folder.adopted"]);
}

#[test]
fn tick_dry_run_renews_lease_of_live_run() {
    let project = with_crew();
    let id = project.add(["one", "--status", "ready"]);
    project.json(["tick"]);
    let later = "2040-01-01T00:00:00.000Z";
    let dry = project.json(["tick", "--dry-run", "--now", later]);
    let renewed = json!([{
        "type": "renew_lease", "taskId": id, "fence": 1, "expiresAt": "2040-01-01T00:05:00.000Z",
    }]);
    assert_eq!((&dry["actions"], &dry["actionsExecuted"]), (&renewed, &json!(0)));
    let done = project.json(["tick", "--now", later]);
    assert_eq!(done["actions"], renewed, "a tick does what was said");
}

#[test]
fn tick_reclaims_task_with_stale_heartbeat() {
    let project = beating();
    let ticked = project.json(["tick", "--now", "2026-02-10T10:05:00Z"]);
    assert_eq!(
        (&ticked["actions"][0]["type"], &ticked["actionsExecuted"]),
        (&json!("stale_heartbeat"), &json!(0))
    );
    assert_eq!(project.types(), ["folder.adopted", "run.failed", "task.transitioned"]);
    let run: Value = serde_json::from_str(&project.read(&format!("runs/{ID}/attempts/1/run.json")))
        .expect("JSON");
    assert_eq!(
        (&run["status"], &run["metadata"]["expiredReason"]),
        (&json!("failed"), &json!("stale_heartbeat"))
    );
    let task = project.json(["task", "show", ID]);
    assert_eq!(task["metadata"]["expiredAt"], "2026-02-10T10:05:00.000Z");
}

#[test]
fn tick_assigns_ready_task_to_agent_with_free_slot() {
    let project = with_crew();
    let first = project.add(["one", "--status", "ready", "--priority", "high"]);
    let second = project.add(["two", "--status", "ready"]);
    let ticked = project.json(["tick"]);
    let assigned = json!({
        "type": "assign", "taskId": first, "agent": "fixer", "attempt": 1, "fence": 1,
    });
    assert_eq!((&ticked["actions"], &ticked["actionsExecuted"]), (&json!([assigned]), &json!(1)));
    let task = project.json(["task", "show", &first]);
    assert_eq!(
        (&task["status"], &task["lease"]["agent"]),
        (&json!("in-progress"), &json!("fixer"))
    );
    assert!(project.path(&format!("runs/{first}/run.json")).is_file());
    assert_eq!(project.does(["tick"]), "nothing to do\n");
    let why = project.json(["why", &second]);
    let busy = json!([{"code": "agent_busy", "text": "No slot is free: fixer (1 of 1 in use)."}]);
    assert_eq!(why, json!({"taskId": second, "runnable": false, "reasons": busy}));
}

#[test]
fn why_lists_reasons_or_says_task_can_run() {
    let project = with_crew();
    let id = project.add(["one", "--status", "ready"]);
    let why = project.json(["why", &id]);
    assert_eq!(why, json!({"taskId": id, "runnable": true, "reasons": []}));
    let said = "Nothing holds it back: it will start at the next scheduler run.\n";
    assert_eq!(project.does(["why", &id]), said);
    let waits = project.add(["two", "--depends-on", &id, "--agent", "swe"]);
    let expected = format!(
        "It is in the backlog; `adjutant task move {waits} ready` makes it ready.\n\
         It depends on {id}, which is ready.\n\
         No agent named \"swe\" is configured; add [agents.swe] to adjutant.toml, or route \
             the task to one that is (`adjutant task edit ID --agent NAME`): fixer; an \
             agent that runs elsewhere can fetch it with `adjutant mcp --agent swe`.\n"
    );
    assert_eq!(project.does(["why", &waits]), expected);
    let (code, error) = project.error(["why", "TASK-2026-02-09-999"]);
    assert_eq!((code, &error["code"]), (1, &json!("task_not_found")));
}

#[test]
fn inbox_lists_blocked_task_until_answer() {
    let project = CliProject::new();
    assert_eq!(project.json(["inbox"]), json!([]));
    let id = project.add(["one", "--status", "ready"]);
    project.does(["task", "move", &id, "blocked", "--reason", "Which colour?"]);
    let items = project.json(["inbox"]);
    let actions = json!([
        format!("answer {id} TEXT"),
        format!("task retry {id}"),
        format!("task cancel {id}"),
    ]);
    assert_eq!(items.as_array().map(Vec::len), Some(1));
    assert_eq!((&items[0]["kind"], &items[0]["taskId"]), (&json!("blocked"), &json!(id)));
    assert_eq!((&items[0]["text"], &items[0]["actions"]), (&json!("one: Which colour?"), &actions));
    let answered = project.json(["answer", &id, "Blue."]);
    let said = (&answered["status"], &answered["metadata"]["answer"]);
    assert_eq!(said, (&json!("ready"), &json!("Blue.")));
    assert_eq!(project.json(["inbox"]), json!([]));
    let (code, error) = project.error(["answer", &id, "Red."]);
    assert_eq!((code, &error["code"]), (1, &json!("invalid_transition")));
    assert_eq!(project.adjutant(["answer", &id, " "]).code, 2);
}

#[test]
fn inbox_lists_late_report_that_can_be_applied() {
    let project = CliProject::foreign();
    project.task(ID, Status::InProgress, "");
    let report = crate::commands::support::completion(ID, "swe", "partial").to_string();
    project.write(&format!("runs/{ID}/salvage/7-message.json"), &report);
    let items = project.json(["inbox"]);
    let said = ": a report was kept but not applied (7-message.json): partial, ";
    assert!(items[0]["text"].as_str().is_some_and(|text| text.contains(said)), "{items}");
    let action = format!("inbox apply {ID} 7-message.json");
    assert_eq!((&items[0]["kind"], &items[0]["actions"]), (&json!("salvage"), &json!([action])));
    let task = project.json(["inbox", "apply", ID, "7-message.json"]);
    assert_eq!(task["status"], "review");
    assert_eq!(project.json(["inbox"])[0]["kind"], "review");
    assert_eq!(project.json(["inbox"]).as_array().map(Vec::len), Some(1));
    let (code, error) = project.error(["inbox", "apply", ID, "8-message.json"]);
    assert_eq!((code, &error["code"]), (1, &json!("salvage_not_found")));
}

#[test]
fn tick_inside_run_is_refused() {
    let project = with_crew();
    project.add(["one", "--status", "ready"]);
    let ran = run(project.command(["tick"]).env("ADJUTANT_RUN_TOKEN", "t"));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(project.types(), ["task.created", "command.refused"]);
}
