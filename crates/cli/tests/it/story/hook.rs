//! `adjutant story hook`: decides whether a step passed.

use serde_json::json;

use crate::story::support::{StoryTestProject, answer, story_position_text};

/// Returns a project at a step with this test command.
fn tested(step: &str, command: &str) -> StoryTestProject {
    let project = StoryTestProject::with_story();
    project.write(".ai/step-rules.yaml", &format!("test_command: {command}\n"));
    project.update_state(&json!({"step": step, "status": "pending"}));
    project.json(&["next"]);
    project
}

const GREEN: &str = "printf 'TAP version 13\\nok 1 - adds\\n1..1\\n'";
const RED: &str = "printf 'TAP version 13\\nok 1 - adds\\nnot ok 2 - coupon\\n1..2\\n'; exit 1";

#[test]
fn hook_test_result_overrides_claimed_pass() {
    let project = tested("impl", RED);
    project.hand_over("pass");
    let hooked = project.json(&["hook"]);
    assert_eq!(story_position_text(&hooked), "impl 1 failing");
    assert_eq!(hooked["tests"], json!({"pass": 1, "fail": 1, "skip": 0}));
    assert_eq!(hooked["failing_tests"], json!(["coupon"]));
    assert!(
        hooked["warnings"][0]
            .as_str()
            .is_some_and(|text| text.starts_with("the executor claimed a pass, but "))
    );
    let prompt = project.json(&["next"])["prompt"].as_str().expect("a prompt").to_owned();
    assert!(prompt.contains("These tests fail:\n- coupon\n"), "{prompt}");

    let project = tested("impl", GREEN);
    project.hand_over("pass");
    assert_eq!(story_position_text(&project.json(&["hook"])), "impl 1 pass");
    let project = tested("scaffold", RED);
    project.hand_over("failing");
    assert_eq!(story_position_text(&project.json(&["hook"])), "scaffold 1 pass", "red is right");
}

#[test]
fn hook_test_exit_code_overrides_forged_success() {
    let project = tested("impl", &format!("{GREEN}; exit 1"));
    project.hand_over("pass");
    assert_eq!(story_position_text(&project.json(&["hook"])), "impl 1 failing");
}

#[test]
fn hook_missing_test_command_fails_step() {
    let project = tested("impl", "no-such-program --all");
    project.hand_over("pass");
    let hooked = project.json(&["hook"]);
    assert_eq!(story_position_text(&hooked), "impl 1 failing");
    let error = hooked["last_error"].as_str().expect("an error");
    assert!(error.starts_with("the tests could not be run: no-such-program"), "{error}");
}

#[test]
fn hook_claimed_counts_are_never_recorded() {
    // Of a later step, which runs no tests.
    let project = tested("verify", GREEN);
    project.hand_over("pass");
    assert_eq!(project.json(&["hook"])["tests"], json!({"pass": 1, "fail": 0, "skip": 0}));
    let claim = |project: &StoryTestProject| {
        project.json(&["next"]);
        project.hand_over("pass");
        let text = project.read(".ai/HANDOFF.md");
        let claimed = text.replace("status: pass", "status: pass\ntests_pass: 77\ntests_fail: 0");
        project.write(".ai/HANDOFF.md", &claimed);
        project.json(&["hook"])
    };
    let hooked = claim(&project);
    assert_eq!(hooked["step"], "commit");
    assert_eq!(hooked["tests"], json!({"pass": 1, "fail": 0, "skip": 0}));
    // Of a step whose test command cannot be run, and of one without a test command.
    for rules in ["test_command: no-such-program --all\n", ""] {
        let project = StoryTestProject::with_story();
        project.write(".ai/step-rules.yaml", rules);
        let measured = json!({"pass": 2, "fail": 1, "skip": 0});
        project.update_state(&json!({"step": "impl", "status": "pending", "tests": measured}));
        let hooked = claim(&project);
        assert_eq!(hooked["tests"], json!(null), "{rules:?}");
        let text = "the executor claims 77 passed and 0 failed tests, which was not measured";
        assert!(
            hooked["warnings"].as_array().expect("warnings").contains(&json!(text)),
            "{hooked}"
        );
    }
}

