//! Does one thing after another to a folder, and says aloud what was answered before it goes on.
//!
//! This is the child of a test that kills it: what it said, it was told was durable.

use std::io::Write;
use std::path::Path;

use adjutant_core::notice::{Kind, Rule};
use adjutant_core::policy::{AgentPolicy, SchedulerPolicy};
use adjutant_core::{AgentId, Policy};
use adjutant_runtime::{Answered, Engine, Request};
use adjutant_store::file::{DATA_FOLDER, Folder};
use adjutant_store::{FileStore, Store};

use crate::clock::SetClock;
use crate::deed::given::AGENT;

/// The time at which every hand and every witness works, so that all write the same bytes.
pub const NOW: &str = "2026-02-09T21:30:00.000Z";

/// After this many steps the hand stops of its own will.
pub const STOP_AFTER: &str = "ADJUTANT_STOP_AFTER";

/// An engine on a folder, and what it was answered so far.
pub struct Hand {
    /// The engine.
    pub engine: Engine<FileStore>,
    /// Its clock.
    pub clock: SetClock,
    steps: u32,
    steps_max: Option<u32>,
}

impl Hand {
    /// Opens the data folder of a project, or makes it.
    pub fn open(home: &Path) -> Self {
        let steps_max = std::env::var(STOP_AFTER).ok().and_then(|text| text.parse().ok());
        let clock = SetClock::at(NOW);
        Self { engine: open(&folder(home), &clock), clock, steps: 0, steps_max }
    }

    /// Asks for all of this in one commit.
    pub fn submit(&mut self, requests: &[Request]) {
        let answers = self.engine.submit(requests).expect("an answer");
        let verdict = |answered: &Answered| answered.answer.verdict.as_str();
        self.said(&answers.iter().map(verdict).collect::<Vec<_>>().join(","));
    }

    /// Takes in what people did.
    pub fn look_around(&mut self) {
        self.engine.look_around().expect("a look around");
        self.said("looked");
    }

    /// Marks every effect as done.
    pub fn settle(&mut self) {
        let owed: Vec<_> = self.engine.store().owed().iter().map(|owed| owed.id).collect();
        self.engine.settle(&owed).expect("settled");
        self.said("settled");
    }

    /// Leaves the folder at rest.
    pub fn rest(&mut self) {
        self.engine.rest().expect("at rest");
        self.said("rested");
    }

    fn said(&mut self, word: &str) {
        let mut out = std::io::stdout();
        writeln!(out, "{word}").and_then(|()| out.flush()).expect("somebody listens");
        self.steps += 1;
        if self.steps_max == Some(self.steps) {
            std::process::exit(0);
        }
    }
}

/// Finds the data folder of a project, or makes it.
pub fn folder(home: &Path) -> Folder {
    let root = home.join(DATA_FOLDER);
    Folder::at(&root).or_else(|_| Folder::init(home)).expect("a data folder")
}

/// Opens a folder as a process does.
pub fn open(folder: &Folder, clock: &SetClock) -> Engine<FileStore> {
    let (store, loaded) = FileStore::open(folder).expect("the folder opens");
    let engine = Engine::start(store, loaded, Box::new(clock.clone()), policy());
    engine.expect("the engine starts").chancing(|| 7)
}

/// One agent, who works on as much as there is.
fn policy() -> Policy {
    let agent = AgentPolicy { slots: 8, ..AgentPolicy::default() };
    let scheduler = SchedulerPolicy { concurrency: 8, ..SchedulerPolicy::default() };
    let agents = [(AgentId::parse(AGENT).expect("a good name"), agent)].into();
    let notify = vec![Rule::plain("ops", Kind::ALL)];
    Policy { agents, scheduler, notify, ..Policy::default() }
}
