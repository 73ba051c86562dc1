//! The index makes opening quick and is never trusted over the files: whatever becomes of it, the
//! same tasks are found and nothing is told twice.

use std::fs;

use adjutant_core::command::{Changes, Start};
use adjutant_core::{Command, Status, TaskId, World};
use adjutant_runtime::Engine;
use adjutant_store::FileStore;
use adjutant_testkit::Project;
use adjutant_testkit::message::progress;
use adjutant_testkit::project::{add, id_of, operator, send};

const INDEX: &str = "journal/index";

/// A project at rest, with an index of several stretches.
fn project() -> (Project, Vec<TaskId>, World) {
    let project = Project::new();
    let mut engine = project.engine();
    let mut ids = Vec::new();
    for title in ["One", "Two", "Three", "Four"] {
        ids.push(id_of(&engine.submit_one(add(title, Start::Ready)).expect("added")));
        engine.rest().expect("at rest");
    }
    shift(&mut engine, &ids[0], Status::InProgress);
    fs::remove_file(project.path(&format!("tasks/ready/{}.md", ids[3]))).expect("a file");
    engine.look_around().expect("a look around");
    engine.rest().expect("at rest");
    let world = engine.world().clone();
    (project, ids, world)
}

fn shift(engine: &mut Engine<FileStore>, id: &TaskId, to: Status) {
    let command = Command::Move { id: id.clone(), to, reason: String::new() };
    engine.submit_one(operator(command)).expect("an answer");
}

/// Every line of the index is whole, and the last one says it is finished.
fn check_whole(project: &Project) {
    let text = project.read(INDEX);
    assert!(text.ends_with('\n'), "{text}");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    for line in &lines {
        let (sum, json) = (&line[..8], &line[9..]);
        assert_eq!(sum, format!("{:08x}", crc32fast::hash(json.as_bytes())), "{line}");
    }
    assert_eq!(&lines.last().expect("a line")[8..9], "v");
}

/// Opens the folder, finds all as it was, works on it, and leaves a good index.
fn check(project: &Project, ids: &[TaskId], world: &World) {
    let told = project.events();
    let mut engine = project.engine();
    assert_eq!(engine.world(), world);
    engine.look_around().expect("a look around");
    assert_eq!(project.events(), told, "nothing is told again");
    engine.submit_one(send(&progress(ids[1].as_str(), "a", "half"))).expect("an answer");
    engine.rest().expect("at rest");
    check_whole(project);
    let world = engine.world().clone();
    drop(engine);
    assert_eq!(*project.engine().world(), world);
    assert_eq!(project.events().len(), told.len() + 2);
}

#[test]
fn an_index_that_is_as_it_was_left() {
    let (project, ids, world) = project();
    check_whole(&project);
    check(&project, &ids, &world);
}

#[test]
fn an_index_that_is_cut_off_anywhere() {
    let (project, ids, world) = project();
    let whole = fs::read(project.path(INDEX)).expect("an index");
    let before: Vec<_> = files(&project);
    for cut in (1..whole.len()).step_by(whole.len() / 40) {
        fs::write(project.path(INDEX), &whole[..whole.len() - cut]).expect("a file");
        let told = project.events();
        let mut engine = project.engine();
        assert_eq!(*engine.world(), world, "{cut} bytes are missing");
        assert_eq!(project.events(), told);
        engine.rest().expect("at rest");
        check_whole(&project);
        drop(engine);
        assert_eq!(*project.engine().world(), world);
    }
    assert_eq!(files(&project), before, "the files are what they were");
    check(&project, &ids, &world);
}

fn files(project: &Project) -> Vec<(String, String)> {
    let read = |status: Status| {
        let folder = project.path(&format!("tasks/{status}"));
        let entries =
            fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("it").path());
        let plain = entries.filter(|path| path.is_file());
        plain.map(|path| (path.display().to_string(), fs::read_to_string(path).expect("a text")))
    };
    let mut files: Vec<_> = Status::ALL.into_iter().flat_map(read).collect();
    files.sort();
    files
}

#[test]
fn an_index_that_is_spoilt_in_the_middle() {
    let (project, ids, world) = project();
    let mut bytes = fs::read(project.path(INDEX)).expect("an index");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(project.path(INDEX), bytes).expect("a file");
    check(&project, &ids, &world);
}

#[test]
fn an_index_of_another_time() {
    let (project, ids, world) = project();
    project.write(INDEX, "adjutant index 1\nwhatever\n");
    check(&project, &ids, &world);
}

#[test]
fn an_index_that_is_removed_while_the_folder_is_open() {
    let (project, ids, _) = project();
    let mut engine = project.engine();
    fs::remove_file(project.path(INDEX)).expect("an index");
    engine.submit_one(send(&progress(ids[1].as_str(), "a", "half"))).expect("an answer");
    engine.rest().expect("at rest");
    check_whole(&project);
    let world = engine.world().clone();
    drop(engine);
    check(&project, &ids, &world);
}

#[test]
fn an_index_that_somebody_else_left_unfinished_while_the_folder_is_open() {
    let (project, ids, _) = project();
    let mut engine = project.engine();
    let half = project.read(INDEX) + "12345678t{\"task\":{\"id\":\"TASK-";
    project.write(INDEX, &half);
    engine.submit_one(send(&progress(ids[1].as_str(), "a", "half"))).expect("an answer");
    engine.rest().expect("at rest");
    check_whole(&project);
    let world = engine.world().clone();
    drop(engine);
    check(&project, &ids, &world);
}

#[test]
fn an_index_that_is_older_but_within_the_journal() {
    let (project, ids, _) = project();
    let old = project.read(INDEX);
    let mut engine = project.engine();
    shift(&mut engine, &ids[1], Status::Blocked);
    shift(&mut engine, &ids[0], Status::Review);
    engine.rest().expect("at rest");
    let world = engine.world().clone();
    drop(engine);
    project.write(INDEX, &old);
    check(&project, &ids, &world);
}

#[test]
fn an_index_from_before_the_journal_begins_is_not_believed() {
    let (project, ids, _) = project();
    let old = project.read(INDEX);
    let mut engine = project.engine();
    // Only what is in the files is known then: the highest number must be among them.
    engine.submit_one(add("Five", Start::Ready)).expect("added");
    shift(&mut engine, &ids[2], Status::Blocked);
    for count in 0.. {
        if !project.has("journal/00000001.wal") {
            break;
        }
        assert!(count < 100, "the journal is never dropped");
        let body = Some("A long line, again and again.\n".repeat(40_000 + count));
        let changes = Box::new(Changes { body, ..Changes::default() });
        let edit = Command::Edit { id: ids[1].clone(), changes };
        engine.submit_one(operator(edit)).expect("an answer");
    }
    engine.rest().expect("at rest");
    let world = engine.world().clone();
    drop(engine);
    project.write(INDEX, &old);
    check(&project, &ids, &world);
}
