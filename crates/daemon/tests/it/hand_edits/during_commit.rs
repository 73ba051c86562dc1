//! A person edits a file after the engine has read it and before the commit that changes it. Both
//! the person's change and the message's are applied, and each gives its events once.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use std::{fs, thread};

use adjutant_core::World;
use adjutant_core::input::{FileChange, FoundResult};
use adjutant_engine::{Engine, EngineRequest, Request};
use adjutant_model::command::InitialStatus;
use adjutant_model::relative_path::RelPath;
use adjutant_model::run::RunHeartbeat;
use adjutant_model::{AnswerVerdict, Policy, Reason, Status, TaskId};
use adjutant_store::file::doctor;
use adjutant_store::{
    CommitBatch, EditScope, FileAvailability, FileStore, PendingEffect, Store, StoreError,
    StoreUpdate, StoreVersion,
};
use adjutant_testkit::TestProject;
use adjutant_testkit::message::{completion, progress};
use adjutant_testkit::project::{add_request, message_request};

use super::{ID, OTHER, file, move_file, read_event_log, replace, short_event};

/// A store that runs a closure right before one commit, or fails one read of a run result.
struct MeddlingStore {
    store: FileStore,
    before_commit: Option<Box<dyn FnOnce()>>,
    bad_result: bool,
}

impl Store for MeddlingStore {
    fn begin(&mut self) -> Result<StoreUpdate, StoreError> {
        self.store.begin()
    }

    fn commit(&mut self, batch: &CommitBatch) -> Result<StoreVersion, StoreError> {
        if let Some(meddle) = self.before_commit.take() {
            meddle();
        }
        self.store.commit(batch)
    }

    fn end(&mut self) {
        self.store.end();
    }

    fn version(&self) -> StoreVersion {
        self.store.version()
    }

