//! A look that stays: it shows at any time what a reading of the whole folder would, and reads the
//! whole once.

use std::convert::Infallible;
use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use adjutant_core::command::{Changes, Start};
use adjutant_core::{Command, Status, Task, TaskId, World};
use adjutant_runtime::Engine;
use adjutant_store::file::{Lookout, read_world};
use adjutant_store::{FileStore, StoreError};
use adjutant_testkit::Project;
use adjutant_testkit::dice::Dice;
use adjutant_testkit::message::progress;
use adjutant_testkit::project::{add, id_of, operator, send};

/// A lookout that counts how often the whole is read.
struct Post<'a> {
    project: &'a Project,
    lookout: Lookout,
    readings: usize,
}

impl<'a> Post<'a> {
    fn before(project: &'a Project) -> Self {
        Self { project, lookout: Lookout::new(project.folder()), readings: 0 }
    }

    fn look<T>(&mut self, look: impl FnOnce(&World) -> T) -> T {
        let read = || {
            self.readings += 1;
            read_world(self.project.folder())
        };
        let looked = self.lookout.look::<_, StoreError>(read, |world| Ok(look(world)));
        looked.expect("a reader never fails")
    }

    /// Shows what a reading of the whole folder shows.
    fn check(&mut self, after: &str) {
        let read = read_world(self.project.folder()).expect("a folder can be read");
        self.look(|world| {
            let tasks = |world: &World| -> Vec<Task> { world.tasks().cloned().collect() };
            assert_eq!(tasks(world), tasks(&read), "after {after}");
            assert_eq!(world.unreadable(), read.unreadable(), "after {after}");
            assert_eq!(world.last_event(), read.last_event(), "after {after}");
            assert_eq!(adjutant_core::invariants::broken(world), Vec::<String>::new());
        });
    }
}

fn new(engine: &mut Engine<FileStore>) -> TaskId {
    id_of(&engine.submit_one(add("One more", Start::Ready)).expect("added"))
}

fn file(status: Status, id: &TaskId) -> String {
    format!("tasks/{status}/{id}.md")
}

/// Returns where the file of a task lies, if there is one.
fn place(project: &Project, id: &TaskId) -> Option<Status> {
    project.folders_of(id.as_str()).first().copied()
}

/// Does one thing to a task, by a command or by hand, and says what.
fn do_something(
    dice: &mut Dice,
    project: &Project,
    engine: &mut Engine<FileStore>,
    id: &TaskId,
) -> &'static str {
    let Some(at) = place(project, id) else {
        project.task(id.as_str(), Status::Ready, "");
        return "a file that came back";
    };
    let to = *dice.one_of(&Status::ALL);
    match dice.below(8) {
        0 | 1 => {
            let command = Command::Move { id: id.clone(), to, reason: String::new() };
            engine.submit_one(operator(command)).expect("an answer");
            "a move"
        }
        2 => {
            engine.submit_one(send(&progress(id.as_str(), "a", "half"))).expect("an answer");
            "a message"
        }
        3 => {
            fs::rename(project.path(&file(at, id)), project.path(&file(to, id))).expect("moved");
            "a move by hand"
        }
        4 => {
            project.task(id.as_str(), at, &format!("resource: r{}\n", dice.below(9)));
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
            engine.look_around().expect("a look around");
            engine.rest().expect("at rest");
            "a rest"
        }
    }
}

#[test]
fn whatever_anybody_does_is_seen_at_the_next_look() {
    let (project, seed) = (Project::new(), Dice::seed());
    let mut dice = Dice::from_seed(seed);
    let mut engine = project.engine();
    let ids: Vec<TaskId> = (0..6).map(|_| new(&mut engine)).collect();
    let mut post = Post::before(&project);
    for step in 0..300 {
        let id = dice.one_of(&ids).clone();
        let what = do_something(&mut dice, &project, &mut engine, &id);
        post.check(&format!("{what} of {id} in step {step} with seed {seed}"));
    }
    if cfg!(target_os = "linux") {
        assert_eq!(post.readings, 1, "all that was read again is what changed");
    }
}

#[test]
fn a_task_made_by_hand_is_seen_at_once_and_so_is_its_end() {
    let project = Project::new();
    let mut post = Post::before(&project);
    post.check("nothing");
    for number in 1..20 {
        let id = project.task(&format!("TASK-2026-02-09-{number:03}"), Status::Backlog, "");
        assert!(post.look(|world| world.task(&id).is_some()), "{id}");
        fs::remove_file(project.path(&file(Status::Backlog, &id))).expect("a file");
        assert!(post.look(|world| world.task(&id).is_none()), "{id}");
    }
}

