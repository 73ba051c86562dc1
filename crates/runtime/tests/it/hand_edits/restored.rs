//! An older state of the files comes back, as `git checkout` brings it: every difference is taken
//! in as an edit, and the record goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use adjutant_core::command::Start;
use adjutant_core::{Command, Status};
use adjutant_store::file::doctor;
use adjutant_testkit::Project;
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::{add, id_of, operator, send};

use super::{ALWAYS, Desk, file, in_short, record};

/// Files and what they say.
type Snapshot = BTreeMap<PathBuf, Vec<u8>>;

fn snapshot(folder: &Path) -> Snapshot {
    let mut files = Snapshot::new();
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

/// Does what git does: files that differ are written anew, others are left alone.
fn checkout(folder: &Path, wanted: &Snapshot) {
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
fn an_older_state_of_the_tasks_is_taken_in() {
    for when in ALWAYS {
        let mut desk = Desk::open(|_| {});
        let ids: Vec<_> = ["One", "Two", "Three"]
            .map(|title| desk.engine().submit_one(add(title, Start::Ready)).expect("added"))
            .iter()
            .map(id_of)
            .collect();
        let tasks = desk.project.path("tasks");
        let before = snapshot(&tasks);
        desk.project.clock.advance_ms(60_000);
        let id = |n: usize| ids[n].clone();
        let go = Command::Move { id: id(0), to: Status::InProgress, reason: "go".into() };
        desk.engine().submit_one(operator(go)).expect("moved");
        desk.engine().submit_one(send(&progress(ids[0].as_str(), "a", "half"))).expect("logged");
        desk.engine().submit_one(send(&completion(ids[0].as_str(), "a", "done"))).expect("done");
        let cancel = Command::Cancel { id: id(1), reason: "no".into() };
        desk.engine().submit_one(operator(cancel)).expect("cancelled");
        desk.engine().submit_one(add("Four", Start::Backlog)).expect("added");
        desk.told();

        desk.edit(when, |_| checkout(&tasks, &before));
        let mut told = desk.told_in_short();
        told.sort();
        let expected = [
            "task.edited: updatedAt lastTransitionAt",
            "task.edited: updatedAt lastTransitionAt metadata.reportedBy metadata.statusReason",
            "task.removed",
            "task.transitioned: cancelled to ready by hand, against the table",
            "task.transitioned: review to ready by hand",
        ];
        assert_eq!(told, expected, "{when:?}");
        for id in &ids {
            assert_eq!(desk.project.folders_of(id.as_str()), [Status::Ready]);
            assert_eq!(desk.status(id.as_str()), Some(Status::Ready));
            let text = desk.project.read(&file(Status::Ready, id.as_str()));
            assert!(!text.contains("Work Log"), "as it was: {text}");
        }
        desk.engine().rest().expect("at rest");
        assert_eq!(doctor::examine(desk.project.folder()).expect("a look"), []);
        let answered = desk.engine().submit_one(add("Five", Start::Ready)).expect("added");
        assert_eq!(id_of(&answered).as_str(), "TASK-2026-02-09-005", "no number comes twice");
    }
}

#[test]
fn a_copy_of_the_whole_folder_goes_on_where_it_was_made() {
    let project = Project::new();
    let mut engine = project.engine();
    let id = id_of(&engine.submit_one(add("One", Start::Ready)).expect("added"));
    engine.rest().expect("at rest");
    let (before, world) = (snapshot(project.folder().root()), engine.world().clone());
    engine.submit_one(send(&progress(id.as_str(), "a", "half"))).expect("logged");
    engine.rest().expect("at rest");
    drop(engine);
    checkout(project.folder().root(), &before);
    let mut again = project.engine();
    assert_eq!(*again.world(), world);
    again.submit_one(send(&progress(id.as_str(), "a", "again"))).expect("logged");
    again.rest().expect("at rest");
    let told: Vec<String> = record(&project).iter().map(in_short).collect();
    assert_eq!(told, ["task.created", "protocol.message.received", "task.logged"]);
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
}

#[test]
fn a_record_that_was_taken_back_is_told_by_doctor_and_goes_on() {
    let project = Project::new();
    let mut engine = project.engine();
    let id = id_of(&engine.submit_one(add("One", Start::Ready)).expect("added"));
    let events = project.path("events");
    let before = snapshot(&events);
    engine.submit_one(send(&progress(id.as_str(), "a", "half"))).expect("logged");
    engine.rest().expect("at rest");
    drop(engine);
    checkout(&events, &before);
    let mut again = project.engine();
    let answered = again.submit_one(send(&progress(id.as_str(), "a", "again"))).expect("logged");
    assert_eq!(answered.event_ids().map(|id| id.0).collect::<Vec<_>>(), [4, 5], "never again 2");
    let found = doctor::examine(project.folder()).expect("a look");
    let codes: Vec<&str> = found.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["event_gap"]);
}
