//! Tests of the incremental reader: it always shows what a full read would, and
//! reads everything once.

use std::convert::Infallible;
use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use adjutant_core::World;
use adjutant_engine::Engine;
use adjutant_model::command::{InitialStatus, TaskChanges};
use adjutant_model::{Command, Status, Task, TaskId};
use adjutant_store::file::{IncrementalReader, read_world};
use adjutant_store::{FileStore, StoreError};
use adjutant_testkit::TestProject;
use adjutant_testkit::message::progress;
use adjutant_testkit::project::{add_request, message_request, operator_request, task_id_of};
use adjutant_testkit::seeded_rng::SeededRng;

/// An incremental reader that counts full reads.
struct CountingReader<'a> {
    project: &'a TestProject,
    reader: IncrementalReader,
    full_reads: usize,
}

impl<'a> CountingReader<'a> {
    fn for_project(project: &'a TestProject) -> Self {
        Self { project, reader: IncrementalReader::new(project.folder()), full_reads: 0 }
    }

    fn read<T>(&mut self, f: impl FnOnce(&World) -> T) -> T {
        let read = || {
            self.full_reads += 1;
            read_world(self.project.folder())
        };
        let result = self.reader.with_current_world::<_, StoreError>(read, |world| Ok(f(world)));
        result.expect("a reader never fails")
    }

    /// Checks that the reader shows the same as a full read.
    fn check(&mut self, after: &str) {
        let read = read_world(self.project.folder()).expect("a folder can be read");
        self.read(|world| {
            let tasks = |world: &World| -> Vec<Task> { world.tasks().cloned().collect() };
            assert_eq!(tasks(world), tasks(&read), "after {after}");
            assert_eq!(world.unreadable(), read.unreadable(), "after {after}");
            assert_eq!(world.last_event(), read.last_event(), "after {after}");
            assert_eq!(adjutant_core::invariants::find_violations(world), Vec::<String>::new());
        });
    }
}

fn new(engine: &mut Engine<FileStore>) -> TaskId {
    task_id_of(&engine.submit_one(add_request("One more", InitialStatus::Ready)).expect("added"))
}

fn file(status: Status, id: &TaskId) -> String {
    format!("tasks/{status}/{id}.md")
}

/// Returns the status folder of a task's file, if the file exists.
fn place(project: &TestProject, id: &TaskId) -> Option<Status> {
    project.status_folders_of(id.as_str()).first().copied()
}

/// Changes a task at random, by a command or by hand, and returns a description.
fn change_task_at_random(
    dice: &mut SeededRng,
    project: &TestProject,
    engine: &mut Engine<FileStore>,
    id: &TaskId,
) -> &'static str {
    let Some(at) = place(project, id) else {
        project.write_task(id.as_str(), Status::Ready, "");
        return "a file that came back";
    };
    let to = *dice.choose(&Status::ALL);
    match dice.below(8) {
        0 | 1 => {
            let command = Command::Move { id: id.clone(), to, reason: String::new() };
            engine.submit_one(operator_request(command)).expect("an answer");
            "a move"
        }
        2 => {
            engine
                .submit_one(message_request(&progress(id.as_str(), "a", "half")))
                .expect("an answer");
            "a message"
        }
        3 => {
            fs::rename(project.path(&file(at, id)), project.path(&file(to, id))).expect("moved");
            "a move by hand"
        }
        4 => {
            project.write_task(id.as_str(), at, &format!("resource: r{}\n", dice.below(9)));
            "an edit by hand"
        }
        5 => {
            project.write(&file(at, id), "broken");
            "a file that was broken"
        }
        6 => {
            fs::remove_file(project.path(&file(at, id))).expect("a file");
            "a file that was taken away"
        }
        _ => {
            engine.check_all_files().expect("a look around");
            engine.rest().expect("at rest");
            "a rest"
        }
    }
}

#[test]
fn incremental_reader_shows_every_change_at_the_next_read() {
    let (project, seed) = (TestProject::new(), SeededRng::seed_from_env());
    let mut dice = SeededRng::from_seed(seed);
    let mut engine = project.open_engine();
    let ids: Vec<TaskId> = (0..6).map(|_| new(&mut engine)).collect();
    let mut post = CountingReader::for_project(&project);
    for step in 0..300 {
        let id = dice.choose(&ids).clone();
        let what = change_task_at_random(&mut dice, &project, &mut engine, &id);
        post.check(&format!("{what} of {id} in step {step} with seed {seed}"));
    }
    if cfg!(target_os = "linux") {
        assert_eq!(post.full_reads, 1, "all that was read again is what changed");
    }
}

#[test]
fn hand_made_task_and_its_removal_are_seen_at_once() {
    let project = TestProject::new();
    let mut post = CountingReader::for_project(&project);
    post.check("nothing");
    for number in 1..20 {
        let id = project.write_task(&format!("TASK-2026-02-09-{number:03}"), Status::Backlog, "");
        assert!(post.read(|world| world.task(&id).is_some()), "{id}");
        fs::remove_file(project.path(&file(Status::Backlog, &id))).expect("a file");
        assert!(post.read(|world| world.task(&id).is_none()), "{id}");
    }
}

