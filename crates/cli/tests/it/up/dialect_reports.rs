//! Agents that speak other dialects, as real processes: their work orders and their reports.

use std::fs;

use serde_json::Value;

use crate::up::project::{DaemonProject, wait_for};

const MISSION: &str = include_str!("examples/mission.yaml");
const RESULT: &str = include_str!("examples/result.yaml");
const NEW_TASK: &str = include_str!("examples/new_task.json");
const ATTEMPT: &str = include_str!("examples/attempt_completion.json");
const QUESTION: &str = include_str!("examples/clarification_needed.json");
const NEW_TASK_FORM: &str = include_str!("examples/new_task_form.json");
const ATTEMPT_FORM: &str = include_str!("examples/attempt_completion_form.json");

/// Returns a script that runs `before`, and then writes its report to the result file.
fn leaving(before: &str, report: &str) -> String {
    format!("{before}\ncat > \"$ADJUTANT_RESULT_FILE\" <<'END'\n{report}\nEND\n")
}

/// Returns the `new_task` that another one names as its parent.
fn parent(id: &str) -> String {
    format!(
        "{{\"taskId\": \"{id}\", \"delegatedToMode\": \"nobody\", \"objective\": \"All of it\"}}"
    )
}

fn metadata(stage: &DaemonProject, id: &str) -> Value {
    stage.json(&["task", "show", id])
}

#[test]
fn mission_example_is_done_as_its_result_says() {
    let stage = DaemonProject::new("").with_command(
        "miner",
        &leaving("cat > order.txt", RESULT),
        "dialect = \"mission\"",
    );
    let id = stage.send(MISSION);
    stage.until_idle();
    assert_eq!(stage.status(&id), "review", "{:#?}", stage.events());
    let order = fs::read_to_string(stage.home().join("order.txt")).expect("it got an order");
    for said in ["Implement the user authentication module.", "result.yaml", "task_id: T042"] {
        assert!(order.contains(said), "{order}");
    }
    stage.run_ok(["approve", "T042"]);
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "task.completed").len(), 1);
}

#[test]
fn new_task_example_is_done_as_its_attempt_says() {
    let write = "cat > order.json\nd=.project-memory/lld/api_specifications\nmkdir -p $d\n\
                 echo spec > $d/auth_api_spec.md";
    let settings = "mode = \"spec-pseudocode\"\ndialect = \"new_task\"";
    let stage = DaemonProject::new("").with_command("speccer", &leaving(write, ATTEMPT), settings);
    stage.send(&parent("FEATURE-AUTH-001"));
    let id = stage.send(NEW_TASK);
    let up = stage.up();
    wait_for("it is reviewed", || stage.status(&id) == "review");
    up.kill();
    let order = fs::read_to_string(stage.home().join("order.json")).expect("it got an order");
    let order: Value = serde_json::from_str(&order).expect("an order in JSON");
    assert_eq!(order["taskId"], "API-SPEC-001");
    assert_eq!(order["parentTaskId"], "FEATURE-AUTH-001");
    let rules = order["constraintsAndRules"].as_array().expect("rules");
    assert!(rules.last().is_some_and(|rule| rule.to_string().contains("attempt_completion.json")));
    stage.run_ok(["approve", "API-SPEC-001"]);
    assert_eq!(stage.status(&id), "done");
}

#[test]
fn new_task_form_templates_are_valid_documents() {
    let write =
        "mkdir -p .project-memory/path/to\necho x > .project-memory/path/to/expected_output.md";
    let settings = "mode = \"agent-slug\"\ndialect = \"new_task\"";
    let stage =
        DaemonProject::new("").with_command("slug", &leaving(write, ATTEMPT_FORM), settings);
    stage.send(&parent("PARENT-TASK-ID-001"));
    let id = stage.send(NEW_TASK_FORM);
    let up = stage.up();
    wait_for("it is reviewed", || stage.status(&id) == "review");
    up.kill();
}

