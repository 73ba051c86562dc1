//! The runs somebody looks after: starts, stops and hears them, as the engine owes it.
//!
//! It holds the order of things and no rule: what an agent is and how one is started is known by
//! its [`Hands`], what a run means by the engine behind its [`Desk`]. So a simulation can play both
//! and leave this part as it is.

mod desk;
mod hands;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use adjutant_core::account::{Told, Trouble};
use adjutant_core::effect::Stop;
use adjutant_core::run::{Exit, Life};
use adjutant_core::schedule::{allowance, is_seen_to_end, to_look_at};
use adjutant_core::work::Merged;
use adjutant_core::{AgentId, Effect, Task, TaskId, World};
use adjutant_store::{EffectId, Owed, StoreError};

pub use desk::Desk;
pub use hands::{Hands, Looked, Unstarted, Wanted};

use crate::engine::Request;
use crate::fleet::Granted;
use crate::service::Unanswered;
use crate::shim::files::is_full;
use crate::supervisor::{self, Event, Leave, Run, What};
use crate::tick::Ticked;
use crate::worktree::Saved;

/// Everybody who works.
pub struct Crew<D, H> {
    desk: D,
    hands: H,
    /// The runs that were started or found here, and whose end has not been taken in.
    here: BTreeMap<(TaskId, u64), Run>,
    /// The runs that wait for a place to work in.
    preparing: BTreeSet<(TaskId, u64)>,
    /// Since when each of them was seen.
    since: BTreeMap<(TaskId, u64), Instant>,
    /// Those whose end was taken in since somebody last asked.
    ended: Vec<Run>,
}

/// Whether work is given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Give {
    /// As much as there is room for.
    Work,
    /// Nothing more: those who work are looked after until they have ended.
    Nothing,
}

impl<D: Desk, H: Hands> Crew<D, H> {
    /// Begins with nobody. [`Crew::adopt_all`] comes before everything else.
    pub fn new(desk: D, hands: H) -> Self {
        let (here, preparing, since) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Self { desk, hands, here, preparing, since, ended: vec![] }
    }

    /// Says whether no run is left.
    pub fn is_empty(&self) -> bool {
        self.here.is_empty()
    }

    /// Says whether something waits for a person and is tried again now and then.
    pub fn is_waiting(&self) -> bool {
        self.hands.is_waiting()
    }

    /// Says whether anything is under way that is no run, or not yet.
    pub fn is_busy(&self) -> bool {
        self.hands.is_busy() || !self.preparing.is_empty()
    }

    /// Finds every run an earlier daemon left, alive or not, and hears from it from now on. A run
    /// that ended while nobody listened tells so now.
    pub fn adopt_all(&mut self) -> Result<(), Unanswered> {
        self.note_taken()?;
        self.end_strays()?;
        let known = self.desk.view(runs)?;
        for run in known.into_iter().chain(self.hands.find()) {
            self.adopt(run);
        }
        Ok(())
    }

    /// Makes sure of runs that are to be started: an earlier daemon may have started them before it
    /// could say so, and if nothing shows it, only their processes do.
    fn end_strays(&self) -> Result<(), Unanswered> {
        for owed in self.desk.owed()? {
            if let Effect::StartRun { task, agent, attempt, fence } = owed.effect {
                let run = Run { task, attempt, fence, agent };
                if matches!(self.hands.life(&run), Ok(supervisor::Life::Unknown)) {
                    self.hands.end_strays(&run.task);
                }
            }
        }
        Ok(())
    }

    /// Notes what an earlier daemon took and had no time to note, before anything is read again.
    fn note_taken(&self) -> Result<(), Unanswered> {
        for owed in self.desk.owed()? {
            if let Effect::NoteTaken { task, attempt, seq } = owed.effect {
                // It stays owed until it is settled with the rest.
                let _ = self.hands.take(&task, attempt, seq);
            }
        }
        Ok(())
    }

    /// Hears from a run, if there is such a run here. One that is heard already may be over with
    /// some of what it said still on its way, and to begin again would be to hear that twice.
    fn adopt(&mut self, run: Run) {
        let key = (run.task.clone(), run.fence);
        if self.here.contains_key(&key) {
            return;
        }
        if matches!(self.hands.adopt(&run), Ok(true)) {
            self.since.entry(key.clone()).or_insert_with(Instant::now);
            self.here.insert(key, run);
        }
    }

