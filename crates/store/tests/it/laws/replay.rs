//! Property test: replaying the event log yields the world that the files show, after any history.

use std::fs;

use adjutant_core::World;
use adjutant_engine::{Engine, EngineRequest, Request};
use adjutant_model::command::{InitialStatus, NewTask, TaskChanges};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::{Command, EventId, Priority, Status, Task, TaskId};
use adjutant_store::FileStore;
use adjutant_store::event_log::decode;
use adjutant_store::file::{EventFiles, doctor, read_world};
use adjutant_test_support::soak::cases;
use adjutant_testkit::TestProject;
use adjutant_testkit::message::{completion, handoff, progress};
use adjutant_testkit::project::{add_request, message_request, operator_request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// An edit of a file's text by a person.
#[derive(Debug, Clone, Copy)]
enum HandEdit {
    Title,
    Comment,
    LineEnds,
    Body,
}

impl HandEdit {
    fn apply_to(self, text: &str) -> String {
        match self {
            Self::Title => text.replacen("title: ", "title: More ", 1),
            Self::Comment => text.replacen("title: ", "# mine\ntitle: ", 1),
            Self::LineEnds => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            Self::Body => format!("{text}\nAnd more.\n"),
        }
    }
}

/// One action of a person, an agent or a process.
#[derive(Debug, Clone)]
enum HistoryStep {
    Add(InitialStatus, ReviewPolicy),
    Edit(u32, Priority),
    Move(u32, Status),
    Review(u32, bool),
    Retry(u32),
    Progress(u32),
    Complete(u32, &'static str),
    Handoff(u32, u32),
    SessionEnd,
    HandEdit(u32, HandEdit),
    HandMove(u32, Status),
    HandRemove(u32),
    HandAdd(u32, Status),
    Rest,
    Die,
    NextDay,
}

fn step() -> impl Strategy<Value = HistoryStep> {
    let number = || 1..6_u32;
    let status = || select(&Status::ALL);
    let edit =
        select(&[HandEdit::Title, HandEdit::Comment, HandEdit::LineEnds, HandEdit::Body][..]);
    let outcome = select(&["done", "blocked", "partial", "needs_review"][..]);
    let review = select(&[ReviewPolicy::Required, ReviewPolicy::NotNeeded]);
    prop_oneof![
        4 => (select(&[InitialStatus::Ready, InitialStatus::Backlog]), review).prop_map(|(start, review)| HistoryStep::Add(start, review)),
        2 => (number(), select(&Priority::ALL)).prop_map(|(n, priority)| HistoryStep::Edit(n, priority)),
        6 => (number(), status()).prop_map(|(n, to)| HistoryStep::Move(n, to)),
        3 => (number(), any::<bool>()).prop_map(|(n, good)| HistoryStep::Review(n, good)),
        1 => number().prop_map(HistoryStep::Retry),
        4 => number().prop_map(HistoryStep::Progress),
        5 => (number(), outcome).prop_map(|(n, outcome)| HistoryStep::Complete(n, outcome)),
        2 => (number(), number()).prop_map(|(child, parent)| HistoryStep::Handoff(child, parent)),
        1 => Just(HistoryStep::SessionEnd),
        4 => (number(), edit).prop_map(|(n, edit)| HistoryStep::HandEdit(n, edit)),
        3 => (number(), status()).prop_map(|(n, to)| HistoryStep::HandMove(n, to)),
        1 => number().prop_map(HistoryStep::HandRemove),
        1 => (number(), status()).prop_map(|(n, status)| HistoryStep::HandAdd(n, status)),
        1 => Just(HistoryStep::Rest),
        2 => Just(HistoryStep::Die),
        1 => Just(HistoryStep::NextDay),
    ]
}

fn id(number: u32) -> TaskId {
    TaskId::parse(&format!("TASK-2026-02-09-{number:03}")).expect("a good id")
}

/// A folder, an engine on it, and a person.
struct FolderScene {
    project: TestProject,
    engine: Engine<FileStore>,
}

impl FolderScene {
    /// Begins with a commit, because files that exist before the first commit are adopted
    /// as a whole.
    fn new() -> Self {
        let project = TestProject::new();
        let mut engine = project.open_engine();
        engine.submit_one(add_request("First", InitialStatus::Ready)).expect("added");
        Self { project, engine }
    }

    fn place(&self, number: u32) -> Option<String> {
        let folder = self.project.status_folders_of(id(number).as_str()).first().copied()?;
        Some(format!("tasks/{folder}/{}.md", id(number)))
    }

    fn play(&mut self, step: &HistoryStep) {
        self.project.clock.advance_ms(1_000);
        if let Some(request) = request(step) {
            self.engine.submit_one(request).expect("an answer");
            return;
        }
        match step {
            HistoryStep::Rest => self.engine.rest().expect("at rest"),
            HistoryStep::Die => self.engine = self.project.open_engine(),
            HistoryStep::NextDay => self.project.clock.advance_ms(24 * 60 * 60 * 1_000),
            by_hand => self.play_by_hand(by_hand),
        }
    }

    fn play_by_hand(&self, step: &HistoryStep) {
        let path = |relative: &str| self.project.path(relative);
        match *step {
            HistoryStep::HandAdd(number, status) if self.place(number).is_none() => {
                self.project.write_task(id(number).as_str(), status, "");
            }
            HistoryStep::HandEdit(number, edit) => {
                if let Some(file) = self.place(number) {
                    self.project.write(&file, &edit.apply_to(&self.project.read(&file)));
                }
            }
            HistoryStep::HandMove(number, to) => {
                if let Some(file) = self.place(number) {
                    let to = format!("tasks/{to}/{}.md", id(number));
                    fs::rename(path(&file), path(&to)).expect("moved");
                }
            }
            HistoryStep::HandRemove(number) => {
                if let Some(file) = self.place(number) {
                    fs::remove_file(path(&file)).expect("a file");
                }
            }
            _ => {}
        }
    }
}

fn request(step: &HistoryStep) -> Option<EngineRequest> {
    let command = match *step {
        HistoryStep::Add(start, review) => {
            let new = NewTask { title: "New".into(), start, review, ..NewTask::default() };
            Command::Add(Box::new(new))
        }
        HistoryStep::Edit(number, priority) => {
            let changes = TaskChanges { priority: Some(priority), ..TaskChanges::default() };
            Command::Edit { id: id(number), changes: Box::new(changes) }
        }
        HistoryStep::Move(number, to) => Command::Move { id: id(number), to, reason: "so".into() },
        HistoryStep::Review(number, true) => {
            Command::Approve { id: id(number), note: String::new() }
        }
        HistoryStep::Review(number, false) => {
            Command::Reject { id: id(number), reason: "no".into() }
        }
        HistoryStep::Retry(number) => Command::Retry { id: id(number) },
        HistoryStep::Progress(number) => {
            return Some(message_request(&progress(id(number).as_str(), "a", "half")));
        }
        HistoryStep::Complete(number, outcome) => {
            return Some(message_request(&completion(id(number).as_str(), "a", outcome)));
        }
        HistoryStep::Handoff(child, parent) => {
            let (child, parent) = (id(child), id(parent));
            return Some(message_request(&handoff(child.as_str(), parent.as_str(), "a", "a")));
        }
        HistoryStep::SessionEnd => return Some(Request::SessionEnd(None).into()),
        _ => return None,
    };
    Some(operator_request(command))
}

/// Rebuilds the world from the event log alone.
fn replayed(project: &TestProject) -> World {
    let mut files = EventFiles::open(project.folder().root());
    let mut world = World::default();
    while let Some(line) = files.next_line().expect("the record can be read") {
        let line = String::from_utf8(line.bytes).expect("an event is text");
        world.apply(&decode(&line).expect("a line of the record is an event"));
    }
    world
}

/// Returns what files show. Only the event log knows which numbers were used on earlier days.
fn shown_by_files(world: &World) -> (Vec<Task>, EventId) {
    assert!(world.unreadable().is_empty(), "nobody broke anything");
    (world.tasks().cloned().collect(), world.last_event())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn event_log_replay_gives_the_world_of_the_files(steps in vec(step(), 1..30)) {
        let mut scene = FolderScene::new();
        for step in &steps {
            scene.play(step);
        }
        scene.engine.check_all_files().expect("a look around");
        scene.engine.rest().expect("at rest");
        let world = scene.engine.world().clone();
        prop_assert_eq!(adjutant_core::invariants::find_violations(&world), Vec::<String>::new());
        prop_assert_eq!(shown_by_files(&replayed(&scene.project)), shown_by_files(&world), "the record");
        let read = read_world(scene.project.folder()).expect("a look");
        prop_assert_eq!(shown_by_files(&read), shown_by_files(&world), "the files");
        let FolderScene { project, engine } = scene;
        drop(engine);
        prop_assert_eq!(shown_by_files(project.open_engine().world()), shown_by_files(&world), "opened again");
        fs::remove_file(project.path("journal/index")).expect("an index");
        prop_assert_eq!(shown_by_files(project.open_engine().world()), shown_by_files(&world), "without an index");
        // A person who removes a task file may leave its companion folder.
        let mut found = doctor::examine(project.folder()).expect("a look");
        found.retain(|finding| finding.code != doctor::FindingCode::OrphanCompanion);
        prop_assert_eq!(found, vec![]);
    }
}
