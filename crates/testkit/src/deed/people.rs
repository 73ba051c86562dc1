//! What people, and programs that know nothing of us, leave in the folder.

use std::fs;
use std::path::Path;

use adjutant_runtime::Request;
use serde_json::json;

use super::Deed;
use super::given::{AGENT, READY, UNREVIEWED, WORKING};
use crate::hand::Hand;
use crate::message::progress;
use crate::project::send;

pub(super) const ALL: &[Deed] = &[
    Deed::new("hand_edit", Hand::look_around, &["looked"]).after(edit),
    Deed::new("hand_edit_of_the_body", Hand::look_around, &["looked"]).after(edit_body),
    Deed::new("hand_move", Hand::look_around, &["looked"]).after(move_away),
    Deed::new("hand_add", Hand::look_around, &["looked"]).after(add),
    Deed::new("hand_removal", Hand::look_around, &["looked"]).after(remove),
    Deed::new("message_after_hand_edit", |hand| hand.submit(&[half_way()]), &["applied"])
        .after(edit_body),
    Deed::new("session_end", |hand| hand.submit(&[end()]), &["applied"]).after(leave_a_result),
    Deed::new("session_end_with_a_bad_result", |hand| hand.submit(&[end()]), &["applied"])
        .after(leave_a_bad_result),
];

fn half_way() -> Request {
    send(&progress(WORKING, AGENT, "Half way there"))
}

fn end() -> Request {
    Request::SessionEnd(None)
}

fn file(root: &Path, status: &str, task: &str) -> std::path::PathBuf {
    root.join(format!("tasks/{status}/{task}.md"))
}

fn change(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("a task");
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).expect("a task");
}

fn edit(root: &Path) {
    change(&file(root, "in-progress", WORKING), "priority: normal", "priority: high");
}

fn edit_body(root: &Path) {
    change(&file(root, "in-progress", WORKING), "Mend it.", "Mend it, please.");
}

/// A person takes a task on: its file is moved, and says nothing of that.
fn move_away(root: &Path) {
    let to = file(root, "in-progress", READY);
    fs::rename(file(root, "ready", READY), to).expect("moved");
}

fn add(root: &Path) {
    let id = "TASK-2026-02-09-070";
    let text = fs::read_to_string(file(root, "ready", READY)).expect("a task");
    fs::write(file(root, "ready", id), text.replace(READY, id)).expect("a task");
}

fn remove(root: &Path) {
    fs::remove_file(file(root, "ready", READY)).expect("removed");
}

fn leave_a_result(root: &Path) {
    for task in [WORKING, UNREVIEWED] {
        let result = json!({
            "taskId": task,
            "agentId": AGENT,
            "completedAt": "2026-02-09T21:20:00.000Z",
            "outcome": "done",
            "summaryRef": "outputs/summary.md",
            "handoffRef": "outputs/handoff.md",
            "deliverables": [],
            "tests": {"total": 1, "passed": 1, "failed": 0},
            "blockers": [],
            "notes": "Left behind.",
        });
        leave(root, task, &result.to_string());
    }
}

fn leave_a_bad_result(root: &Path) {
    leave(root, WORKING, "{\"outcome\": \"splendid\"}");
}

fn leave(root: &Path, task: &str, text: &str) {
    let folder = root.join("runs").join(task);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("run_result.json"), text).expect("a result");
}