#[test]
fn hook_error_names_command_exit_code_and_output() {
    let project = tested("impl", "\"echo 'no such table' >&2; exit 3\"");
    project.hand_over("pass");
    let error = project.json(&["hook"])["last_error"].clone();
    let command = "echo 'no such table' >&2; exit 3";
    let expected = format!("the test command failed: {command} (exit code 3)\nno such table");
    assert_eq!(error, json!(expected));
    // A check without any output.
    let project = StoryTestProject::with_story();
    project.write(".ai/step-rules.yaml", "steps:\n  bdd:\n    post_check: exit 4\n");
    let hooked = project.step("pass");
    assert_eq!(hooked["last_error"], "the check failed: exit 4 (exit code 4)");
}

#[test]
fn hook_without_test_command_accepts_claim_with_warning() {
    let project = StoryTestProject::with_story();
    project.update_state(&json!({"step": "impl", "status": "pending"}));
    project.json(&["next"]);
    project.hand_over("pass");
    let hooked = project.json(&["hook"]);
    assert_eq!(story_position_text(&hooked), "impl 1 pass");
    assert_eq!(
        hooked["warnings"],
        json!(["there is no test command, so the executor's claim counts"])
    );
}

#[test]
fn hook_reads_test_report_file_only_if_new() {
    let project = tested("impl", "cp new.xml out.xml");
    project
        .write(".ai/step-rules.yaml", "test_command: cp new.xml out.xml\ntest_report: out.xml\n");
    let project = {
        project.update_state(&json!({"status": "pending"}));
        project.json(&["next"]);
        project
    };
    project.write("new.xml", "<testsuite><testcase name=\"a\"><failure/></testcase></testsuite>");
    project.hand_over("pass");
    let hooked = project.json(&["hook"]);
    assert_eq!(
        (story_position_text(&hooked).as_str(), &hooked["failing_tests"]),
        ("impl 1 failing", &json!(["a"]))
    );
}

#[test]
fn hook_failed_post_check_fails_step() {
    let project = StoryTestProject::with_story();
    let rules =
        "steps:\n  bdd:\n    post_check: echo 'too short' >&2; false\n    max_attempts: 9\n";
    project.write(".ai/step-rules.yaml", rules);
    let hooked = project.step("pass");
    assert_eq!(
        (story_position_text(&hooked).as_str(), &hooked["lint_pass"]),
        ("bdd 1 failing", &json!(false))
    );
    let command = "echo 'too short' >&2; false";
    assert_eq!(
        hooked["last_error"],
        json!(format!("the check failed: {command} (exit code 1)\ntoo short"))
    );
    // The protocol's default check is for Go, and is skipped in other projects.
    project.update_state(&json!({"step": "impl", "status": "pending", "attempt": 1}));
    let hooked = project.step("pass");
    assert_eq!(
        (story_position_text(&hooked).as_str(), &hooked["lint_pass"]),
        ("impl 1 pass", &json!(null))
    );
}

