//! What is called what in a data folder. Every path is relative to it.

use adjutant_core::mission::EpicId;
use adjutant_core::{Status, TaskId};

/// The folder of all tasks.
pub const TASKS: &str = "tasks";
/// The folder of all runs.
pub const RUNS: &str = "runs";
/// The folder of what epics remember.
pub const EPICS: &str = "epics";
/// The folder of the record.
pub const EVENTS: &str = "events";
/// The folder of what is committed and not yet in the files.
pub const JOURNAL: &str = "journal";
/// The file that holds the formats of the folder and of its event log.
pub const FORMAT_FILE: &str = "format.json";
/// The folder of what migrations have rewritten, as it was before.
pub const BACKUP: &str = "backup";
/// Where the original AOF left its runs.
pub const FOREIGN_RUNS: &str = "state/runs";
/// The files of the current run of a task.
pub const RUN_FILES: [&str; 3] = ["run.json", "run_heartbeat.json", "run_result.json"];

/// Returns where the tasks of a status lie.
pub fn status_folder(status: Status) -> String {
    format!("{TASKS}/{status}")
}

/// Returns where a task's file lies.
pub fn task_file(status: Status, id: &TaskId) -> String {
    format!("{TASKS}/{status}/{id}.md")
}

/// Returns where a task's companion folder lies.
pub fn companion(status: Status, id: &TaskId) -> String {
    format!("{TASKS}/{status}/{id}")
}

/// Returns where the files of a task's runs lie.
pub fn run_folder(id: &TaskId) -> String {
    format!("{RUNS}/{id}")
}

/// Returns where the result of a task's current run lies.
pub fn run_result(id: &TaskId) -> String {
    format!("{RUNS}/{id}/run_result.json")
}

/// Returns where the last sign of life of a task's current run lies.
pub fn run_heartbeat(id: &TaskId) -> String {
    format!("{RUNS}/{id}/run_heartbeat.json")
}

/// Returns where the memory of an epic lies.
pub fn epic_memory(epic: &EpicId) -> String {
    format!("{EPICS}/{epic}/memory.md")
}

/// Returns where a report that came too late lies; none if the name is none of a file there.
pub fn salvage(id: &TaskId, name: &str) -> Option<String> {
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']);
    plain.then(|| format!("{RUNS}/{id}/salvage/{name}"))
}
