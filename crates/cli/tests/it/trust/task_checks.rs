//! Checks in a task file that no command of the operator wrote wait for a person's yes.

use std::fs;

use serde_json::{Value, json};

use crate::up::project::{DaemonProject, wait_for};
use crate::up::worktrees::git;

const ID: &str = "TASK-2026-02-09-077";

fn stage() -> DaemonProject {
    DaemonProject::new("").with_command("dev", "adjutant report done", "")
}

/// Puts the file of a task into the folder `ready`, as a checkout would do.
fn drop_file(stage: &DaemonProject, metadata: &str) {
    let text = format!(
        "---\nschemaVersion: 1\nid: {ID}\ntitle: Dropped\nstatus: ready\npriority: normal\n\
         createdAt: 2026-02-09T21:00:00.000Z\nupdatedAt: 2026-02-09T21:00:00.000Z\n\
         lastTransitionAt: 2026-02-09T21:00:00.000Z\ncreatedBy: human:alice\n\
         routing:\n  agent: dev\nmetadata:\n  reviewRequired: false\n{metadata}---\n\nDo it.\n"
    );
    fs::write(stage.path(&format!("tasks/ready/{ID}.md")), text).expect("written");
}

const CHECKS: &str = "  checks:\n    - touch pwned\n";
/// A file that claims that its checks are accepted.
const FORGED: &str = "  checks:\n    - touch pwned\n  acceptedChecks:\n    - touch pwned\n";

fn checks_items(stage: &DaemonProject) -> Vec<Value> {
    let items = stage.json(&["inbox"]);
    let items = items.as_array().expect("a list").iter();
    items.filter(|item| item["kind"] == "checks").cloned().collect()
}

fn pwned(stage: &DaemonProject) -> bool {
    stage.home().join("pwned").exists()
}

#[test]
fn dropped_task_file_waits_until_its_checks_are_accepted() {
    for metadata in [CHECKS, FORGED] {
        let stage = stage();
        let up = stage.up();
        drop_file(&stage, metadata);
        wait_for("it is in the inbox", || checks_items(&stage).len() == 1);
        let item = &checks_items(&stage)[0];
        assert!(item["text"].as_str().is_some_and(|text| text.contains("`touch pwned`")), "{item}");
        assert_eq!(item["actions"][0], format!("trust {ID}"));
        let why = stage.json(&["why", ID]);
        assert_eq!(why["reasons"][0]["code"], "checks_not_accepted", "{why}");
        // Another task is done meanwhile, so the scheduler has run.
        let other = stage.add("dev");
        wait_for("the other is done", || stage.status(&other) == "done");
        assert_eq!(stage.status(ID), "ready");
        assert!(!pwned(&stage));
        let refused = stage.adjutant(["trust", ID, "--json"]);
        assert!(refused.code == 1 && refused.out.contains("unaccepted_checks"), "{refused:?}");
        assert!(refused.out.contains("touch pwned"), "{refused:?}");
        stage.run_ok(["trust", ID, "--yes"]);
        wait_for("it is done", || stage.status(ID) == "done");
        assert!(pwned(&stage), "the accepted checks were run");
        let accepted = &stage.events_of(ID, "task.checks.accepted");
        assert_eq!(accepted[0]["payload"]["checks"], json!(["touch pwned"]));
        assert_eq!(accepted[0]["actor"], "human:alice");
        up.end();
        stage.assert_consistent();
    }
}

#[test]
fn dropped_task_file_without_a_daemon_is_not_run_by_tick() {
    let stage = stage();
    drop_file(&stage, FORGED);
    stage.run_ok(["tick"]);
    assert_eq!(stage.status(ID), "ready");
    stage.until_idle();
    assert_eq!(stage.status(ID), "ready");
    assert!(!pwned(&stage));
}

#[test]
fn checks_of_commands_need_no_acceptance_and_edits_of_their_file_do() {
    let stage = stage();
    let words = ["task", "add", "Do it", "--agent", "dev", "--review", "none", "--check", "true"];
    let id = stage.json(&words)["id"].as_str().expect("an id").to_owned();
    let path = stage.path(&format!("tasks/backlog/{id}.md"));
    let written = fs::read_to_string(&path).expect("a file");
    // Both the checks and the claim that they are accepted are replaced.
    fs::write(
        &path,
        written.replace("- \"true\"", "- touch pwned").replace("- true", "- touch pwned"),
    )
    .expect("written");
    stage.run_ok(["task", "move", &id, "ready"]);
    stage.until_idle();
    assert_eq!(stage.status(&id), "ready");
    assert!(!pwned(&stage));
    assert_eq!(checks_items(&stage).len(), 1);
    // The operator sets them again.
    stage.run_ok(["task", "edit", &id, "--check", "true"]);
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    assert!(!pwned(&stage));
}

