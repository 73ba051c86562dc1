//! A simulated run: an agent that follows its script, and the shim that supervises it.

use std::collections::VecDeque;

use adjutant_runs::supervisor::{LocalRunState, ProcessExit, RunRef, StopMode};

/// An action of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AgentAct {
    /// Prints a message.
    Print(String),
    /// Sends a message by another way than its output.
    Send(String),
    /// Writes its result file.
    WriteResult(String),
    /// Exits with this code.
    Exit(i32),
}

/// A run, with its processes and its folder.
pub(super) struct SimProcess {
    pub(super) run: RunRef,
    shim: bool,
    agent: bool,
    /// Its exit, as recorded by its shim or by the daemon that cleaned up.
    pub(super) recorded_exit: Option<ProcessExit>,
    /// Its future actions, each with its time.
    future_acts: VecDeque<(i64, AgentAct)>,
    /// The lines it printed.
    pub(super) outbox: Vec<String>,
    /// How many lines were acknowledged.
    pub(super) acknowledged: usize,
    /// How many lines the engine has answered.
    pub(super) answered: usize,
    /// When it is stopped, and the exit to record.
    pending_stops: Vec<(i64, ProcessExit)>,
    /// The time it takes to exit after SIGTERM.
    exit_delay_ms: i64,
}

impl SimProcess {
    pub(super) fn new(
        run: RunRef,
        future_acts: VecDeque<(i64, AgentAct)>,
        ends_by: i64,
        exit_delay_ms: i64,
    ) -> Self {
        Self {
            run,
            shim: true,
            agent: true,
            recorded_exit: None,
            future_acts,
            outbox: vec![],
            acknowledged: 0,
            answered: 0,
            pending_stops: vec![(ends_by, ProcessExit::TimedOut)],
            exit_delay_ms,
        }
    }

    /// Makes a run that was ended before it began.
    pub(super) fn ended_before_start(run: RunRef, reason: &str) -> Self {
        let mut process = Self::new(run, VecDeque::new(), 0, 0);
        process.end(ProcessExit::Stopped(reason.to_owned()));
        process
    }

    /// Tells whether the agent works, even if its shim is gone.
    pub(super) fn is_working(&self) -> bool {
        self.agent
    }

    pub(super) fn life(&self) -> LocalRunState {
        match (self.shim, &self.recorded_exit) {
            (true, _) => LocalRunState::Alive,
            (false, Some(_)) => LocalRunState::Over,
            (false, None) => LocalRunState::Gone,
        }
    }

    /// Returns the time of its next event.
    pub(super) fn next_event_ms(&self) -> Option<i64> {
        if !self.agent {
            return None;
        }
        let act = self.future_acts.front().map(|(at, _)| *at);
        let stop = self.pending_stops.iter().map(|(at, _)| *at).min().filter(|_| self.shim);
        act.into_iter().chain(stop).min()
    }

    /// Advances to `now` and returns its visible actions.
    pub(super) fn advance(&mut self, now: i64) -> Vec<AgentAct> {
        let mut seen = Vec::new();
        while self.next_event_ms().is_some_and(|at| at <= now) {
            let stop = self.pending_stops.iter().min_by_key(|(at, _)| *at).cloned();
            let acts_first = match (self.future_acts.front(), &stop) {
                (Some((act, _)), Some((stop, _))) => !self.shim || act <= stop,
                (act, _) => act.is_some(),
            };
            if acts_first && let Some((_, act)) = self.future_acts.pop_front() {
                seen.extend(self.perform(act));
            } else if let Some((_, exit)) = stop {
                self.end(exit);
            }
        }
        seen
    }

    fn perform(&mut self, act: AgentAct) -> Option<AgentAct> {
        match act {
            // The reader of its output is gone.
            AgentAct::Print(_) if !self.shim => None,
            AgentAct::Print(text) => {
                self.outbox.push(text);
                None
            }
            AgentAct::Exit(code) => {
                let exit = self.shim.then_some(ProcessExit::Code(code));
                self.agent = false;
                self.shim = false;
                self.recorded_exit = exit;
                None
            }
            AgentAct::Send(_) | AgentAct::WriteResult(_) => Some(act),
        }
    }

    /// Ends the run and records its exit.
    pub(super) fn end(&mut self, exit: ProcessExit) {
        self.shim = false;
        self.agent = false;
        self.recorded_exit = Some(exit);
    }

    /// Tells the shim to end the run.
    pub(super) fn stop(&mut self, now: i64, reason: &str, leave: StopMode, grace_ms: i64) {
        match self.life() {
            LocalRunState::Alive => {
                let wait = if leave == StopMode::AfterGrace { grace_ms } else { 0 };
                let exit = ProcessExit::Stopped(reason.to_owned());
                self.pending_stops.push((now + wait + self.exit_delay_ms.min(grace_ms), exit));
            }
            LocalRunState::Gone => self.end_orphan(),
            LocalRunState::Over | LocalRunState::Unknown => {}
        }
    }

    /// Ends a run whose shim was killed.
    pub(super) fn end_orphan(&mut self) {
        if self.life() == LocalRunState::Gone {
            self.end(ProcessExit::Lost);
        }
    }

    pub(super) fn kill_agent(&mut self) {
        if self.agent && self.shim {
            self.end(ProcessExit::Signal(9));
        }
    }

    /// Kills the shim; the agent continues without it.
    pub(super) fn kill_shim(&mut self) {
        self.shim = false;
    }

    /// The machine goes down.
    pub(super) fn kill_all(&mut self) {
        self.shim = false;
        self.agent = false;
    }
}
