//! Golden files of task files as the store writes them, and of its edits to hand-written ones.

use adjutant_model::task::TaskState;
use adjutant_model::{Priority, Status, Task};
use adjutant_test_support::golden::GoldenFolder;

use super::samples::{full_entry, id, time};
use super::task::{bare_task, full_task, varied_task};
use crate::taskfile::{self, BodyChange, TaskFilePatch};

/// A hand-written file: comments, unknown fields, its own order and spelling.
const HAND_WRITTEN: &str = "\
---
# Mind the order.
title:   'Mend the parser'   # as it was asked for
id: TASK-2026-02-09-001
status: ready
priority: \"high\"
team: {name: core, size: 3}   # Adjutant does not know this field
createdAt: 2026-02-09T20:00:00Z
updatedAt: 2026-02-09T20:00:00Z
lastTransitionAt: 2026-02-09T20:00:00Z
createdBy: alice
dependsOn: [ TASK-2026-02-09-003 ]
metadata:
  ticket: ABC-1
  # The next field is ours.
  feedback: |
    Again,
    with tests
---

# Mend it

Do it well.
";

/// Returns a file after a change; everything that the change does not name stays.
fn edited(text: &str, change: impl FnOnce(&mut Task), body: Vec<BodyChange>) -> String {
    let before = taskfile::parse(text, Some(&id(1)), None).expect("a task file");
    let mut after = before.task.clone();
    change(&mut after);
    TaskFilePatch::new(&before, &after, body).apply_to(text, &before).expect("it can be changed")
}

fn start(task: &mut Task) {
    let full = full_task();
    task.state = full.state;
    task.priority = Priority::Critical;
    task.updated_at = time("20:30:00.000");
    task.depends_on.push(id(4));
    task.feedback = None;
    task.history = full.history;
}

fn finish(task: &mut Task) {
    task.state = TaskState::entered(Status::Done);
    task.history = adjutant_model::run_history::RunHistory::default();
}

#[test]
fn task_files_match_golden_files() {
    let mut golden = GoldenFolder::new("task-files");
    for status in Status::ALL {
        let text = taskfile::render(&bare_task(status), "");
        golden.add(format!("bare/{status}.md"), text);
    }
    let body = "# Mend it\n\n- \"quoted\": yes\n\n\n";
    for (file, task) in [("full.md", full_task()), ("varied.md", varied_task())] {
        let text = taskfile::render(&task, body);
        let read = taskfile::parse(&text, Some(&task.id), Some(task.status()));
        assert_eq!(read.expect("it is read back").task, task);
        golden.add(file, text);
    }
    golden.add("hand-written/1-before.md", HAND_WRITTEN);
    let log = vec![BodyChange::Append(full_entry())];
    let started = edited(HAND_WRITTEN, start, log);
    let finished = edited(&started, finish, vec![]);
    let rewritten = edited(&finished, |_| {}, vec![BodyChange::Replace("New body\n".into())]);
    golden.add("hand-written/2-started.md", started);
    golden.add("hand-written/3-finished.md", finished);
    golden.add("hand-written/4-new-body.md", rewritten);
    let windows = edited(&HAND_WRITTEN.replace('\n', "\r\n"), start, vec![]);
    golden.add("hand-written/windows-line-breaks.md", windows.replace('\r', "<CR>"));
    golden.check();
}
