//! What a scenario has in hand: a project, the router on it, a message, and what came of it.

use std::collections::BTreeMap;
use std::path::Path;

use adjutant_core::TaskId;
use adjutant_core::aof::{self, Incoming};
use adjutant_runtime::{Answered, Engine, NobodyKnows, Request, Ticked};
use adjutant_store::file::doctor;
use adjutant_store::{FileStore, StoreError};
use adjutant_testkit::Project;
use serde_json::Value;

/// Every file of the data folder but the record and the journal, by its path.
type Files = BTreeMap<String, String>;

/// What a scenario has in hand.
pub(crate) struct Scene {
    /// The project, in a temporary folder.
    pub(crate) project: Project,
    /// The message that is being written.
    pub(crate) message: Value,
    engine: Option<Engine<FileStore>>,
    /// What the last text turned out to be when it was only read.
    read: Option<Incoming>,
    came: Option<Result<Answered, StoreError>>,
    ticked: Option<Ticked>,
    /// How the folder looked before the last request.
    files_before: Files,
    lines_before: usize,
}

impl Scene {
    /// Starts with an empty data folder.
    pub(crate) fn new() -> Self {
        Self {
            project: Project::new(),
            message: Value::Null,
            engine: None,
            read: None,
            came: None,
            ticked: None,
            files_before: Files::new(),
            lines_before: 0,
        }
    }

    /// Returns the router, started on the folder when it is first asked for.
    pub(crate) fn engine(&mut self) -> &mut Engine<FileStore> {
        self.engine.get_or_insert_with(|| self.project.engine())
    }

    /// Reads a text by itself, then sends it to the router.
    pub(crate) fn send(&mut self, text: &str) {
        self.read = Some(aof::read(text.as_bytes()));
        self.ask(Request::Message(text.as_bytes().to_vec()));
    }

    /// Asks the router for something that is no message.
    pub(crate) fn command(&mut self, request: Request) {
        self.read = None;
        self.ask(request);
    }

    fn ask(&mut self, request: Request) {
        self.engine();
        (self.files_before, self.lines_before) = (self.files(), self.project.events().len());
        self.came = Some(self.engine().submit_one(request));
    }

    /// Lets the scheduler do one tick.
    pub(crate) fn tick(&mut self) {
        self.note_before();
        let ticked = self.engine().tick(&NobodyKnows).expect("a tick gives no error");
        self.came = Some(Ok(ticked.answered.clone()));
        self.ticked = Some(ticked);
    }

    /// Asks the scheduler what it would do.
    pub(crate) fn tick_dry(&mut self) {
        self.note_before();
        let ticked = self.engine().tick_dry(&NobodyKnows).expect("a tick gives no error");
        self.ticked = Some(ticked);
    }

    /// Returns what the last tick did, or would do.
    pub(crate) fn ticked(&self) -> &Ticked {
        self.ticked.as_ref().expect("the scheduler was asked before")
    }

    fn note_before(&mut self) {
        self.engine();
        self.read = None;
        (self.files_before, self.lines_before) = (self.files(), self.project.events().len());
    }

    /// Returns what the last text turned out to be; none if the last request was no text.
    pub(crate) fn read(&self) -> Option<&Incoming> {
        self.read.as_ref()
    }

    /// Returns what came of the last request: an answer, or an error.
    pub(crate) fn came(&self) -> &Result<Answered, StoreError> {
        self.came.as_ref().expect("something was sent before")
    }

    /// Returns the lines of the record since the last request.
    pub(crate) fn new_lines(&self) -> Vec<Value> {
        self.project.events().split_off(self.lines_before)
    }

    /// Returns how the files looked before the last request.
    pub(crate) fn files_before(&self) -> &Files {
        &self.files_before
    }

    /// Returns how the files look now.
    pub(crate) fn files(&self) -> Files {
        let mut files = Files::new();
        for folder in ["tasks", "runs"] {
            collect(self.project.folder().root(), folder, &mut files);
        }
        files
    }

    /// Checks what must hold after every scenario: a task in one folder, folder and front matter
    /// at one, nothing left over, every line of the record whole and numbered from 1 on.
    pub(crate) fn check_soundness(&mut self) {
        self.engine();
        let findings = doctor::examine(self.project.folder()).expect("the folder can be read");
        assert_eq!(findings, []);
        let numbers = self.project.events().into_iter().map(|line| line["eventId"].as_u64());
        assert!(numbers.eq((1..=self.project.events().len() as u64).map(Some)), "a gap");
    }
}

fn collect(root: &Path, relative: &str, files: &mut Files) {
    let path = root.join(relative);
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder can be read") {
            let name = entry.expect("an entry").file_name();
            collect(root, &format!("{relative}/{}", name.to_string_lossy()), files);
        }
    } else {
        files.insert(
            relative.to_owned(),
            std::fs::read_to_string(path).expect("a file can be read"),
        );
    }
}

/// Parses an id that a feature file gives.
pub(crate) fn task_id(text: &str) -> TaskId {
    TaskId::parse(text).expect("a feature file gives a good id")
}
