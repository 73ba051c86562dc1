//! Tests of reading a folder without a lock: every task is read once even while it moves, and the
//! reader never waits for a lock.

use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use adjutant_core::World;
use adjutant_engine::Engine;
use adjutant_model::command::{InitialStatus, TaskChanges};
use adjutant_model::{Command, Status, Task, TaskId};
use adjutant_store::FileStore;
use adjutant_store::file::read_world;
use adjutant_testkit::TestProject;
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::{add_request, message_request, operator_request, task_id_of};

fn read(project: &TestProject) -> World {
    read_world(project.folder()).expect("a folder can be read")
}

/// Adds tasks and returns their ids.
fn tasks(engine: &mut Engine<FileStore>, count: usize) -> Vec<TaskId> {
    (0..count)
        .map(|n| {
            task_id_of(
                &engine
                    .submit_one(add_request(&format!("Task {n}"), InitialStatus::Ready))
                    .expect("added"),
            )
        })
        .collect()
}

fn move_task(engine: &mut Engine<FileStore>, id: &TaskId, to: Status) {
    let command = Command::Move { id: id.clone(), to, reason: String::new() };
    engine.submit_one(operator_request(command)).expect("an answer");
}

/// Makes several changes in a project, some of them by hand.
fn make_changes(engine: &mut Engine<FileStore>, project: &TestProject) {
    let ids = tasks(engine, 6);
    move_task(engine, &ids[0], Status::InProgress);
    engine
        .submit_one(message_request(&completion(ids[0].as_str(), "a", "done")))
        .expect("an answer");
    engine.submit_one(message_request(&progress(ids[1].as_str(), "a", "half"))).expect("an answer");
    fs::remove_file(project.path(&format!("tasks/ready/{}.md", ids[5]))).expect("a file");
    project.write(&format!("tasks/ready/{}.md", ids[2]), "broken");
    let text = project.read(&format!("tasks/ready/{}.md", ids[3]));
    project.write(&format!("tasks/ready/{}.md", ids[3]), &text.replace("title: ", "title: A "));
    engine.check_all_files().expect("a look around");
}

#[test]
fn empty_folder_reads_as_an_empty_world() {
    let project = TestProject::new();
    assert_eq!(read(&project), World::default());
    drop(project.open_engine());
    assert_eq!(read(&project), World::default());
}

#[test]
fn folder_at_rest_reads_as_the_world_of_its_engine() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    make_changes(&mut engine, &project);
    engine.rest().expect("at rest");
    assert_eq!(read(&project), *engine.world());
}

#[test]
fn outdated_or_missing_index_makes_no_difference() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    engine.rest().expect("at rest");
    make_changes(&mut engine, &project);
    let tasks = |world: &World| -> Vec<_> { world.tasks().cloned().collect() };
    assert_eq!(tasks(&read(&project)), tasks(engine.world()), "behind");
    assert_eq!(read(&project).unreadable(), engine.world().unreadable());
    fs::remove_file(project.path("journal/index")).expect("an index");
    assert_eq!(tasks(&read(&project)), tasks(engine.world()), "gone");
    fs::write(project.path("journal/index"), "adjutant index 2\nrubbish\n").expect("a file");
    assert_eq!(tasks(&read(&project)), tasks(engine.world()), "spoilt");
}

#[test]
fn hand_edits_are_seen_before_they_are_committed() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
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

/// Returns the result of `work`, or `None` after 10 seconds: a deadlock fails and does not hang.
fn with_timeout<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, waiting) = channel();
    thread::spawn(move || done.send(work()));
    waiting.recv_timeout(Duration::from_secs(10)).ok()
}

#[test]
fn held_lock_does_not_block_a_read() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    tasks(&mut engine, 3);
    let lock = File::open(project.path("journal/lock")).expect("a lock");
    lock.lock().expect("the lock is free");
    let folder = project.folder().clone();
    let world = with_timeout(move || read_world(&folder).expect("it can be read"));
    assert_eq!(world.expect("it did not wait").tasks().len(), 3);
    lock.unlock().expect("the lock is ours");
    assert_eq!(
        engine.submit_one(add_request("On", InitialStatus::Ready)).expect("added").events.len(),
        1
    );
}

/// Reads repeatedly while `goes_on` is true and a writer commits without a pause. Returns the
/// number of commits.
fn read_while(
    project: &TestProject,
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

/// Checks that each task is there once and can be read.
fn check_all(world: &World, ids: &[TaskId]) {
    let there: Vec<TaskId> = world.tasks().map(|task| task.id.clone()).collect();
    assert_eq!(there, ids);
    assert!(world.unreadable().is_empty(), "{:?}", world.unreadable());
    assert_eq!(adjutant_core::invariants::find_violations(world), Vec::<String>::new());
}

#[test]
fn tasks_are_each_seen_once_while_all_of_them_move() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    let ids = tasks(&mut engine, COUNT);
    engine.rest().expect("at rest");
    let moves = [Status::InProgress, Status::Review, Status::Ready, Status::Blocked, Status::Ready];
    let commit =
        |count: usize| move_task(&mut engine, &ids[count % COUNT], moves[count / COUNT % 5]);
    let commits = read_while(&project, commit, |reads| reads < 300, |world| check_all(world, &ids));
    assert!(commits > COUNT, "only {commits} commits");
    engine.rest().expect("at rest");
    assert_eq!(read(&project), *engine.world());
}

#[test]
fn tasks_are_each_seen_once_without_an_index() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    let ids = tasks(&mut engine, COUNT);
    let moves = [Status::InProgress, Status::Ready];
    let commit =
        |count: usize| move_task(&mut engine, &ids[count % COUNT], moves[count / COUNT % 2]);
    read_while(&project, commit, |reads| reads < 100, |world| check_all(world, &ids));
    assert!(!project.exists("journal/index"));
}

#[test]
fn tasks_are_each_seen_once_while_the_journal_is_dropped() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    let ids = tasks(&mut engine, 4);
    for id in &ids {
        let body = Some("A long line, again and again.\n".repeat(40_000));
        let changes = Box::new(TaskChanges { body, ..TaskChanges::default() });
        engine
            .submit_one(operator_request(Command::Edit { id: id.clone(), changes }))
            .expect("an answer");
    }
    let moves = [Status::InProgress, Status::Ready];
    let commit = |count: usize| move_task(&mut engine, &ids[count % 4], moves[count / 4 % 2]);
    let dropped = || !project.exists("journal/00000001.wal");
    read_while(&project, commit, |_| !dropped(), |world| check_all(world, &ids));
    check_all(&read(&project), &ids);
}
