//! A project in a temporary folder, with an engine on it.

use std::path::{Path, PathBuf};

use adjutant_core::Policy;
use adjutant_core::command::{Caller, NewTask, Start};
use adjutant_core::{Actor, Command, Status, TaskId};
use adjutant_runtime::{Answered, Engine, Request};
use adjutant_store::FileStore;
use adjutant_store::file::{EventFiles, Folder};
use serde_json::Value;
use tempfile::TempDir;

use crate::clock::SetClock;

/// A project in a temporary folder.
pub struct Project {
    home: TempDir,
    folder: Folder,
    /// The clock its engines go by.
    pub clock: SetClock,
}

impl Project {
    /// Makes a project with an empty data folder; it is 2026-02-09, nine in the evening.
    pub fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::init(home.path()).expect("a data folder");
        Self { home, folder, clock: SetClock::at("2026-02-09T21:00:00.000Z") }
    }

    /// Returns the data folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Returns the folder that holds the data folder.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Returns a path in the data folder.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.root().join(relative)
    }

    /// Opens the folder.
    pub fn engine(&self) -> Engine<FileStore> {
        self.engine_under(Policy::default())
    }

    /// Opens the folder as another process would, under a policy.
    pub fn engine_under(&self, policy: Policy) -> Engine<FileStore> {
        let (store, loaded) = FileStore::open(&self.folder).expect("the folder opens");
        let clock = Box::new(self.clock.clone());
        Engine::start(store, loaded, clock, policy).expect("the engine starts")
    }

    /// Reads a file of the data folder.
    pub fn read(&self, relative: &str) -> String {
        let path = self.path(relative);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Writes a file of the data folder, as a person or an agent would.
    pub fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
    }

    /// Says whether a file or folder is there.
    pub fn has(&self, relative: &str) -> bool {
        self.path(relative).exists()
    }

    /// Returns the record, line by line as JSON.
    pub fn events(&self) -> Vec<Value> {
        let mut files = EventFiles::open(self.folder.root());
        let mut events = Vec::new();
        while let Some(line) = files.next_line().expect("the record can be read") {
            events.push(serde_json::from_slice(&line.bytes).expect("an event is JSON"));
        }
        events
    }

    /// Returns the types in the record, in order.
    pub fn event_types(&self) -> Vec<String> {
        let kind = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
        self.events().iter().map(kind).collect()
    }

    /// Returns the folders that hold a file of this task.
    pub fn folders_of(&self, id: &str) -> Vec<Status> {
        let holds = |status: &Status| self.has(&format!("tasks/{status}/{id}.md"));
        Status::ALL.into_iter().filter(holds).collect()
    }

    /// Writes the file of a task by hand: the least a task needs, and `extra` front matter lines.
    pub fn task(&self, id: &str, status: Status, extra: &str) -> TaskId {
        let text = format!(
            "---\nschemaVersion: 1\nid: {id}\ntitle: Task {id}\nstatus: {status}\npriority: normal\n\
             createdAt: 2026-02-09T20:00:00.000Z\nupdatedAt: 2026-02-09T20:00:00.000Z\n\
             lastTransitionAt: 2026-02-09T20:00:00.000Z\ncreatedBy: human:alice\n{extra}---\n\nDo it.\n"
        );
        self.write(&format!("tasks/{status}/{id}.md"), &text);
        TaskId::parse(id).expect("a test gives a good id")
    }
}

impl Default for Project {
    fn default() -> Self {
        Self::new()
    }
}

/// A request to add a task.
pub fn add(title: &str, start: Start) -> Request {
    let new = NewTask { title: title.to_owned(), start, ..NewTask::default() };
    operator(Command::Add(Box::new(new)))
}

/// A command of an operator called alice.
pub fn operator(command: Command) -> Request {
    Request::Command { by: Caller::Operator(Actor::human("alice")), command }
}

/// A message to send.
pub fn send(message: &Value) -> Request {
    Request::Message(message.to_string().into_bytes())
}

/// Returns the id of the task an answer is about.
pub fn id_of(answered: &Answered) -> TaskId {
    answered.answer.task.clone().expect("the answer names its task")
}