#[test]
fn hook_runs_default_post_check_in_go_project() {
    use std::os::unix::fs::PermissionsExt;
    let project = StoryTestProject::with_story();
    project.write(".ai/step-rules.yaml", "test_command: test -f go.mod\n");
    project.write("go.mod", "module cart\n");
    let programs = project.path("../programs");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").expect("a path"));
    let tool = |name: &str, line: &str| {
        project.write(&format!("../programs/{name}"), &format!("#!/bin/sh\n{line}\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(programs.join(name), mode).expect("set");
    };
    tool("go", "[ \"$*\" = 'vet ./...' ]");
    for (lint, expected, passed) in [
        ("echo 'unused: total' >&2; exit 1", "impl 1 failing", false),
        ("exit 0", "impl 1 pass", true),
    ] {
        tool("golangci-lint", lint);
        project.update_state(&json!({"step": "impl", "status": "pending", "attempt": 1}));
        project.json(&["next"]);
        project.hand_over("pass");
        let mut hook = project.command(&["hook", "--json"]);
        let hooked = answer(&hook.env("PATH", &path).output().expect("it starts")).1;
        assert_eq!(
            (story_position_text(&hooked).as_str(), &hooked["lint_pass"]),
            (expected, &json!(passed))
        );
    }
}

#[test]
fn hook_stale_hand_over_changes_nothing() {
    let project = StoryTestProject::with_story();
    project.json(&["next"]);
    project.hand_over("pass");
    let text = project.read(".ai/HANDOFF.md");
    for wrong in [("US-005", "US-004"), ("bdd", "impl"), ("attempt: 1", "attempt: 7")] {
        project.write(".ai/HANDOFF.md", &text.replace(wrong.0, wrong.1));
        let before = project.read(".ai/STATE.json");
        let (code, hooked) = project.run(&["hook"]);
        assert_eq!((code, &hooked["result"]), (1, &json!("stale")), "{hooked}");
        assert!(hooked["warnings"][0].as_str().is_some_and(|text| text.starts_with("stale: ")));
        assert_eq!(project.read(".ai/STATE.json"), before);
    }
}

#[test]
fn hook_without_hand_over_fails_step() {
    let project = StoryTestProject::with_story();
    project.json(&["next"]);
    let waiting = project.json(&["hook", "--if-handed-over"]);
    assert_eq!(
        (story_position_text(&waiting).as_str(), &waiting["result"]),
        ("bdd 1 running", &json!("nothing"))
    );
    let hooked = project.json(&["hook"]);
    assert_eq!(story_position_text(&hooked), "bdd 1 failing");
    assert_eq!(hooked["last_error"], "the executor left no hand-over");
    assert_eq!(project.run_refused(&["hook"]), (1, "not_running".to_owned()));
}

#[test]
fn hook_empty_hand_over_does_not_pass() {
    for (text, expected) in [
        ("", "bdd 1 failing"),
        ("All done, everything passes!\n", "bdd 1 needs_human"),
        ("---\nstatus: pass\n", "bdd 1 failing"),
    ] {
        let project = StoryTestProject::with_story();
        project.json(&["next"]);
        project.write(".ai/HANDOFF.md", text);
        assert_eq!(story_position_text(&project.json(&["hook"])), expected, "{text:?}");
    }
}

#[test]
fn hook_changed_step_rules_need_a_person() {
    let project = StoryTestProject::with_story();
    project.json(&["next"]);
    project.write(".ai/step-rules.yaml", "test_command: 'true'\n");
    project.hand_over("pass");
    let hooked = project.json(&["hook"]);
    assert_eq!(
        (story_position_text(&hooked).as_str(), &hooked["waiting_for"]),
        ("bdd 1 needs_human", &json!("asked"))
    );
}

#[test]
fn hook_tests_do_not_see_adjutant_variables() {
    let project = tested("impl", "test -z \"$ADJUTANT_AGENT$ADJUTANT_DATA\"");
    project.hand_over("pass");
    let mut hook = project.command(&["hook"]);
    let ended = hook.env("ADJUTANT_AGENT", "x").env("ADJUTANT_DATA", "y").status();
    assert!(ended.expect("it starts").success());
    assert_eq!(story_position_text(&project.state()), "impl 1 pass");
}

/// Returns rules whose every command leaves a file.
fn hostile_rules(proof: &std::path::Path) -> String {
    let proof = proof.display();
    format!(
        "test_command: touch '{proof}'\nsteps:\n  impl:\n    post_check: touch '{proof}'\n    \
         next_on_pass: done\n    next_on_fail: done\n"
    )
}

#[test]
fn hook_runs_nothing_of_rules_that_the_executor_changed() {
    for status in ["pass", "failing", "needs_human"] {
        let project = tested("impl", GREEN);
        let proof = project.path("executed");
        project.write(".ai/step-rules.yaml", &hostile_rules(&proof));
        project.hand_over(status);
        let hooked = project.json(&["hook"]);
        assert_eq!(story_position_text(&hooked), "impl 1 needs_human", "{status}");
        assert_eq!(
            hooked["warnings"],
            json!(["step-rules.yaml changed while the executor was working"])
        );
        assert!(!proof.exists(), "{status}: a command of the changed rules was run");
    }
}

#[test]
fn hook_test_command_is_not_chosen_by_files_of_the_executor() {
    use std::os::unix::fs::PermissionsExt;
    let project = StoryTestProject::with_story();
    project.write("pytest.ini", "");
    project.update_state(&json!({"step": "impl", "status": "pending"}));
    let programs = project.path("../programs");
    for (name, line) in [("python3", "echo '1 failed in 0.1s'; exit 1"), ("go", "exit 0")] {
        project.write(&format!("../programs/{name}"), &format!("#!/bin/sh\n{line}\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(programs.join(name), mode).expect("set");
    }
    project.json(&["next"]);
    // With this file alone, `go test` would be the command.
    project.write("go.mod", "module cart\n");
    project.hand_over("pass");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").expect("a path"));
    let mut hook = project.command(&["hook", "--json"]);
    let hooked = answer(&hook.env("PATH", &path).output().expect("it starts")).1;
    assert_eq!(story_position_text(&hooked), "impl 1 failing", "{hooked}");
}

#[test]
fn hook_leaves_no_process_and_keeps_its_time_limit() {
    let orphan = "setsid env -i sh -c '(trap \"\" TERM; sh -c \"echo \\$PPID > orphan; exec sleep \
                  600\") &'; while [ ! -s orphan ]; do sleep 0.01; done";
    let project = tested("impl", &format!("{orphan}; {GREEN}"));
    project.hand_over("pass");
    assert_eq!(story_position_text(&project.json(&["hook"])), "impl 1 pass");
    let pid = project.read("orphan").trim().to_owned();
    let left = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    assert!(!left.contains("sleep"), "{left:?}");
}

#[test]
fn hook_tests_do_not_see_secrets_that_the_configuration_names() {
    let project = tested("impl", "test -z \"$OPS_HOOK$REMOTE_SECRET\" && test -n \"$OTHER\"");
    let data = project.path(".adjutant");
    std::fs::create_dir_all(data.join("tasks")).expect("a data folder");
    let config = "[agents.remote]\nkind = \"webhook\"\nurl = \"http://127.0.0.1:9/\"\n\
                  secret_env = \"REMOTE_SECRET\"\n[[notify]]\non = [\"done\"]\n\
                  target = \"webhook\"\nurl_env = \"OPS_HOOK\"\n";
    std::fs::write(data.join("adjutant.toml"), config).expect("written");
    project.hand_over("pass");
    let mut hook = project.command(&["hook"]);
    hook.envs([("OPS_HOOK", "https://h.example/x"), ("REMOTE_SECRET", "s"), ("OTHER", "1")]);
    assert!(hook.status().expect("it starts").success());
    assert_eq!(story_position_text(&project.state()), "impl 1 pass");
}

#[test]
fn hook_step_without_its_documents_fails() {
    let documents = ["docs/bdd/US-005.md", "docs/deltas/US-005.md", "docs/api/openapi.yaml"];
    for (step, document) in ["bdd", "sdd-delta", "contract"].into_iter().zip(documents) {
        let project = StoryTestProject::with_story();
        project.update_state(&json!({"step": step, "status": "pending"}));
        project.json(&["next"]);
        project.hand_over("pass");
        std::fs::remove_file(project.path(document)).expect("removed");
        let hooked = project.json(&["hook"]);
        assert_eq!(story_position_text(&hooked), format!("{step} 1 failing"));
        assert_eq!(hooked["last_error"], json!(format!("{step} left no {document}")));
    }
}

#[test]
fn hook_commit_step_without_a_commit_of_the_story_fails() {
    let project = StoryTestProject::empty();
    project.init_git();
    project.write("README.md", "cart\n");
    project.git(&["add", "-A"]);
    project.git(&["commit", "-q", "-m", "begin"]);
    project.json(&["start", "US-005"]);
    project.update_state(&json!({"step": "commit", "status": "pending"}));
    let hooked = project.step("pass");
    assert_eq!(story_position_text(&hooked), "commit 1 failing");
    let error = hooked["last_error"].as_str().expect("an error");
    assert!(error.starts_with("no commit since ") && error.ends_with("has a file of the story"));
    // A commit of the memory alone is not one of the story.
    project.write("PROJECT_MEMORY.md", "# NOW\n");
    project.git(&["add", "PROJECT_MEMORY.md"]);
    project.git(&["commit", "-q", "-m", "memory"]);
    assert_eq!(story_position_text(&project.step("pass")), "commit 2 failing");
    project.write("cart.rs", "fn total() {}\n");
    project.git(&["add", "cart.rs"]);
    project.git(&["commit", "-q", "-m", "feat: US-005"]);
    assert_eq!(project.json(&["next"])["waiting_for"], "stuck");
    project.json(&["approve"]);
    assert_eq!(story_position_text(&project.step("pass")), "commit 1 pass");
}

#[test]
fn hook_update_memory_without_a_change_of_the_memory_fails() {
    let project = StoryTestProject::with_story();
    project.write("PROJECT_MEMORY.md", "# NOW\n");
    project.update_state(&json!({"step": "update-memory", "status": "pending"}));
    project.json(&["next"]);
    project.hand_over("pass");
    project.write("PROJECT_MEMORY.md", "# NOW\n");
    let hooked = project.json(&["hook"]);
    assert_eq!(story_position_text(&hooked), "update-memory 1 failing");
    assert_eq!(hooked["last_error"], "update-memory left PROJECT_MEMORY.md unchanged");
    assert_eq!(story_position_text(&project.step("pass")), "update-memory 2 pass");
}