    /// Returns how many of the runs here are over and have yet to say so.
    fn count_ended(&self) -> usize {
        let over = |run: &&Run| !matches!(self.hands.life(run), Ok(supervisor::Life::Alive));
        self.here.values().filter(over).count()
    }

    /// Does everything there is to do now.
    pub fn work(&mut self, give: Give) -> Result<(), Unanswered> {
        self.do_owed()?;
        match give {
            // What a tick gives out is owed, and what is owed may fail at once and free a slot.
            Give::Work => {
                while !self.tick()?.actions.is_empty() {
                    self.do_owed()?;
                }
                Ok(())
            }
            Give::Nothing => self.beat(),
        }
    }

    /// Does one tick and leaves: takes in what is over, gives out work and starts it. `next` waits
    /// for the next event of a run; none if there will be no more. `between` is called when what is
    /// over was taken in.
    pub fn once(
        &mut self,
        next: impl FnMut() -> Option<Event>,
        between: impl FnOnce(),
    ) -> Result<Ticked, Unanswered> {
        self.adopt_all()?;
        self.hear_the_ended(next)?;
        between();
        self.do_owed()?;
        let ticked = self.tick()?;
        self.do_owed()?;
        Ok(ticked)
    }

    /// Takes in the runs that are over, each with all it said. Those that live are left to others.
    fn hear_the_ended(
        &mut self,
        mut next: impl FnMut() -> Option<Event>,
    ) -> Result<(), Unanswered> {
        let mut ended = self.count_ended();
        while ended > 0 {
            let Some(event) = next() else { return Ok(()) };
            ended -= usize::from(matches!(event.what, What::Exited { .. }));
            self.hear(&[event])?;
        }
        Ok(())
    }

    /// Does what the engine owes to the outside. What there is no room for stays owed.
    fn do_owed(&mut self) -> Result<(), Unanswered> {
        let (mut done, mut stuck) = (Vec::new(), Ok(()));
        self.preparing.clear();
        // Runs that are to start one right after the other start together. What stands before or
        // behind them is done before or after: a run is stopped when it was started, if at all.
        let both_start =
            |one: &Owed, next: &Owed| to_start(one).is_some() && to_start(next).is_some();
        for some in self.desk.owed()?.chunk_by(both_start) {
            stuck = self.perform(some, &mut done);
            if stuck.is_err() {
                break;
            }
        }
        if !done.is_empty() {
            self.desk.settle(done)?;
        }
        stuck?;
        self.tidy()?;
        self.hands.sweep();
        Ok(())
    }

    /// Does what is owed to work that is no run: looks into what was said, and merges.
    pub fn do_work(&mut self) -> Result<(), Unanswered> {
        let mut done = Vec::new();
        for owed in self.desk.owed()? {
            let is_work =
                matches!(owed.effect, Effect::CheckWork { .. } | Effect::MergeWork { .. });
            if is_work && self.has_done(&owed.effect)? {
                done.push(owed.id);
            }
        }
        if done.is_empty() { Ok(()) } else { self.desk.settle(done) }
    }

    /// Has the work trees of tasks that are over taken away.
    fn tidy(&self) -> Result<(), Unanswered> {
        let trees = self.hands.trees();
        if trees.is_empty() {
            return Ok(());
        }
        let over = self.desk.view(move |world| {
            let tasks = trees.iter().filter_map(|id| world.task(id));
            let over = tasks.filter(|task| task.status().is_closed() && task.trials.open.is_none());
            over.cloned().collect::<Vec<Task>>()
        })?;
        for task in over {
            if let Some(saved) = self.hands.tidy(&task) {
                self.desk.ask(vec![told(&task.id, saved)])?;
            }
        }
        Ok(())
    }

    /// Looks into what a run said, and tells what was found. Says whether it is done.
    fn look_into(&self, id: &TaskId, fence: u64) -> Result<bool, Unanswered> {
        let claimed = |task: &Task| task.trials.claim().is_some_and(|claim| claim.fence == fence);
        let Some(task) = self.task(id)?.filter(claimed) else { return Ok(true) };
        let Some(Looked { evidence, saved }) = self.hands.look_into(&task) else {
            return Ok(false);
        };
        let mut requests: Vec<Request> = saved.map(|saved| told(id, saved)).into_iter().collect();
        let (task, evidence) = (id.clone(), Box::new(evidence));
        requests.push(Request::WorkChecked { task, fence, evidence });
        self.desk.ask(requests).map(|_| true)
    }

