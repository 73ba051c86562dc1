//! A data folder whose files say anything at all: journal, index, marker, record and tasks.

mod layout;

use std::fs;
use std::path::{Path, PathBuf};

use adjutant_core::Policy;
use adjutant_core::command::{Caller, Changes, NewTask, Start};
use adjutant_core::{Actor, Command, Task, TaskId, World};
use adjutant_runtime::{Engine, Request};
use adjutant_store::file::{EventFiles, Folder, doctor, read_world};
use adjutant_store::{FileStore, StoreError};
use tempfile::TempDir;

use crate::given;

/// How deep the folder lies under the temporary one, so that a path which climbs is caught there.
const LEVELS: usize = 8;

/// A folder opens or says why not; whatever it holds, nothing outside it is touched, and what
/// this program left in it opens again as it was.
///
/// `layout` says how the bytes become files.
pub fn folder(bytes: &[u8]) {
    let Some(files) = layout::files(bytes, LEVELS) else { return };
    let sandbox = Sandbox::new();
    sandbox.write(&files);
    look(&sandbox.folder);
    if let Err(error) = check(&sandbox.folder) {
        assert!(!error.to_string().is_empty(), "an error says what is wrong");
    }
    sandbox.check();
}

/// Readers take a folder as it is.
fn look(folder: &Folder) {
    let _ = read_world(folder);
    let _ = doctor::examine(folder);
}

/// Opens the folder, does a little of everything and leaves it at rest.
fn work(folder: &Folder) -> Result<World, StoreError> {
    let mut engine = open(folder)?;
    let message = br#"{"protocol":"aof","version":1,"type":"status.update",
        "taskId":"TASK-2026-02-09-001","fromAgent":"swe","toAgent":"dispatcher",
        "sentAt":"2026-02-09T21:00:00Z","payload":{"taskId":"TASK-2026-02-09-001",
        "agentId":"swe","status":"review","progress":"Half way"}}"#;
    let new = NewTask { title: "New".to_owned(), start: Start::Ready, ..NewTask::default() };
    let id = TaskId::parse("TASK-2026-02-09-001").expect("a good id");
    let title = Some(format!("Edited after {}", engine.world().last_event()));
    let changes = Box::new(Changes { title, ..Changes::default() });
    let operator = |command| Request::Command { by: by(), command };
    let requests = [
        Request::Message(message.to_vec()),
        Request::SessionEnd(None),
        operator(Command::Edit { id, changes }),
        operator(Command::Add(Box::new(new))),
    ];
    let before = recorded(folder)?;
    let mut told = 0;
    for request in requests {
        told += engine.submit_one(request)?.events.len();
    }
    // What people did to the files is in it as well.
    assert!(recorded(folder)? >= before + told, "every event that was told of is in the record");
    engine.rest()?;
    Ok(engine.into_world())
}

/// Counts the lines of the record.
fn recorded(folder: &Folder) -> Result<usize, StoreError> {
    let mut files = EventFiles::open(folder.root());
    let mut lines = 0;
    while files.next_line()?.is_some() {
        lines += 1;
    }
    Ok(lines)
}

fn by() -> Caller {
    Caller::Operator(Actor::human("alice"))
}

fn open(folder: &Folder) -> Result<Engine<FileStore>, StoreError> {
    let (store, loaded) = FileStore::open(folder)?;
    Engine::start(store, loaded, given::clock(), Policy::default())
}

/// What this program left opens. At rest the files are the whole truth: the journal, which others
/// may have made to say one thing and write another, can go; and what is done from then on is the
/// same with an index and without.
fn check(folder: &Folder) -> Result<(), StoreError> {
    let left = work(folder)?;
    let found = open(folder).expect("what this program left opens").into_world();
    assert_eq!(found.last_event(), left.last_event());
    fs::remove_dir_all(folder.root().join("journal")).expect("a journal");

    let left = work(folder)?;
    check_same(&open(folder).expect("what this program left opens").into_world(), &left);
    if !has_doubles(folder) {
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

/// Tells whether a task lies in two folders: then only the index knows which of them counts.
fn has_doubles(folder: &Folder) -> bool {
    let findings = doctor::examine(folder).expect("a folder that opens can be examined");
    findings.iter().any(|finding| finding.code == doctor::Code::TaskInTwoFolders)
}

/// A data folder deep inside a temporary one that has nothing else in it.
struct Sandbox {
    home: TempDir,
    folder: Folder,
}

impl Sandbox {
    fn new() -> Self {
        let home = Path::new("/dev/shm");
        let home = if home.is_dir() { home.to_owned() } else { std::env::temp_dir() };
        let home = tempfile::Builder::new().prefix("adjutant-fuzz-").tempdir_in(home);
        let home = home.expect("a temporary folder");
        let folder = Folder::init(&Self::project(home.path())).expect("a data folder");
        Self { home, folder }
    }

    fn project(home: &Path) -> PathBuf {
        (0..LEVELS).fold(home.to_owned(), |path, _| path.join("d"))
    }

    fn write(&self, files: &layout::Files) {
        for (path, content) in files {
            let path = self.folder.root().join(path);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
            fs::write(path, content).expect("a file");
        }
    }

    /// Checks that every folder on the way down has nothing in it but the next one.
    fn check(&self) {
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
