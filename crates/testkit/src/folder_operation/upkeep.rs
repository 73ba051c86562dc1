//! Operations of the store itself: opening, resting, cutting the journal, starting a new day.

use std::fs;
use std::path::Path;

use super::FolderOperation;
use super::given::{AGENT, IN_PROGRESS_TASK, NO_REVIEW_TASK};
use crate::audit::EventLogScope;
use crate::crash_child::CrashChild;
use crate::message::{completion, progress};
use crate::project::{TestProject, message_request};

pub(super) const ALL: &[FolderOperation] = &[
    FolderOperation::new("open", |_| {}, &[]),
    FolderOperation::new("open_without_an_index", |_| {}, &[]).after_hand_edit(remove_index),
    FolderOperation::new("migrate_format_1", |_| {}, &[]).after_hand_edit(downgrade_to_format_1),
    FolderOperation::new("rest", log_and_rest, &["applied", "rested", "applied", "rested"]),
    FolderOperation::new(
        "cut_the_journal",
        log_and_rest,
        &["applied", "rested", "applied", "rested"],
    )
    .with_journal_bytes_max(1),
    FolderOperation::new("cut_the_journal_only", log_thrice, &["applied", "applied", "applied"])
        .with_journal_bytes_max(1),
    FolderOperation::new(
        "cross_midnight_and_back",
        cross_midnight,
        &["applied", "applied", "applied"],
    ),
    FolderOperation { prepare: None, ..FolderOperation::new("first_open", |_| {}, &[]) },
    FolderOperation { prepare: None, ..FolderOperation::new("first_commit", add, &["applied"]) },
    FolderOperation {
        prepare: Some(set_up_aof_folder),
        event_log: EventLogScope::SinceAdopted,
        ..FolderOperation::new("adopt", |_| {}, &[])
    },
];

fn remove_index(root: &Path) {
    fs::remove_file(root.join("journal/index")).expect("an index");
}

/// Format 1 has no file that names the format.
fn downgrade_to_format_1(root: &Path) {
    fs::remove_file(root.join("format.json")).expect("a format");
}

fn log(child: &mut CrashChild, text: &str) {
    child.submit(&[message_request(&progress(IN_PROGRESS_TASK, AGENT, text))]);
}

fn log_and_rest(child: &mut CrashChild) {
    log(child, "One");
    child.rest();
    child.submit(&[message_request(&completion(NO_REVIEW_TASK, AGENT, "done"))]);
    child.rest();
}

fn log_thrice(child: &mut CrashChild) {
    log(child, "One");
    child.submit(&[message_request(&completion(NO_REVIEW_TASK, AGENT, "done"))]);
    log(child, "Three");
}

fn cross_midnight(child: &mut CrashChild) {
    log(child, "One");
    child.clock.set("2026-02-10T00:00:00.000Z");
    log(child, "Two");
    child.clock.set("2026-02-09T23:59:59.000Z");
    log(child, "Three");
}

fn add(child: &mut CrashChild) {
    use adjutant_model::command::InitialStatus;
    child.submit(&[crate::project::add_request("The first", InitialStatus::Ready)]);
}

/// A folder of the original AOF: tasks, an event log and runs, and nothing of ours.
fn set_up_aof_folder(project: &TestProject) {
    let id = "TASK-2026-02-09-00112abc";
    project.write_task("TASK-2026-02-09-001", adjutant_model::Status::Ready, "");
    project.write(&format!("state/runs/{id}/run_result.json"), "{}\n");
    project.write("state/runs/TASK-2026-02-09-001/run_result.json", "{}\n");
    fs::remove_dir_all(project.path("journal")).expect("a journal");
    fs::remove_dir_all(project.path("events")).expect("events");
    fs::remove_dir_all(project.path("runs")).expect("runs");
}
