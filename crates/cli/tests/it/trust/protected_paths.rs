//! A branch that changes what Adjutant runs is merged only with `approve --allow-protected`.

use std::fs;

use serde_json::{Value, json};

use crate::up::project::{DaemonProject, wait_for};
use crate::up::worktrees::{WORKTREE, git, read, task};

const RULES: &str = ".ai/step-rules.yaml";

fn stage(script: &str, settings: &str) -> DaemonProject {
    let more = format!("{WORKTREE}{settings}\n[project]\nmerge = \"rebase\"\n");
    let stage = DaemonProject::new("").with_command("dev", script, &more);
    git(stage.home(), &["init", "-q", "-b", "main"]);
    let ignored = "/*\n!/.gitignore\n!/*.txt\n!/.ai/\n";
    fs::write(stage.home().join(".gitignore"), ignored).expect("written");
    fs::write(stage.home().join("shared.txt"), "one\n").expect("written");
    git(stage.home(), &["add", "."]);
    git(stage.home(), &["commit", "-q", "-m", "first"]);
    stage
}

/// Changes a rule, a story's own file and an ordinary one.
const SCRIPT: &str = "mkdir -p .ai\necho 'steps: {}' > .ai/step-rules.yaml\n\
                      echo history > .ai/history.md\necho two > shared.txt\n";

fn review_item(stage: &DaemonProject) -> Value {
    let items = stage.json(&["inbox"]);
    let mut items = items.as_array().expect("a list").iter();
    items.find(|item| item["kind"] == "review").cloned().expect("a review")
}

#[test]
fn branch_with_protected_paths_is_flagged_and_needs_explicit_consent() {
    let stage = stage(SCRIPT, "");
    let id = task(&stage, "dev");
    let up = stage.up();
    wait_for("it is in review", || stage.status(&id) == "review");
    let item = review_item(&stage);
    let text = item["text"].as_str().expect("a text");
    let both = "changes protected paths: .ai/history.md, .ai/step-rules.yaml";
    assert!(text.contains(both), "{text}");
    assert_eq!(item["actions"][0], format!("approve {id} --allow-protected"));
    let diff = stage.json(&["task", "diff", &id]);
    assert_eq!(diff["protected"], json!([".ai/history.md", RULES]));
    let shown = stage.adjutant(["task", "diff", &id]);
    assert!(shown.err.contains(RULES), "{shown:?}");
    let before = fs::read(stage.path(&format!("tasks/review/{id}.md"))).expect("a file");
    let refused = stage.adjutant(["approve", &id, "--json"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let error: Value = serde_json::from_str(&refused.out).expect("a document");
    assert_eq!(error["error"]["code"], "protected_paths");
    assert!(error["error"]["causes"][0].as_str().is_some_and(|cause| cause.contains(RULES)));
    assert_eq!(fs::read(stage.path(&format!("tasks/review/{id}.md"))).expect("a file"), before);
    assert_eq!(read(&stage, "shared.txt"), "one\n");
    stage.run_ok(["approve", &id, "--allow-protected"]);
    wait_for("it is merged", || stage.status(&id) == "done");
    assert_eq!(read(&stage, RULES), "steps: {}\n");
    let allowed = &stage.events_of(&id, "work.protected.allowed")[0];
    assert_eq!(allowed["payload"]["files"], json!([".ai/history.md", RULES]));
    up.end();
    stage.assert_consistent();
}

#[test]
fn branch_with_a_data_folder_brings_no_command_without_consent() {
    let script = "mkdir -p .adjutant/tasks/ready\necho x > .adjutant/tasks/ready/TASK-2026-02-09-077.md\n\
                  git add -f .adjutant\n";
    let stage = stage(script, "");
    let id = task(&stage, "dev");
    let up = stage.up();
    wait_for("it is in review", || stage.status(&id) == "review");
    let refused = stage.adjutant(["approve", &id, "--json"]);
    assert!(refused.out.contains(".adjutant/tasks/ready/TASK-2026-02-09-077.md"), "{refused:?}");
    assert!(!stage.path("tasks/ready/TASK-2026-02-09-077.md").exists());
    drop(up);
}

#[test]
fn branch_with_protected_paths_is_not_merged_without_a_review() {
    let stage = stage(SCRIPT, "");
    let id = stage.add("dev");
    stage.until_idle();
    assert_eq!(stage.status(&id), "review");
    assert_eq!(read(&stage, "shared.txt"), "one\n");
    let why = stage.json(&["task", "show", &id]);
    let reason = why["metadata"]["statusReason"].as_str().expect("a reason").to_owned();
    assert!(reason.contains(RULES), "{reason}");
    // Without a daemon, the command merges.
    stage.run_ok(["approve", &id, "--allow-protected"]);
    assert_eq!(stage.status(&id), "done");
    assert_eq!(read(&stage, "shared.txt"), "two\n");
}

#[test]
fn protected_path_that_was_added_after_the_review_began_is_not_merged() {
    let stage = stage("echo two > shared.txt\n", "");
    let id = task(&stage, "dev");
    let up = stage.up();
    wait_for("it is in review", || stage.status(&id) == "review");
    // A commit that no check and no reviewer has seen.
    let branch =
        git(stage.home(), &["branch", "--list", "adjutant/*", "--format=%(refname:short)"]);
    let elsewhere = tempfile::tempdir().expect("a temporary folder");
    let other = elsewhere.path().join("late");
    git(
        stage.home(),
        &["worktree", "add", "-q", "--detach", other.to_str().expect("a path"), &branch],
    );
    fs::create_dir(other.join(".ai")).expect("a folder");
    fs::write(other.join(RULES), "steps: {}\n").expect("written");
    git(&other, &["add", "-f", RULES]);
    git(&other, &["commit", "-q", "-m", "late"]);
    let commit = git(&other, &["rev-parse", "HEAD"]);
    git(stage.home(), &["worktree", "remove", "--force", other.to_str().expect("a path")]);
    git(stage.home(), &["update-ref", &format!("refs/heads/{branch}"), &commit]);
    stage.run_ok(["approve", &id]);
    wait_for("the merge waits", || !stage.events_of(&id, "merge.waiting").is_empty());
    let waits = &stage.events_of(&id, "merge.waiting")[0]["payload"]["reason"];
    assert!(waits.as_str().is_some_and(|reason| reason.contains(RULES)), "{waits}");
    assert_eq!(read(&stage, RULES), "");
    drop(up);
}

#[test]
fn ordinary_branch_needs_no_consent() {
    let stage = stage("echo two > shared.txt\n", "");
    let id = stage.add("dev");
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
}
