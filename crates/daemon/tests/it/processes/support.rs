//! A test fixture for runs: a data folder and its supervisor.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use adjutant_config::run_token::TokenSecret;
use adjutant_config::{Agent, ConfigDuration, Kind, Scheduler};
use adjutant_model::{AgentId, TaskId};
use adjutant_process::process_table::{self, ProcessIdentity};
use adjutant_run_files::attempt_files::{AttemptFolder, LOG, ShimRecord};
use adjutant_runs::agent::{AgentLaunch, LaunchContext, TOKEN_VARIABLE};
use adjutant_runs::supervisor::{
    ProcessExit, RunEvent, RunEventKind, RunRef, RunSupervisor, StartResult,
};

/// The timeout of every wait, long enough for a busy machine.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_mins(2);

/// The program that has the commands `shim` and `script-agent`.
pub(crate) const HELPER: &str = env!("CARGO_BIN_EXE_process-helper");

pub(crate) struct RunFixture {
    _home: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) supervisor: RunSupervisor,
    pub(crate) events: Receiver<RunEvent>,
}

/// How a run ended, and its messages before that.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FinishedRun {
    pub(crate) exit: ProcessExit,
    pub(crate) tail: String,
    pub(crate) messages: Vec<(u64, String)>,
}

impl RunFixture {
    pub(crate) fn new() -> Self {
        Self::new_below("")
    }

    pub(crate) fn new_below(place: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let root = home.path().join(place).join(".adjutant");
        std::fs::create_dir_all(&root).expect("a data folder");
        let (supervisor, events) = supervise(&root);
        Self { _home: home, root, supervisor, events }
    }

    /// Starts a new supervisor without any state, as a daemon does after another was killed.
    pub(crate) fn restart(&mut self) {
        (self.supervisor, self.events) = supervise(&self.root);
    }

    /// Makes a launch of a script, with a short grace period.
    pub(crate) fn launch(&self, script: &str) -> AgentLaunch {
        let path = self.root.join(format!("script-{}.yaml", script.len()));
        std::fs::write(&path, script).expect("written");
        let settings = Agent { script: Some(path), ..Agent::new(Kind::Script) };
        let scheduler =
            Scheduler { grace: ConfigDuration(Duration::from_millis(300)), ..Scheduler::default() };
        let order = "Do it.\n".to_owned();
        let home = self.root.parent().expect("a project");
        AgentLaunch::for_agent(
            &settings,
            &scheduler,
            &LaunchContext::new(home, Path::new(HELPER)),
            order,
        )
    }

    /// Starts a script and follows its run.
    pub(crate) fn start_script(&self, script: &str) -> RunRef {
        self.start_launch(&self.launch(script))
    }

    pub(crate) fn start_launch(&self, launch: &AgentLaunch) -> RunRef {
        let run = run(1);
        assert_eq!(self.supervisor.start(&run, launch).expect("started"), StartResult::Running);
        assert!(self.supervisor.adopt(&run).expect("adopted"));
        run
    }

    /// Waits until a run is over and checks that no process of it is left.
    pub(crate) fn wait_for_end(&self, run: &RunRef) -> FinishedRun {
        let mut messages = Vec::new();
        loop {
            let event = self.events.recv_timeout(WAIT_TIMEOUT).expect("something happens");
            assert_eq!(event.run, *run);
            match event.kind {
                RunEventKind::Message { seq, message } => messages.push((seq, message.text)),
                RunEventKind::Exited { exit, tail, .. } => {
                    self.expect_no_processes(run);
                    return FinishedRun { exit, tail, messages };
                }
            }
        }
    }

    pub(crate) fn run_script(&self, script: &str) -> FinishedRun {
        self.wait_for_end(&self.start_script(script))
    }

    pub(crate) fn expect_no_processes(&self, run: &RunRef) {
        assert_eq!(self.processes(run), [], "processes are left");
    }

    /// Returns every process of a run except its shim.
    pub(crate) fn processes(&self, run: &RunRef) -> Vec<ProcessIdentity> {
        let secret = TokenSecret::open(&self.root).expect("a secret");
        process_table::find_by_variable(
            TOKEN_VARIABLE,
            &secret.token(&run.task, run.fence, run.nonce),
        )
    }

    pub(crate) fn folder(&self, run: &RunRef) -> AttemptFolder {
        self.supervisor.folder(run)
    }

    pub(crate) fn record(&self, run: &RunRef) -> ShimRecord {
        self.folder(run).record().expect("it reads").expect("it is there")
    }

    pub(crate) fn log(&self, run: &RunRef) -> Vec<u8> {
        std::fs::read(self.folder(run).join(LOG)).unwrap_or_default()
    }

    /// Waits until the agent has printed this.
    pub(crate) fn wait_for_output(&self, run: &RunRef, text: &str) {
        wait_until(|| String::from_utf8_lossy(&self.log(run)).contains(text));
    }

    /// Waits until a run has this many processes.
    pub(crate) fn wait_for_processes(&self, run: &RunRef, count: usize) {
        wait_until(|| self.processes(run).len() == count);
    }
}

fn supervise(root: &Path) -> (RunSupervisor, Receiver<RunEvent>) {
    RunSupervisor::new(root, HELPER.into(), TokenSecret::open(root).expect("a secret"))
}

pub(crate) fn run(attempt: u32) -> RunRef {
    RunRef {
        nonce: None,
        task: TaskId::parse("TASK-2026-02-09-001").expect("a good id"),
        attempt,
        fence: attempt.into(),
        agent: AgentId::parse("swe").expect("a good name"),
    }
}

/// Polls until the condition holds, for at most [`PATIENCE`].
pub(crate) fn wait_until(mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + WAIT_TIMEOUT;
    while !holds() {
        assert!(Instant::now() < end, "it never comes");
        std::thread::sleep(Duration::from_millis(10));
    }
}
