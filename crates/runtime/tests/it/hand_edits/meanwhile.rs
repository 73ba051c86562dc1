//! A person does something to a file after it was looked at and before the commit that changes it.
//! Whatever it is, both the person's change and the message's come through, and each is told once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use adjutant_core::Policy;
use adjutant_core::command::Start;
use adjutant_core::input::{FileChange, Found};
use adjutant_core::path::RelPath;
use adjutant_core::run::Heartbeat;
use adjutant_core::{Reason, Status, TaskId, Verdict, World};
use adjutant_runtime::{Engine, Request};
use adjutant_store::file::doctor;
use adjutant_store::{Batch, Caught, FileStore, Owed, Presence, Scope, Store, StoreError, Version};
use adjutant_testkit::Project;
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::{add, send};

use super::{ID, OTHER, file, in_short, record, replace, shift};

/// A folder in which something happens right before a commit, or a look goes wrong, once.
struct Meddled {
    store: FileStore,
    before_commit: Option<Box<dyn FnOnce()>>,
    bad_result: bool,
}

impl Store for Meddled {
    fn begin(&mut self) -> Result<Caught, StoreError> {
        self.store.begin()
    }

    fn commit(&mut self, batch: &Batch) -> Result<Version, StoreError> {
        if let Some(meddle) = self.before_commit.take() {
            meddle();
        }
        self.store.commit(batch)
    }

    fn end(&mut self) {
        self.store.end();
    }

    fn version(&self) -> Version {
        self.store.version()
    }

