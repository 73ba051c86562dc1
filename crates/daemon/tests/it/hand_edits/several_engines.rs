//! Several engines on one folder: only one of them records a person's edit, once.

use adjutant_engine::{Engine, EngineRequest};
use adjutant_model::{AnswerVerdict, Status};
use adjutant_store::FileStore;
use adjutant_testkit::TestProject;
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::message_request;

use super::{ID, OTHER, file, move_file, read_event_log, replace, short_event};

/// Returns the events since the folder was first opened, with two tasks in it.
fn events_short(project: &TestProject) -> Vec<String> {
    let mut told: Vec<String> = read_event_log(project).iter().map(short_event).collect();
    assert_eq!(told.remove(0), "folder.adopted");
    told
}

/// Lets two engines detect edits in turn and compares the events of both.
fn check(edit: impl FnOnce(&TestProject), expected: &[&str]) {
    let project = TestProject::new();
    project.write_task(ID, Status::Ready, "");
    project.write_task(OTHER, Status::Ready, "");
    project.open_engine().rest().expect("at rest");
    let (mut one, mut other) = (project.open_engine(), project.open_engine());
    edit(&project);
    for _ in 0..2 {
        one.check_all_files().expect("a look around");
        other.check_all_files().expect("a look around");
    }
    assert_eq!(events_short(&project), expected);
    // An index that one of them writes must not repeat events.
    let touch = message_request(&progress(OTHER, "a", "half"));
    assert_eq!(other.submit_one(touch).expect("an answer").answer.verdict, AnswerVerdict::Applied);
    other.rest().expect("at rest");
    drop((one, other));
    let told = read_event_log(&project);
    drop(project.open_engine());
    assert_eq!(read_event_log(&project), told);
}

fn ready() -> String {
    file(Status::Ready, ID)
}

#[test]
fn edit_seen_by_two_engines_is_recorded_once() {
    check(
        |project| replace(project, &ready(), "title: Task", "title: Better task"),
        &["task.edited: title"],
    );
    check(
        |project| replace(project, &ready(), "Do it.", "Do *all* of it."),
        &["task.edited: body"],
    );
}

#[test]
fn new_file_seen_by_two_engines_is_recorded_once() {
    let id = "TASK-2026-02-09-003";
    check(|project| drop(project.write_task(id, Status::Ready, "")), &["task.created by hand"]);
}

#[test]
fn move_seen_by_two_engines_is_recorded_once() {
    check(
        |project| move_file(project, &ready(), &file(Status::Blocked, ID)),
        &["task.transitioned: ready to blocked by hand"],
    );
}

#[test]
fn removal_seen_by_two_engines_is_recorded_once() {
    check(
        |project| std::fs::remove_file(project.path(&ready())).expect("a file"),
        &["task.removed"],
    );
}

/// Opens a folder after a person's edit, lets another engine act, and only then starts the engine.
fn start_late(
    edit: impl FnOnce(&TestProject),
    meanwhile: impl FnOnce(&mut Engine<FileStore>),
) -> TestProject {
    let project = TestProject::new();
    project.write_task(ID, Status::InProgress, "");
    project.write_task(OTHER, Status::InProgress, "");
    let mut first = project.open_engine();
    first.rest().expect("at rest");
    edit(&project);
    let (store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    assert_eq!(loaded.edits.len(), 1);
    meanwhile(&mut first);
    let clock = Box::new(project.clock.clone());
    let late = Engine::start(store, loaded, clock, adjutant_model::Policy::default());
    let mut late = late.expect("the engine starts");
    late.check_all_files().expect("a look around");
    first.check_all_files().expect("a look around");
    assert_eq!(late.world(), first.world());
    project
}

fn working() -> String {
    file(Status::InProgress, ID)
}

fn edited_title(project: &TestProject) {
    replace(project, &working(), "title: Task", "title: Better task");
}

fn edited_body(project: &TestProject) {
    replace(project, &working(), "Do it.", "Do *all* of it.");
}

fn submit_message(message: &EngineRequest) -> impl FnOnce(&mut Engine<FileStore>) {
    |engine| drop(engine.submit_one(message.clone()).expect("an answer"))
}

#[test]
fn engines_that_start_together_record_edit_once() {
    let looks = |engine: &mut Engine<FileStore>| engine.check_all_files().expect("a look around");
    assert_eq!(events_short(&start_late(edited_title, looks)), ["task.edited: title"]);
    assert_eq!(events_short(&start_late(edited_body, looks)), ["task.edited: body"]);
}

#[test]
fn late_engine_records_edit_that_the_other_did_not_see() {
    let other = message_request(&progress(OTHER, "a", "half"));
    let expected = ["protocol.message.received", "task.logged", "task.edited: body"];
    assert_eq!(events_short(&start_late(edited_body, submit_message(&other))), expected);
}

#[test]
fn late_engine_does_not_undo_what_the_other_did() {
    let completed = message_request(&completion(ID, "a", "done"));
    let project = start_late(edited_title, submit_message(&completed));
    assert_eq!(project.status_folders_of(ID), [Status::Review]);
    let moves =
        events_short(&project).into_iter().filter(|told| told.starts_with("task.transitioned"));
    assert_eq!(moves.collect::<Vec<_>>(), ["task.transitioned: in-progress to review"]);
    assert!(project.read(&file(Status::Review, ID)).contains("title: Better task"));
}