    fn detect_edits(&mut self, scope: EditScope<'_>) -> Result<Vec<FileChange>, StoreError> {
        self.store.detect_edits(scope)
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<FileAvailability, StoreError> {
        self.store.presence(task, path)
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<FoundResult>, StoreError> {
        if std::mem::take(&mut self.bad_result) {
            return Err(StoreError::io("read", "a bad disk")(std::io::ErrorKind::Other.into()));
        }
        self.store.result(task)
    }

    fn last_heartbeat(&mut self, task: &TaskId) -> Result<Option<RunHeartbeat>, StoreError> {
        self.store.last_heartbeat(task)
    }

    fn list_salvage(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        self.store.list_salvage()
    }

    fn read_salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        self.store.read_salvage(task, name)
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        self.store.document(task)
    }

    fn pending_effects(&self) -> Vec<PendingEffect> {
        self.store.pending_effects()
    }

    fn maintain(&mut self, world: &World) -> Result<(), StoreError> {
        self.store.maintain(world)
    }

    fn checkpoint(&mut self, world: &World) -> Result<(), StoreError> {
        self.store.checkpoint(world)
    }
}

fn start_engine(project: &TestProject) -> Engine<MeddlingStore> {
    let (store, loaded) = FileStore::open(project.folder()).expect("the folder opens");
    let store = MeddlingStore { store, before_commit: None, bad_result: false };
    let clock = Box::new(project.clock.clone());
    Engine::start(store, loaded, clock, Policy::default()).expect("the engine starts")
}

/// The files and events after an edit right before a commit.
struct EditOutcome {
    project: Rc<TestProject>,
    /// Events since the request, sorted, because their order does not matter.
    events: Vec<String>,
    verdict: AnswerVerdict,
    reason: Option<Reason>,
}

/// Sends a request, edits the files right before its commit, then detects all edits.
fn submit_with_edit(
    request: EngineRequest,
    edit: impl FnOnce(&TestProject) + 'static,
) -> EditOutcome {
    let project = Rc::new(TestProject::new());
    project.write_task(ID, Status::InProgress, "");
    project.write_task(OTHER, Status::Ready, "");
    let mut engine = start_engine(&project);
    engine.rest().expect("at rest");
    let before = read_event_log(&project).len();
    let person = Rc::clone(&project);
    engine.store().before_commit = Some(Box::new(move || edit(&person)));
    let answer = engine.submit_one(request).expect("an answer").answer;
    assert!(engine.store().before_commit.is_none(), "the person was there");
    engine.check_all_files().expect("a look around");
    engine.rest().expect("at rest");
    let world = engine.world().clone();
    drop(engine);
    assert_eq!(*project.open_engine().world(), world, "nothing is left to be noticed");
    let mut told: Vec<String> =
        read_event_log(&project)[before..].iter().map(short_event).collect();
    told.sort();
    EditOutcome { project, events: told, verdict: answer.verdict, reason: answer.reason }
}

fn report() -> EngineRequest {
    message_request(&progress(ID, "a", "half"))
}

fn working() -> String {
    file(Status::InProgress, ID)
}

const LINE: &str = "- 2026-02-09T21:10:00.000Z Progress: half\n";

#[test]
fn field_edited_before_commit_is_kept() {
    let after =
        submit_with_edit(report(), |project| replace(project, &working(), "title: ", "title: A "));
    assert_eq!(after.verdict, AnswerVerdict::Applied);
    let told = ["protocol.message.received", "task.edited: title", "task.logged"];
    assert_eq!(after.events, told);
    let text = after.project.read(&working());
    assert!(text.contains(&format!("\ntitle: A Task {ID}\n")) && text.ends_with(LINE), "{text}");
}

#[test]
fn body_edited_before_commit_is_kept() {
    let after =
        submit_with_edit(report(), |project| replace(project, &working(), "Do it.", "Do that."));
    assert_eq!(after.verdict, AnswerVerdict::Applied);
    let told = ["protocol.message.received", "task.edited: body", "task.logged"];
    assert_eq!(after.events, told);
    let text = after.project.read(&working());
    assert!(text.ends_with(&format!("\nDo that.\n\n## Work Log\n\n{LINE}")), "{text}");
}

#[test]
fn field_edited_beside_the_changed_ones_is_kept() {
    let completed = message_request(&completion(ID, "a", "done"));
    let after = submit_with_edit(completed, |project| {
        replace(project, &working(), "priority: normal", "priority: high\nx: 1 # mine");
    });
    assert_eq!(after.project.status_folders_of(ID), [Status::Review]);
    let text = after.project.read(&file(Status::Review, ID));
    assert!(text.contains("\npriority: high\nx: 1 # mine\n"), "{text}");
    assert!(text.contains("\nstatus: review\n") && text.contains("reportedBy: a\n"), "{text}");
    let edited = after.events.iter().filter(|told| told.starts_with("task.edited"));
    assert_eq!(edited.collect::<Vec<_>>(), ["task.edited: priority"]);
}

#[test]
fn file_moved_before_commit_stays_moved() {
    let blocked = file(Status::Blocked, ID);
    let after = submit_with_edit(report(), |project| {
        move_file(project, &working(), &file(Status::Blocked, ID));
    });
    assert_eq!(after.project.status_folders_of(ID), [Status::Blocked]);
    let told = [
        "protocol.message.received",
        "task.logged",
        "task.transitioned: in-progress to blocked by hand",
    ];
    assert_eq!(after.events, told);
    let text = after.project.read(&blocked);
    assert!(text.contains("\nstatus: blocked\n") && text.ends_with(LINE), "{text}");
}

#[test]
fn file_moved_by_hand_overrides_move_by_message() {
    let completed = message_request(&completion(ID, "a", "done"));
    let after = submit_with_edit(completed, |project| {
        move_file(project, &working(), &file(Status::Cancelled, ID));
    });
    assert_eq!(after.project.status_folders_of(ID), [Status::Cancelled], "the person has spoken");
    let moved = after.events.iter().filter(|told| told.starts_with("task.transitioned"));
    let expected = ["task.transitioned: in-progress to cancelled by hand"];
    assert_eq!(moved.collect::<Vec<_>>(), expected);
}

#[test]
fn file_removed_before_commit_refuses_the_message() {
    let after = submit_with_edit(report(), |project| {
        fs::remove_file(project.path(&working())).expect("a file");
    });
    assert_eq!(
        (after.verdict, after.reason),
        (AnswerVerdict::Rejected, Some(Reason::TaskNotFound))
    );
    assert_eq!(after.project.status_folders_of(ID), []);
    let told =
        ["protocol.message.received", "protocol.message.rejected: task_not_found", "task.removed"];
    assert_eq!(after.events, told);
}

#[test]
fn file_broken_before_commit_refuses_the_message() {
    let after = submit_with_edit(report(), |project| project.write(&working(), "broken"));
    assert_eq!(
        (after.verdict, after.reason),
        (AnswerVerdict::Rejected, Some(Reason::TaskUnreadable))
    );
    assert_eq!(after.project.read(&working()), "broken");
}

#[test]
fn file_replaced_by_link_is_never_written_through() {
    let after = submit_with_edit(report(), |project| {
        let text = project.read(&working());
        project.write("../elsewhere.md", &text);
        fs::remove_file(project.path(&working())).expect("a file");
        symlink(project.path("../elsewhere.md"), project.path(&working())).expect("a link");
    });
    assert_eq!(
        (after.verdict, after.reason),
        (AnswerVerdict::Rejected, Some(Reason::TaskUnreadable))
    );
    assert!(after.project.path(&working()).is_symlink());
    assert!(!after.project.read("../elsewhere.md").contains("half"), "never written through");
}

#[test]
fn file_with_the_name_of_a_new_task_keeps_it() {
    let third = "TASK-2026-02-09-003";
    let after = submit_with_edit(add_request("Ours", InitialStatus::Ready), move |project| {
        drop(project.write_task(third, Status::Ready, ""));
    });
    assert_eq!(after.events, ["task.created", "task.created by hand"]);
    assert!(after.project.read(&file(Status::Ready, third)).contains("\ntitle: Task TASK-"));
    let ours = after.project.read(&file(Status::Ready, "TASK-2026-02-09-004"));
    assert!(ours.contains("\ntitle: Ours\n"), "{ours}");
}

#[test]
fn failed_read_leaves_nothing_of_the_request() {
    let project = TestProject::new();
    project.write_task(ID, Status::InProgress, "");
    let mut engine = start_engine(&project);
    let before = read_event_log(&project).len();
    engine.store().bad_result = true;
    let both = [report(), Request::SessionEnd(None).into()];
    engine.submit(&both).expect_err("the disk is bad");
    assert_eq!(read_event_log(&project).len(), before);
    assert!(!project.read(&working()).contains(LINE));
    engine.submit(&both).expect("the disk is good again");
    let told: Vec<String> = read_event_log(&project)[before..].iter().map(short_event).collect();
    assert_eq!(told, ["protocol.message.received", "task.logged"]);
    let ids: Vec<u64> = read_event_log(&project).iter().map(|recorded| recorded.id.0).collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "without a gap");
    assert_eq!(project.read(&working()).matches(LINE).count(), 1);
    engine.rest().expect("at rest");
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
    let world = engine.world().clone();
    drop(engine);
    assert_eq!(*project.open_engine().world(), world);
}