    fn edits(&mut self, scope: Scope<'_>) -> Result<Vec<FileChange>, StoreError> {
        self.store.edits(scope)
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<Presence, StoreError> {
        self.store.presence(task, path)
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<Found>, StoreError> {
        if std::mem::take(&mut self.bad_result) {
            return Err(StoreError::io("read", "a bad disk")(std::io::ErrorKind::Other.into()));
        }
        self.store.result(task)
    }

    fn heartbeat(&mut self, task: &TaskId) -> Result<Option<Heartbeat>, StoreError> {
        self.store.heartbeat(task)
    }

    fn salvaged(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        self.store.salvaged()
    }

    fn salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        self.store.salvage(task, name)
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        self.store.document(task)
    }

    fn owed(&self) -> Vec<Owed> {
        self.store.owed()
    }

    fn tend(&mut self, world: &World) -> Result<(), StoreError> {
        self.store.tend(world)
    }

    fn rest(&mut self, world: &World) -> Result<(), StoreError> {
        self.store.rest(world)
    }
}

fn start(project: &Project) -> Engine<Meddled> {
    let (store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    let store = Meddled { store, before_commit: None, bad_result: false };
    let clock = Box::new(project.clock.clone());
    Engine::start(store, loaded, clock, Policy::default()).expect("the engine starts")
}

/// What a person finds, and what was told, after doing something at a bad moment.
struct After {
    project: Rc<Project>,
    /// From the request on, sorted: who is first does not matter.
    told: Vec<String>,
    verdict: Verdict,
    reason: Option<Reason>,
}

/// Sends a request while a person does something, then lets everything be noticed.
fn meddle(request: Request, edit: impl FnOnce(&Project) + 'static) -> After {
    let project = Rc::new(Project::new());
    project.task(ID, Status::InProgress, "");
    project.task(OTHER, Status::Ready, "");
    let mut engine = start(&project);
    engine.rest().expect("at rest");
    let before = record(&project).len();
    let person = Rc::clone(&project);
    engine.store().before_commit = Some(Box::new(move || edit(&person)));
    let answer = engine.submit_one(request).expect("an answer").answer;
    assert!(engine.store().before_commit.is_none(), "the person was there");
    engine.look_around().expect("a look around");
    engine.rest().expect("at rest");
    let world = engine.world().clone();
    drop(engine);
    assert_eq!(*project.engine().world(), world, "nothing is left to be noticed");
    let mut told: Vec<String> = record(&project)[before..].iter().map(in_short).collect();
    told.sort();
    After { project, told, verdict: answer.verdict, reason: answer.reason }
}

fn report() -> Request {
    send(&progress(ID, "a", "half"))
}

fn working() -> String {
    file(Status::InProgress, ID)
}

const LINE: &str = "- 2026-02-09T21:10:00.000Z Progress: half\n";

#[test]
fn a_field_is_edited() {
    let after = meddle(report(), |project| replace(project, &working(), "title: ", "title: A "));
    assert_eq!(after.verdict, Verdict::Applied);
    let told = ["protocol.message.received", "task.edited: title", "task.logged"];
    assert_eq!(after.told, told);
    let text = after.project.read(&working());
    assert!(text.contains(&format!("\ntitle: A Task {ID}\n")) && text.ends_with(LINE), "{text}");
}

#[test]
fn a_body_is_edited() {
    let after = meddle(report(), |project| replace(project, &working(), "Do it.", "Do that."));
    assert_eq!(after.verdict, Verdict::Applied);
    let told = ["protocol.message.received", "task.edited: body", "task.logged"];
    assert_eq!(after.told, told);
    let text = after.project.read(&working());
    assert!(text.ends_with(&format!("\nDo that.\n\n## Work Log\n\n{LINE}")), "{text}");
}

#[test]
fn a_field_is_edited_that_the_message_changes_too() {
    let completed = send(&completion(ID, "a", "done"));
    let after = meddle(completed, |project| {
        replace(project, &working(), "priority: normal", "priority: high\nx: 1 # mine");
    });
    assert_eq!(after.project.folders_of(ID), [Status::Review]);
    let text = after.project.read(&file(Status::Review, ID));
    assert!(text.contains("\npriority: high\nx: 1 # mine\n"), "{text}");
    assert!(text.contains("\nstatus: review\n") && text.contains("reportedBy: a\n"), "{text}");
    let edited = after.told.iter().filter(|told| told.starts_with("task.edited"));
    assert_eq!(edited.collect::<Vec<_>>(), ["task.edited: priority"]);
}

#[test]
fn a_file_is_moved() {
    let blocked = file(Status::Blocked, ID);
    let after = meddle(report(), |project| shift(project, &working(), &file(Status::Blocked, ID)));
    assert_eq!(after.project.folders_of(ID), [Status::Blocked]);
    let told = [
        "protocol.message.received",
        "task.logged",
        "task.transitioned: in-progress to blocked by hand",
    ];
    assert_eq!(after.told, told);
    let text = after.project.read(&blocked);
    assert!(text.contains("\nstatus: blocked\n") && text.ends_with(LINE), "{text}");
}

#[test]
fn a_file_is_moved_that_the_message_moves_too() {
    let completed = send(&completion(ID, "a", "done"));
    let after = meddle(completed, |project| {
        shift(project, &working(), &file(Status::Cancelled, ID));
    });
    assert_eq!(after.project.folders_of(ID), [Status::Cancelled], "the person has spoken");
    let moved = after.told.iter().filter(|told| told.starts_with("task.transitioned"));
    let expected = ["task.transitioned: in-progress to cancelled by hand"];
    assert_eq!(moved.collect::<Vec<_>>(), expected);
}

#[test]
fn a_file_is_removed() {
    let after = meddle(report(), |project| {
        fs::remove_file(project.path(&working())).expect("a file");
    });
    assert_eq!((after.verdict, after.reason), (Verdict::Rejected, Some(Reason::TaskNotFound)));
    assert_eq!(after.project.folders_of(ID), []);
    let told =
        ["protocol.message.received", "protocol.message.rejected: task_not_found", "task.removed"];
    assert_eq!(after.told, told);
}

#[test]
fn a_file_is_broken() {
    let after = meddle(report(), |project| project.write(&working(), "broken"));
    assert_eq!((after.verdict, after.reason), (Verdict::Rejected, Some(Reason::TaskUnreadable)));
    assert_eq!(after.project.read(&working()), "broken");
}

#[test]
fn a_file_becomes_a_link() {
    let after = meddle(report(), |project| {
        let text = project.read(&working());
        project.write("../elsewhere.md", &text);
        fs::remove_file(project.path(&working())).expect("a file");
        symlink(project.path("../elsewhere.md"), project.path(&working())).expect("a link");
    });
    assert_eq!((after.verdict, after.reason), (Verdict::Rejected, Some(Reason::TaskUnreadable)));
    assert!(after.project.path(&working()).is_symlink());
    assert!(!after.project.read("../elsewhere.md").contains("half"), "never written through");
}

#[test]
fn a_file_is_made_under_the_very_name_a_new_task_gets() {
    let third = "TASK-2026-02-09-003";
    let after = meddle(add("Ours", Start::Ready), move |project| {
        drop(project.task(third, Status::Ready, ""));
    });
    assert_eq!(after.told, ["task.created", "task.created by hand"]);
    assert!(after.project.read(&file(Status::Ready, third)).contains("\ntitle: Task TASK-"));
    let ours = after.project.read(&file(Status::Ready, "TASK-2026-02-09-004"));
    assert!(ours.contains("\ntitle: Ours\n"), "{ours}");
}

#[test]
fn nothing_is_left_of_a_request_when_a_look_goes_wrong() {
    let project = Project::new();
    project.task(ID, Status::InProgress, "");
    let mut engine = start(&project);
    let before = record(&project).len();
    engine.store().bad_result = true;
    let both = [report(), Request::SessionEnd(None)];
    engine.submit(&both).expect_err("the disk is bad");
    assert_eq!(record(&project).len(), before);
    assert!(!project.read(&working()).contains(LINE));
    engine.submit(&both).expect("the disk is good again");
    let told: Vec<String> = record(&project)[before..].iter().map(in_short).collect();
    assert_eq!(told, ["protocol.message.received", "task.logged"]);
    let ids: Vec<u64> = record(&project).iter().map(|recorded| recorded.id.0).collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "without a gap");
    assert_eq!(project.read(&working()).matches(LINE).count(), 1);
    engine.rest().expect("at rest");
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
    let world = engine.world().clone();
    drop(engine);
    assert_eq!(*project.engine().world(), world);
}

/// Saves a file as editors do: a new file beside it, then a rename over it.
fn save(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).expect("a file");
    fs::rename(new, path).expect("a file in its place");
}

