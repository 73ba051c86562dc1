//! An older state of the files comes back, as with `git checkout`: every difference of a task file is
//! applied as an edit, and an older event log is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use adjutant_model::command::InitialStatus;
use adjutant_model::{Command, Status};
use adjutant_store::file::doctor;
use adjutant_store::{FileStore, StoreError};
use adjutant_testkit::TestProject;
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::{add_request, message_request, operator_request, task_id_of};

use super::{ENGINE_STATES, HandEditFixture, file, read_event_log, short_event};

/// The content of each file, by path.
type FolderContents = BTreeMap<PathBuf, Vec<u8>>;

fn snapshot(folder: &Path) -> FolderContents {
    let mut files = FolderContents::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(snapshot(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).expect("a file"));
        }
    }
    files
}

/// Does what `git checkout` does: writes files that differ and leaves the others alone.
fn checkout(folder: &Path, wanted: &FolderContents) {
    let there = snapshot(folder);
    for path in there.keys().filter(|path| !wanted.contains_key(*path)) {
        fs::remove_file(path).expect("a file");
    }
    for (path, bytes) in wanted.iter().filter(|(path, bytes)| there.get(*path) != Some(*bytes)) {
        let _ = fs::remove_file(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
}

#[test]
fn older_state_of_tasks_is_applied_as_edits() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::open(|_| {});
        let ids: Vec<_> = ["One", "Two", "Three"]
            .map(|title| {
                desk.engine().submit_one(add_request(title, InitialStatus::Ready)).expect("added")
            })
            .iter()
            .map(task_id_of)
            .collect();
        let tasks = desk.project.path("tasks");
        let before = snapshot(&tasks);
        desk.project.clock.advance_ms(60_000);
        let id = |n: usize| ids[n].clone();
        let go = Command::Move { id: id(0), to: Status::InProgress, reason: "go".into() };
        desk.engine().submit_one(operator_request(go)).expect("moved");
        desk.engine()
            .submit_one(message_request(&progress(ids[0].as_str(), "a", "half")))
            .expect("logged");
        desk.engine()
            .submit_one(message_request(&completion(ids[0].as_str(), "a", "done")))
            .expect("done");
        let cancel = Command::Cancel { id: id(1), reason: "no".into() };
        desk.engine().submit_one(operator_request(cancel)).expect("cancelled");
        desk.engine().submit_one(add_request("Four", InitialStatus::Backlog)).expect("added");
        desk.new_events();

        desk.edit(when, |_| checkout(&tasks, &before));
        let mut told = desk.new_events_short();
        told.sort();
        let expected =
            ["task.edited: status", "task.removed", "task.transitioned: review to ready by hand"];
        assert_eq!(told, expected, "{when:?}");
        for id in &ids {
            // A closed task is not opened by an older file.
            let status = if *id == ids[1] { Status::Cancelled } else { Status::Ready };
            assert_eq!(desk.project.status_folders_of(id.as_str()), [status]);
            assert_eq!(desk.status(id.as_str()), Some(status));
            let text = desk.project.read(&file(status, id.as_str()));
            assert!(!text.contains("Work Log"), "as it was: {text}");
        }
        desk.engine().rest().expect("at rest");
        assert_eq!(doctor::examine(desk.project.folder()).expect("a look"), []);
        let answered =
            desk.engine().submit_one(add_request("Five", InitialStatus::Ready)).expect("added");
        assert_eq!(task_id_of(&answered).as_str(), "TASK-2026-02-09-005", "no number comes twice");
    }
}

#[test]
fn copy_of_whole_folder_continues_from_its_state() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    let id =
        task_id_of(&engine.submit_one(add_request("One", InitialStatus::Ready)).expect("added"));
    engine.rest().expect("at rest");
    let (before, world) = (snapshot(project.folder().root()), engine.world().clone());
    engine.submit_one(message_request(&progress(id.as_str(), "a", "half"))).expect("logged");
    engine.rest().expect("at rest");
    drop(engine);
    checkout(project.folder().root(), &before);
    let mut again = project.open_engine();
    assert_eq!(*again.world(), world);
    again.submit_one(message_request(&progress(id.as_str(), "a", "again"))).expect("logged");
    again.rest().expect("at rest");
    let told: Vec<String> = read_event_log(&project).iter().map(short_event).collect();
    assert_eq!(told, ["task.created", "protocol.message.received", "task.logged"]);
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
}

#[test]
fn event_log_set_back_is_refused_until_doctor_continues_it() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    let id =
        task_id_of(&engine.submit_one(add_request("One", InitialStatus::Ready)).expect("added"));
    let events = project.path("events");
    let before = snapshot(&events);
    engine.submit_one(message_request(&progress(id.as_str(), "a", "half"))).expect("logged");
    engine.rest().expect("at rest");
    drop(engine);
    checkout(&events, &before);
    let set_back = snapshot(&events);
    let refused = FileStore::open(project.folder()).err().expect("it is refused");
    assert!(matches!(refused, StoreError::LogBehind { .. }), "{refused:?}");
    let codes = || {
        let found = doctor::examine(project.folder()).expect("a look");
        found.iter().map(|finding| finding.code.as_str()).collect::<Vec<_>>()
    };
    assert_eq!((codes(), snapshot(&events)), (vec!["event_log_behind"], set_back));
    doctor::repair(project.folder()).expect("repaired");
    let mut again = project.open_engine();
    let answered =
        again.submit_one(message_request(&progress(id.as_str(), "a", "again"))).expect("logged");
    // Event 4 is `log.restored`; 2 and 3 are missing, and their numbers are not used again.
    assert_eq!(answered.event_ids().map(|id| id.0).collect::<Vec<_>>(), [5, 6]);
    assert_eq!(codes(), Vec::<&str>::new());
}
