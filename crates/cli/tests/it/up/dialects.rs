//! Agents that speak missions, `new_task` and AOF/1, as real processes under a daemon.

use std::fs;

use serde_json::{Value, json};

use crate::up::project::DaemonProject;

/// Returns an example of a protocol's guide, unchanged.
fn example(name: &str) -> String {
    let path = format!("{}/tests/examples/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).expect("the example is there")
}

/// Copies an example into the workspace, for an agent to send.
fn leave(stage: &DaemonProject, name: &str) {
    fs::write(stage.home().join(name), example(name)).expect("written");
}

/// Sends a document as the operator, and returns the id of the created task.
fn send(stage: &DaemonProject, name: &str, text: &str) -> String {
    let path = stage.home().join(name);
    fs::write(&path, text).expect("written");
    let answer = stage.json(&["send", path.to_str().expect("text")]);
    assert_eq!((&answer["result"], &answer["status"]), (&json!("applied"), &json!("ready")));
    answer["taskId"].as_str().expect("an id").to_owned()
}

fn completed(stage: &DaemonProject, id: &str) -> Vec<(Value, Value)> {
    let events = stage.events_of(id, "task.completed");
    events
        .iter()
        .map(|event| (event["actor"].clone(), event["payload"]["outcome"].clone()))
        .collect()
}

const PARENT: &str =
    r#"{"taskId": "FEATURE-AUTH-001", "delegatedToMode": "nobody", "objective": "Auth"}"#;

#[test]
fn mission_result_completes_its_run() {
    let stage =
        DaemonProject::new("").with_agent("actor", "steps:\n  - adjutant: [send, result.yaml]\n");
    leave(&stage, "result.yaml");
    let id = send(&stage, "mission.yaml", &example("mission.yaml"));
    stage.until_idle();
    assert_eq!(stage.status(&id), "review");
    assert_eq!(completed(&stage, &id), [(json!("actor"), json!("done"))]);
    let memory = fs::read_to_string(stage.path("epics/E005/memory.md")).expect("it is there");
    assert!(memory.ends_with("T042: Use bcrypt for password hashing\n"), "{memory}");
}

#[test]
fn new_task_asks_gets_answer_and_succeeds() {
    let script = "\
attempts:
  1:
    - adjutant: [send, clarification_needed.json]
steps:
  - write:
      path: .project-memory/lld/api_specifications/auth_api_spec.md
      text: All endpoints.
  - adjutant: [send, success.json]
";
    let stage =
        DaemonProject::new("").with_agent_as("speccer", script, "mode = \"spec-pseudocode\"\n");
    leave(&stage, "clarification_needed.json");
    leave(&stage, "success.json");
    fs::create_dir_all(stage.home().join(".project-memory/lld/api_specifications")).expect("made");
    send(&stage, "parent.json", PARENT);
    let id = send(&stage, "new_task.json", &example("new_task.json"));
    stage.run_ok(["task", "edit", &id, "--review", "none"]);
    stage.until_idle();
    assert_eq!(stage.status(&id), "blocked");
    assert_eq!(stage.json(&["inbox"])[0]["kind"], "question");
    stage.run_ok(["answer", "API-SPEC-001", "By email."]);
    stage.until_idle();
    let asked = (json!("speccer"), json!("blocked"));
    assert_eq!(completed(&stage, &id), [asked, (json!("speccer"), json!("done"))]);
    assert_eq!(stage.status(&id), "done");
    let order = fs::read_to_string(stage.attempt(&id, 2).join("order")).expect("it is there");
    assert!(order.contains("By email."), "the answer is in the order: {order}");
}

#[test]
fn new_task_success_without_expected_output_needs_review() {
    let script = "steps:\n  - adjutant: [send, success.json]\n";
    let stage =
        DaemonProject::new("").with_agent_as("speccer", script, "mode = \"spec-pseudocode\"\n");
    leave(&stage, "success.json");
    send(&stage, "parent.json", PARENT);
    let id = send(&stage, "new_task.json", &example("new_task.json"));
    stage.run_ok(["task", "edit", &id, "--review", "none"]);
    stage.until_idle();
    assert_eq!(stage.status(&id), "review");
    let moved = stage.events_of(&id, "task.transitioned");
    assert_eq!(
        moved.last().expect("it moved")["payload"]["reason"],
        "expected output is missing: .project-memory/lld/api_specifications/auth_api_spec.md"
    );
}

#[test]
fn run_cannot_report_mission_result_for_another_task() {
    let script = "\
attempts:
  1:
    - adjutant: [send, other.yaml]
steps:
  - adjutant: [send, result.yaml]
";
    let stage = DaemonProject::new("concurrency = 1").with_agent("actor", script);
    leave(&stage, "result.yaml");
    fs::write(stage.home().join("other.yaml"), example("result.yaml").replace("T042", "T043"))
        .expect("written");
    let other = send(&stage, "b.yaml", &example("mission.yaml").replace("T042", "T043"));
    stage.run_ok(["task", "move", &other, "backlog"]);
    let id = send(&stage, "a.yaml", &example("mission.yaml"));
    stage.until_idle();
    assert_eq!((stage.status(&id), stage.status(&other)), ("review".into(), "backlog".into()));
    let refused = stage.events_of(&other, "protocol.message.rejected");
    assert_eq!(refused[0]["payload"]["reason"], "unknown_token");
    assert_eq!(completed(&stage, &other), []);
}

/// A `new_task` parent whose child is done by an agent that speaks missions and reviewed by an
/// agent that speaks AOF/1, all in one event log.
#[test]
fn task_is_handed_on_across_dialects() {
    let adjutant = env!("CARGO_BIN_EXE_adjutant");
    let lead = r#"steps:
  - write:
      path: child.json
      text: '{"taskId": "PART-1", "parentTaskId": "WHOLE-1", "delegatedToMode": "build", "objective": "Build a part", "priority": "low"}'
  - adjutant: [send, child.json]
  - write:
      path: whole.json
      text: '{"taskId": "WHOLE-1", "result": "success", "summary": "Planned it"}'
  - adjutant: [send, whole.json]
"#;
    // The agent reads its mission, and answers with a result under the mission's id.
    let builder = format!(
        "#!/bin/sh\nset -e\n\
         id=$({adjutant} mission \"$ADJUTANT_TASK_ID\" --dialect mission | sed -n 's/^task_id: //p')\n\
         cat > result-of-it.yaml <<END\n\
         version: \"1\"\ntask_id: $id\nstatus: completed\nfiles_modified: []\nlog:\n\
         \x20 - {{level: info, message: Began, timestamp: 2025-01-15T10:30:00Z}}\n\
         \x20 - {{level: info, message: Built it, timestamp: 2025-01-15T10:35:00Z}}\n\
         completed_at: 2025-01-15T10:45:00Z\nEND\n\
         {adjutant} send result-of-it.yaml\n"
    );
    let stage = DaemonProject::new("")
        .with_agent_as("lead", lead, "mode = \"lead\"\n")
        .with_command("builder", &builder, "mode = \"build\"\n");
    let whole = json!({"taskId": "WHOLE-1", "delegatedToMode": "lead", "objective": "Plan it"});
    send(&stage, "order.json", &whole.to_string());
    stage.until_idle();
    let part = stage.json(&["task", "show", "PART-1"]);
    let id = part["id"].as_str().expect("an id");
    assert_eq!((&part["status"], &part["createdBy"]), (&json!("review"), &json!("lead")));
    assert_eq!(part["parentId"], stage.json(&["task", "show", "WHOLE-1"])["id"]);
    assert_eq!(completed(&stage, id), [(json!("builder"), json!("done"))]);

    let approval = json!({
        "protocol": "aof", "version": 1, "type": "status.update", "taskId": id,
        "fromAgent": "qa", "toAgent": "dispatcher", "sentAt": "2026-02-09T21:10:00.000Z",
        "payload": {"taskId": id, "agentId": "qa", "status": "done", "notes": "Looked at it"},
    });
    let review = format!(
        "steps:\n  - write: {{path: approval.json, text: '{approval}'}}\n  \
         - adjutant: [send, approval.json]\n  - report: done\n"
    );
    let stage = stage.with_agent("qa", &review);
    stage.add("qa");
    stage.until_idle();
    assert_eq!(stage.status(id), "done");
    let moved = stage.events_of(id, "task.transitioned");
    let last = moved.last().expect("it moved");
    assert_eq!(
        (&last["actor"], &last["payload"]["reason"]),
        (&json!("qa"), &json!("Looked at it"))
    );
}
