//! Files are written anew instead of making others, and nobody who has one open, or another name
//! for it, ever notices.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use adjutant_core::Status;
use adjutant_runtime::Engine;
use adjutant_store::FileStore;
use adjutant_store::file::doctor::examine;
use adjutant_testkit::Project;
use adjutant_testkit::message::progress;
use adjutant_testkit::project::send;

const ONE: &str = "TASK-2026-02-09-001";
const OTHER: &str = "TASK-2026-02-09-002";
const TIMES: usize = 20;

/// Two tasks that are worked on, whose files are as the engine makes them.
fn desk() -> (Project, Engine<FileStore>) {
    let project = Project::new();
    for id in [ONE, OTHER] {
        project.task(id, Status::InProgress, "");
    }
    let mut engine = project.engine();
    tell(&mut engine, "Begun");
    (project, engine)
}

/// Has something written into both files.
fn tell(engine: &mut Engine<FileStore>, what: &str) {
    for id in [ONE, OTHER] {
        let said = engine.submit_one(send(&progress(id, "swe-backend", what)));
        assert!(!said.expect("committed").events.is_empty());
    }
}

fn tell_often(engine: &mut Engine<FileStore>) {
    (0..TIMES).for_each(|step| tell(engine, &format!("Step {step}")));
}

fn path(project: &Project, id: &str) -> PathBuf {
    project.path(&format!("tasks/in-progress/{id}.md"))
}

fn check_whole(project: &Project) {
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
fn a_few_files_are_enough_for_many_changes() {
    let (project, mut engine) = desk();
    let mut files = BTreeSet::new();
    for step in 0..TIMES {
        tell(&mut engine, &format!("Step {step}"));
        files.extend([ONE, OTHER].map(|id| fs::metadata(path(&project, id)).expect("it").ino()));
    }
    assert!(files.len() <= 6, "{} files for {} changes", files.len(), 2 * TIMES);
    check_whole(&project);
}

#[test]
fn who_has_a_file_open_goes_on_reading_what_it_said() {
    let (project, mut engine) = desk();
    let before = fs::read_to_string(path(&project, ONE)).expect("a task");
    let mut reader = File::open(path(&project, ONE)).expect("it opens");
    tell_often(&mut engine);
    let mut read = String::new();
    reader.read_to_string(&mut read).expect("it can be read");
    assert_eq!(read, before);
    check_whole(&project);
}

#[test]
fn who_writes_to_a_file_that_was_replaced_spoils_no_other() {
    let (project, mut engine) = desk();
    let mut writer = File::options().append(true).open(path(&project, ONE)).expect("it opens");
    tell_often(&mut engine);
    writer.write_all(b"Too late.\n").expect("room");
    drop(writer);
    tell_often(&mut engine);
    check_whole(&project);
    for id in [ONE, OTHER] {
        let text = fs::read_to_string(path(&project, id)).expect("a task");
        assert!(!text.contains("Too late."), "{text}");
    }
}

#[test]
fn a_file_that_has_another_name_keeps_what_it_says() {
    let (project, mut engine) = desk();
    let kept = project.path("kept.md");
    fs::hard_link(path(&project, ONE), &kept).expect("a link");
    let before = fs::read_to_string(&kept).expect("a task");
    tell_often(&mut engine);
    assert_eq!(fs::read_to_string(&kept).expect("a task"), before);
    check_whole(&project);
}

#[test]
fn a_file_that_others_could_read_is_for_its_owner_only_when_it_is_written_anew() {
    let (project, mut engine) = desk();
    let open = fs::Permissions::from_mode(0o644);
    fs::set_permissions(path(&project, ONE), open).expect("it is ours");
    tell_often(&mut engine);
    check_whole(&project);
}

#[test]
fn what_was_kept_and_is_gone_is_made() {
    let (project, mut engine) = desk();
    tell_often(&mut engine);
    for entry in fs::read_dir(project.path("journal/tmp")).expect("a folder").flatten() {
        fs::remove_file(entry.path()).expect("it is removed");
    }
    tell_often(&mut engine);
    check_whole(&project);
    engine.rest().expect("at rest");
    let left = fs::read_dir(project.path("journal/tmp")).expect("a folder").count();
    assert_eq!(left, 0, "at rest nothing is kept");
}

#[test]
fn what_is_kept_is_no_fault_while_its_process_lives_or_when_it_was_killed() {
    let (project, mut engine) = desk();
    tell_often(&mut engine);
    let kept = || fs::read_dir(project.path("journal/tmp")).expect("a folder").count();
    assert_eq!(examine(project.folder()).expect("a look"), []);
    std::mem::forget(engine);
    assert!(cfg!(not(target_os = "linux")) || kept() > 0, "as whoever is killed leaves it");
    assert_eq!(examine(project.folder()).expect("a look"), []);
    drop(project.engine());
    assert_eq!(kept(), 0, "whoever comes next removes it");
    check_whole(&project);
}
