//! The simulated machine: its processes, and the time that passes for them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use adjutant_config::run_token::TokenSecret;
use adjutant_daemon::run_manager::{RunBackend, RunStartFailure, RunStartInput};
use adjutant_model::{Task, TaskId};
use adjutant_runs::supervisor::{
    LocalRunState, RunEvent, RunEventKind, RunMessage, RunRef, StopMode,
};

use super::agent_script;
use super::power::PowerSwitch;
use super::process::{AgentAct, SimProcess};
use crate::seeded_rng::SeededRng;

/// A run, by its task and its fence.
pub(super) type SimRunKey = (TaskId, u64);

pub(super) struct SimMachine {
    /// The time for processes. It never jumps, and stands still while the machine sleeps.
    pub(super) now_ms: i64,
    pub(super) processes: BTreeMap<SimRunKey, SimProcess>,
    pub(super) secret: TokenSecret,
    pub(super) grace_ms: i64,
    pub(super) rng: SeededRng,
    /// One in this many starts of an agent fails.
    pub(super) start_odds: usize,
    /// The violations that were found.
    pub(super) violations: Vec<String>,
}

/// An action of an agent that is visible outside its process.
pub(super) struct VisibleAction {
    pub(super) run: RunRef,
    pub(super) action: AgentAct,
}

impl SimMachine {
    /// Returns the time of the next event of any process.
    pub(super) fn next_event_ms(&self) -> Option<i64> {
        self.processes.values().filter_map(SimProcess::next_event_ms).min()
    }

    /// Advances every process to the current time.
    pub(super) fn advance(&mut self) -> Vec<VisibleAction> {
        let mut actions = Vec::new();
        for process in self.processes.values_mut() {
            for act in process.advance(self.now_ms) {
                actions.push(VisibleAction { run: process.run.clone(), action: act });
            }
        }
        actions
    }

    /// Returns the fences of runs whose agents work on a task.
    pub(super) fn working_fences(&self, task: &TaskId) -> Vec<u64> {
        let of = self.processes.range((task.clone(), 0)..=(task.clone(), u64::MAX));
        of.filter(|(_, process)| process.is_working()).map(|((_, fence), _)| *fence).collect()
    }

    /// Returns the runs whose agents are working.
    pub(super) fn working_runs(&self) -> Vec<SimRunKey> {
        let working = self.processes.iter().filter(|(_, process)| process.is_working());
        working.map(|(key, _)| key.clone()).collect()
    }

    fn start(&mut self, run: &RunRef, task: &Task) -> Result<(), RunStartFailure> {
        let key = (run.task.clone(), run.fence);
        if self.processes.contains_key(&key) {
            return Ok(());
        }
        let others = self.working_fences(&run.task);
        if !others.is_empty() {
            self.violations
                .push(format!("{} was started under {} beside {others:?}", run.task, run.fence));
        }
        if self.rng.one_in(self.start_odds) {
            let full = self.rng.one_in(2);
            return Err(if full {
                RunStartFailure::NoRoom
            } else {
                RunStartFailure::Failed("no shim".into())
            });
        }
        let token = self.secret.token(&run.task, run.fence, run.nonce);
        let mut rng = self.rng.split();
        let acts = agent_script::write_script(&mut rng, run, task, &token);
        let at = |(wait, act): (i64, AgentAct)| (self.now_ms + wait, act);
        let ends_by = self.now_ms + agent_script::TIMEOUT_MS;
        let stubborn = rng.between(0, 2 * self.grace_ms);
        let acts = acts.into_iter().map(at).collect();
        self.processes.insert(key, SimProcess::new(run.clone(), acts, ends_by, stubborn));
        Ok(())
    }

    fn stop(&mut self, run: &RunRef, reason: &str, leave: StopMode) {
        let (now, grace) = (self.now_ms, self.grace_ms);
        let known = self.processes.get_mut(&(run.task.clone(), run.fence));
        if reason == adjutant_model::effect::StopReason::LeaseLost.as_str()
            && known.as_ref().is_some_and(|process| process.is_working())
        {
            self.violations.push(format!("a healthy run of {} was stopped: {reason}", run.task));
        }
        if let Some(process) = known {
            process.stop(now, reason, leave, grace);
        } else {
            let key = (run.task.clone(), run.fence);
            self.processes.insert(key, SimProcess::ended_before_start(run.clone(), reason));
        }
    }
}

