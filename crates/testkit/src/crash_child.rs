//! The child of a crash test: performs one step after another and prints each answer at once.
//!
//! A printed answer means the engine has confirmed that the step is durable.

use std::io::Write;
use std::path::Path;

use adjutant_engine::{Engine, EngineAnswer, EngineRequest};
use adjutant_model::notice::{NoticeKind, NotifyRule};
use adjutant_model::policy::{AgentPolicy, SchedulerPolicy};
use adjutant_model::{AgentId, Policy};
use adjutant_store::file::{DATA_FOLDER, DataFolder};
use adjutant_store::{FileStore, Store};

use crate::clock::ManualClock;
use crate::folder_operation::given::AGENT;

/// The time in every child and every witness, so that all write the same bytes.
pub const NOW: &str = "2026-02-09T21:30:00.000Z";

/// The environment variable with the number of steps after which the child exits.
pub const STOP_AFTER_VARIABLE: &str = "ADJUTANT_STOP_AFTER";

/// An engine on a folder, and the number of answers so far.
pub struct CrashChild {
    pub engine: Engine<FileStore>,
    pub clock: ManualClock,
    steps: u32,
    steps_max: Option<u32>,
}

impl CrashChild {
    /// Opens the data folder of a project, or makes it.
    pub fn open_engine(home: &Path) -> Self {
        let steps_max = std::env::var(STOP_AFTER_VARIABLE).ok().and_then(|text| text.parse().ok());
        let clock = ManualClock::at(NOW);
        Self { engine: open_engine(&open_or_init_folder(home), &clock), clock, steps: 0, steps_max }
    }

    /// Submits all requests in one commit.
    pub fn submit(&mut self, requests: &[EngineRequest]) {
        let answers = self.engine.submit(requests).expect("an answer");
        let verdict = |answered: &EngineAnswer| answered.answer.verdict.as_str();
        self.print_answer(&answers.iter().map(verdict).collect::<Vec<_>>().join(","));
    }

    /// Applies edits that people made.
    pub fn apply_edits(&mut self) {
        self.engine.check_all_files().expect("a look around");
        self.print_answer("looked");
    }

    /// Marks every pending effect as performed.
    pub fn settle_effects(&mut self) {
        let effects: Vec<_> =
            self.engine.store().pending_effects().iter().map(|effects| effects.id).collect();
        self.engine.settle(&effects).expect("settled");
        self.print_answer("settled");
    }

    pub fn rest(&mut self) {
        self.engine.rest().expect("at rest");
        self.print_answer("rested");
    }

    fn print_answer(&mut self, word: &str) {
        let mut out = std::io::stdout();
        writeln!(out, "{word}").and_then(|()| out.flush()).expect("the test listens");
        self.steps += 1;
        if self.steps_max == Some(self.steps) {
            std::process::exit(0);
        }
    }
}

/// Finds the data folder of a project, or makes it.
pub fn open_or_init_folder(home: &Path) -> DataFolder {
    let root = home.join(DATA_FOLDER);
    DataFolder::at(&root).or_else(|_| DataFolder::init(home)).expect("a data folder")
}

/// Opens a folder as a process does.
/// Every random number of these engines, so that all runs have the same nonce.
pub(crate) const RANDOM_NUMBER: u64 = 7;

pub fn open_engine(folder: &DataFolder, clock: &ManualClock) -> Engine<FileStore> {
    let (store, loaded) = FileStore::open(folder).expect("the folder opens");
    let engine = Engine::start(store, loaded, Box::new(clock.clone()), policy());
    engine.expect("the engine starts").with_rng(|| RANDOM_NUMBER)
}

/// One agent with more slots than there is work.
fn policy() -> Policy {
    let agent = AgentPolicy { slots: 8, ..AgentPolicy::default() };
    let scheduler = SchedulerPolicy { concurrency: 8, ..SchedulerPolicy::default() };
    let agents = [(AgentId::parse(AGENT).expect("a good name"), agent)].into();
    let notify = vec![NotifyRule::immediate("ops", NoticeKind::ALL)];
    Policy { agents, scheduler, notify, ..Policy::default() }
}
