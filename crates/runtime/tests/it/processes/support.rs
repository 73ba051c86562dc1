//! A stage for runs: a data folder, a supervisor, and patience.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use adjutant_core::{AgentId, TaskId};
use adjutant_runtime::agent::{Here, Launch, TOKEN_VARIABLE};
use adjutant_runtime::config::{Agent, Kind, Scheduler, Span};
use adjutant_runtime::process::{self, Process};
use adjutant_runtime::shim::files::{Folder, LOG, Record};
use adjutant_runtime::supervisor::{Event, Exit, Run, Started, Supervisor, What};
use adjutant_runtime::token::Secret;

/// How long to wait for what must come, on however busy a machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The program that has the commands `shim` and `script-agent`.
pub(crate) const HELPER: &str = env!("CARGO_BIN_EXE_process-helper");

/// A data folder and a supervisor of it.
pub(crate) struct Stage {
    _home: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) supervisor: Supervisor,
    pub(crate) events: Receiver<Event>,
}

/// How a run ended, and what it said before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) exit: Exit,
    pub(crate) tail: String,
    pub(crate) messages: Vec<(u64, String)>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::at("")
    }

    /// Makes a project somewhere below a temporary folder.
    pub(crate) fn at(place: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let root = home.path().join(place).join(".adjutant");
        std::fs::create_dir_all(&root).expect("a data folder");
        let (supervisor, events) = supervise(&root);
        Self { _home: home, root, supervisor, events }
    }

    /// Begins anew, as a daemon does after another was killed: nothing is remembered.
    pub(crate) fn restart(&mut self) {
        (self.supervisor, self.events) = supervise(&self.root);
    }

    /// Makes a launch of a script, with a short grace.
    pub(crate) fn launch(&self, script: &str) -> Launch {
        let path = self.root.join(format!("script-{}.yaml", script.len()));
        std::fs::write(&path, script).expect("written");
        let settings = Agent { script: Some(path), ..Agent::new(Kind::Script) };
        let scheduler =
            Scheduler { grace: Span(Duration::from_millis(300)), ..Scheduler::default() };
        let order = "Do it.\n".to_owned();
        let home = self.root.parent().expect("a project");
        Launch::of(&settings, &scheduler, &Here::new(home, Path::new(HELPER)), order)
    }

    /// Starts a script and hears from it.
    pub(crate) fn play(&self, script: &str) -> Run {
        self.begin(&self.launch(script))
    }

    pub(crate) fn begin(&self, launch: &Launch) -> Run {
        let run = run(1);
        assert_eq!(self.supervisor.start(&run, launch).expect("started"), Started::Now);
        assert!(self.supervisor.adopt(&run).expect("adopted"));
        run
    }

    /// Waits until a run is over, and makes sure that nothing of it is left.
    pub(crate) fn end(&self, run: &Run) -> Ended {
        let mut messages = Vec::new();
        loop {
            let event = self.events.recv_timeout(PATIENCE).expect("something happens");
            assert_eq!(event.run, *run);
            match event.what {
                What::Line { seq, text, .. } => messages.push((seq, text)),
                What::Exited { exit, tail, .. } => {
                    self.nothing_is_left(run);
                    return Ended { exit, tail, messages };
                }
            }
        }
    }

    /// Plays a script to its end.
    pub(crate) fn played(&self, script: &str) -> Ended {
        self.end(&self.play(script))
    }

    pub(crate) fn nothing_is_left(&self, run: &Run) {
        assert_eq!(self.processes(run), [], "processes are left");
    }

    /// Returns every process of a run, its shim aside.
    pub(crate) fn processes(&self, run: &Run) -> Vec<Process> {
        let secret = Secret::open(&self.root).expect("a secret");
        process::marked(TOKEN_VARIABLE, &secret.token(&run.task, run.fence))
    }

    pub(crate) fn folder(&self, run: &Run) -> Folder {
        self.supervisor.folder(run)
    }

    pub(crate) fn record(&self, run: &Run) -> Record {
        self.folder(run).record().expect("it reads").expect("it is there")
    }

    pub(crate) fn log(&self, run: &Run) -> Vec<u8> {
        std::fs::read(self.folder(run).join(LOG)).unwrap_or_default()
    }

    /// Waits until the agent has printed this.
    pub(crate) fn printed(&self, run: &Run, text: &str) {
        until(|| String::from_utf8_lossy(&self.log(run)).contains(text));
    }

    /// Waits until a run has so many processes.
    pub(crate) fn has_processes(&self, run: &Run, count: usize) {
        until(|| self.processes(run).len() == count);
    }
}

fn supervise(root: &Path) -> (Supervisor, Receiver<Event>) {
    Supervisor::new(root, HELPER.into(), Secret::open(root).expect("a secret"))
}

/// Names an attempt at the one task there is.
pub(crate) fn run(attempt: u32) -> Run {
    Run {
        task: TaskId::parse("TASK-2026-02-09-001").expect("a good id"),
        attempt,
        fence: attempt.into(),
        agent: AgentId::parse("swe").expect("a good name"),
    }
}

/// Waits until something holds.
pub(crate) fn until(mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "it never comes");
        std::thread::sleep(Duration::from_millis(10));
    }
}