/// Saves a file as editors do: writes a new file beside it, then renames it over the old one.
fn save_like_editor(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).expect("a file");
    fs::rename(new, path).expect("a file in its place");
}

fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Edits a file at different moments of commits.
struct TimedEditor {
    path: PathBuf,
    longest: Duration,
    acts: u32,
}

impl TimedEditor {
    fn new(project: &TestProject) -> Self {
        Self { path: project.path(&working()), longest: Duration::from_millis(1), acts: 0 }
    }

    fn save_during(&mut self, engine: &mut Engine<FileStore>, bytes: &[u8]) {
        let path = self.path.clone();
        self.act_during(engine, move || save_like_editor(&path, bytes));
    }

    /// Acts at a later moment each time, from before the commit to after it.
    fn act_during(
        &mut self,
        engine: &mut Engine<FileStore>,
        act: impl FnOnce() + Send,
    ) -> AnswerVerdict {
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
fn save_at_any_moment_of_a_commit_is_not_lost() {
    const SAVES: u32 = 100;
    let project = TestProject::new();
    project.write_task(ID, Status::InProgress, "x: 0 # mine\n");
    let (mut engine, mut editor) = (project.open_engine(), TimedEditor::new(&project));
    for number in 1..=SAVES {
        let text = project.read(&working());
        let (old, new) = (format!("x: {} # mine", number - 1), format!("x: {number} # mine"));
        assert!(text.contains(&old), "{old:?} is lost: {text}");
        editor.save_during(&mut engine, text.replace(&old, &new).as_bytes());
    }
    engine.check_all_files().expect("a look around");
    engine.rest().expect("at rest");
    let text = project.read(&working());
    assert!(text.contains(&format!("\nx: {SAVES} # mine\n")), "{text}");
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
    let world = engine.world().clone();
    drop(engine);
    assert_eq!(*project.open_engine().world(), world);
}

#[test]
fn broken_save_at_any_moment_of_a_commit_is_left_alone() {
    const SAVES: u32 = 50;
    let project = TestProject::new();
    project.write_task(ID, Status::InProgress, "");
    let good = project.read(&working());
    let (mut engine, mut editor) = (project.open_engine(), TimedEditor::new(&project));
    for number in 0..SAVES {
        let broken = [good.as_bytes(), b"\xff\xfe", number.to_string().as_bytes()].concat();
        editor.save_during(&mut engine, &broken);
        engine.check_all_files().expect("a look around");
        assert_eq!(fs::read(&editor.path).expect("the file"), broken, "byte for byte");
        project.write(&working(), &good);
        engine.check_all_files().expect("a look around");
    }
}

#[test]
fn move_at_any_moment_of_a_commit_leaves_one_file() {
    const MOVES: usize = 50;
    let project = TestProject::new();
    project.write_task(ID, Status::InProgress, "");
    let (mut engine, mut editor) = (project.open_engine(), TimedEditor::new(&project));
    let (here, there) = (working(), file(Status::Blocked, ID));
    for number in 1..=MOVES {
        let verdict = editor.act_during(&mut engine, || move_file(&project, &here, &there));
        assert_eq!(verdict, AnswerVerdict::Applied);
        engine.check_all_files().expect("a look around");
        assert_eq!(project.status_folders_of(ID), [Status::Blocked], "after {number} moves");
        let text = project.read(&there);
        assert_eq!(text.matches(LINE).count(), number, "every report is in it: {text}");
        move_file(&project, &there, &here);
        engine.check_all_files().expect("a look around");
    }
    engine.rest().expect("at rest");
    assert_eq!(doctor::examine(project.folder()).expect("a look"), []);
}

#[test]
fn removal_at_any_moment_of_a_commit_is_a_removal() {
    const REMOVALS: usize = 25;
    let project = TestProject::new();
    project.write_task(ID, Status::InProgress, "");
    let good = project.read(&working());
    let (mut engine, mut editor) = (project.open_engine(), TimedEditor::new(&project));
    for number in 1..=REMOVALS {
        let path = editor.path.clone();
        editor.act_during(&mut engine, move || fs::remove_file(path).expect("a file"));
        engine.check_all_files().expect("a look around");
        assert_eq!(project.status_folders_of(ID), [], "after {number} removals");
        project.write(&working(), &good);
        engine.check_all_files().expect("a look around");
    }
}