#[test]
fn folders_that_take_the_place_of_others_are_read_anew() {
    let project = Project::new();
    let mut engine = project.engine();
    let id = new(&mut engine);
    engine.rest().expect("at rest");
    let mut post = Post::before(&project);
    post.check("a task");
    let (ready, aside) = (project.path("tasks/ready"), project.path("aside"));
    fs::rename(&ready, &aside).expect("moved");
    post.check("a folder that was taken away");
    assert!(post.look(|world| world.task(&id).is_none()));
    fs::create_dir(&ready).expect("a folder");
    let other = project.task("TASK-2026-02-09-900", Status::Ready, "");
    post.check("a folder in its place");
    assert!(post.look(|world| world.task(&other).is_some()));
    fs::remove_dir_all(&ready).expect("a folder");
    fs::rename(&aside, &ready).expect("moved");
    post.check("the folder as it was");
    assert!(post.look(|world| world.task(&id).is_some() && world.task(&other).is_none()));
}

#[test]
fn a_reading_that_fails_is_told_and_tried_again() {
    let project = Project::new();
    let mut lookout = Lookout::new(project.folder());
    let broken = || Err(StoreError::Stopped);
    assert!(lookout.look::<(), _>(broken, |_| Ok(())).is_err());
    let read = || read_world(project.folder());
    let count = lookout.look::<_, StoreError>(read, |world| Ok(world.tasks().len()));
    assert_eq!(count.expect("it can be read now"), 0);
}

#[test]
fn a_held_lock_is_not_waited_for() {
    let project = Project::new();
    let mut engine = project.engine();
    let id = new(&mut engine);
    let lock = File::open(project.path("journal/lock")).expect("a lock");
    lock.lock().expect("the lock is free");
    let (done, waiting) = channel();
    let folder = project.folder().clone();
    thread::spawn(move || {
        let mut lookout = Lookout::new(&folder);
        let seen = (0..2).map(|_| {
            let read = || read_world(&folder);
            lookout.look::<_, StoreError>(read, |world| Ok(world.task(&id).is_some()))
        });
        done.send(seen.map(|seen| seen.expect("it can be read")).collect::<Vec<bool>>())
    });
    let seen = waiting.recv_timeout(Duration::from_mins(1));
    assert_eq!(seen.expect("it did not wait"), [true, true]);
}

/// Looks again and again while somebody commits without a pause. `commit` returns how much is
/// committed then, and `count` how much of it a world shows; that is looked at until it is enough.
fn look_while(
    project: &Project,
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
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let (mut post, mut shown) = (Post::before(project), 0);
            while !is_enough(shown) {
                let before = answered.load(Ordering::SeqCst);
                shown = post.look(&count);
                assert!(shown >= before, "{before} were answered, {shown} are shown");
            }
        }));
        over.store(true, Ordering::SeqCst);
        writer.join().expect("the writer went on");
        if let Err(panic) = looked {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn what_was_answered_is_seen_while_others_commit() {
    let project = Project::new();
    let (mut engine, mut made) = (project.engine(), 0);
    let commit = || {
        new(&mut engine);
        made += 1;
        made
    };
    look_while(&project, commit, |world| world.tasks().len(), |shown| shown >= 200);
}

#[test]
fn what_was_answered_is_seen_while_the_journal_is_dropped() {
    let project = Project::new();
    let mut engine = project.engine();
    let (id, mut edits) = (new(&mut engine), 0);
    let commit = || {
        edits += 1;
        let (title, body) = (format!("Edit {edits}"), "A long line.\n".repeat(60_000));
        let changes = Changes { title: Some(title), body: Some(body), ..Changes::default() };
        let command = Command::Edit { id: id.clone(), changes: Box::new(changes) };
        engine.submit_one(operator(command)).expect("an answer");
        edits
    };
    let number = |world: &World| {
        let title = world.task(&id).map(|task| task.title.to_string()).unwrap_or_default();
        title.trim_start_matches("Edit ").parse().unwrap_or(0)
    };
    look_while(&project, commit, number, |_| !project.has("journal/00000001.wal"));
    Post::before(&project).check("all of it");
}

#[test]
fn a_world_that_says_no_is_looked_at_again() {
    let project = Project::new();
    let mut post = Post::before(&project);
    post.check("nothing");
    let refused: Result<Infallible, StoreError> =
        post.lookout.look(|| read_world(project.folder()), |_| Err(StoreError::Stopped));
    assert!(refused.is_err());
    let id = project.task("TASK-2026-02-09-001", Status::Ready, "");
    assert!(post.look(|world| world.task(&id).is_some()));
}
