//! People and other programs edit task files: their text stays, their changes are applied once, and
//! a broken file affects nothing else.

mod broken;
mod counters;
mod detected;
mod during_commit;
mod file_faults;
mod kept;
mod restored;
mod several_engines;

use adjutant_engine::Engine;
use adjutant_model::event::TransitionCause;
use adjutant_model::{Event, RecordedEvent, Status};
use adjutant_store::FileStore;
use adjutant_store::event_log::decode;
use adjutant_store::file::EventFiles;
use adjutant_testkit::TestProject;

const ID: &str = "TASK-2026-02-09-001";
const OTHER: &str = "TASK-2026-02-09-002";

/// The state of the engine when a person edits a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EngineState {
    /// An engine has the folder open.
    Running,
    /// No engine has it open, and the last one left it at rest.
    AtRest,
    /// No engine has it open, and the last one died.
    AfterDeath,
}

const ENGINE_STATES: [EngineState; 3] =
    [EngineState::Running, EngineState::AtRest, EngineState::AfterDeath];

/// A project with an engine, and a person who edits its files.
struct HandEditFixture {
    project: TestProject,
    engine: Option<Engine<FileStore>>,
    events_seen: usize,
}

impl HandEditFixture {
    fn open(prepare: impl FnOnce(&TestProject)) -> Self {
        let project = TestProject::new();
        prepare(&project);
        let mut desk = Self { project, engine: None, events_seen: 0 };
        desk.engine().rest().expect("at rest");
        desk.events_seen = read_event_log(&desk.project).len();
        desk
    }

    fn with_task(status: Status) -> Self {
        Self::open(|project| drop(project.write_task(ID, status, "")))
    }

    fn engine(&mut self) -> &mut Engine<FileStore> {
        self.engine.get_or_insert_with(|| self.project.open_engine())
    }

    /// Edits the files and lets the engine detect the edit.
    fn edit(&mut self, when: EngineState, edit: impl FnOnce(&TestProject)) {
        match when {
            EngineState::Running => {}
            EngineState::AtRest => {
                self.engine().rest().expect("at rest");
                self.engine = None;
            }
            EngineState::AfterDeath => self.engine = None,
        }
        edit(&self.project);
        self.engine().check_all_files().expect("a look around");
    }

    /// Returns the events since the last call. Checks that no further detection or opening, at rest
    /// or not, finds anything more.
    fn new_events(&mut self) -> Vec<RecordedEvent> {
        for when in ENGINE_STATES {
            let before = read_event_log(&self.project).len();
            self.edit(when, |_| {});
            assert_eq!(read_event_log(&self.project)[before..], [], "told again: {when:?}");
        }
        let events = read_event_log(&self.project).split_off(self.events_seen);
        self.events_seen += events.len();
        events
    }

    /// Returns type and payload of the events since the last call, shortened.
    fn new_events_short(&mut self) -> Vec<String> {
        self.new_events().iter().map(short_event).collect()
    }

    fn status(&mut self, id: &str) -> Option<Status> {
        let id = adjutant_model::TaskId::parse(id).expect("a test gives a good id");
        self.engine().world().task(&id).map(adjutant_model::Task::status)
    }
}

fn read_event_log(project: &TestProject) -> Vec<RecordedEvent> {
    let mut files = EventFiles::open(project.folder().root());
    let mut events = Vec::new();
    while let Some(line) = files.next_line().expect("the record can be read") {
        let line = String::from_utf8(line.bytes).expect("an event is text");
        events.push(decode(&line).expect("a line of the record is an event"));
    }
    events
}

fn short_event(recorded: &RecordedEvent) -> String {
    let event = &recorded.new_event.event;
    let said = match event {
        Event::TaskCreated { body: None, .. } => " by hand".to_owned(),
        Event::TaskEdited { changed, .. } => format!(": {}", changed.join(" ")),
        Event::TaskTransitioned { from, to, manner, .. } => {
            let how = match manner {
                TransitionCause::Ruled => "",
                TransitionCause::Held(_) => " by the scheduler",
                TransitionCause::ByHand => " by hand",
                TransitionCause::AgainstTheTable => " by hand, against the table",
                TransitionCause::Reopened => " by an operator, against the table",
            };
            format!(": {from} to {to}{how}")
        }
        Event::MessageRejected { reason, .. } => format!(": {reason}"),
        _ => String::new(),
    };
    format!("{}{said}", event.kind())
}

fn file(status: Status, id: &str) -> String {
    format!("tasks/{status}/{id}.md")
}

fn move_file(project: &TestProject, from: &str, to: &str) {
    std::fs::rename(project.path(from), project.path(to)).expect("a file to move");
}

fn replace(project: &TestProject, path: &str, old: &str, new: &str) {
    let text = project.read(path);
    assert!(text.contains(old), "{old:?} is not in {text}");
    project.write(path, &text.replace(old, new));
}
