//! The state of a scenario: a project, the router on it, a message, and the last result.

use std::collections::BTreeMap;
use std::path::Path;

use adjutant_core::protocols::aof::{self, IncomingText};
use adjutant_engine::{Engine, EngineAnswer, EngineRequest, HeartbeatsOnly, TickOutcome};
use adjutant_model::TaskId;
use adjutant_store::file::doctor;
use adjutant_store::{FileStore, StoreError};
use adjutant_testkit::TestProject;
use serde_json::Value;

/// Every file of the data folder except the event log and the journal, by its path.
type ScenarioFiles = BTreeMap<String, String>;

pub(crate) struct ScenarioState {
    pub(crate) project: TestProject,
    /// The message that is being written.
    pub(crate) message: Value,
    engine: Option<Engine<FileStore>>,
    /// The last text, parsed without the router.
    parsed: Option<IncomingText>,
    last_result: Option<Result<EngineAnswer, StoreError>>,
    ticked: Option<TickOutcome>,
    /// The files before the last request.
    files_before: ScenarioFiles,
    lines_before: usize,
}

impl ScenarioState {
    pub(crate) fn new() -> Self {
        Self {
            project: TestProject::new(),
            message: Value::Null,
            engine: None,
            parsed: None,
            last_result: None,
            ticked: None,
            files_before: ScenarioFiles::new(),
            lines_before: 0,
        }
    }

    /// Returns the router, which is started on first use.
    pub(crate) fn engine(&mut self) -> &mut Engine<FileStore> {
        self.engine.get_or_insert_with(|| self.project.open_engine())
    }

    /// Parses a text by itself, then sends it to the router.
    pub(crate) fn send(&mut self, text: &str) {
        self.parsed = Some(aof::read(text.as_bytes()));
        self.submit(EngineRequest::message(text.as_bytes().to_vec()));
    }

    /// Sends the router a request that is not a message.
    pub(crate) fn command(&mut self, request: EngineRequest) {
        self.parsed = None;
        self.submit(request);
    }

    fn submit(&mut self, request: EngineRequest) {
        self.engine();
        (self.files_before, self.lines_before) = (self.files(), self.project.events().len());
        self.last_result = Some(self.engine().submit_one(request));
    }

    pub(crate) fn tick(&mut self) {
        self.record_state_before();
        let ticked = self.engine().tick(&HeartbeatsOnly).expect("a tick gives no error");
        self.last_result = Some(Ok(ticked.answered.clone()));
        self.ticked = Some(ticked);
    }

    pub(crate) fn tick_dry(&mut self) {
        self.record_state_before();
        let ticked = self.engine().tick_dry(&HeartbeatsOnly).expect("a tick gives no error");
        self.ticked = Some(ticked);
    }

    pub(crate) fn last_tick(&self) -> &TickOutcome {
        self.ticked.as_ref().expect("the scheduler was asked before")
    }

    fn record_state_before(&mut self) {
        self.engine();
        self.parsed = None;
        (self.files_before, self.lines_before) = (self.files(), self.project.events().len());
    }

    /// Returns the parsed last text; `None` if the last request was not a text.
    pub(crate) fn parsed(&self) -> Option<&IncomingText> {
        self.parsed.as_ref()
    }

    /// Returns the answer to the last request, or its error.
    pub(crate) fn last_result(&self) -> &Result<EngineAnswer, StoreError> {
        self.last_result.as_ref().expect("something was sent before")
    }

    /// Returns the lines of the event log since the last request.
    pub(crate) fn new_lines(&self) -> Vec<Value> {
        self.project.events().split_off(self.lines_before)
    }

    pub(crate) fn files_before(&self) -> &ScenarioFiles {
        &self.files_before
    }

    pub(crate) fn files(&self) -> ScenarioFiles {
        let mut files = ScenarioFiles::new();
        for folder in ["tasks", "runs"] {
            collect(self.project.folder().root(), folder, &mut files);
        }
        files
    }

    /// Checks what must hold after every scenario: each task in one folder that matches its front
    /// matter, no leftovers, and every line of the event log complete and numbered from 1 on.
    pub(crate) fn check_soundness(&mut self) {
        self.engine();
        let findings = doctor::examine(self.project.folder()).expect("the folder can be read");
        assert_eq!(findings, []);
        let numbers = self.project.events().into_iter().map(|line| line["eventId"].as_u64());
        assert!(numbers.eq((1..=self.project.events().len() as u64).map(Some)), "a gap");
    }
}

fn collect(root: &Path, relative: &str, files: &mut ScenarioFiles) {
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

pub(crate) fn task_id(text: &str) -> TaskId {
    TaskId::parse(text).expect("a feature file gives a good id")
}
