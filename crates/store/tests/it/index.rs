//! The index makes opening fast and never overrides the files: however damaged it is, the same
//! tasks are found and no event is recorded twice.

use std::fs;

use adjutant_core::World;
use adjutant_engine::Engine;
use adjutant_model::command::{InitialStatus, TaskChanges};
use adjutant_model::{Command, Status, TaskId};
use adjutant_store::FileStore;
use adjutant_testkit::TestProject;
use adjutant_testkit::message::progress;
use adjutant_testkit::project::{add_request, message_request, operator_request, task_id_of};

const INDEX: &str = "journal/index";

/// Returns a project at rest whose index was written in several parts.
fn project() -> (TestProject, Vec<TaskId>, World) {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    let mut ids = Vec::new();
    for title in ["One", "Two", "Three", "Four"] {
        ids.push(task_id_of(
            &engine.submit_one(add_request(title, InitialStatus::Ready)).expect("added"),
        ));
        engine.rest().expect("at rest");
    }
    move_task(&mut engine, &ids[0], Status::InProgress);
    fs::remove_file(project.path(&format!("tasks/ready/{}.md", ids[3]))).expect("a file");
    engine.check_all_files().expect("a look around");
    engine.rest().expect("at rest");
    let world = engine.world().clone();
    (project, ids, world)
}

fn move_task(engine: &mut Engine<FileStore>, id: &TaskId, to: Status) {
    let command = Command::Move { id: id.clone(), to, reason: String::new() };
    engine.submit_one(operator_request(command)).expect("an answer");
}

/// Checks that every line of the index is complete, and that the last line marks its end.
fn check_whole(project: &TestProject) {
    let text = project.read(INDEX);
    assert!(text.ends_with('\n'), "{text}");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    for line in &lines {
        let (sum, json) = (&line[..8], &line[9..]);
        assert_eq!(sum, format!("{:08x}", crc32fast::hash(json.as_bytes())), "{line}");
    }
    assert_eq!(&lines.last().expect("a line")[8..9], "v");
}

/// Opens the folder, checks that everything is as before, works on it, and leaves a good index.
fn check(project: &TestProject, ids: &[TaskId], world: &World) {
    let events = project.events();
    let mut engine = project.open_engine();
    assert_eq!(engine.world(), world);
    engine.check_all_files().expect("a look around");
    assert_eq!(project.events(), events, "nothing is told again");
    engine.submit_one(message_request(&progress(ids[1].as_str(), "a", "half"))).expect("an answer");
    engine.rest().expect("at rest");
    check_whole(project);
    let world = engine.world().clone();
    drop(engine);
    assert_eq!(*project.open_engine().world(), world);
    assert_eq!(project.events().len(), events.len() + 2);
}

#[test]
fn index_unchanged_opens_the_same_world() {
    let (project, ids, world) = project();
    check_whole(&project);
    check(&project, &ids, &world);
}

#[test]
fn index_cut_off_anywhere_opens_the_same_world() {
    let (project, ids, world) = project();
    let whole = fs::read(project.path(INDEX)).expect("an index");
    let before: Vec<_> = files(&project);
    for cut in (1..whole.len()).step_by(whole.len() / 40) {
        fs::write(project.path(INDEX), &whole[..whole.len() - cut]).expect("a file");
        let events = project.events();
        let mut engine = project.open_engine();
        assert_eq!(*engine.world(), world, "{cut} bytes are missing");
        assert_eq!(project.events(), events);
        engine.rest().expect("at rest");
        check_whole(&project);
        drop(engine);
        assert_eq!(*project.open_engine().world(), world);
    }
    assert_eq!(files(&project), before, "the files are what they were");
    check(&project, &ids, &world);
}

fn files(project: &TestProject) -> Vec<(String, String)> {
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
fn index_corrupted_in_the_middle_opens_the_same_world() {
    let (project, ids, world) = project();
    let mut bytes = fs::read(project.path(INDEX)).expect("an index");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(project.path(INDEX), bytes).expect("a file");
    check(&project, &ids, &world);
}

#[test]
fn index_of_older_format_opens_the_same_world() {
    let (project, ids, world) = project();
    project.write(INDEX, "adjutant index 1\nwhatever\n");
    check(&project, &ids, &world);
}

#[test]
fn index_removed_while_folder_is_open_is_rewritten() {
    let (project, ids, _) = project();
    let mut engine = project.open_engine();
    fs::remove_file(project.path(INDEX)).expect("an index");
    engine.submit_one(message_request(&progress(ids[1].as_str(), "a", "half"))).expect("an answer");
    engine.rest().expect("at rest");
    check_whole(&project);
    let world = engine.world().clone();
    drop(engine);
    check(&project, &ids, &world);
}

#[test]
fn index_left_unfinished_by_another_process_is_repaired() {
    let (project, ids, _) = project();
    let mut engine = project.open_engine();
    let half = project.read(INDEX) + "12345678t{\"task\":{\"id\":\"TASK-";
    project.write(INDEX, &half);
    engine.submit_one(message_request(&progress(ids[1].as_str(), "a", "half"))).expect("an answer");
    engine.rest().expect("at rest");
    check_whole(&project);
    let world = engine.world().clone();
    drop(engine);
    check(&project, &ids, &world);
}

#[test]
fn index_older_but_within_journal_opens_the_same_world() {
    let (project, ids, _) = project();
    let old = project.read(INDEX);
    let mut engine = project.open_engine();
    move_task(&mut engine, &ids[1], Status::Blocked);
    move_task(&mut engine, &ids[0], Status::Review);
    engine.rest().expect("at rest");
    let world = engine.world().clone();
    drop(engine);
    project.write(INDEX, &old);
    check(&project, &ids, &world);
}

#[test]
fn index_from_before_the_journal_is_ignored() {
    let (project, ids, _) = project();
    let old = project.read(INDEX);
    let mut engine = project.open_engine();
    // Without the journal only the files are known, so they must include the highest number.
    engine.submit_one(add_request("Five", InitialStatus::Ready)).expect("added");
    move_task(&mut engine, &ids[2], Status::Blocked);
    for count in 0.. {
        if !project.exists("journal/00000001.wal") {
            break;
        }
        assert!(count < 100, "the journal is never dropped");
        let body = Some("A long line, again and again.\n".repeat(40_000 + count));
        let changes = Box::new(TaskChanges { body, ..TaskChanges::default() });
        let edit = Command::Edit { id: ids[1].clone(), changes };
        engine.submit_one(operator_request(edit)).expect("an answer");
    }
    engine.rest().expect("at rest");
    let world = engine.world().clone();
    drop(engine);
    project.write(INDEX, &old);
    check(&project, &ids, &world);
}
