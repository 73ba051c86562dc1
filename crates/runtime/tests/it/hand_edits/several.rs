//! Several engines on one folder: a person's edit is told by one of them, once.

use adjutant_core::{Status, Verdict};
use adjutant_runtime::{Engine, Request};
use adjutant_store::FileStore;
use adjutant_testkit::Project;
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::send;

use super::{ID, OTHER, file, in_short, record, replace, shift};

/// Returns what was told since the folder was first opened, with two tasks in it.
fn told(project: &Project) -> Vec<String> {
    let mut told: Vec<String> = record(project).iter().map(in_short).collect();
    assert_eq!(told.remove(0), "folder.adopted");
    told
}

/// Lets two engines look in turn, again and again, and compares what is told in all.
fn check(edit: impl FnOnce(&Project), expected: &[&str]) {
    let project = Project::new();
    project.task(ID, Status::Ready, "");
    project.task(OTHER, Status::Ready, "");
    project.engine().rest().expect("at rest");
    let (mut one, mut other) = (project.engine(), project.engine());
    edit(&project);
    for _ in 0..2 {
        one.look_around().expect("a look around");
        other.look_around().expect("a look around");
    }
    assert_eq!(told(&project), expected);
    // What was told must not come again from an index that one of them writes.
    let touch = send(&progress(OTHER, "a", "half"));
    assert_eq!(other.submit_one(touch).expect("an answer").answer.verdict, Verdict::Applied);
    other.rest().expect("at rest");
    drop((one, other));
    let told = record(&project);
    drop(project.engine());
    assert_eq!(record(&project), told);
}

fn ready() -> String {
    file(Status::Ready, ID)
}

#[test]
fn an_edit_is_told_once() {
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
fn a_new_file_is_told_once() {
    let id = "TASK-2026-02-09-003";
    check(|project| drop(project.task(id, Status::Ready, "")), &["task.created by hand"]);
}

#[test]
fn a_move_is_told_once() {
    check(
        |project| shift(project, &ready(), &file(Status::Blocked, ID)),
        &["task.transitioned: ready to blocked by hand"],
    );
}

#[test]
fn a_removal_is_told_once() {
    check(
        |project| std::fs::remove_file(project.path(&ready())).expect("a file"),
        &["task.removed"],
    );
}

/// Opens a folder after a person's edit, lets another engine do something, and only then starts.
fn start_late(
    edit: impl FnOnce(&Project),
    meanwhile: impl FnOnce(&mut Engine<FileStore>),
) -> Project {
    let project = Project::new();
    project.task(ID, Status::InProgress, "");
    project.task(OTHER, Status::InProgress, "");
    let mut first = project.engine();
    first.rest().expect("at rest");
    edit(&project);
    let (store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    assert_eq!(loaded.edits.len(), 1);
    meanwhile(&mut first);
    let clock = Box::new(project.clock.clone());
    let late = Engine::start(store, loaded, clock, adjutant_core::Policy::default());
    let mut late = late.expect("the engine starts");
    late.look_around().expect("a look around");
    first.look_around().expect("a look around");
    assert_eq!(late.world(), first.world());
    project
}

fn working() -> String {
    file(Status::InProgress, ID)
}

fn edited_title(project: &Project) {
    replace(project, &working(), "title: Task", "title: Better task");
}

fn edited_body(project: &Project) {
    replace(project, &working(), "Do it.", "Do *all* of it.");
}

fn sends(message: &Request) -> impl FnOnce(&mut Engine<FileStore>) {
    |engine| drop(engine.submit_one(message.clone()).expect("an answer"))
}

#[test]
fn engines_that_start_together_tell_once() {
    let looks = |engine: &mut Engine<FileStore>| engine.look_around().expect("a look around");
    assert_eq!(told(&start_late(edited_title, looks)), ["task.edited: title"]);
    assert_eq!(told(&start_late(edited_body, looks)), ["task.edited: body"]);
}

#[test]
fn an_engine_that_starts_late_tells_what_the_other_did_not_look_at() {
    let other = send(&progress(OTHER, "a", "half"));
    let expected = ["protocol.message.received", "task.logged", "task.edited: body"];
    assert_eq!(told(&start_late(edited_body, sends(&other))), expected);
}

#[test]
fn an_engine_that_starts_late_does_not_take_back_what_the_other_did() {
    let completed = send(&completion(ID, "a", "done"));
    let project = start_late(edited_title, sends(&completed));
    assert_eq!(project.folders_of(ID), [Status::Review]);
    let moves = told(&project).into_iter().filter(|told| told.starts_with("task.transitioned"));
    assert_eq!(moves.collect::<Vec<_>>(), ["task.transitioned: in-progress to review"]);
    assert!(project.read(&file(Status::Review, ID)).contains("title: Better task"));
}
