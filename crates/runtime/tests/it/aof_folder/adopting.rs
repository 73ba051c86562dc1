//! Opening it for the first time.

use adjutant_core::command::Start;
use adjutant_store::file::{doctor, read_world};
use adjutant_store::hash::Hash;
use adjutant_testkit::project::{add, id_of};

use super::{BOATS, HORN, TASKS, aof, file, files};

#[test]
fn every_task_is_there_where_it_lies() {
    let project = aof();
    let engine = project.engine();
    let there: Vec<(String, _)> =
        engine.world().tasks().map(|task| (task.id.to_string(), task.status())).collect();
    let mut expected: Vec<_> = TASKS.map(|(id, status)| (id.to_owned(), status)).to_vec();
    expected.sort_by_key(|(id, _)| super::id(id));
    assert_eq!(there, expected);
    assert!(engine.world().unreadable().is_empty());
}

#[test]
fn no_task_file_is_touched() {
    let project = aof();
    let before = files(&project, "tasks");
    project.engine().rest().expect("at rest");
    assert_eq!(files(&project, "tasks"), before);
    project.engine().look_around().expect("a look around");
    assert_eq!(files(&project, "tasks"), before);
}

#[test]
fn one_event_tells_of_it_and_goes_on_counting() {
    let project = aof();
    let before = project.events();
    drop(project.engine());
    let events = project.events();
    let [adopted] = &events[before.len()..] else { panic!("not one event: {events:?}") };
    assert_eq!(events[..before.len()], before, "what was there stays");
    assert_eq!(adopted["type"], "folder.adopted");
    assert_eq!(adopted["payload"]["tasks"], TASKS.len());
    assert_eq!((&adopted["eventId"], &adopted["actor"]), (&3.into(), &"system".into()));
    let text = project.read("events/2026-02-09.jsonl");
    let last = text.lines().nth(4).expect("the last line of the original");
    assert_eq!(adopted["prev"], Hash::of(last.as_bytes()).to_string());
    for _ in 0..2 {
        let mut engine = project.engine();
        engine.look_around().expect("a look around");
        engine.rest().expect("at rest");
    }
    assert_eq!(project.events(), events, "once, however often it is opened");
}

#[test]
fn it_is_the_same_when_opened_again() {
    let project = aof();
    let mut engine = project.engine();
    let world = engine.world().clone();
    engine.rest().expect("at rest");
    drop(engine);
    assert_eq!(*project.engine().world(), world);
    assert_eq!(read_world(project.folder()).expect("a look"), world);
}

#[test]
fn it_can_be_read_without_being_opened() {
    let project = aof();
    let before = files(&project, "");
    let world = read_world(project.folder()).expect("a look");
    assert_eq!(world.tasks().len(), TASKS.len());
    assert_eq!(files(&project, ""), before, "a look changes nothing");
    assert!(!project.has("journal"));
}

#[test]
fn doctor_finds_nothing_before_or_after() {
    let project = aof();
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
    let mut engine = project.engine();
    engine.submit_one(add("New", Start::Ready)).expect("added");
    engine.rest().expect("at rest");
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
    assert_eq!(doctor::mend(project.folder()).expect("nothing to mend"), []);
}

#[test]
fn runs_are_taken_over_and_other_folders_left_alone() {
    let project = aof();
    let (runs, mut state) = (files(&project, "state/runs"), files(&project, "state"));
    let others = ["views", "mailbox", "memory", "org"].map(|folder| files(&project, folder));
    drop(project.engine());
    for (path, text) in &runs {
        if path.contains(BOATS) || path.contains(HORN) {
            assert_eq!(project.read(path.trim_start_matches("state/")), *text);
            state.remove(path);
        }
    }
    assert_eq!(files(&project, "state"), state, "only runs of tasks are moved");
    assert!(state.contains_key("state/runs/not-a-task/run.json"));
    let after = ["views", "mailbox", "memory", "org"].map(|folder| files(&project, folder));
    assert_eq!(after, others);
}

#[test]
fn runs_that_are_there_already_are_not_replaced() {
    let project = aof();
    let ours = format!("runs/{BOATS}/run.json");
    project.write(&ours, "{}");
    drop(project.engine());
    assert_eq!(project.read(&ours), "{}");
    assert!(project.has(&format!("state/runs/{BOATS}/run.json")), "nothing is lost");
}

#[test]
fn new_tasks_are_counted_on_from_the_numbers_there_are() {
    let project = aof();
    let mut engine = project.engine();
    let new = id_of(&engine.submit_one(add("New", Start::Ready)).expect("added"));
    assert_eq!(new.as_str(), "TASK-2026-02-09-003");
    project.clock.set("2026-02-10T09:00:00.000Z");
    let next = id_of(&engine.submit_one(add("Next", Start::Ready)).expect("added"));
    assert_eq!(next.as_str(), "TASK-2026-02-10-001");
    assert!(project.has(&file(adjutant_core::Status::Ready, next.as_str())));
}