#[test]
fn new_task_question_is_answered_in_next_work_order() {
    let script = format!(
        "if [ $ADJUTANT_ATTEMPT = 1 ]; then\n{}else\ncat > order.json\n{}fi\n",
        leaving("", QUESTION),
        leaving(
            "mkdir -p .project-memory/lld/api_specifications\n\
             echo x > .project-memory/lld/api_specifications/auth_api_spec.md",
            ATTEMPT
        )
    );
    let settings = "mode = \"spec-pseudocode\"\ndialect = \"new_task\"";
    let stage = DaemonProject::new("").with_command("speccer", &script, settings);
    stage.send(&parent("FEATURE-AUTH-001"));
    let id = stage.send(NEW_TASK);
    let up = stage.up();
    wait_for("it asks", || stage.status(&id) == "blocked");
    let inbox = stage.run_ok(["inbox"]);
    assert!(inbox.contains("email verification or security questions"), "{inbox}");
    assert!(inbox.contains("Consult with Business Owner"), "{inbox}");
    stage.run_ok(["answer", "API-SPEC-001", "By email."]);
    wait_for("it is reviewed", || stage.status(&id) == "review");
    up.kill();
    let order = fs::read_to_string(stage.home().join("order.json")).expect("it got an order");
    assert!(order.contains("By email."), "{order}");
}

#[test]
fn script_agent_answers_mission_in_every_way() {
    for by in ["file", "halves", "output", "line", "send"] {
        let script = format!("steps: [{{result: {{status: completed, by: {by}}}}}]");
        let stage = DaemonProject::new("").with_agent_as("actor", &script, "dialect = \"mission\"");
        let id = stage.send(MISSION);
        stage.until_idle();
        assert_eq!(stage.status(&id), "review", "{by}: {:#?}", stage.events());
        assert_eq!(stage.events_of(&id, "task.completed").len(), 1, "{by}");
        assert_eq!(stage.events_of(&id, "run.started").len(), 1, "{by}");
    }
}

#[test]
fn script_agent_answers_new_task_in_every_way() {
    for by in ["file", "halves", "output", "line", "send"] {
        let script = format!("steps: [{{attempt_completion: {{status: success, by: {by}}}}}]");
        let settings = "mode = \"coder\"\ndialect = \"new_task\"";
        let stage = DaemonProject::new("").with_agent_as("actor", &script, settings);
        let id = stage.send(
            "{\"taskId\": \"A-1\", \"delegatedToMode\": \"coder\", \"objective\": \"Do it\"}",
        );
        stage.until_idle();
        assert_eq!(stage.status(&id), "review", "{by}: {:#?}", stage.events());
        assert_eq!(stage.events_of(&id, "task.completed").len(), 1, "{by}");
    }
}

#[test]
fn invalid_report_is_refused_kept_and_not_counted() {
    for (by, problem) in [("half", "is required"), ("nonsense", "line ")] {
        let script = format!("steps: [{{result: {{status: completed, by: {by}}}}}]");
        let stage = DaemonProject::new("attempts_max = 1").with_agent_as(
            "actor",
            &script,
            "dialect = \"mission\"",
        );
        let id = stage.send(MISSION);
        stage.until_idle();
        assert_eq!(stage.status(&id), "deadletter", "{:#?}", stage.events());
        let rejected = stage.events_of(&id, "protocol.message.rejected");
        assert_eq!(rejected.len(), 1, "{by}");
        let said = rejected[0]["payload"].to_string();
        assert!(said.contains(problem), "{by}: {said}");
        let failed = stage.events_of(&id, "run.failed")[0]["payload"].to_string();
        let refused = failed.contains("its report was refused: ") && failed.contains(problem);
        assert!(refused, "whoever tries again is told: {failed}");
        let kept = fs::read_dir(stage.path(&format!("runs/{id}/salvage"))).expect("kept");
        assert_eq!(kept.count(), 1, "{by}");
        let inbox = stage.json(&["inbox"]);
        let late = inbox.as_array().expect("a list").iter().find(|item| item["kind"] == "salvage");
        let late = late.unwrap_or_else(|| panic!("{inbox}"));
        assert!(late["text"].to_string().contains("cannot be parsed"), "{late}");
        assert_eq!(late["actions"].as_array().map(Vec::len), Some(0), "nothing to let count");
    }
}

#[test]
fn report_counts_once_if_daemon_is_killed() {
    let script = "steps: [{result: {status: completed, tips: [Oil first.]}}, {work: 1s}]";
    let stage = DaemonProject::new("").with_agent_as("actor", script, "dialect = \"mission\"");
    let id = stage.send(MISSION);
    let up = stage.up();
    let folder = stage.attempt(&id, 1);
    wait_for("it has reported", || {
        folder.join("outbox.jsonl").metadata().is_ok_and(|m| m.len() > 0)
    });
    up.kill();
    stage.until_idle();
    assert_eq!(stage.status(&id), "review", "{:#?}", stage.events());
    assert_eq!(stage.events_of(&id, "task.completed").len(), 1);
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
}

