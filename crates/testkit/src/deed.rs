//! Every kind of thing that can be done to a folder, for a test to interrupt at each step.

mod commands;
mod messages;
mod people;
mod runs;
mod upkeep;

use std::path::Path;

use crate::audit::Record;
use crate::hand::Hand;
use crate::project::Project;

/// One kind of thing to do.
pub struct Deed {
    /// What it is called.
    pub name: &'static str,
    /// Makes what is there before; nothing for a folder that is not there yet.
    pub given: Option<fn(&Project)>,
    /// What people do to the files before it is done.
    pub meddle: fn(&Path),
    /// Does it.
    pub act: fn(&mut Hand),
    /// What is answered, step by step.
    pub answers: &'static [&'static str],
    /// From what size on the journal is cut; none for the usual.
    pub journal_bytes_max: Option<u64>,
    /// How much the record tells afterwards.
    pub record: Record,
}

impl Deed {
    const fn new(name: &'static str, act: fn(&mut Hand), answers: &'static [&'static str]) -> Self {
        Self {
            name,
            given: Some(project_at_work),
            meddle: |_| {},
            act,
            answers,
            journal_bytes_max: None,
            record: Record::Whole,
        }
    }

    const fn after(self, meddle: fn(&Path)) -> Self {
        Self { meddle, ..self }
    }

    const fn cutting_the_journal_at(self, bytes: u64) -> Self {
        Self { journal_bytes_max: Some(bytes), ..self }
    }

    /// Finds a deed by its name.
    pub fn named(name: &str) -> &'static Self {
        let mut all = Self::all();
        all.find(|deed| deed.name == name).unwrap_or_else(|| panic!("there is no deed {name}"))
    }

    /// Returns every deed.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        [commands::ALL, messages::ALL, people::ALL, runs::ALL, upkeep::ALL].into_iter().flatten()
    }
}

use given::project_at_work;

/// The project most deeds are done to.
pub mod given {
    use adjutant_core::command::{NewTask, Start};
    use adjutant_core::task::{Review, Routing};
    use adjutant_core::{AgentId, Command, Status, TaskId};
    use adjutant_runtime::Engine;
    use adjutant_store::FileStore;

    use crate::message::completion;
    use crate::project::{Project, operator, send};

    /// In progress, with papers in its folder.
    pub const WORKING: &str = "TASK-2026-02-09-001";
    /// Ready, with nothing.
    pub const READY: &str = "TASK-2026-02-09-002";
    /// In review, with a result.
    pub const REVIEWED: &str = "TASK-2026-02-09-003";
    /// In progress, and done when it is done.
    pub const UNREVIEWED: &str = "TASK-2026-02-09-004";
    /// Blocked, with a result.
    pub const BLOCKED: &str = "TASK-2026-02-09-005";
    /// Who works on all of them.
    pub const AGENT: &str = "swe-backend";

    /// Parses an id that is known to be good.
    pub fn id(text: &str) -> TaskId {
        TaskId::parse(text).expect("a good id")
    }

    /// Makes it, with its folder at rest.
    pub fn project_at_work(project: &Project) {
        let mut engine = project.engine();
        for number in 1..=5 {
            let review = if number == 4 { Review::NotNeeded } else { Review::Required };
            let agent = Some(AgentId::parse(AGENT).expect("a good name"));
            let new = NewTask {
                title: format!("Task {number}"),
                body: "Mend it.\n".to_owned(),
                start: Start::Ready,
                routing: Routing { agent, ..Routing::default() },
                review,
                ..NewTask::default()
            };
            engine.submit_one(operator(Command::Add(Box::new(new)))).expect("added");
        }
        for task in [WORKING, REVIEWED, UNREVIEWED, BLOCKED] {
            start(&mut engine, task);
        }
        for task in [WORKING, REVIEWED, UNREVIEWED] {
            project.write(&format!("tasks/in-progress/{task}/outputs/summary.md"), "Done.\n");
        }
        engine.submit_one(send(&completion(REVIEWED, AGENT, "done"))).expect("reported");
        engine.submit_one(send(&completion(BLOCKED, AGENT, "blocked"))).expect("reported");
        engine.rest().expect("at rest");
    }

    /// Has a task worked on.
    pub fn start(engine: &mut Engine<FileStore>, task: &str) {
        let (id, to) = (id(task), Status::InProgress);
        let started = operator(Command::Move { id, to, reason: "start".into() });
        engine.submit_one(started).expect("started");
    }
}
