//! Reading a folder without a lock: what is at rest is read as it is, what moves is read once, and
//! nobody who holds the lock is waited for.

use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use adjutant_core::command::{Changes, Start};
use adjutant_core::{Command, Status, Task, TaskId, World};
use adjutant_runtime::Engine;
use adjutant_store::FileStore;
use adjutant_store::file::read_world;
use adjutant_testkit::Project;
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::{add, id_of, operator, send};

fn read(project: &Project) -> World {
    read_world(project.folder()).expect("a folder can be read")
}

/// Makes tasks, and returns their ids.
fn tasks(engine: &mut Engine<FileStore>, count: usize) -> Vec<TaskId> {
    (0..count)
        .map(|n| id_of(&engine.submit_one(add(&format!("Task {n}"), Start::Ready)).expect("added")))
        .collect()
}

fn shift(engine: &mut Engine<FileStore>, id: &TaskId, to: Status) {
    let command = Command::Move { id: id.clone(), to, reason: String::new() };
    engine.submit_one(operator(command)).expect("an answer");
}

/// A project in which some things have happened, some of them by hand.
fn busy(engine: &mut Engine<FileStore>, project: &Project) {
    let ids = tasks(engine, 6);
    shift(engine, &ids[0], Status::InProgress);
    engine.submit_one(send(&completion(ids[0].as_str(), "a", "done"))).expect("an answer");
    engine.submit_one(send(&progress(ids[1].as_str(), "a", "half"))).expect("an answer");
    fs::remove_file(project.path(&format!("tasks/ready/{}.md", ids[5]))).expect("a file");
    project.write(&format!("tasks/ready/{}.md", ids[2]), "broken");
    let text = project.read(&format!("tasks/ready/{}.md", ids[3]));
    project.write(&format!("tasks/ready/{}.md", ids[3]), &text.replace("title: ", "title: A "));
    engine.look_around().expect("a look around");
}

#[test]
fn an_empty_folder_is_an_empty_world() {
    let project = Project::new();
    assert_eq!(read(&project), World::default());
    drop(project.engine());
    assert_eq!(read(&project), World::default());
}

#[test]
fn a_folder_at_rest_is_the_world_of_its_engine() {
    let project = Project::new();
    let mut engine = project.engine();
    busy(&mut engine, &project);
    engine.rest().expect("at rest");
    assert_eq!(read(&project), *engine.world());
}

#[test]
fn an_index_that_is_behind_or_gone_makes_no_difference() {
    let project = Project::new();
    let mut engine = project.engine();
    engine.rest().expect("at rest");
    busy(&mut engine, &project);
    let tasks = |world: &World| -> Vec<_> { world.tasks().cloned().collect() };
    assert_eq!(tasks(&read(&project)), tasks(engine.world()), "behind");
    assert_eq!(read(&project).unreadable(), engine.world().unreadable());
    fs::remove_file(project.path("journal/index")).expect("an index");
    assert_eq!(tasks(&read(&project)), tasks(engine.world()), "gone");
    fs::write(project.path("journal/index"), "adjutant index 2\nrubbish\n").expect("a file");
    assert_eq!(tasks(&read(&project)), tasks(engine.world()), "spoilt");
}

#[test]
fn what_people_did_is_seen_before_it_is_taken_in() {
    let project = Project::new();
    let mut engine = project.engine();
    let ids = tasks(&mut engine, 3);
    engine.rest().expect("at rest");
    let file = |status: &str, id: &TaskId| format!("tasks/{status}/{id}.md");
    let text = project.read(&file("ready", &ids[0]));
    project.write(&file("ready", &ids[0]), &text.replace("Task 0", "Other"));
    fs::rename(project.path(&file("ready", &ids[1])), project.path(&file("done", &ids[1])))
        .expect("moved");
    fs::remove_file(project.path(&file("ready", &ids[2]))).expect("a file");
    let world = read(&project);
    let title = world.task(&ids[0]).map(|task| &*task.title);
    assert_eq!(title, Some("Other"));
    assert_eq!(world.task(&ids[1]).map(Task::status), Some(Status::Done));
    assert_eq!(world.task(&ids[2]), None);
    assert_eq!(project.events().len(), 3, "a look is no event");
}