#[test]
fn replaced_folders_are_read_again() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    let id = new(&mut engine);
    engine.rest().expect("at rest");
    let mut post = CountingReader::for_project(&project);
    post.check("a task");
    let (ready, aside) = (project.path("tasks/ready"), project.path("aside"));
    fs::rename(&ready, &aside).expect("moved");
    post.check("a folder that was taken away");
    assert!(post.read(|world| world.task(&id).is_none()));
    fs::create_dir(&ready).expect("a folder");
    let other = project.write_task("TASK-2026-02-09-900", Status::Ready, "");
    post.check("a folder in its place");
    assert!(post.read(|world| world.task(&other).is_some()));
    fs::remove_dir_all(&ready).expect("a folder");
    fs::rename(&aside, &ready).expect("moved");
    post.check("the folder as it was");
    assert!(post.read(|world| world.task(&id).is_some() && world.task(&other).is_none()));
}

#[test]
fn failed_full_read_is_reported_and_retried() {
    let project = TestProject::new();
    let mut reader = IncrementalReader::new(project.folder());
    let broken = || Err(StoreError::Stopped);
    assert!(reader.with_current_world::<(), _>(broken, |_| Ok(())).is_err());
    let read = || read_world(project.folder());
    let count = reader.with_current_world::<_, StoreError>(read, |world| Ok(world.tasks().len()));
    assert_eq!(count.expect("it can be read now"), 0);
}

#[test]
fn held_lock_does_not_block_the_incremental_reader() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    let id = new(&mut engine);
    let lock = File::open(project.path("journal/lock")).expect("a lock");
    lock.lock().expect("the lock is free");
    let (done, waiting) = channel();
    let folder = project.folder().clone();
    thread::spawn(move || {
        let mut reader = IncrementalReader::new(&folder);
        let seen = (0..2).map(|_| {
            let read = || read_world(&folder);
            reader.with_current_world::<_, StoreError>(read, |world| Ok(world.task(&id).is_some()))
        });
        done.send(seen.map(|seen| seen.expect("it can be read")).collect::<Vec<bool>>())
    });
    let seen = waiting.recv_timeout(Duration::from_mins(1));
    assert_eq!(seen.expect("it did not wait"), [true, true]);
}

/// Reads repeatedly while a writer commits without a pause, until `is_enough`. `commit` returns the
/// number of commits so far, and `count` how many of them a world shows.
fn read_during_commits(
    project: &TestProject,
    mut commit: impl FnMut() -> usize + Send,
    count: impl Fn(&World) -> usize,
    is_enough: impl Fn(usize) -> bool,
) {
    let (over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                answered.store(commit(), Ordering::SeqCst);
            }
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let (mut post, mut shown) = (CountingReader::for_project(project), 0);
            while !is_enough(shown) {
                let before = answered.load(Ordering::SeqCst);
                shown = post.read(&count);
                assert!(shown >= before, "{before} were answered, {shown} are shown");
            }
        }));
        over.store(true, Ordering::SeqCst);
        writer.join().expect("the writer went on");
        if let Err(panic) = result {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn answered_commits_are_seen_while_others_commit() {
    let project = TestProject::new();
    let (mut engine, mut made) = (project.open_engine(), 0);
    let commit = || {
        new(&mut engine);
        made += 1;
        made
    };
    read_during_commits(&project, commit, |world| world.tasks().len(), |shown| shown >= 200);
}

#[test]
fn answered_commits_are_seen_while_the_journal_is_dropped() {
    let project = TestProject::new();
    let mut engine = project.open_engine();
    let (id, mut edits) = (new(&mut engine), 0);
    let commit = || {
        edits += 1;
        let (title, body) = (format!("Edit {edits}"), "A long line.\n".repeat(60_000));
        let changes =
            TaskChanges { title: Some(title), body: Some(body), ..TaskChanges::default() };
        let command = Command::Edit { id: id.clone(), changes: Box::new(changes) };
        engine.submit_one(operator_request(command)).expect("an answer");
        edits
    };
    let number = |world: &World| {
        let title = world.task(&id).map(|task| task.title.to_string()).unwrap_or_default();
        title.trim_start_matches("Edit ").parse().unwrap_or(0)
    };
    read_during_commits(&project, commit, number, |_| !project.exists("journal/00000001.wal"));
    CountingReader::for_project(&project).check("all of it");
}

#[test]
fn incremental_reader_works_again_after_a_callback_error() {
    let project = TestProject::new();
    let mut post = CountingReader::for_project(&project);
    post.check("nothing");
    let refused: Result<Infallible, StoreError> = post
        .reader
        .with_current_world(|| read_world(project.folder()), |_| Err(StoreError::Stopped));
    assert!(refused.is_err());
    let id = project.write_task("TASK-2026-02-09-001", Status::Ready, "");
    assert!(post.read(|world| world.task(&id).is_some()));
}