#[test]
fn acceptance_survives_restart_rebuild_and_export_and_a_forged_file_does_not() {
    let stage = stage();
    drop_file(&stage, CHECKS);
    let words = ["task", "add", "Do it", "--agent", "dev", "--check", "true"];
    let added = stage.json(&words)["id"].as_str().expect("an id").to_owned();
    stage.run_ok(["trust", ID, "--yes"]);
    drop_second(&stage);
    let accepted = |stage: &DaemonProject| {
        let ids: Vec<String> = checks_items(stage)
            .iter()
            .map(|item| item["taskId"].as_str().expect("an id").to_owned())
            .collect();
        (!ids.contains(&ID.to_owned()), !ids.contains(&added), ids.contains(&SECOND.to_owned()))
    };
    assert_eq!(accepted(&stage), (true, true, true));
    // Without index and journal, the files and the event log are all there is.
    fs::remove_dir_all(stage.path("journal")).expect("removed");
    assert_eq!(accepted(&stage), (true, true, true), "after the journal was lost");
    stage.run_ok(["export", "shop.tar"]);
    let other = DaemonProject::new("");
    fs::remove_dir_all(other.path("")).expect("removed");
    let archive = stage.home().join("shop.tar");
    other.run_ok(["import", archive.to_str().expect("a path"), "."]);
    assert_eq!(accepted(&other), (true, true, true), "after an import");
}

const SECOND: &str = "TASK-2026-02-09-078";

fn drop_second(stage: &DaemonProject) {
    let path = stage.path(&format!("tasks/ready/{ID}.md"));
    let text = fs::read_to_string(path).expect("a file").replace(ID, SECOND);
    assert!(text.contains("acceptedChecks"), "{text}");
    fs::write(stage.path(&format!("tasks/ready/{SECOND}.md")), text).expect("written");
    stage.run_ok(["task", "list"]);
}

#[test]
fn checks_that_a_merged_branch_brings_are_not_run() {
    let stage = stage();
    git(stage.home(), &["init", "-q", "-b", "main"]);
    git(stage.home(), &["add", ".adjutant"]);
    git(stage.home(), &["commit", "-q", "-m", "first"]);
    git(stage.home(), &["checkout", "-q", "-b", "evil"]);
    drop_file(&stage, FORGED);
    git(stage.home(), &["add", ".adjutant"]);
    git(stage.home(), &["commit", "-q", "-m", "evil"]);
    git(stage.home(), &["checkout", "-q", "main"]);
    let up = stage.up();
    git(stage.home(), &["merge", "-q", "evil"]);
    wait_for("it is in the inbox", || checks_items(&stage).len() == 1);
    let other = stage.add("dev");
    wait_for("the other is done", || stage.status(&other) == "done");
    assert!(!pwned(&stage));
    drop(up);
}

#[test]
fn run_cannot_bring_checks_with_a_new_task() {
    let new = r#"{"taskId": "T-1", "delegatedToMode": "dev", "objective": "More", "checks": ["touch pwned"], "metadata": {"checks": ["touch pwned"]}}"#;
    let script = format!(
        "cat > new.json <<'X'\n{new}\nX\nadjutant send new.json > answer.json\nadjutant report done\n"
    );
    let stage = DaemonProject::new("").with_command("dev", &script, "");
    let id = stage.add("dev");
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    let tasks = stage.json(&["task", "list"]);
    for task in tasks.as_array().expect("a list") {
        assert_eq!(task["metadata"].get("checks"), None, "{task}");
    }
    assert!(!pwned(&stage));
}

#[test]
fn checks_that_change_while_the_task_runs_are_not_run() {
    let script = "while [ ! -f go ]; do sleep 0.05; done\nadjutant report done\n";
    let stage = DaemonProject::new("").with_command("dev", script, "");
    let id = stage.add("dev");
    let up = stage.up();
    wait_for("it runs", || stage.status(&id) == "in-progress");
    let path = stage.path(&format!("tasks/in-progress/{id}.md"));
    let text = fs::read_to_string(&path).expect("a file");
    fs::write(&path, text.replacen("metadata:\n", &format!("metadata:\n{FORGED}"), 1))
        .expect("written");
    wait_for("it is noticed", || checks_items(&stage).len() == 1);
    fs::write(stage.home().join("go"), "").expect("written");
    wait_for("it is over", || ["review", "done"].contains(&&*stage.status(&id)));
    assert!(!pwned(&stage));
    drop(up);
}
