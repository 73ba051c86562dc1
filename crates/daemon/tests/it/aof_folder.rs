//! A folder that the original AOF left (`folder/`) opens unchanged and can be worked on.

mod adopting;
mod working;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use Status::{Backlog, Blocked, Cancelled, Deadletter, Done, InProgress, Ready, Review};
use adjutant_model::{Status, TaskId};
use adjutant_testkit::TestProject;

const TASKS: [(&str, Status); 9] = [
    ("TASK-2026-02-08-001", Backlog),
    ("TASK-2026-02-08-002", Done),
    ("TASK-2026-02-08-003", Cancelled),
    ("TASK-2026-02-08-004", Deadletter),
    ("TASK-2026-02-09-001", InProgress),
    ("TASK-2026-02-09-002", Blocked),
    ("TASK-2026-02-09-AbC_d-12", Ready),
    ("TASK-2026-02-09-q_q_q_q8", Review),
    ("TASK-2026-02-09-x9Yz0-_Q", InProgress),
];

const BOATS: &str = "TASK-2026-02-09-001";
const TIDES: &str = "TASK-2026-02-09-AbC_d-12";
const HORN: &str = "TASK-2026-02-09-x9Yz0-_Q";
const VANE: &str = "TASK-2026-02-09-q_q_q_q8";

/// Copies the folder into a new project.
fn aof() -> TestProject {
    let project = TestProject::new();
    let root = project.folder().root();
    fs::remove_dir_all(root).expect("an empty data folder");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/aof_folder/folder");
    copy(&folder, root);
    symlink("2026-02-09.jsonl", project.path("events/events.jsonl")).expect("a link");
    project
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, to).expect("a file");
        }
    }
}

fn id(text: &str) -> TaskId {
    TaskId::parse(text).expect("a test gives a good id")
}

fn file(status: Status, id: &str) -> String {
    format!("tasks/{status}/{id}.md")
}

/// Returns every file under a folder of the project, with its content.
fn files(project: &TestProject, folder: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    collect(project.folder().root(), Path::new(folder), &mut files);
    files
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    let Ok(entries) = fs::read_dir(root.join(folder)) else { return };
    for entry in entries {
        let path = folder.join(entry.expect("an entry").file_name());
        if root.join(&path).is_dir() {
            collect(root, &path, files);
        } else {
            let text = fs::read_to_string(root.join(&path)).expect("a text");
            files.insert(path.display().to_string(), text);
        }
    }
}
