//! Consent over HTTP and MCP: protected paths, and checks that no command wrote.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::http::project::{HttpProject, ListeningDaemon};
use crate::up::worktrees::git;

pub(super) const RULES: &str = ".ai/step-rules.yaml";

const SETTINGS: &str = r#"
[agents.dev]
kind = "command"
command = ["sh", "-c", "mkdir -p .ai && echo $ADJUTANT_TASK_ID > .ai/step-rules.yaml"]
workspace = "worktree"
on_exit_ok = "done"
[project]
merge = "rebase"
"#;

/// Makes a project whose agent changes a protected path.
pub(super) fn repository() -> HttpProject {
    let stage = HttpProject::with_settings(SETTINGS);
    let home = home(&stage);
    git(&home, &["init", "-q", "-b", "main"]);
    fs::write(home.join("a.txt"), "one\n").expect("written");
    git(&home, &["add", "a.txt"]);
    git(&home, &["commit", "-q", "-m", "first"]);
    stage
}

fn home(stage: &HttpProject) -> PathBuf {
    stage.path("").parent().map(Path::to_owned).expect("a folder")
}

/// Adds a task, and waits until its work is in review.
pub(super) fn reviewed(stage: &HttpProject, up: &ListeningDaemon) -> String {
    let before = stage.events("work.checked").len();
    let id = stage.add(&["Change the rules", "--agent", "dev", "--status", "ready"]);
    stage.wait_for("work.checked", before + 1);
    let task = up.get(&format!("/v1/tasks/{id}")).json();
    assert_eq!(task["status"], "review", "{task}");
    id
}

#[test]
fn http_approval_of_protected_paths_needs_a_field() {
    let stage = repository();
    let up = stage.up();
    let id = reviewed(&stage, &up);
    let path = format!("/v1/tasks/{id}/approve");
    let refused = up.call("POST", &path, "{}");
    assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("protected_paths")));
    assert!(refused.text().contains(RULES), "{refused:?}");
    let approved = up.call("POST", &path, r#"{"allowProtected": true}"#);
    assert_eq!(approved.status, 200, "{approved:?}");
    stage.wait_for("work.merged", 1);
    let id = reviewed(&stage, &up);
    let several = json!({"actions": [{"action": "approve", "taskId": id}]});
    let refused = up.call("POST", "/v1/inbox", &several.to_string());
    assert!(refused.text().contains("protected_paths"), "{refused:?}");
}

#[test]
fn mcp_approval_of_protected_paths_needs_an_argument() {
    let stage = repository();
    let up = stage.up();
    let id = reviewed(&stage, &up);
    let call = |arguments: serde_json::Value| {
        let params = json!({"name": "approve", "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        let bearer = format!("Bearer {}", up.token);
        let headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2025-06-18"),
            ("Authorization", &bearer),
        ];
        up.call_with("POST", "/mcp", &headers, body.to_string().as_bytes()).text()
    };
    let refused = call(json!({"id": id}));
    assert!(refused.contains("protected_paths") || refused.contains(RULES), "{refused}");
    assert_eq!(stage.json(&["task", "show", &id])["status"], "review");
    call(json!({"id": id, "allow_protected": true}));
    stage.wait_for("work.merged", 1);
}

#[test]
fn http_accepts_checks_that_the_person_saw() {
    let stage = HttpProject::new();
    let id = stage.add(&["Do it"]);
    let file = stage.path(&format!("tasks/backlog/{id}.md"));
    let text = fs::read_to_string(&file).expect("a file");
    let checks = "\nmetadata:\n  checks:\n    - make test\n---\n";
    fs::write(&file, text.replacen("\n---\n", checks, 1)).expect("written");
    let up = stage.up();
    stage.wait_for("task.edited", 1);
    let path = format!("/v1/tasks/{id}/checks/accept");
    let other = up.call("POST", &path, r#"{"checks": ["make"]}"#);
    assert_eq!(other.json()["code"], "invalid_argument", "{other:?}");
    let same = up.call("POST", &path, r#"{"checks": ["make test"]}"#);
    assert_eq!(same.json()["metadata"]["acceptedChecks"], json!(["make test"]), "{same:?}");
    assert_eq!(stage.events("task.checks.accepted").len(), 1);
}
