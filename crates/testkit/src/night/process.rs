//! A simulated run: an agent that plays its part, and the shim that looks after it.

use std::collections::VecDeque;

use adjutant_runtime::supervisor::{Exit, Leave, Life, Run};

/// Something an agent does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// It prints a message.
    Say(String),
    /// It sends a message by another way than its output.
    Send(String),
    /// It leaves a file as its result.
    Leave(String),
    /// It ends with this code.
    End(i32),
}

/// A run, as it is on the machine and in its folder.
pub(super) struct Process {
    pub(super) run: Run,
    shim: bool,
    agent: bool,
    /// How it ended, as its shim or whoever cleared up wrote it down.
    pub(super) ended: Option<Exit>,
    /// What it will do, and when.
    acts: VecDeque<(i64, Act)>,
    /// What it printed.
    pub(super) outbox: Vec<String>,
    /// How much of that was noted as taken.
    pub(super) taken: usize,
    /// How much of that the engine has answered.
    pub(super) answered: usize,
    /// When it is stopped, and how that is written down.
    stops: Vec<(i64, Exit)>,
    /// How long it takes to die after it was asked to.
    stubborn_ms: i64,
}

impl Process {
    pub(super) fn new(
        run: Run,
        acts: VecDeque<(i64, Act)>,
        ends_by: i64,
        stubborn_ms: i64,
    ) -> Self {
        Self {
            run,
            shim: true,
            agent: true,
            ended: None,
            acts,
            outbox: vec![],
            taken: 0,
            answered: 0,
            stops: vec![(ends_by, Exit::TimedOut)],
            stubborn_ms,
        }
    }

    /// Makes a run that was ended before it began.
    pub(super) fn prevented(run: Run, reason: &str) -> Self {
        let mut process = Self::new(run, VecDeque::new(), 0, 0);
        process.end(Exit::Stopped(reason.to_owned()));
        process
    }

    /// Says whether the agent works, whoever knows of it.
    pub(super) fn is_working(&self) -> bool {
        self.agent
    }

    pub(super) fn life(&self) -> Life {
        match (self.shim, &self.ended) {
            (true, _) => Life::Alive,
            (false, Some(_)) => Life::Over,
            (false, None) => Life::Gone,
        }
    }

    /// Returns when something happens to it next.
    pub(super) fn next_time(&self) -> Option<i64> {
        if !self.agent {
            return None;
        }
        let act = self.acts.front().map(|(at, _)| *at);
        let stop = self.stops.iter().map(|(at, _)| *at).min().filter(|_| self.shim);
        act.into_iter().chain(stop).min()
    }

    /// Goes on until `now`, and returns what it did that others see.
    pub(super) fn go_on(&mut self, now: i64) -> Vec<Act> {
        let mut seen = Vec::new();
        while self.next_time().is_some_and(|at| at <= now) {
            let stop = self.stops.iter().min_by_key(|(at, _)| *at).cloned();
            let acts_first = match (self.acts.front(), &stop) {
                (Some((act, _)), Some((stop, _))) => !self.shim || act <= stop,
                (act, _) => act.is_some(),
            };
            if acts_first && let Some((_, act)) = self.acts.pop_front() {
                seen.extend(self.act(act));
            } else if let Some((_, exit)) = stop {
                self.end(exit);
            }
        }
        seen
    }

    fn act(&mut self, act: Act) -> Option<Act> {
        match act {
            // Nobody holds the other end any more.
            Act::Say(_) if !self.shim => None,
            Act::Say(text) => {
                self.outbox.push(text);
                None
            }
            Act::End(code) => {
                let exit = self.shim.then_some(Exit::Code(code));
                self.agent = false;
                self.shim = false;
                self.ended = exit;
                None
            }
            Act::Send(_) | Act::Leave(_) => Some(act),
        }
    }

    /// It is over, nothing is left, and its end is written down.
    pub(super) fn end(&mut self, exit: Exit) {
        self.shim = false;
        self.agent = false;
        self.ended = Some(exit);
    }

    /// The shim is told to end the run.
    pub(super) fn stop(&mut self, now: i64, reason: &str, leave: Leave, grace_ms: i64) {
        match self.life() {
            Life::Alive => {
                let wait = if leave == Leave::First { grace_ms } else { 0 };
                let exit = Exit::Stopped(reason.to_owned());
                self.stops.push((now + wait + self.stubborn_ms.min(grace_ms), exit));
            }
            Life::Gone => self.clear(),
            Life::Over | Life::Unknown => {}
        }
    }

    /// Ends what a shim left that was killed.
    pub(super) fn clear(&mut self) {
        if self.life() == Life::Gone {
            self.end(Exit::Lost);
        }
    }

    /// Somebody kills the agent.
    pub(super) fn kill_agent(&mut self) {
        if self.agent && self.shim {
            self.end(Exit::Signal(9));
        }
    }

    /// Somebody kills the shim; the agent goes on without it.
    pub(super) fn kill_shim(&mut self) {
        self.shim = false;
    }

    /// The machine goes down.
    pub(super) fn kill_all(&mut self) {
        self.shim = false;
        self.agent = false;
    }
}
