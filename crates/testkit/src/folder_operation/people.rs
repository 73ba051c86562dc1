//! Operations: changes by people, and by programs that know nothing of Adjutant.

use std::fs;
use std::path::Path;

use adjutant_engine::{EngineRequest, Request};
use serde_json::json;

use super::FolderOperation;
use super::given::{AGENT, IN_PROGRESS_TASK, NO_REVIEW_TASK, READY_TASK};
use crate::crash_child::CrashChild;
use crate::message::progress;
use crate::project::message_request;

pub(super) const ALL: &[FolderOperation] = &[
    FolderOperation::new("hand_edit", CrashChild::apply_edits, &["looked"]).after_hand_edit(edit),
    FolderOperation::new("hand_edit_of_the_body", CrashChild::apply_edits, &["looked"])
        .after_hand_edit(edit_body),
    FolderOperation::new("hand_move", CrashChild::apply_edits, &["looked"])
        .after_hand_edit(move_by_hand),
    FolderOperation::new("hand_add", CrashChild::apply_edits, &["looked"]).after_hand_edit(add),
    FolderOperation::new("hand_removal", CrashChild::apply_edits, &["looked"])
        .after_hand_edit(remove),
    FolderOperation::new(
        "message_after_hand_edit",
        |child| child.submit(&[half_way()]),
        &["applied"],
    )
    .after_hand_edit(edit_body),
    FolderOperation::new("session_end", |child| child.submit(&[session_end()]), &["applied"])
        .after_hand_edit(leave_a_result),
    FolderOperation::new(
        "session_end_with_a_bad_result",
        |child| child.submit(&[session_end()]),
        &["applied"],
    )
    .after_hand_edit(leave_a_bad_result),
];

fn half_way() -> EngineRequest {
    message_request(&progress(IN_PROGRESS_TASK, AGENT, "Half way there"))
}

fn session_end() -> EngineRequest {
    Request::SessionEnd(None).into()
}

fn file(root: &Path, status: &str, task: &str) -> std::path::PathBuf {
    root.join(format!("tasks/{status}/{task}.md"))
}

fn replace_text(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("a task");
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).expect("a task");
}

fn edit(root: &Path) {
    replace_text(
        &file(root, "in-progress", IN_PROGRESS_TASK),
        "priority: normal",
        "priority: high",
    );
}

fn edit_body(root: &Path) {
    replace_text(&file(root, "in-progress", IN_PROGRESS_TASK), "Mend it.", "Mend it, please.");
}

/// A person starts a task by moving its file; the text still has the old status.
fn move_by_hand(root: &Path) {
    let to = file(root, "in-progress", READY_TASK);
    fs::rename(file(root, "ready", READY_TASK), to).expect("moved");
}

fn add(root: &Path) {
    let id = "TASK-2026-02-09-070";
    let text = fs::read_to_string(file(root, "ready", READY_TASK)).expect("a task");
    fs::write(file(root, "ready", id), text.replace(READY_TASK, id)).expect("a task");
}

fn remove(root: &Path) {
    fs::remove_file(file(root, "ready", READY_TASK)).expect("removed");
}

fn leave_a_result(root: &Path) {
    for task in [IN_PROGRESS_TASK, NO_REVIEW_TASK] {
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
        write_run_result(root, task, &result.to_string());
    }
}

fn leave_a_bad_result(root: &Path) {
    write_run_result(root, IN_PROGRESS_TASK, "{\"outcome\": \"splendid\"}");
}

fn write_run_result(root: &Path, task: &str, text: &str) {
    let folder = root.join("runs").join(task);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("run_result.json"), text).expect("a result");
}
