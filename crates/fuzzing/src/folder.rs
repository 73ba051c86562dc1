//! Fuzz target: a data folder with arbitrary content in journal, index, marker, event log and
//! tasks.

mod layout;

use std::fs;
use std::path::{Path, PathBuf};

use adjutant_core::World;
use adjutant_engine::{Engine, EngineRequest, Request};
use adjutant_model::command::{CommandCaller, InitialStatus, NewTask, TaskChanges};
use adjutant_model::{Actor, Command, Policy, Task, TaskId};
use adjutant_store::file::{DataFolder, EventFiles, doctor, read_world};
use adjutant_store::{FileStore, StoreError};
use tempfile::TempDir;

use crate::fixture;

/// The depth of the folder under the temporary one, so that a path with `..` ends inside it.
const LEVELS: usize = 8;

/// A folder opens or reports an error; nothing outside it is touched, and a folder that this
/// program has closed opens again unchanged.
///
/// `layout` says how the bytes become files.
pub fn folder(bytes: &[u8]) {
    let Some(files) = layout::parse_files(bytes, LEVELS) else { return };
    let sandbox = FuzzSandbox::new();
    sandbox.write(&files);
    read_folder(&sandbox.folder);
    if let Err(error) = check_reopening(&sandbox.folder) {
        assert!(!error.to_string().is_empty(), "an error says what is wrong");
    }
    sandbox.check_reopening();
}

/// Readers accept a folder as it is.
fn read_folder(folder: &DataFolder) {
    let _ = read_world(folder);
    let _ = doctor::examine(folder);
}

/// Opens the folder, applies one request of each kind and leaves it at rest.
fn apply_requests(folder: &DataFolder) -> Result<World, StoreError> {
    let mut engine = open(folder)?;
    let message = br#"{"protocol":"aof","version":1,"type":"status.update",
        "taskId":"TASK-2026-02-09-001","fromAgent":"swe","toAgent":"dispatcher",
        "sentAt":"2026-02-09T21:00:00Z","payload":{"taskId":"TASK-2026-02-09-001",
        "agentId":"swe","status":"review","progress":"Half way"}}"#;
    let new =
        NewTask { title: "New".to_owned(), start: InitialStatus::Ready, ..NewTask::default() };
    let id = TaskId::parse("TASK-2026-02-09-001").expect("a good id");
    let title = Some(format!("Edited after {}", engine.world().last_event()));
    let changes = Box::new(TaskChanges { title, ..TaskChanges::default() });
    let operator = |command| EngineRequest::command(operator_caller(), command);
    let requests = [
        EngineRequest::message(message.to_vec()),
        Request::SessionEnd(None).into(),
        operator(Command::Edit { id, changes }),
        operator(Command::Add(Box::new(new))),
    ];
    let before = count_events(folder)?;
    let mut told = 0;
    for request in requests {
        told += engine.submit_one(request)?.events.len();
    }
    // The event log also has events for changes that people made to the files.
    assert!(
        count_events(folder)? >= before + told,
        "every event that was told of is in the record"
    );
    engine.rest()?;
    Ok(engine.into_world())
}

fn count_events(folder: &DataFolder) -> Result<usize, StoreError> {
    let mut files = EventFiles::open(folder.root());
    let mut lines = 0;
    while files.next_line()?.is_some() {
        lines += 1;
    }
    Ok(lines)
}

fn operator_caller() -> CommandCaller {
    CommandCaller::Operator(Actor::human("alice"))
}

fn open(folder: &DataFolder) -> Result<Engine<FileStore>, StoreError> {
    let (store, loaded) = FileStore::open(folder)?;
    Engine::start(store, loaded, fixture::clock(), Policy::default())
}

/// A folder that this program has closed opens. At rest the files hold everything: the journal,
/// whose content others may have forged, can be removed, and later work is the same with and
/// without an index.
fn check_reopening(folder: &DataFolder) -> Result<(), StoreError> {
    let left = apply_requests(folder)?;
    let found = open(folder).expect("what this program left opens").into_world();
    assert_eq!(found.last_event(), left.last_event());
    fs::remove_dir_all(folder.root().join("journal")).expect("a journal");

    let left = apply_requests(folder)?;
    check_same(&open(folder).expect("what this program left opens").into_world(), &left);
    if !has_duplicate_task(folder) {
        fs::remove_file(folder.root().join("journal/index")).expect("an index");
        check_same(&open(folder).expect("it opens without the index").into_world(), &left);
    }
    Ok(())
}

fn check_same(found: &World, left: &World) {
    let tasks = |world: &World| -> Vec<Task> { world.tasks().cloned().collect() };
    assert_eq!(tasks(found), tasks(left));
    assert_eq!(found.last_event(), left.last_event());
    assert_eq!(found.unreadable(), left.unreadable());
}

/// Tells whether a task is in two folders; then only the index knows which of them counts.
fn has_duplicate_task(folder: &DataFolder) -> bool {
    let findings = doctor::examine(folder).expect("a folder that opens can be examined");
    findings.iter().any(|finding| finding.code == doctor::FindingCode::TaskInTwoFolders)
}

/// A data folder deep inside a temporary folder that holds nothing else.
struct FuzzSandbox {
    home: TempDir,
    folder: DataFolder,
}

impl FuzzSandbox {
    fn new() -> Self {
        let home = Path::new("/dev/shm");
        let home = if home.is_dir() { home.to_owned() } else { std::env::temp_dir() };
        let home = tempfile::Builder::new().prefix("adjutant-fuzz-").tempdir_in(home);
        let home = home.expect("a temporary folder");
        let folder = DataFolder::init(&Self::project(home.path())).expect("a data folder");
        Self { home, folder }
    }

    fn project(home: &Path) -> PathBuf {
        (0..LEVELS).fold(home.to_owned(), |path, _| path.join("d"))
    }

    fn write(&self, files: &layout::LayoutFiles) {
        for (path, content) in files {
            let path = self.folder.root().join(path);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
            fs::write(path, content).expect("a file");
        }
    }

    /// Checks that every folder on the way down holds only the next one.
    fn check_reopening(&self) {
        let mut path = self.home.path().to_owned();
        for level in 0..=LEVELS {
            let next = if level == LEVELS { ".adjutant" } else { "d" };
            let names = fs::read_dir(&path).expect("a folder");
            let names: Vec<_> = names.map(|entry| entry.expect("a name").file_name()).collect();
            assert_eq!(names, [next], "something was written outside the data folder");
            path.push(next);
        }
    }
}
