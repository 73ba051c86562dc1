//! No number is given out twice, neither to a task nor to an event, whatever the clock does and
//! whatever became of the journal.

use std::fs;

use adjutant_core::TaskId;
use adjutant_core::command::Start;
use adjutant_runtime::Engine;
use adjutant_store::{FileStore, StoreError};
use adjutant_testkit::Project;
use adjutant_testkit::project::{add, id_of};

fn make(engine: &mut Engine<FileStore>) -> TaskId {
    id_of(&engine.submit_one(add("Task", Start::Ready)).expect("added"))
}

fn remove(project: &Project, id: &TaskId) {
    fs::remove_file(project.path(&format!("tasks/ready/{id}.md"))).expect("a file");
}

/// Makes two tasks on each of three days, and takes the last of each day away.
fn three_days(project: &Project) {
    let mut engine = project.engine();
    for day in ["2026-02-09", "2026-02-10", "2026-02-11"] {
        project.clock.set(&format!("{day}T12:00:00.000Z"));
        make(&mut engine);
        let id = make(&mut engine);
        remove(project, &id);
        engine.look_around().expect("a look around");
    }
    engine.rest().expect("at rest");
}

fn drop_the_journal(project: &Project) {
    fs::remove_file(project.path("journal/00000001.wal")).expect("a journal");
}

#[test]
fn the_number_of_a_task_that_was_removed_is_not_given_out_again_when_the_clock_goes_back() {
    for dropped in [false, true] {
        let project = Project::new();
        three_days(&project);
        if dropped {
            drop_the_journal(&project);
        }
        let mut engine = project.engine();
        for day in ["2026-02-10", "2026-02-09", "2026-02-11"] {
            project.clock.set(&format!("{day}T13:00:00.000Z"));
            assert_eq!(make(&mut engine).to_string(), format!("TASK-{day}-003"), "{dropped}");
        }
    }
}

/// As an index says that was written when only the latest day was remembered.
#[test]
fn an_older_index_is_read_as_it_is() {
    let project = Project::new();
    three_days(&project);
    let text = project.read("journal/index");
    let (entries, stand) = text.trim_end().rsplit_once('\n').expect("lines");
    let (before, _) = stand[9..].split_once(",\"spent\"").expect("what is spent");
    let json = format!("{before},\"highest\":\"TASK-2026-02-11-002\",\"owed\":[]}}");
    let sum = crc32fast::hash(json.as_bytes());
    project.write("journal/index", &format!("{entries}\n{sum:08x}v{json}\n"));
    drop_the_journal(&project);
    project.clock.set("2026-02-11T13:00:00.000Z");
    assert_eq!(make(&mut project.engine()).as_str(), "TASK-2026-02-11-003");
}

#[test]
fn after_the_last_number_there_is_no_event() {
    let project = Project::new();
    let last = u64::MAX - 1;
    let line = format!("{{\"eventId\":{last},\"type\":\"x\"}}\n");
    project.write("events/2026-02-09.jsonl", &line);
    let mut engine = project.engine();
    make(&mut engine);
    assert_eq!(project.events().len(), 2, "one number was left");
    for _ in 0..2 {
        match engine.submit_one(add("Task", Start::Ready)) {
            Err(StoreError::Damaged { what, .. }) => assert!(what.contains("number"), "{what}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(project.events().len(), 2);
    assert_eq!(fs::read_dir(project.path("tasks/ready")).expect("tasks").count(), 1);
}
