//! Looks after a shim from outside: notices that it does not answer, and does what it cannot.
//!
//! What a silence means is decided in [`adjutant_core::schedule::shim_action`].

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use adjutant_core::schedule::{ShimAction, ShimFacts, ShimlessEnd, shim_action};
use adjutant_process::process_table;
use adjutant_run_files::attempt_files::{AttemptFolder, ProcessExit, RunDeadlines, ShimRecord};
use adjutant_run_files::shim_spec::to_millis;
use adjutant_store::monotonic_now;
use parking_lot::Mutex;
use rustix::process::Signal;

use crate::shim::lease_file::LeaseDeadline;

/// How often to look.
const INTERVAL: Duration = Duration::from_millis(500);
/// The most that one look counts as silence: the supervisor itself may have been suspended.
const COUNTED_MAX: Duration = Duration::from_secs(2);

/// What the output tail of a run says that was ended without its shim.
const SHIM_SILENT: &str = "the shim of the run did not answer, and its processes were killed";

/// What the threads of a supervisor tell each other about a run that is followed.
#[derive(Default)]
pub(super) struct FollowedRun {
    /// The reason why the run has to stop, if it has to.
    pub(super) stop: Mutex<Option<String>>,
    /// Whether the follower is ending the run without its shim.
    pub(super) is_ending: AtomicBool,
}

pub(super) struct ShimWatchdog {
    record: ShimRecord,
    deadlines: RunDeadlines,
    silent: Duration,
    looked_at: Instant,
    asked_at: Option<Instant>,
}

/// How a run ended that has to be ended without its shim.
pub(super) struct EndWithoutShim {
    pub(super) record: ShimRecord,
    pub(super) exit: ProcessExit,
    /// What happened, for people.
    pub(super) note: &'static str,
}

impl EndWithoutShim {
    pub(super) fn new(record: ShimRecord, exit: ProcessExit) -> Self {
        Self { record, exit, note: SHIM_SILENT }
    }
}

impl ShimWatchdog {
    /// Returns the watchdog of a shim; `None` if the shim sends no pulse.
    pub(super) fn new(record: Option<&ShimRecord>) -> Option<Self> {
        let record = record?.clone();
        let (deadlines, looked_at) = (record.deadlines?, Instant::now());
        Some(Self { record, deadlines, silent: Duration::ZERO, looked_at, asked_at: None })
    }

    /// Records that the shim has answered.
    pub(super) fn record_pulse(&mut self) {
        self.silent = Duration::ZERO;
        self.asked_at = None;
        self.looked_at = Instant::now();
    }

    /// Looks at the shim, unless it was looked at a moment ago, and wakes it if it was stopped.
    /// Returns the end of the run if it has to be ended without its shim.
    pub(super) fn look(
        &mut self,
        folder: &AttemptFolder,
        run: &FollowedRun,
    ) -> Option<EndWithoutShim> {
        let elapsed = self.looked_at.elapsed();
        if elapsed < INTERVAL {
            return None;
        }
        self.looked_at = Instant::now();
        self.silent += elapsed.min(COUNTED_MAX);
        let reason = run.stop.lock().clone().or_else(|| lease_reason(folder));
        match shim_action(&self.facts(reason.is_some())) {
            ShimAction::Nothing => None,
            ShimAction::Wake => {
                self.wake();
                None
            }
            ShimAction::AskToEnd => {
                self.wake();
                self.ask_to_end();
                None
            }
            ShimAction::Kill(end) => {
                let exit = match end {
                    ShimlessEnd::StopRequested => ProcessExit::Stopped(reason.unwrap_or_default()),
                    ShimlessEnd::TimedOut => ProcessExit::TimedOut,
                    ShimlessEnd::Lost => ProcessExit::Lost,
                };
                Some(EndWithoutShim::new(self.record.clone(), exit))
            }
        }
    }

    fn facts(&self, is_stop_requested: bool) -> ShimFacts {
        let RunDeadlines { timeout_at_ms, grace_ms, ttl_ms } = self.deadlines;
        ShimFacts {
            is_suspended: self.record.shim_process().is_suspended(),
            silent_ms: to_millis(self.silent),
            is_stop_requested,
            is_timed_out: timeout_at_ms.is_some_and(|at_ms| to_millis(monotonic_now()) >= at_ms),
            asked_ms: self.asked_at.map(|at| to_millis(at.elapsed())),
            grace_ms,
            ttl_ms,
        }
    }

    fn wake(&self) {
        self.record.shim_process().send_signal(Signal::CONT);
    }

    /// Asks the agent to end, or everything below the shim if the agent has ended.
    fn ask_to_end(&mut self) {
        self.asked_at = Some(Instant::now());
        let agent = self.record.agent_process().filter(|agent| agent.is_alive());
        process_table::ask_to_end(&match agent {
            Some(agent) => vec![agent],
            None => process_table::descendants(&[self.record.shim_pid]),
        });
    }
}

/// Returns the reason to stop a run in a fleet whose lease has expired.
fn lease_reason(folder: &AttemptFolder) -> Option<String> {
    let lease = LeaseDeadline::open(folder.path())?;
    let is_over = lease.stop_time(Duration::ZERO) <= Instant::now();
    is_over.then(|| LeaseDeadline::EXPIRED.to_owned())
}