    /// Merges what was approved, and tells what came of it. Says whether it is done.
    fn merge(&self, id: &TaskId) -> Result<bool, Unanswered> {
        let wanted = |task: &Task| task.trials.merging().is_some();
        let Some(task) = self.task(id)?.filter(wanted) else { return Ok(true) };
        let Some(merged) = self.hands.merge(&task) else { return Ok(false) };
        let waits = matches!(merged, Merged::Waits { .. });
        let merged = Box::new(merged);
        self.desk.ask(vec![Request::WorkMerged { task: id.clone(), merged }])?;
        Ok(!waits)
    }

    fn task(&self, id: &TaskId) -> Result<Option<Task>, Unanswered> {
        let id = id.clone();
        self.desk.view(move |world| world.task(&id).cloned())
    }

    /// Does some of what is owed, and adds what is done.
    fn perform(&mut self, some: &[Owed], done: &mut Vec<EffectId>) -> Result<(), Unanswered> {
        let (left, waiting) = self.start_all(some.iter().filter_map(to_start).collect())?;
        for one in some {
            let is_done = match to_start(one) {
                Some(run) => !left.contains(&run) && !waiting.contains(&run),
                None => self.has_done(&one.effect)?,
            };
            if is_done {
                done.push(one.id);
            }
        }
        left.first().map_or(Ok(()), |run| Err(no_room(&run.task)))
    }

    /// Does what is owed, runs that start aside, which have been by now. Says whether it is done.
    fn has_done(&mut self, effect: &Effect) -> Result<bool, Unanswered> {
        match effect {
            Effect::StartRun { .. } => Ok(true),
            // It is no run's business.
            Effect::Notify { .. } => Ok(false),
            Effect::CheckWork { task, fence, .. } => self.look_into(task, *fence),
            Effect::MergeWork { task, .. } => self.merge(task),
            Effect::StopRun { task, fence, reason } => {
                self.stop(task, *fence, *reason).map(|()| true)
            }
            Effect::TellRun { task, attempt, number, choice } => {
                let told = self.hands.tell(task, *attempt, *number, choice.as_deref());
                // A run whose folder is gone is over, and waits for nothing.
                Ok(!told.is_err_and(|error| error.kind() != io::ErrorKind::NotFound))
            }
            Effect::NoteTaken { task, attempt, seq } => {
                let noted = self.hands.take(task, *attempt, *seq);
                // What cannot be noted now stays owed, unless somebody took the run away.
                Ok(!noted.is_err_and(|error| error.kind() != io::ErrorKind::NotFound))
            }
        }
    }

