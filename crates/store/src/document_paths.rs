//! The names and paths of the documents. Every path is relative to the data folder.

use adjutant_model::mission::EpicId;
use adjutant_model::{Status, TaskId};

pub const TASKS: &str = "tasks";
pub const RUNS: &str = "runs";
/// The folder of epic memories.
pub const EPICS: &str = "epics";
/// The folder of the event log.
pub const EVENTS: &str = "events";
/// The folder of the journal: commits that the files may not show yet.
pub const JOURNAL: &str = "journal";
/// The file with the format numbers of the folder and of its event log.
pub const FORMAT_FILE: &str = "format.json";
/// The folder where migrations keep the files they rewrote, in their old state.
pub const BACKUP: &str = "backup";
/// The folder where the original AOF kept its runs.
pub const AOF_RUNS: &str = "state/runs";
/// The files of the current run of a task.
pub const RUN_FILES: [&str; 3] = ["run.json", "run_heartbeat.json", "run_result.json"];

pub fn status_folder(status: Status) -> String {
    format!("{TASKS}/{status}")
}

pub fn task_file(status: Status, id: &TaskId) -> String {
    format!("{TASKS}/{status}/{id}.md")
}

/// Returns the task to which a path belongs: its file, its companion folder or its runs.
pub fn task_of_path(path: &str) -> Option<TaskId> {
    let name = match path.strip_prefix(TASKS).and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) => rest.split('/').nth(1)?,
        None => path.strip_prefix(RUNS)?.strip_prefix('/')?.split('/').next()?,
    };
    TaskId::parse(name.strip_suffix(".md").unwrap_or(name)).ok()
}

/// Returns the folder of files that belong to a task, beside its task file.
pub fn companion_folder(status: Status, id: &TaskId) -> String {
    format!("{TASKS}/{status}/{id}")
}

pub fn run_folder(id: &TaskId) -> String {
    format!("{RUNS}/{id}")
}

/// Returns the result file of a task's current run.
pub fn run_result_file(id: &TaskId) -> String {
    format!("{RUNS}/{id}/run_result.json")
}

/// Returns the heartbeat file of a task's current run.
pub fn run_heartbeat_file(id: &TaskId) -> String {
    format!("{RUNS}/{id}/run_heartbeat.json")
}

pub fn epic_memory_file(epic: &EpicId) -> String {
    format!("{EPICS}/{epic}/memory.md")
}

/// Returns the path of a salvaged report; `None` if `name` is not a plain file name.
pub fn salvage_file(id: &TaskId, name: &str) -> Option<String> {
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    plain.then(|| format!("{RUNS}/{id}/salvage/{name}"))
}
