//! No task number and no event id is used twice, however the clock changes and even if the
//! journal is gone.

use std::fs;

use adjutant_engine::Engine;
use adjutant_model::TaskId;
use adjutant_model::command::InitialStatus;
use adjutant_store::{FileStore, StoreError};
use adjutant_testkit::TestProject;
use adjutant_testkit::project::{add_request, task_id_of};

fn make(engine: &mut Engine<FileStore>) -> TaskId {
    task_id_of(&engine.submit_one(add_request("Task", InitialStatus::Ready)).expect("added"))
}

fn remove(project: &TestProject, id: &TaskId) {
    fs::remove_file(project.path(&format!("tasks/ready/{id}.md"))).expect("a file");
}

/// Makes two tasks on each of three days, and removes the second of each day.
fn three_days(project: &TestProject) {
    let mut engine = project.open_engine();
    for day in ["2026-02-09", "2026-02-10", "2026-02-11"] {
        project.clock.set(&format!("{day}T12:00:00.000Z"));
        make(&mut engine);
        let id = make(&mut engine);
        remove(project, &id);
        engine.check_all_files().expect("a look around");
    }
    engine.rest().expect("at rest");
}

fn remove_journal(project: &TestProject) {
    fs::remove_file(project.path("journal/00000001.wal")).expect("a journal");
}

#[test]
fn removed_task_number_is_not_reused_when_the_clock_goes_back() {
    for dropped in [false, true] {
        let project = TestProject::new();
        three_days(&project);
        if dropped {
            remove_journal(&project);
        }
        let mut engine = project.open_engine();
        for day in ["2026-02-10", "2026-02-09", "2026-02-11"] {
            project.clock.set(&format!("{day}T13:00:00.000Z"));
            assert_eq!(make(&mut engine).to_string(), format!("TASK-{day}-003"), "{dropped}");
        }
    }
}

/// An older index remembers the highest number of the latest day only.
#[test]
fn index_with_only_the_highest_number_is_read() {
    let project = TestProject::new();
    three_days(&project);
    let text = project.read("journal/index");
    let (entries, stand) = text.trim_end().rsplit_once('\n').expect("lines");
    let (before, _) = stand[9..].split_once(",\"spent\"").expect("what is spent");
    let json = format!("{before},\"highest\":\"TASK-2026-02-11-002\",\"owed\":[]}}");
    let sum = crc32fast::hash(json.as_bytes());
    project.write("journal/index", &format!("{entries}\n{sum:08x}v{json}\n"));
    remove_journal(&project);
    project.clock.set("2026-02-11T13:00:00.000Z");
    assert_eq!(make(&mut project.open_engine()).as_str(), "TASK-2026-02-11-003");
}

#[test]
fn event_after_the_last_number_is_refused() {
    let project = TestProject::new();
    let last = u64::MAX - 1;
    let line = format!("{{\"eventId\":{last},\"type\":\"x\"}}\n");
    project.write("events/2026-02-09.jsonl", &line);
    let mut engine = project.open_engine();
    make(&mut engine);
    assert_eq!(project.events().len(), 2, "one number was left");
    for _ in 0..2 {
        match engine.submit_one(add_request("Task", InitialStatus::Ready)) {
            Err(StoreError::Damaged { what, .. }) => assert!(what.contains("number"), "{what}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(project.events().len(), 2);
    assert_eq!(fs::read_dir(project.path("tasks/ready")).expect("tasks").count(), 1);
}
