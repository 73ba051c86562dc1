//! Whatever happens to a folder, the record replayed line by line gives the world its files show.

use std::fs;

use adjutant_core::command::{Changes, NewTask, Start};
use adjutant_core::task::Review;
use adjutant_core::{Command, EventId, Priority, Status, Task, TaskId, World};
use adjutant_runtime::{Engine, Request};
use adjutant_store::FileStore;
use adjutant_store::file::{EventFiles, doctor, read_world};
use adjutant_store::record::decode;
use adjutant_test_support::soak::cases;
use adjutant_testkit::Project;
use adjutant_testkit::message::{completion, handoff, progress};
use adjutant_testkit::project::{add, operator, send};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// What a person does to the text of a file.
#[derive(Debug, Clone, Copy)]
enum HandEdit {
    Title,
    Comment,
    LineEnds,
    Body,
}

impl HandEdit {
    fn of(self, text: &str) -> String {
        match self {
            Self::Title => text.replacen("title: ", "title: More ", 1),
            Self::Comment => text.replacen("title: ", "# mine\ntitle: ", 1),
            Self::LineEnds => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            Self::Body => format!("{text}\nAnd more.\n"),
        }
    }
}

/// Something that somebody does.
#[derive(Debug, Clone)]
enum Step {
    Add(Start, Review),
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

fn step() -> impl Strategy<Value = Step> {
    let number = || 1..6_u32;
    let status = || select(&Status::ALL);
    let edit =
        select(&[HandEdit::Title, HandEdit::Comment, HandEdit::LineEnds, HandEdit::Body][..]);
    let outcome = select(&["done", "blocked", "partial", "needs_review"][..]);
    let review = select(&[Review::Required, Review::NotNeeded]);
    prop_oneof![
        4 => (select(&[Start::Ready, Start::Backlog]), review).prop_map(|(start, review)| Step::Add(start, review)),
        2 => (number(), select(&Priority::ALL)).prop_map(|(n, priority)| Step::Edit(n, priority)),
        6 => (number(), status()).prop_map(|(n, to)| Step::Move(n, to)),
        3 => (number(), any::<bool>()).prop_map(|(n, good)| Step::Review(n, good)),
        1 => number().prop_map(Step::Retry),
        4 => number().prop_map(Step::Progress),
        5 => (number(), outcome).prop_map(|(n, outcome)| Step::Complete(n, outcome)),
        2 => (number(), number()).prop_map(|(child, parent)| Step::Handoff(child, parent)),
        1 => Just(Step::SessionEnd),
        4 => (number(), edit).prop_map(|(n, edit)| Step::HandEdit(n, edit)),
        3 => (number(), status()).prop_map(|(n, to)| Step::HandMove(n, to)),
        1 => number().prop_map(Step::HandRemove),
        1 => (number(), status()).prop_map(|(n, status)| Step::HandAdd(n, status)),
        1 => Just(Step::Rest),
        2 => Just(Step::Die),
        1 => Just(Step::NextDay),
    ]
}

fn id(number: u32) -> TaskId {
    TaskId::parse(&format!("TASK-2026-02-09-{number:03}")).expect("a good id")
}

/// A folder, an engine on it, and a person.
struct Scene {
    project: Project,
    engine: Engine<FileStore>,
}

impl Scene {
    /// Begins with a commit: what lies in a folder before the first is adopted as a whole.
    fn new() -> Self {
        let project = Project::new();
        let mut engine = project.engine();
        engine.submit_one(add("First", Start::Ready)).expect("added");
        Self { project, engine }
    }

    fn place(&self, number: u32) -> Option<String> {
        let folder = self.project.folders_of(id(number).as_str()).first().copied()?;
        Some(format!("tasks/{folder}/{}.md", id(number)))
    }

    fn play(&mut self, step: &Step) {
        self.project.clock.advance_ms(1_000);
        if let Some(request) = request(step) {
            self.engine.submit_one(request).expect("an answer");
            return;
        }
        match step {
            Step::Rest => self.engine.rest().expect("at rest"),
            Step::Die => self.engine = self.project.engine(),
            Step::NextDay => self.project.clock.advance_ms(24 * 60 * 60 * 1_000),
            by_hand => self.meddle(by_hand),
        }
    }