#[test]
fn mission_tips_reach_next_mission_of_epic() {
    let script = "cp \"$ADJUTANT_MISSION_FILE\" seen-$ADJUTANT_ATTEMPT-$(grep -o 'T04.' \
                  \"$ADJUTANT_MISSION_FILE\" | head -1).yaml\n";
    let report = RESULT.replace("\"T042\"", "\"$(cat id)\"");
    let script = format!(
        "{script}grep -o 'T04[0-9]' \"$ADJUTANT_MISSION_FILE\" | head -1 > id\n\
         cat > \"$ADJUTANT_RESULT_FILE\" <<END\n{report}END\n"
    );
    let stage = DaemonProject::new("").with_command("miner", &script, "dialect = \"mission\"");
    stage.send(MISSION);
    stage.until_idle();
    let first = stage.home().join("seen-1-T042.yaml");
    let first = fs::read_to_string(first).expect("it got a mission");
    assert!(first.contains("path/to/memory.md"), "{first}");
    stage.send(&MISSION.replace("T042", "T043"));
    stage.until_idle();
    let second = stage.home().join("seen-1-T043.yaml");
    let second = fs::read_to_string(second).expect("it got a mission");
    let line =
        second.lines().find(|line| line.contains("epic_memory:")).expect("it names a memory");
    let path = line.split_once(':').expect("a path").1.trim().trim_matches('"');
    let memory = fs::read_to_string(stage.home().join(path)).expect("it is where it says");
    assert!(memory.contains("Use bcrypt for password hashing"), "{memory}");
}

#[test]
fn aof_agent_gets_handoff_request() {
    let script = "cat > order.txt\nadjutant report done --notes 'All of it'\n";
    let stage = DaemonProject::new("").with_command("classic", script, "dialect = \"aof\"");
    let id = stage.add("classic");
    stage.until_idle();
    assert_eq!(stage.status(&id), "done", "{:#?}", stage.events());
    let order = fs::read_to_string(stage.home().join("order.txt")).expect("it got an order");
    let json: Value = serde_json::from_str(order.strip_prefix("AOF/1 ").expect("a message"))
        .expect("an order in JSON");
    assert_eq!(json["type"], "handoff.request");
    assert_eq!(json["taskId"], id.as_str());
    assert_eq!(json["toAgent"], "classic");
    let path = stage.home().join("order.json");
    fs::write(&path, order.strip_prefix("AOF/1 ").expect("a message")).expect("written");
    stage.run_ok(["check", "--as", "envelope", path.to_str().expect("text")]);
}

/// A `new_task` whose part is done by an agent that speaks missions and reviewed by an agent that
/// speaks AOF/1, all in one event log.
#[test]
fn new_task_part_is_handed_on_across_dialects() {
    let mission = "steps: [{write: {path: part.txt, text: done}}, \
                   {result: {status: completed, files: [part.txt]}}]";
    let aof = "adjutant report done --notes 'Looked at it'\n";
    let stage = DaemonProject::new("")
        .with_agent_as("miner", mission, "mode = \"code\"\ndialect = \"mission\"")
        .with_command("reviewer", aof, "mode = \"review\"\ndialect = \"aof\"");
    let whole = stage.send(&parent("WHOLE-1"));
    let part = stage.send(
        "{\"taskId\": \"PART-1\", \"parentTaskId\": \"WHOLE-1\", \"delegatedToMode\": \"code\", \
         \"objective\": \"The part\", \"expectedOutputs\": [{\"type\": \"code\", \"path\": \
         \"part.txt\", \"description\": \"The part\"}]}",
    );
    let up = stage.up();
    wait_for("the part is done", || stage.status(&part) == "review");
    let look = stage.json(&[
        "task",
        "add",
        "Look at PART-1",
        "--agent",
        "reviewer",
        "--parent",
        &whole,
        "--review",
        "none",
        "--status",
        "ready",
    ]);
    let look = look["id"].as_str().expect("an id").to_owned();
    wait_for("it was looked at", || stage.status(&look) == "done");
    up.kill();
    stage.run_ok(["approve", "PART-1"]);
    assert_eq!(stage.status(&part), "done");
    assert_eq!(metadata(&stage, &part)["parentId"], whole.as_str());
    let events = stage.events();
    let who: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "task.completed")
        .filter_map(|event| event["actor"].as_str())
        .collect();
    assert_eq!(who, ["miner", "reviewer"], "one record");
    let board = stage.json(&["task", "list"]);
    assert_eq!(board.as_array().map(Vec::len), Some(3), "one board: {board}");
}
