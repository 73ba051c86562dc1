//! People and other programs edit task files: what they wrote stays, what they did is taken in
//! once, and what they broke stops nothing else.

mod broken;
mod kept;
mod meanwhile;
mod restored;
mod several;
mod taken;

use adjutant_core::event::Manner;
use adjutant_core::{Event, Recorded, Status};
use adjutant_runtime::Engine;
use adjutant_store::FileStore;
use adjutant_store::file::EventFiles;
use adjutant_store::record::decode;
use adjutant_testkit::Project;

const ID: &str = "TASK-2026-02-09-001";
const OTHER: &str = "TASK-2026-02-09-002";

/// When a person does something to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// While an engine has the folder open.
    Running,
    /// While nobody has, after it was left at rest.
    AtRest,
    /// While nobody has, after an engine died.
    AfterDeath,
}

const ALWAYS: [When; 3] = [When::Running, When::AtRest, When::AfterDeath];

/// A project with an engine on it, and a person who works on its files.
struct Desk {
    project: Project,
    engine: Option<Engine<FileStore>>,
    told: usize,
}

impl Desk {
    /// Starts an engine on what was prepared.
    fn open(prepare: impl FnOnce(&Project)) -> Self {
        let project = Project::new();
        prepare(&project);
        let mut desk = Self { project, engine: None, told: 0 };
        desk.engine().rest().expect("at rest");
        desk.told = record(&desk.project).len();
        desk
    }

    /// Starts with one task in a folder.
    fn with_task(status: Status) -> Self {
        Self::open(|project| drop(project.task(ID, status, "")))
    }

    fn engine(&mut self) -> &mut Engine<FileStore> {
        self.engine.get_or_insert_with(|| self.project.engine())
    }

    /// Does something to the files, and lets it be noticed.
    fn edit(&mut self, when: When, edit: impl FnOnce(&Project)) {
        match when {
            When::Running => {}
            When::AtRest => {
                self.engine().rest().expect("at rest");
                self.engine = None;
            }
            When::AfterDeath => self.engine = None,
        }
        edit(&self.project);
        self.engine().look_around().expect("a look around");
    }

    /// Returns the events since the last call, and makes sure that no look and no opening, at rest
    /// or not, finds anything more.
    fn told(&mut self) -> Vec<Recorded> {
        for when in ALWAYS {
            let before = record(&self.project).len();
            self.edit(when, |_| {});
            assert_eq!(record(&self.project)[before..], [], "told again: {when:?}");
        }
        let events = record(&self.project).split_off(self.told);
        self.told += events.len();
        events
    }

    /// Returns type and payload of the events since the last call, in short.
    fn told_in_short(&mut self) -> Vec<String> {
        self.told().iter().map(in_short).collect()
    }

    fn status(&mut self, id: &str) -> Option<Status> {
        let id = adjutant_core::TaskId::parse(id).expect("a test gives a good id");
        self.engine().world().task(&id).map(adjutant_core::Task::status)
    }
}

/// Returns the record.
fn record(project: &Project) -> Vec<Recorded> {
    let mut files = EventFiles::open(project.folder().root());
    let mut events = Vec::new();
    while let Some(line) = files.next_line().expect("the record can be read") {
        let line = String::from_utf8(line.bytes).expect("an event is text");
        events.push(decode(&line).expect("a line of the record is an event"));
    }
    events
}

fn in_short(recorded: &Recorded) -> String {
    let event = &recorded.happened.event;
    let said = match event {
        Event::TaskCreated { body: None, .. } => " by hand".to_owned(),
        Event::TaskEdited { changed, .. } => format!(": {}", changed.join(" ")),
        Event::TaskTransitioned { from, to, manner, .. } => {
            let how = match manner {
                Manner::Ruled => "",
                Manner::Held(_) => " by the scheduler",
                Manner::ByHand => " by hand",
                Manner::AgainstTheTable => " by hand, against the table",
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

/// Moves a file by hand.
fn shift(project: &Project, from: &str, to: &str) {
    std::fs::rename(project.path(from), project.path(to)).expect("a file to move");
}

/// Replaces a text in a file by hand.
fn replace(project: &Project, path: &str, old: &str, new: &str) {
    let text = project.read(path);
    assert!(text.contains(old), "{old:?} is not in {text}");
    project.write(path, &text.replace(old, new));
}