    fn meddle(&self, step: &Step) {
        let path = |relative: &str| self.project.path(relative);
        match *step {
            Step::HandAdd(number, status) if self.place(number).is_none() => {
                self.project.task(id(number).as_str(), status, "");
            }
            Step::HandEdit(number, edit) => {
                if let Some(file) = self.place(number) {
                    self.project.write(&file, &edit.of(&self.project.read(&file)));
                }
            }
            Step::HandMove(number, to) => {
                if let Some(file) = self.place(number) {
                    let to = format!("tasks/{to}/{}.md", id(number));
                    fs::rename(path(&file), path(&to)).expect("moved");
                }
            }
            Step::HandRemove(number) => {
                if let Some(file) = self.place(number) {
                    fs::remove_file(path(&file)).expect("a file");
                }
            }
            _ => {}
        }
    }
}

fn request(step: &Step) -> Option<Request> {
    let command = match *step {
        Step::Add(start, review) => {
            let new = NewTask { title: "New".into(), start, review, ..NewTask::default() };
            Command::Add(Box::new(new))
        }
        Step::Edit(number, priority) => {
            let changes = Changes { priority: Some(priority), ..Changes::default() };
            Command::Edit { id: id(number), changes: Box::new(changes) }
        }
        Step::Move(number, to) => Command::Move { id: id(number), to, reason: "so".into() },
        Step::Review(number, true) => Command::Approve { id: id(number), note: String::new() },
        Step::Review(number, false) => Command::Reject { id: id(number), reason: "no".into() },
        Step::Retry(number) => Command::Retry { id: id(number) },
        Step::Progress(number) => return Some(send(&progress(id(number).as_str(), "a", "half"))),
        Step::Complete(number, outcome) => {
            return Some(send(&completion(id(number).as_str(), "a", outcome)));
        }
        Step::Handoff(child, parent) => {
            let (child, parent) = (id(child), id(parent));
            return Some(send(&handoff(child.as_str(), parent.as_str(), "a", "a")));
        }
        Step::SessionEnd => return Some(Request::SessionEnd(None)),
        _ => return None,
    };
    Some(operator(command))
}

/// Makes a world of nothing but the lines of the record.
fn replayed(project: &Project) -> World {
    let mut files = EventFiles::open(project.folder().root());
    let mut world = World::default();
    while let Some(line) = files.next_line().expect("the record can be read") {
        let line = String::from_utf8(line.bytes).expect("an event is text");
        world.apply(&decode(&line).expect("a line of the record is an event"));
    }
    world
}

/// What files show. Which numbers were given out on earlier days, only the record tells.
fn shown(world: &World) -> (Vec<Task>, EventId) {
    assert!(world.unreadable().is_empty(), "nobody broke anything");
    (world.tasks().cloned().collect(), world.last_event())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24)))]

    #[test]
    fn the_record_gives_the_world_that_the_files_show(steps in vec(step(), 1..30)) {
        let mut scene = Scene::new();
        for step in &steps {
            scene.play(step);
        }
        scene.engine.look_around().expect("a look around");
        scene.engine.rest().expect("at rest");
        let world = scene.engine.world().clone();
        prop_assert_eq!(adjutant_core::invariants::broken(&world), Vec::<String>::new());
        prop_assert_eq!(shown(&replayed(&scene.project)), shown(&world), "the record");
        let read = read_world(scene.project.folder()).expect("a look");
        prop_assert_eq!(shown(&read), shown(&world), "the files");
        let Scene { project, engine } = scene;
        drop(engine);
        prop_assert_eq!(shown(project.engine().world()), shown(&world), "opened again");
        fs::remove_file(project.path("journal/index")).expect("an index");
        prop_assert_eq!(shown(project.engine().world()), shown(&world), "without an index");
        // Who takes a task away may leave its folder.
        let mut found = doctor::examine(project.folder()).expect("a look");
        found.retain(|finding| finding.code != doctor::Code::OrphanCompanion);
        prop_assert_eq!(found, vec![]);
    }
}
