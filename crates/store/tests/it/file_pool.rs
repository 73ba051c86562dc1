//! Tests of the file pool: the store reuses old files instead of creating new ones, and no process
//! that has a file open, or a hard link to it, notices.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use adjutant_engine::Engine;
use adjutant_model::Status;
use adjutant_store::FileStore;
use adjutant_store::file::doctor::examine;
use adjutant_testkit::TestProject;
use adjutant_testkit::message::progress;
use adjutant_testkit::project::message_request;

const ONE: &str = "TASK-2026-02-09-001";
const OTHER: &str = "TASK-2026-02-09-002";
const TIMES: usize = 20;

/// Returns a project with two tasks in progress, whose files the engine has written.
fn project_in_progress() -> (TestProject, Engine<FileStore>) {
    let project = TestProject::new();
    for id in [ONE, OTHER] {
        project.write_task(id, Status::InProgress, "");
    }
    let mut engine = project.open_engine();
    report_progress(&mut engine, "Begun");
    (project, engine)
}

/// Has a progress message written into both files.
fn report_progress(engine: &mut Engine<FileStore>, what: &str) {
    for id in [ONE, OTHER] {
        let answer = engine.submit_one(message_request(&progress(id, "swe-backend", what)));
        assert!(!answer.expect("committed").events.is_empty());
    }
}

fn report_often(engine: &mut Engine<FileStore>) {
    (0..TIMES).for_each(|step| report_progress(engine, &format!("Step {step}")));
}

fn path(project: &TestProject, id: &str) -> PathBuf {
    project.path(&format!("tasks/in-progress/{id}.md"))
}

fn check_whole(project: &TestProject) {
    for id in [ONE, OTHER] {
        let text = fs::read_to_string(path(project, id)).expect("a task");
        assert!(text.starts_with("---\n") && text.contains(&format!("id: {id}\n")), "{text}");
        let last = format!("Step {}", TIMES - 1);
        assert!(text.contains(&last) && !text.contains('\0'), "{text}");
        let mode = fs::metadata(path(project, id)).expect("a task").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "for the owner only");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn file_pool_reuses_a_few_files_for_many_changes() {
    let (project, mut engine) = project_in_progress();
    let mut files = BTreeSet::new();
    for step in 0..TIMES {
        report_progress(&mut engine, &format!("Step {step}"));
        files.extend([ONE, OTHER].map(|id| fs::metadata(path(&project, id)).expect("it").ino()));
    }
    assert!(files.len() <= 6, "{} files for {} changes", files.len(), 2 * TIMES);
    check_whole(&project);
}

#[test]
fn file_pool_turned_off_keeps_no_files() {
    let (project, mut engine) = project_in_progress();
    engine.store().set_file_pool_capacity(0);
    report_often(&mut engine);
    assert_eq!(fs::read_dir(project.path("journal/tmp")).expect("a folder").count(), 0);
    check_whole(&project);
}

#[test]
fn open_reader_keeps_the_old_text() {
    let (project, mut engine) = project_in_progress();
    let before = fs::read_to_string(path(&project, ONE)).expect("a task");
    let mut reader = File::open(path(&project, ONE)).expect("it opens");
    report_often(&mut engine);
    let mut read = String::new();
    reader.read_to_string(&mut read).expect("it can be read");
    assert_eq!(read, before);
    check_whole(&project);
}

#[test]
fn late_writer_to_a_replaced_file_spoils_no_other_file() {
    let (project, mut engine) = project_in_progress();
    let mut writer = File::options().append(true).open(path(&project, ONE)).expect("it opens");
    report_often(&mut engine);
    writer.write_all(b"Too late.\n").expect("room");
    drop(writer);
    report_often(&mut engine);
    check_whole(&project);
    for id in [ONE, OTHER] {
        let text = fs::read_to_string(path(&project, id)).expect("a task");
        assert!(!text.contains("Too late."), "{text}");
    }
}

#[test]
fn hard_linked_file_keeps_its_text() {
    let (project, mut engine) = project_in_progress();
    let kept = project.path("kept.md");
    fs::hard_link(path(&project, ONE), &kept).expect("a link");
    let before = fs::read_to_string(&kept).expect("a task");
    report_often(&mut engine);
    assert_eq!(fs::read_to_string(&kept).expect("a task"), before);
    check_whole(&project);
}

#[test]
fn rewritten_file_is_readable_by_its_owner_only() {
    let (project, mut engine) = project_in_progress();
    let open = fs::Permissions::from_mode(0o644);
    fs::set_permissions(path(&project, ONE), open).expect("it is ours");
    report_often(&mut engine);
    check_whole(&project);
}

#[test]
fn file_pool_recreates_missing_files() {
    let (project, mut engine) = project_in_progress();
    report_often(&mut engine);
    for entry in fs::read_dir(project.path("journal/tmp")).expect("a folder").flatten() {
        fs::remove_file(entry.path()).expect("it is removed");
    }
    report_often(&mut engine);
    check_whole(&project);
    engine.rest().expect("at rest");
    let left = fs::read_dir(project.path("journal/tmp")).expect("a folder").count();
    assert_eq!(left, 0, "at rest nothing is kept");
}

#[test]
fn file_pool_is_no_doctor_finding_even_after_a_kill() {
    let (project, mut engine) = project_in_progress();
    report_often(&mut engine);
    let kept = || fs::read_dir(project.path("journal/tmp")).expect("a folder").count();
    assert_eq!(examine(project.folder()).expect("a look"), []);
    std::mem::forget(engine);
    assert!(cfg!(not(target_os = "linux")) || kept() > 0, "a killed process leaves files");
    assert_eq!(examine(project.folder()).expect("a look"), []);
    drop(project.open_engine());
    assert_eq!(kept(), 0, "the next process removes them");
    check_whole(&project);
}
