//! The machine everything runs on: its processes, and the time that passes for them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use adjutant_core::{Task, TaskId};
use adjutant_runtime::crew::{Hands, Unstarted, Wanted};
use adjutant_runtime::supervisor::{Event, Leave, Life, Run, What};
use adjutant_runtime::token::Secret;

use super::plug::Plug;
use super::process::{Act, Process};
use super::script;
use crate::dice::Dice;

/// A run, by its task and its fence.
pub(super) type Key = (TaskId, u64);

/// The machine.
pub(super) struct Machine {
    /// The time that has passed for processes. It knows no jumps, and stands still in a sleep.
    pub(super) now_ms: i64,
    pub(super) processes: BTreeMap<Key, Process>,
    pub(super) secret: Secret,
    pub(super) grace_ms: i64,
    pub(super) dice: Dice,
    /// Once in how many times an agent cannot be started.
    pub(super) start_odds: usize,
    /// What was seen that must never be.
    pub(super) wrong: Vec<String>,
}

/// Something an agent did that others see.
pub(super) struct Deed {
    pub(super) run: Run,
    pub(super) act: Act,
}

impl Machine {
    /// Returns when something happens on it next.
    pub(super) fn next_time(&self) -> Option<i64> {
        self.processes.values().filter_map(Process::next_time).min()
    }

    /// Lets every process go on until now.
    pub(super) fn go_on(&mut self) -> Vec<Deed> {
        let mut deeds = Vec::new();
        for process in self.processes.values_mut() {
            for act in process.go_on(self.now_ms) {
                deeds.push(Deed { run: process.run.clone(), act });
            }
        }
        deeds
    }

    /// Returns the fences under which somebody works on a task.
    pub(super) fn working_on(&self, task: &TaskId) -> Vec<u64> {
        let of = self.processes.range((task.clone(), 0)..=(task.clone(), u64::MAX));
        of.filter(|(_, process)| process.is_working()).map(|((_, fence), _)| *fence).collect()
    }

    /// Returns the runs of which somebody works.
    pub(super) fn working(&self) -> Vec<Key> {
        let working = self.processes.iter().filter(|(_, process)| process.is_working());
        working.map(|(key, _)| key.clone()).collect()
    }

    fn start(&mut self, run: &Run, task: &Task) -> Result<(), Unstarted> {
        let key = (run.task.clone(), run.fence);
        if self.processes.contains_key(&key) {
            return Ok(());
        }
        let others = self.working_on(&run.task);
        if !others.is_empty() {
            self.wrong
                .push(format!("{} was started under {} beside {others:?}", run.task, run.fence));
        }
        if self.dice.once_in(self.start_odds) {
            let full = self.dice.once_in(2);
            return Err(if full { Unstarted::NoRoom } else { Unstarted::Never("no shim".into()) });
        }
        let token = self.secret.token(&run.task, run.fence);
        let mut dice = self.dice.split();
        let acts = script::write(&mut dice, run, task, &token);
        let at = |(wait, act): (i64, Act)| (self.now_ms + wait, act);
        let ends_by = self.now_ms + script::TIMEOUT_MS;
        let stubborn = dice.between(0, 2 * self.grace_ms);
        let acts = acts.into_iter().map(at).collect();
        self.processes.insert(key, Process::new(run.clone(), acts, ends_by, stubborn));
        Ok(())
    }

    fn stop(&mut self, run: &Run, reason: &str, leave: Leave) {
        let (now, grace) = (self.now_ms, self.grace_ms);
        let known = self.processes.get_mut(&(run.task.clone(), run.fence));
        if reason == adjutant_core::effect::Stop::LeaseLost.as_str()
            && known.as_ref().is_some_and(|process| process.is_working())
        {
            self.wrong.push(format!("a healthy run of {} was stopped: {reason}", run.task));
        }
        if let Some(process) = known {
            process.stop(now, reason, leave, grace);
        } else {
            let key = (run.task.clone(), run.fence);
            self.processes.insert(key, Process::prevented(run.clone(), reason));
        }
    }
}

