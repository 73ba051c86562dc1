//! A project in a temporary folder, with an engine on it.

use std::path::{Path, PathBuf};

use adjutant_engine::{Engine, EngineAnswer, EngineRequest};
use adjutant_model::command::{CommandCaller, InitialStatus, NewTask};
use adjutant_model::{Actor, Command, Policy, Status, TaskId};
use adjutant_store::FileStore;
use adjutant_store::file::{DataFolder, EventFiles};
use serde_json::Value;
use tempfile::TempDir;

use crate::clock::ManualClock;

pub struct TestProject {
    home: TempDir,
    folder: DataFolder,
    /// The clock of all its engines.
    pub clock: ManualClock,
}

impl TestProject {
    /// Makes a project with an empty data folder; its clock shows 2026-02-09, 21:00.
    pub fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = DataFolder::init(home.path()).expect("a data folder");
        Self { home, folder, clock: ManualClock::at("2026-02-09T21:00:00.000Z") }
    }

    pub fn folder(&self) -> &DataFolder {
        &self.folder
    }

    /// Returns the folder that holds the data folder.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.root().join(relative)
    }

    pub fn open_engine(&self) -> Engine<FileStore> {
        self.open_engine_with_policy(Policy::default())
    }

    /// Opens the folder as another process would, with a policy.
    pub fn open_engine_with_policy(&self, policy: Policy) -> Engine<FileStore> {
        let (store, loaded) = FileStore::open(&self.folder).expect("the folder opens");
        let clock = Box::new(self.clock.clone());
        Engine::start(store, loaded, clock, policy).expect("the engine starts")
    }

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

    pub fn exists(&self, relative: &str) -> bool {
        self.path(relative).exists()
    }

    /// Returns the event log, line by line as JSON.
    pub fn events(&self) -> Vec<Value> {
        let mut files = EventFiles::open(self.folder.root());
        let mut events = Vec::new();
        while let Some(line) = files.next_line().expect("the record can be read") {
            events.push(serde_json::from_slice(&line.bytes).expect("an event is JSON"));
        }
        events
    }

    pub fn event_types(&self) -> Vec<String> {
        let kind = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
        self.events().iter().map(kind).collect()
    }

    /// Returns the status folders that hold a file of this task.
    pub fn status_folders_of(&self, id: &str) -> Vec<Status> {
        let holds = |status: &Status| self.exists(&format!("tasks/{status}/{id}.md"));
        Status::ALL.into_iter().filter(holds).collect()
    }

    /// Writes a task file by hand: the least a task needs, and `extra` front matter lines.
    pub fn write_task(&self, id: &str, status: Status, extra: &str) -> TaskId {
        let text = format!(
            "---\nschemaVersion: 1\nid: {id}\ntitle: Task {id}\nstatus: {status}\npriority: normal\n\
             createdAt: 2026-02-09T20:00:00.000Z\nupdatedAt: 2026-02-09T20:00:00.000Z\n\
             lastTransitionAt: 2026-02-09T20:00:00.000Z\ncreatedBy: human:alice\n{extra}---\n\nDo it.\n"
        );
        self.write(&format!("tasks/{status}/{id}.md"), &text);
        TaskId::parse(id).expect("a test gives a good id")
    }
}

impl Default for TestProject {
    fn default() -> Self {
        Self::new()
    }
}

pub fn add_request(title: &str, start: InitialStatus) -> EngineRequest {
    let new = NewTask { title: title.to_owned(), start, ..NewTask::default() };
    operator_request(Command::Add(Box::new(new)))
}

/// Makes a command request of the operator alice.
pub fn operator_request(command: Command) -> EngineRequest {
    EngineRequest::command(CommandCaller::Operator(Actor::human("alice")), command)
}

pub fn message_request(message: &Value) -> EngineRequest {
    EngineRequest::message(message.to_string().into_bytes())
}

pub fn task_id_of(answered: &EngineAnswer) -> TaskId {
    answered.answer.task.clone().expect("the answer names its task")
}