    /// Starts the runs that were given out, side by side, unless they are not wanted any more, and
    /// returns those the disk has no room for, and those that wait for a place. All of them have been tried when this returns, and
    /// only then may anybody be told that they were started: should this process die before, they
    /// are found, or started by the next.
    fn start_all(&mut self, runs: Vec<Run>) -> Result<(Vec<Run>, Vec<Run>), Unanswered> {
        let wanted = self.wanted(runs)?;
        let tried = self.hands.start_all(&wanted);
        let (mut failed, mut left, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
        let sound = Told::default;
        for (Wanted { run, .. }, started) in wanted.into_iter().zip(tried) {
            match started {
                Ok(()) => {
                    self.preparing.remove(&(run.task.clone(), run.fence));
                    self.adopt(run);
                }
                Err(Unstarted::NoRoom) => left.push(run),
                Err(Unstarted::NotYet) => waiting.push(run),
                Err(Unstarted::Never(why)) => failed.push((run, Exit::NotStarted(why), sound())),
                Err(Unstarted::Unusable(why)) => {
                    let trouble = Some(Trouble::Unusable { reason: why.clone() });
                    let told = Told { trouble, ..sound() };
                    failed.push((run, Exit::NotStarted(why), told));
                }
                Err(Unstarted::NoWorkspace(why)) => {
                    failed.push((run, Exit::NoWorkspace(why), sound()));
                }
            }
        }
        self.preparing.extend(waiting.iter().map(|run| (run.task.clone(), run.fence)));
        let mut failed = failed.into_iter();
        failed.try_for_each(|(run, exit, told)| self.not_started(&run, exit, told))?;
        Ok((left, waiting))
    }

    /// Returns those of the runs that still have their lease, each with what it needs to begin.
    fn wanted(&self, runs: Vec<Run>) -> Result<Vec<Wanted>, Unanswered> {
        if runs.is_empty() {
            return Ok(vec![]);
        }
        self.desk.view(move |world| {
            let wanted = |run: Run| {
                let task = world.task(&run.task)?;
                let lease = task.lease().filter(|lease| lease.fence == run.fence)?;
                let parent = task.parent.as_ref().and_then(|parent| world.task(parent)).cloned();
                let budget = allowance(world, task, &run.agent, lease.acquired_at);
                Some(Wanted { run, task: task.clone(), parent, budget })
            };
            runs.into_iter().filter_map(wanted).collect()
        })
    }

    fn not_started(&mut self, run: &Run, exit: Exit, told: Told) -> Result<(), Unanswered> {
        // Should anything of it have begun all the same, it ends before this is told.
        heed(run, self.hands.stop(run, &exit.in_words(), Leave::Now))?;
        self.tell_exit(run, exit, told)
    }

    fn stop(&mut self, task: &TaskId, fence: u64, reason: Stop) -> Result<(), Unanswered> {
        let leave = if reason == Stop::Reported { Leave::First } else { Leave::Now };
        let Some(run) = self.find(task, fence) else { return Ok(()) };
        heed(&run, self.hands.stop(&run, reason.as_str(), leave))?;
        self.adopt(run);
        Ok(())
    }

    /// Finds a run: among those here, else among all the task has.
    fn find(&self, task: &TaskId, fence: u64) -> Option<Run> {
        let here = self.here.get(&(task.clone(), fence)).cloned();
        here.or_else(|| self.hands.find_of(task).into_iter().find(|run| run.fence == fence))
    }

    /// Has every run stopped. One that cannot be stopped now keeps no other from it.
    pub fn stop_all(&mut self) -> Result<(), Unanswered> {
        let runs: Vec<&Run> = self.here.values().collect();
        let stopped = self.hands.stop_all(&runs, "the daemon was stopped");
        let each = runs.iter().zip(stopped).map(|(run, stopped)| heed(run, stopped));
        each.fold(Ok(()), Result::and)
    }

    /// Does one tick.
    fn tick(&mut self) -> Result<Ticked, Unanswered> {
        let runs = self.desk.view(runs)?;
        for run in &runs {
            // One that began or ended elsewhere meanwhile: by `adjutant tick`, say.
            if !self.here.contains_key(&(run.task.clone(), run.fence)) {
                self.adopt(run.clone());
            }
        }
        let is_here = |run: &Run| {
            let key = (run.task.clone(), run.fence);
            self.here.contains_key(&key) || self.preparing.contains(&key)
        };
        // A run here counts as alive until its end is taken in: what it said must come first.
        let life = |run: &Run| if is_here(run) { Life::Alive } else { Life::NotOurs };
        let lives = runs.iter().map(|run| (run.task.clone(), life(run))).collect();
        self.desk.tick(lives)
    }

    /// Renews the leases of the runs there are.
    fn beat(&self) -> Result<(), Unanswered> {
        let beat = |run: &Run| Request::Beat { task: run.task.clone(), fence: run.fence };
        let beats: Vec<Request> = self.here.values().map(beat).collect();
        if beats.is_empty() { Ok(()) } else { self.desk.ask(beats).map(drop) }
    }

    /// Takes in what runs did, all of it or nothing.
    pub fn hear(&mut self, events: &[Event]) -> Result<(), Unanswered> {
        if events.is_empty() {
            return Ok(());
        }
        self.desk.ask(events.iter().map(request).collect())?;
        // It is owed as well, but to the node that has the task by now.
        for event in events {
            if let What::Line { seq, .. } = event.what {
                let _ = self.hands.take(&event.run.task, event.run.attempt, seq);
            }
        }
        let is_over = |event: &&Event| matches!(event.what, What::Exited { .. });
        for event in events.iter().filter(is_over) {
            self.forget(&event.run);
        }
        Ok(())
    }

    fn tell_exit(&mut self, run: &Run, exit: Exit, told: Told) -> Result<(), Unanswered> {
        let (task, fence) = (run.task.clone(), run.fence);
        self.desk.ask(vec![Request::RunExited {
            task,
            fence,
            exit,
            tail: String::new(),
            told: Box::new(told),
        }])?;
        self.forget(run);
        Ok(())
    }

    /// Lets go of a run whose end was taken in.
    fn forget(&mut self, run: &Run) {
        let key = (run.task.clone(), run.fence);
        self.ended.extend(self.here.remove(&key));
        self.preparing.remove(&key);
        self.since.remove(&key);
    }

    /// Returns the runs whose end was taken in since this was last asked.
    pub fn take_ended(&mut self) -> Vec<Run> {
        std::mem::take(&mut self.ended)
    }

    /// Lets those runs go on that may, and stops those that are not this node's any more: their
    /// tasks went to others while nothing was heard of it.
    pub fn keep_to(&mut self, own: &BTreeSet<(TaskId, u64)>, granted: &Granted) {
        for (key, run) in &self.here {
            if !own.contains(key) {
                // A shim that cannot be reached ends its run when the time is up.
                let _ = self.hands.stop(run, Stop::LeaseLost.as_str(), Leave::Now);
            } else if granted.runs.contains(key) {
                self.hands.let_go_on(run, granted.until);
            }
        }
    }

    /// Returns the runs there are, each with since when it was seen here.
    pub fn here(&self) -> impl Iterator<Item = (&Run, Instant)> {
        self.here
            .iter()
            .map(|(key, run)| (run, self.since.get(key).copied()))
            .map(|(run, since)| (run, since.unwrap_or_else(Instant::now)))
    }
}

/// Returns what the engine is told of uncommitted work that was saved.
pub(crate) fn told(task: &TaskId, saved: Saved) -> Request {
    let Saved { reference, commit, .. } = saved;
    Request::WorkSaved { task: task.clone(), reference, commit }
}

/// Heeds whether a run could be told to stop. A shim that cannot be reached is gone, and what it
/// left is ended when that is noticed; only where the disk is full is this to be tried again.
fn heed(run: &Run, stopped: io::Result<()>) -> Result<(), Unanswered> {
    match stopped {
        Err(error) if is_full(&error) => Err(no_room(&run.task)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Says that the disk has no room for what the run of a task writes.
fn no_room(task: &TaskId) -> Unanswered {
    let (path, source) = (Path::new("runs").join(task.as_str()), io::ErrorKind::StorageFull.into());
    Unanswered::Store(Arc::new(StoreError::Full { path, source }))
}

/// Returns what the engine is told when a run did something.
fn request(event: &Event) -> Request {
    let Run { task, attempt, fence, .. } = event.run.clone();
    match &event.what {
        What::Line { seq, text, kind, flaw } => {
            let (seq, text, kind, flaw) = (*seq, text.clone(), *kind, flaw.clone());
            Request::Line { task, attempt, fence, seq, text, kind, flaw }
        }
        What::Exited { exit, tail, told } => {
            let (exit, tail, told) = (exit.into(), tail.clone(), told.clone());
            Request::RunExited { task, fence, exit, tail, told }
        }
    }
}

/// Returns the run that is to start, if one is.
fn to_start(owed: &Owed) -> Option<Run> {
    match &owed.effect {
        Effect::StartRun { task, agent, attempt, fence } => {
            let (task, agent) = (task.clone(), agent.clone());
            Some(Run { task, attempt: *attempt, fence: *fence, agent })
        }
        Effect::StopRun { .. }
        | Effect::NoteTaken { .. }
        | Effect::TellRun { .. }
        | Effect::CheckWork { .. }
        | Effect::MergeWork { .. }
        | Effect::Notify { .. } => None,
    }
}

/// Returns the runs the world knows of: those with a lease, and those nobody has seen end.
pub(crate) fn runs(world: &World) -> Vec<Run> {
    let run = |id: TaskId| {
        let task = world.task(&id)?;
        if is_seen_to_end(task) {
            return None;
        }
        let leased =
            |lease: &adjutant_core::task::Lease| (lease.agent.clone(), lease.attempt, lease.fence);
        let open = task.trials.open.as_ref();
        let open = open.map(|run| (run.agent.clone(), run.attempt, run.fence));
        let (agent, attempt, fence): (AgentId, u32, u64) = task.lease().map(leased).or(open)?;
        Some(Run { task: id, attempt, fence, agent })
    };
    to_look_at(world).into_iter().filter_map(run).collect()
}

impl From<&supervisor::Exit> for Exit {
    fn from(exit: &supervisor::Exit) -> Self {
        match exit {
            supervisor::Exit::Code(code) => Self::Code(*code),
            supervisor::Exit::Signal(signal) => Self::Signal(*signal),
            supervisor::Exit::TimedOut => Self::TimedOut,
            supervisor::Exit::Idle => Self::Idle,
            supervisor::Exit::OverBudget => Self::OverBudget,
            supervisor::Exit::Stopped(_) => Self::Stopped,
            supervisor::Exit::Lost => Self::Lost,
            supervisor::Exit::NotStarted(why) => Self::NotStarted(why.clone()),
        }
    }
}
