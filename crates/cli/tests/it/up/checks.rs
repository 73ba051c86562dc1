//! Checks of a single task, immediate retries, and what `task show` says about both.

use std::fs;

use crate::up::project::{DaemonProject, wait_for};
use crate::up::worktrees::read;

#[test]
fn task_checks_replace_configured_checks_and_are_in_work_order() {
    let script = r#"
cat > "order-$ADJUTANT_ATTEMPT"
[ "$ADJUTANT_ATTEMPT" = 1 ] || touch good.txt
adjutant report done
"#;
    // The checks of the agent and of the project do not apply to this task.
    let more = "checks = [\"false\"]\n[project]\nchecks = [\"exit 7\"]\n";
    let stage = DaemonProject::new("").with_command("dev", script, more);
    let checks = ["--check", "test -f good.txt", "--check", "true"];
    let words = ["task", "add", "Do it", "--agent", "dev", "--status", "ready"];
    let task = stage.json(&[&words[..], &checks].concat());
    assert_eq!(task["metadata"]["checks"], serde_json::json!(["test -f good.txt", "true"]));
    let id = task["id"].as_str().expect("an id");
    stage.until_idle();
    assert_eq!(stage.status(id), "review");
    for order in ["order-1", "order-2"] {
        let order = read(&stage, order);
        assert!(order.contains("\n    test -f good.txt\n    true\n"), "{order}");
    }
    let shown = stage.run_ok(["task", "show", id]);
    let has = |line: &str| shown.lines().any(|shown| shown.starts_with(line));
    assert!(has("attempts          2; the last failure: check failed"), "{shown}");
    assert!(has("checked           `test -f good.txt`: passed, in 0."), "{shown}");
    assert!(has("checked           `true`: passed, in 0."), "{shown}");
    // The work order in other dialects names the same checks.
    let order = stage.run_ok(["mission", id, "--dialect", "prompt"]);
    assert!(order.contains("\n    test -f good.txt\n"), "{order}");
}

#[test]
fn check_that_is_not_one_command_line_is_refused() {
    let stage = DaemonProject::new("");
    for bad in ["", "  ", "make\nrm -rf x"] {
        let ran = stage.adjutant(["task", "add", "Do it", "--check", bad, "--json"]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.out.contains("must be a command on one line"), "{ran:?}");
    }
    assert_eq!(stage.json(&["task", "list"]), serde_json::json!([]));
}

#[test]
fn project_test_command_is_the_default_check() {
    let script = "touch made.txt\nadjutant report done\n";
    let more = "[project]\ntest_command = \"test -f made.txt\"\n";
    let stage = DaemonProject::new("").with_command("dev", script, more);
    let id = stage.add("dev");
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    let checked = &stage.events_of(&id, "work.checked")[0]["payload"]["checks"][0];
    assert_eq!(
        (&checked["command"], &checked["exit"]),
        (&"test -f made.txt".into(), &"code:0".into())
    );
}

#[test]
fn retry_ends_backoff_at_once() {
    let script = "[ -e good ] && adjutant report done || exit 3\n";
    let stage = DaemonProject::new("backoff = \"1h\"").with_command("dev", script, "");
    let id = stage.add("dev");
    let again = stage.add("nobody");
    let _up = stage.up();
    wait_for("it failed", || stage.events_of(&id, "run.failed").len() == 1);
    wait_for("it is ready", || stage.status(&id) == "ready");
    let why = stage.json(&["why", &id]);
    assert_eq!(why["reasons"][0]["code"], "back_off", "{why}");
    fs::write(stage.home().join("good"), "").expect("written");
    stage.json(&["task", "retry", &id]);
    wait_for("it is done", || stage.status(&id) == "done");
    let retried = stage.events_of(&id, "task.retried");
    assert_eq!((retried.len(), &retried[0]["actor"]), (1, &"human:alice".into()));
    // A task that waits for no backoff is not changed by `retry`.
    assert_eq!(stage.adjutant(["task", "retry", &again]).code, 1);
    assert_eq!(stage.events_of(&again, "task.retried").len(), 0);
}