/// Does nothing for a while.
fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Does something to a file at one moment or another of commits.
struct Editor {
    path: PathBuf,
    longest: Duration,
    acts: u32,
}

impl Editor {
    fn of(project: &Project) -> Self {
        Self { path: project.path(&working()), longest: Duration::from_millis(1), acts: 0 }
    }

    fn save_during(&mut self, engine: &mut Engine<FileStore>, bytes: &[u8]) {
        let path = self.path.clone();
        self.act_during(engine, move || save(&path, bytes));
    }

    /// Acts at a later moment each time, from before the commit to after it.
    fn act_during(&mut self, engine: &mut Engine<FileStore>, act: impl FnOnce() + Send) -> Verdict {
        let (start, moment) = (Barrier::new(2), self.longest * (self.acts % 25) / 20);
        let (took, verdict) = thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                spin(moment);
                act();
            });
            start.wait();
            let began = Instant::now();
            let answered = engine.submit_one(report()).expect("an answer");
            (began.elapsed(), answered.answer.verdict)
        });
        self.acts += 1;
        self.longest = self.longest.max(took.min(Duration::from_millis(20)));
        verdict
    }
}

#[test]
fn a_save_at_any_moment_of_a_commit_is_not_lost() {
    const SAVES: u32 = 100;
    let project = Project::new();
    project.task(ID, Status::InProgress, "x: 0 # mine\n");
    let (mut engine, mut editor) = (project.engine(), Editor::of(&project));
    for number in 1..=SAVES {
        let text = project.read(&working());
        let (old, new) = (format!("x: {} # mine", number - 1), format!("x: {number} # mine"));
        assert!(text.contains(&old), "{old:?} is lost: {text}");
        editor.save_during(&mut engine, text.replace(&old, &new).as_bytes());
    }
    engine.look_around().expect("a look around");
    engine.rest().expect("at rest");
    let text = project.read(&working());
    assert!(text.contains(&format!("\nx: {SAVES} # mine\n")), "{text}");
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
    let world = engine.world().clone();
    drop(engine);
    assert_eq!(*project.engine().world(), world);
}

#[test]
fn a_broken_save_at_any_moment_of_a_commit_is_left_as_it_is() {
    const SAVES: u32 = 50;
    let project = Project::new();
    project.task(ID, Status::InProgress, "");
    let good = project.read(&working());
    let (mut engine, mut editor) = (project.engine(), Editor::of(&project));
    for number in 0..SAVES {
        let broken = [good.as_bytes(), b"\xff\xfe", number.to_string().as_bytes()].concat();
        editor.save_during(&mut engine, &broken);
        engine.look_around().expect("a look around");
        assert_eq!(fs::read(&editor.path).expect("the file"), broken, "byte for byte");
        project.write(&working(), &good);
        engine.look_around().expect("a look around");
    }
}

#[test]
fn a_move_at_any_moment_of_a_commit_leaves_one_file() {
    const MOVES: usize = 50;
    let project = Project::new();
    project.task(ID, Status::InProgress, "");
    let (mut engine, mut editor) = (project.engine(), Editor::of(&project));
    let (here, there) = (working(), file(Status::Blocked, ID));
    for number in 1..=MOVES {
        let verdict = editor.act_during(&mut engine, || shift(&project, &here, &there));
        assert_eq!(verdict, Verdict::Applied);
        engine.look_around().expect("a look around");
        assert_eq!(project.folders_of(ID), [Status::Blocked], "after {number} moves");
        let text = project.read(&there);
        assert_eq!(text.matches(LINE).count(), number, "every report is in it: {text}");
        shift(&project, &there, &here);
        engine.look_around().expect("a look around");
    }
    engine.rest().expect("at rest");
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
}

#[test]
fn a_removal_at_any_moment_of_a_commit_is_a_removal() {
    const REMOVALS: usize = 25;
    let project = Project::new();
    project.task(ID, Status::InProgress, "");
    let good = project.read(&working());
    let (mut engine, mut editor) = (project.engine(), Editor::of(&project));
    for number in 1..=REMOVALS {
        let path = editor.path.clone();
        editor.act_during(&mut engine, move || fs::remove_file(path).expect("a file"));
        engine.look_around().expect("a look around");
        assert_eq!(project.folders_of(ID), [], "after {number} removals");
        project.write(&working(), &good);
        engine.look_around().expect("a look around");
    }
}