/// The hands of one daemon on the machine, and its ears. Clones are the same.
#[derive(Clone)]
pub(super) struct Reach {
    machine: Rc<RefCell<Machine>>,
    plug: Plug,
    followed: Rc<RefCell<BTreeMap<Key, usize>>>,
}

impl Reach {
    pub(super) fn new(machine: Rc<RefCell<Machine>>, plug: Plug) -> Self {
        Self { machine, plug, followed: Rc::default() }
    }

    /// Returns the next thing a run has to tell, of any of those that have something.
    pub(super) fn next_event(&self, dice: &mut Dice) -> Option<Event> {
        let mut followed = self.followed.borrow_mut();
        let mut machine = self.machine.borrow_mut();
        let telling: Vec<Key> = followed
            .iter()
            .filter(|(key, read)| tells(&machine.processes[*key], **read))
            .map(|(key, _)| key.clone())
            .collect();
        if telling.is_empty() {
            return None;
        }
        let key = dice.one_of(&telling);
        let process = machine.processes.get_mut(key)?;
        let read = followed.get_mut(key)?;
        if let Some(text) = process.outbox.get(*read).cloned() {
            *read += 1;
            let what = What::Line { seq: *read as u64, text, kind: None, flaw: None };
            return Some(Event { run: process.run.clone(), what });
        }
        process.clear();
        followed.remove(key);
        let exit = process.ended.clone()?;
        Some(Event {
            run: process.run.clone(),
            what: What::Exited { exit, tail: String::new(), told: Box::default() },
        })
    }
}

fn tells(process: &Process, read: usize) -> bool {
    read < process.outbox.len() || matches!(process.life(), Life::Over | Life::Gone)
}

fn dead() -> io::Error {
    io::Error::other("the program is dead")
}

impl Hands for Reach {
    fn find(&self) -> Vec<Run> {
        let machine = self.machine.borrow();
        let unfinished = |process: &&Process| matches!(process.life(), Life::Alive | Life::Gone);
        machine.processes.values().filter(unfinished).map(|process| process.run.clone()).collect()
    }

    fn life(&self, run: &Run) -> io::Result<Life> {
        let machine = self.machine.borrow();
        let process = machine.processes.get(&(run.task.clone(), run.fence));
        Ok(process.map_or(Life::Unknown, Process::life))
    }

    fn start(&self, wanted: &Wanted) -> Result<(), Unstarted> {
        self.plug.point().map_err(|_| dead().to_string())?;
        let started = self.machine.borrow_mut().start(&wanted.run, &wanted.task);
        self.plug.point().map_err(|_| dead().to_string())?;
        started
    }

    fn stop(&self, run: &Run, reason: &str, leave: Leave) -> io::Result<()> {
        self.plug.point().map_err(|_| dead())?;
        self.machine.borrow_mut().stop(run, reason, leave);
        Ok(())
    }

    /// Nobody takes folders away in a night.
    fn end_strays(&self, _: &TaskId) {}

    fn adopt(&self, run: &Run) -> io::Result<bool> {
        self.plug.point().map_err(|_| dead())?;
        let key = (run.task.clone(), run.fence);
        let machine = self.machine.borrow();
        let Some(process) = machine.processes.get(&key) else { return Ok(false) };
        self.followed.borrow_mut().entry(key).or_insert(process.taken);
        Ok(true)
    }

    /// Nobody asks for anything in a night.
    fn tell(&self, _: &TaskId, _: u32, _: u32, _: Option<&str>) -> io::Result<()> {
        Ok(())
    }

    fn take(&self, task: &TaskId, attempt: u32, seq: u64) -> io::Result<()> {
        self.plug.point().map_err(|_| dead())?;
        let mut machine = self.machine.borrow_mut();
        let mut all = machine.processes.values_mut();
        let said =
            |process: &&mut Process| process.run.task == *task && process.run.attempt == attempt;
        if let Some(process) = all.find(said) {
            process.taken = process.taken.max(usize::try_from(seq).unwrap_or(0));
        }
        Ok(())
    }
}
