//! Story files that other programs wrote, and projects in unusual places.

use serde_json::{Value, json};

use crate::story::support::{StoryTestProject, answer, story_position_text};

/// Returns a state file as the original orchestrator writes it.
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
fn story_of_original_orchestrator_continues_from_its_step() {
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
        let project = StoryTestProject::empty();
        project.write(".ai/STATE.json", &original(step, status).to_string());
        let next = project.json(&["next"]);
        assert_eq!(story_position_text(&next), expected, "{step} {status}");
        let after = project.state();
        assert_eq!((&after["task_type"], &after["agent_teams"]), (&json!("story"), &json!(false)));
        assert!(after.as_object().expect("an object").contains_key("reopened_from"));
    }
}

#[test]
fn story_bootstrap_step_works_without_story_name() {
    let project = StoryTestProject::empty();
    let mut state = original("bootstrap", "pending");
    state["story"] = Value::Null;
    project.write(".ai/STATE.json", &state.to_string());
    let next = project.json(&["next"]);
    assert_eq!((&next["result"], &next["story"]), (&json!("dispatched"), &Value::Null));
    project.write(".ai/HANDOFF.md", "---\nstep: bootstrap\nstatus: pass\n---\n");
    assert_eq!(story_position_text(&project.json(&["hook"])), "bootstrap 1 pass");
}

#[test]
fn story_state_written_by_foreign_hook_is_accepted() {
    let project = StoryTestProject::with_story();
    project.json(&["next"]);
    project
        .update_state(&json!({"status": "pass", "completed_at": "2026-02-13T14:31:15Z", "x": [1]}));
    assert_eq!(story_position_text(&project.json(&["next"])), "sdd-delta 1 running");
    assert_eq!(project.state()["x"], json!([1]));
}

#[test]
fn story_project_folder_name_can_have_spaces_and_any_script() {
    for name in ["a b", "проект", "it's \"quoted\"", "$HOME", "-rf", "買い物"] {
        let project = StoryTestProject::with_folder_name(name);
        project.write(".ai/step-rules.yaml", "test_command: test -f here\n");
        project.write("here", "");
        project.json(&["start", "US-005"]);
        assert_eq!(project.state()["project"], name);
        project.update_state(&json!({"step": "impl"}));
        assert_eq!(story_position_text(&project.step("pass")), "impl 1 pass", "{name}");
    }
}

#[test]
fn story_commands_need_only_the_story_files() {
    let project = StoryTestProject::empty();
    // There is no home folder to store data in, and no daemon.
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
        assert_eq!(story_position_text(&run(&["hook"])), expected);
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

#[test]
fn position_that_skips_a_step_of_a_person_waits_for_that_step() {
    for (step, status) in [("scaffold", "pending"), ("impl", "pass"), ("done", "pass")] {
        let project = StoryTestProject::with_story();
        let ahead = project.step("pass")["step"].clone();
        assert_eq!((ahead, &project.state()["human_steps"]), (json!("bdd"), &json!(["review"])));
        let moved = json!({"step": step, "status": status, "human_steps": ["review"]});
        project.update_state(&moved);
        let shown = project.json(&["status"]);
        assert_eq!(story_position_text(&shown), "review 1 needs_human", "{step}");
        assert_eq!(shown["waiting_for"], "review");
        let error = shown["last_error"].as_str().expect("an error");
        assert_eq!(error, format!("the state file was set to {step} ({status}) without review"));
        assert_eq!(project.json(&["next"])["result"], "needs_human");
        project.json(&["approve"]);
        assert_eq!(story_position_text(&project.json(&["next"])), "scaffold 1 running");
    }
}

#[test]
fn position_after_an_approved_review_is_accepted() {
    let project = StoryTestProject::with_story();
    project.step("pass");
    project.update_state(&json!({"step": "review", "status": "needs_human"}));
    project.json(&["approve"]);
    project.update_state(&json!({"step": "impl", "status": "pending"}));
    assert_eq!(story_position_text(&project.json(&["next"])), "impl 1 running");
}