/// Says whether something is done in good time; a wait for ever is a failure, not a hang.
fn in_good_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, waiting) = channel();
    thread::spawn(move || done.send(work()));
    waiting.recv_timeout(Duration::from_secs(10)).ok()
}

#[test]
fn a_held_lock_is_not_waited_for() {
    let project = Project::new();
    let mut engine = project.engine();
    tasks(&mut engine, 3);
    let lock = File::open(project.path("journal/lock")).expect("a lock");
    lock.lock().expect("the lock is free");
    let folder = project.folder().clone();
    let world = in_good_time(move || read_world(&folder).expect("it can be read"));
    assert_eq!(world.expect("it did not wait").tasks().len(), 3);
    lock.unlock().expect("the lock is ours");
    assert_eq!(engine.submit_one(add("On", Start::Ready)).expect("added").events.len(), 1);
}

/// Reads again and again, as often as `goes_on` says, while somebody commits without a pause.
/// Returns how many commits there were.
fn read_while(
    project: &Project,
    mut commit: impl FnMut(usize) + Send,
    goes_on: impl Fn(usize) -> bool,
    mut check: impl FnMut(&World),
) -> usize {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut count = 0;
            while !over.load(Ordering::SeqCst) {
                commit(count);
                count += 1;
            }
            count
        });
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut reads = 0;
            while goes_on(reads) {
                check(&read(project));
                reads += 1;
            }
        }));
        over.store(true, Ordering::SeqCst);
        let commits = writer.join().expect("the writer went on");
        if let Err(panic) = checked {
            std::panic::resume_unwind(panic);
        }
        commits
    })
}

const COUNT: usize = 12;

/// Each task is there once and can be read.
fn check_all(world: &World, ids: &[TaskId]) {
    let there: Vec<TaskId> = world.tasks().map(|task| task.id.clone()).collect();
    assert_eq!(there, ids);
    assert!(world.unreadable().is_empty(), "{:?}", world.unreadable());
    assert_eq!(adjutant_core::invariants::broken(world), Vec::<String>::new());
}

#[test]
fn every_task_is_seen_once_while_all_of_them_move() {
    let project = Project::new();
    let mut engine = project.engine();
    let ids = tasks(&mut engine, COUNT);
    engine.rest().expect("at rest");
    let moves = [Status::InProgress, Status::Review, Status::Ready, Status::Blocked, Status::Ready];
    let commit = |count: usize| shift(&mut engine, &ids[count % COUNT], moves[count / COUNT % 5]);
    let commits = read_while(&project, commit, |reads| reads < 300, |world| check_all(world, &ids));
    assert!(commits > COUNT, "only {commits} commits");
    engine.rest().expect("at rest");
    assert_eq!(read(&project), *engine.world());
}

#[test]
fn every_task_is_seen_once_without_an_index() {
    let project = Project::new();
    let mut engine = project.engine();
    let ids = tasks(&mut engine, COUNT);
    let moves = [Status::InProgress, Status::Ready];
    let commit = |count: usize| shift(&mut engine, &ids[count % COUNT], moves[count / COUNT % 2]);
    read_while(&project, commit, |reads| reads < 100, |world| check_all(world, &ids));
    assert!(!project.has("journal/index"));
}

#[test]
fn every_task_is_seen_once_while_the_journal_is_dropped() {
    let project = Project::new();
    let mut engine = project.engine();
    let ids = tasks(&mut engine, 4);
    for id in &ids {
        let body = Some("A long line, again and again.\n".repeat(40_000));
        let changes = Box::new(Changes { body, ..Changes::default() });
        engine.submit_one(operator(Command::Edit { id: id.clone(), changes })).expect("an answer");
    }
    let moves = [Status::InProgress, Status::Ready];
    let commit = |count: usize| shift(&mut engine, &ids[count % 4], moves[count / 4 % 2]);
    let dropped = || !project.has("journal/00000001.wal");
    read_while(&project, commit, |_| !dropped(), |world| check_all(world, &ids));
    check_all(&read(&project), &ids);
}