/// One daemon's access to the machine: starts, stops and follows runs. Clones share it.
#[derive(Clone)]
pub(super) struct SimRunBackend {
    machine: Rc<RefCell<SimMachine>>,
    power: PowerSwitch,
    lines_read: Rc<RefCell<BTreeMap<SimRunKey, usize>>>,
}

impl SimRunBackend {
    pub(super) fn new(machine: Rc<RefCell<SimMachine>>, power: PowerSwitch) -> Self {
        Self { machine, power, lines_read: Rc::default() }
    }

    /// Returns the next event of a random run that has one.
    pub(super) fn next_event(&self, rng: &mut SeededRng) -> Option<RunEvent> {
        let mut followed = self.lines_read.borrow_mut();
        let mut machine = self.machine.borrow_mut();
        let telling: Vec<SimRunKey> = followed
            .iter()
            .filter(|(key, read)| has_event(&machine.processes[*key], **read))
            .map(|(key, _)| key.clone())
            .collect();
        if telling.is_empty() {
            return None;
        }
        let key = rng.choose(&telling);
        let process = machine.processes.get_mut(key)?;
        let read = followed.get_mut(key)?;
        if let Some(text) = process.outbox.get(*read).cloned() {
            *read += 1;
            let message = RunMessage::from_text(text);
            let kind = RunEventKind::Message { seq: *read as u64, message };
            return Some(RunEvent { run: process.run.clone(), kind });
        }
        process.end_orphan();
        followed.remove(key);
        let exit = process.recorded_exit.clone()?;
        Some(RunEvent {
            run: process.run.clone(),
            kind: RunEventKind::Exited { exit, tail: String::new(), telemetry: Box::default() },
        })
    }
}

fn has_event(process: &SimProcess, read: usize) -> bool {
    read < process.outbox.len()
        || matches!(process.life(), LocalRunState::Over | LocalRunState::Gone)
}

fn dead_program_error() -> io::Error {
    io::Error::other("the program is dead")
}

impl RunBackend for SimRunBackend {
    fn find_runs(&self) -> Vec<RunRef> {
        let machine = self.machine.borrow();
        let unfinished = |process: &&SimProcess| {
            matches!(process.life(), LocalRunState::Alive | LocalRunState::Gone)
        };
        machine.processes.values().filter(unfinished).map(|process| process.run.clone()).collect()
    }

    fn local_state(&self, run: &RunRef) -> io::Result<LocalRunState> {
        let machine = self.machine.borrow();
        let process = machine.processes.get(&(run.task.clone(), run.fence));
        Ok(process.map_or(LocalRunState::Unknown, SimProcess::life))
    }

    fn start(&self, input: &RunStartInput) -> Result<(), RunStartFailure> {
        self.power.pass_kill_point().map_err(|_| dead_program_error().to_string())?;
        let started = self.machine.borrow_mut().start(&input.run, &input.task);
        self.power.pass_kill_point().map_err(|_| dead_program_error().to_string())?;
        started
    }

    fn stop(&self, run: &RunRef, reason: &str, leave: StopMode) -> io::Result<()> {
        self.power.pass_kill_point().map_err(|_| dead_program_error())?;
        self.machine.borrow_mut().stop(run, reason, leave);
        Ok(())
    }

    /// Folders are never removed in a simulation.
    fn end_strays(&self, _: &TaskId) {}

    fn adopt(&self, run: &RunRef) -> io::Result<bool> {
        self.power.pass_kill_point().map_err(|_| dead_program_error())?;
        let key = (run.task.clone(), run.fence);
        let machine = self.machine.borrow();
        let Some(process) = machine.processes.get(&key) else { return Ok(false) };
        self.lines_read.borrow_mut().entry(key).or_insert(process.acknowledged);
        Ok(true)
    }

    /// Agents never ask questions in a simulation.
    fn answer_question(&self, _: &TaskId, _: u32, _: u32, _: Option<&str>) -> io::Result<()> {
        Ok(())
    }

    fn confirm_messages(&self, task: &TaskId, attempt: u32, seq: u64) -> io::Result<()> {
        self.power.pass_kill_point().map_err(|_| dead_program_error())?;
        let mut machine = self.machine.borrow_mut();
        let mut all = machine.processes.values_mut();
        let is_run =
            |process: &&mut SimProcess| process.run.task == *task && process.run.attempt == attempt;
        if let Some(process) = all.find(is_run) {
            process.acknowledged = process.acknowledged.max(usize::try_from(seq).unwrap_or(0));
        }
        Ok(())
    }
}
