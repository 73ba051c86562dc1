//! Files that other programs wrote.

use serde_json::{Value, json};

use crate::story::support::{Project, answer, place};

/// What the original orchestrator writes.
fn original(step: &str, status: &str) -> Value {
    json!({
        "project": "cart-app", "story": "US-018", "step": step, "attempt": 1, "max_attempts": 3,
        "status": status, "reason": null, "dispatched_at": "2026-02-13T14:30:00Z",
        "completed_at": "2026-02-13T14:31:15Z", "timeout_min": 10,
        "tests": {"pass": 35, "fail": 23, "skip": 0}, "failing_tests": [], "lint_pass": null,
        "files_changed": [], "blocked_by": [], "human_note": null, "last_error": null,
        "task_type": "story", "agent_teams": false, "reopened_from": null,
    })
}

#[test]
fn a_story_of_the_original_orchestrator_goes_on_from_where_it_stands() {
    for (step, status, expected) in [
        ("scaffold", "failing", "impl 1 running"),
        ("impl", "pass", "verify 1 running"),
        ("contract", "pass", "review 1 needs_human"),
        ("bootstrap", "pending", "bootstrap 1 running"),
        ("bootstrap", "pass", "bdd 1 running"),
        ("custom", "pending", "custom 1 running"),
        ("custom", "pass", "commit 1 running"),
        ("impl", "running", "impl 1 timeout"),
        ("done", "pending", "done 1 pending"),
    ] {
        let project = Project::empty();
        project.write(".ai/STATE.json", &original(step, status).to_string());
        let next = project.json(&["next"]);
        assert_eq!(place(&next), expected, "{step} {status}");
        let after = project.state();
        assert_eq!((&after["task_type"], &after["agent_teams"]), (&json!("story"), &json!(false)));
        assert!(after.as_object().expect("an object").contains_key("reopened_from"));
    }
}

#[test]
fn a_project_that_has_no_story_yet_can_be_set_up_by_an_executor() {
    let project = Project::empty();
    let mut state = original("bootstrap", "pending");
    state["story"] = Value::Null;
    project.write(".ai/STATE.json", &state.to_string());
    let next = project.json(&["next"]);
    assert_eq!((&next["result"], &next["story"]), (&json!("dispatched"), &Value::Null));
    project.write(".ai/HANDOFF.md", "---\nstep: bootstrap\nstatus: pass\n---\n");
    assert_eq!(place(&project.json(&["hook"])), "bootstrap 1 pass");
}

#[test]
fn a_hook_of_somebody_else_may_write_the_state() {
    let project = Project::with_story();
    project.json(&["next"]);
    project.set(&json!({"status": "pass", "completed_at": "2026-02-13T14:31:15Z", "x": [1]}));
    assert_eq!(place(&project.json(&["next"])), "sdd-delta 1 running");
    assert_eq!(project.state()["x"], json!([1]));
}

#[test]
fn names_with_spaces_and_other_scripts_are_names() {
    for name in ["a b", "проект", "it's \"quoted\"", "$HOME", "-rf", "買い物"] {
        let project = Project::called(name);
        project.write(".ai/step-rules.yaml", "test_command: test -f here\n");
        project.write("here", "");
        project.json(&["start", "US-005"]);
        assert_eq!(project.state()["project"], name);
        project.set(&json!({"step": "impl"}));
        assert_eq!(place(&project.step("pass")), "impl 1 pass", "{name}");
    }
}

#[test]
fn everything_works_on_the_files_alone() {
    let project = Project::empty();
    // Nowhere to keep anything else, and nobody to ask.
    let run = |args: &[&str]| {
        let mut command = project.command(args);
        command.arg("--json").env("HOME", "/nonexistent").env_remove("XDG_DATA_HOME");
        let (code, said) = answer(&command.output().expect("it starts"));
        assert_eq!(code, 0, "{args:?}: {said}");
        said
    };
    run(&["init"]);
    run(&["start", "US-005"]);
    for expected in ["bdd 1 pass", "sdd-delta 1 pass", "contract 1 pass"] {
        assert_eq!(run(&["next"])["result"], "dispatched");
        project.hand_over("pass");
        assert_eq!(place(&run(&["hook"])), expected);
    }
    assert_eq!(run(&["next"])["result"], "needs_human");
    run(&["approve", "--note", "cents"]);
    let prompt = run(&["next"])["prompt"].as_str().expect("a prompt").to_owned();
    assert!(prompt.contains("cents"), "{prompt}");
    for command in ["status", "list", "poll", "prompt"] {
        run(&[command]);
    }
    run(&["report-error", "it crashed"]);
    run(&["rollback", "bdd"]);
    assert!(!project.path(".adjutant").exists(), "no data folder was made");
}
