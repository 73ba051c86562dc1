//! The first opening of an AOF folder.

use adjutant_model::command::InitialStatus;
use adjutant_store::file::{doctor, read_world};
use adjutant_store::hash::ShortHash;
use adjutant_testkit::project::{add_request, task_id_of};

use super::{BOATS, HORN, TASKS, aof, file, files};

#[test]
fn aof_tasks_keep_their_status_folders() {
    let project = aof();
    let engine = project.open_engine();
    let there: Vec<(String, _)> =
        engine.world().tasks().map(|task| (task.id.to_string(), task.status())).collect();
    let mut expected: Vec<_> = TASKS.map(|(id, status)| (id.to_owned(), status)).to_vec();
    expected.sort_by_key(|(id, _)| super::id(id));
    assert_eq!(there, expected);
    assert!(engine.world().unreadable().is_empty());
}

#[test]
fn aof_task_files_are_not_touched() {
    let project = aof();
    let before = files(&project, "tasks");
    project.open_engine().rest().expect("at rest");
    assert_eq!(files(&project, "tasks"), before);
    project.open_engine().check_all_files().expect("a look around");
    assert_eq!(files(&project, "tasks"), before);
}

#[test]
fn aof_adoption_is_one_event_with_the_next_number() {
    let project = aof();
    let before = project.events();
    drop(project.open_engine());
    let events = project.events();
    let [adopted] = &events[before.len()..] else { panic!("not one event: {events:?}") };
    assert_eq!(events[..before.len()], before, "what was there stays");
    assert_eq!(adopted["type"], "folder.adopted");
    assert_eq!(adopted["payload"]["tasks"], TASKS.len());
    assert_eq!((&adopted["eventId"], &adopted["actor"]), (&3.into(), &"system".into()));
    let text = project.read("events/2026-02-09.jsonl");
    let last = text.lines().nth(4).expect("the last line of the original");
    assert_eq!(adopted["prev"], ShortHash::digest(last.as_bytes()).to_string());
    for _ in 0..2 {
        let mut engine = project.open_engine();
        engine.check_all_files().expect("a look around");
        engine.rest().expect("at rest");
    }
    assert_eq!(project.events(), events, "once, however often it is opened");
}

#[test]
fn aof_folder_reopens_with_the_same_world() {
    let project = aof();
    let mut engine = project.open_engine();
    let world = engine.world().clone();
    engine.rest().expect("at rest");
    drop(engine);
    assert_eq!(*project.open_engine().world(), world);
    assert_eq!(read_world(project.folder()).expect("a look"), world);
}

#[test]
fn aof_folder_can_be_read_without_changing_it() {
    let project = aof();
    let before = files(&project, "");
    let world = read_world(project.folder()).expect("a look");
    assert_eq!(world.tasks().len(), TASKS.len());
    assert_eq!(files(&project, ""), before, "a look changes nothing");
    assert!(!project.exists("journal"));
}

#[test]
fn doctor_finds_nothing_in_aof_folder() {
    let project = aof();
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
    let mut engine = project.open_engine();
    engine.submit_one(add_request("New", InitialStatus::Ready)).expect("added");
    engine.rest().expect("at rest");
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
    assert_eq!(doctor::repair(project.folder()).expect("nothing to mend"), []);
}

#[test]
fn aof_runs_are_imported_and_other_folders_left_alone() {
    let project = aof();
    let (runs, mut state) = (files(&project, "state/runs"), files(&project, "state"));
    let others = ["views", "mailbox", "memory", "org"].map(|folder| files(&project, folder));
    drop(project.open_engine());
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
fn aof_runs_do_not_replace_existing_runs() {
    let project = aof();
    let ours = format!("runs/{BOATS}/run.json");
    project.write(&ours, "{}");
    drop(project.open_engine());
    assert_eq!(project.read(&ours), "{}");
    assert!(project.exists(&format!("state/runs/{BOATS}/run.json")), "nothing is lost");
}

#[test]
fn task_numbers_continue_after_those_in_aof_folder() {
    let project = aof();
    let mut engine = project.open_engine();
    let new =
        task_id_of(&engine.submit_one(add_request("New", InitialStatus::Ready)).expect("added"));
    assert_eq!(new.as_str(), "TASK-2026-02-09-003");
    project.clock.set("2026-02-10T09:00:00.000Z");
    let next =
        task_id_of(&engine.submit_one(add_request("Next", InitialStatus::Ready)).expect("added"));
    assert_eq!(next.as_str(), "TASK-2026-02-10-001");
    assert!(project.exists(&file(adjutant_model::Status::Ready, next.as_str())));
}
