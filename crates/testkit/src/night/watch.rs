//! What must hold at every moment, seen from the record and from the machine alone.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::answer::Verdict;
use adjutant_core::effect::Stop;
use adjutant_core::run::Exit;
use adjutant_core::{
    Actor, Effect, Event, EventId, Policy, Recorded, Status, Task, TaskId, World, invariants,
};
use adjutant_runtime::Answered;
use adjutant_store::{Caught, MemoryStore, Store};

use super::machine::Machine;

/// Goes through the record as it grows, and compares.
pub(super) struct Watch {
    memory: MemoryStore,
    policy: Policy,
    pub(super) world: World,
    pub(super) record: Vec<Recorded>,
    stories: BTreeMap<TaskId, Story>,
    /// Up to where the world of each program was compared.
    compared: BTreeMap<String, EventId>,
    pub(super) wrong: Vec<String>,
}

/// What the record tells of one task.
#[derive(Default)]
struct Story {
    fence: u64,
    /// When each run was given out: the event, and the fence.
    starts: Vec<(EventId, u64)>,
    attempt: u32,
    /// Attempts without a result since somebody took the task up again.
    failures: u32,
    /// The words of the last report that was applied.
    report: Option<String>,
}

impl Watch {
    pub(super) fn new(mut memory: MemoryStore, policy: Policy) -> Self {
        let world = memory.open().world.with_policy(policy.clone());
        let (stories, compared) = (BTreeMap::new(), BTreeMap::new());
        Self { memory, policy, world, record: vec![], stories, compared, wrong: vec![] }
    }

    /// Takes in what was committed since the last look.
    pub(super) fn look(&mut self, machine: &Machine) {
        let Ok(Caught::Events(events)) = self.memory.begin() else {
            self.wrong.push("the record cannot be read".to_owned());
            return;
        };
        let changed = !events.is_empty();
        for recorded in events {
            self.take_in(recorded, machine);
        }
        if changed {
            self.wrong.extend(invariants::broken(&self.world));
            self.check_runs(machine);
        }
    }

    fn take_in(&mut self, recorded: Recorded, machine: &Machine) {
        let next = self.record.last().map_or(EventId(1), |last| last.id.next());
        if recorded.id != next {
            self.say(format!("event {} stands where {next} should", recorded.id));
        }
        if let Some(id) = recorded.happened.task.clone() {
            self.judge(&id, &recorded, machine);
        }
        self.world.apply(&recorded);
        self.record.push(recorded);
    }

    fn say(&mut self, what: String) {
        self.wrong.push(what);
    }

    fn judge(&mut self, id: &TaskId, recorded: &Recorded, machine: &Machine) {
        let attempts_max = self.policy.scheduler.attempts_max;
        let lease = self.world.task(id).and_then(Task::lease).map(|lease| lease.fence);
        let works = |fence: u64| {
            let process = machine.processes.get(&(id.clone(), fence));
            process.is_some_and(super::process::Process::is_working)
        };
        let story = self.stories.entry(id.clone()).or_default();
        let mut wrong = Vec::new();
        match &recorded.happened.event {
            Event::RunStarted { fence, attempt, .. } => {
                if *fence <= story.fence || *attempt <= story.attempt {
                    wrong.push(format!("run {attempt} under {fence} is not a new one"));
                }
                if story.failures >= attempts_max {
                    wrong.push(format!("attempt {attempt} comes after {attempts_max} failures"));
                }
                if let Some(other) = (1..*fence).find(|other| works(*other)) {
                    wrong.push(format!("run {attempt} was given out while {other} works"));
                }
                (story.fence, story.attempt) = (*fence, *attempt);
                story.starts.push((recorded.id, *fence));
            }
            Event::RunExited { fence, exit, .. } => {
                wrong.extend(judge_exit(id, *fence, exit, machine));
            }
            Event::RunFailed { fence, reason, .. } => {
                story.failures += 1;
                if works(*fence) {
                    wrong.push(format!("run {fence} works and is said to have failed: {reason}"));
                }
            }
            Event::TaskTransitioned { from, to, reason, .. } => {
                if *to == Status::Ready && *from != Status::InProgress {
                    story.failures = 0;
                }
                let by_itself = recorded.happened.actor == Actor::Scheduler;
                if by_itself && lease.is_some_and(works) {
                    wrong.push(format!("its run works and the scheduler moved it: {reason}"));
                }
            }
            Event::TaskCompleted { result, .. } => {
                story.failures = 0;
                story.report = Some(result.completion.notes.clone());
            }
            _ => {}
        }
        self.wrong.extend(wrong.into_iter().map(|what| format!("{id}: {what}")));
    }

    fn check_runs(&mut self, machine: &Machine) {
        for task in self.world.tasks() {
            let working = machine.working_on(&task.id);
            if working.len() > 1 {
                self.wrong.push(format!("{} is in the runs {working:?} at once", task.id));
            }
        }
    }

    /// What was answered is in the record, word by word.
    pub(super) fn check_answer(&mut self, answered: &Answered) {
        for event in &answered.events {
            let place = usize::try_from(event.id.0).unwrap_or(0).saturating_sub(1);
            if self.record.get(place) != Some(event) {
                self.say(format!("event {} was answered and is not in the record", event.id));
            }
        }
        let lost =
            |effect: &Effect| matches!(effect, Effect::StopRun { reason: Stop::LeaseLost, .. });
        if answered.owed.iter().any(|owed| lost(&owed.effect)) {
            self.say("a run was to be stopped for a lost lease".to_owned());
        }
    }

    /// A message that shows no right may not count.
    pub(super) fn check_refused(&mut self, answered: &Answered, what: &str) {
        if answered.answer.verdict == Verdict::Applied {
            self.say(format!("{what} was applied: {:?}", answered.answer));
        }
    }

    /// Returns the highest fence a task was ever given out under.
    pub(super) fn fence(&self, id: &TaskId) -> u64 {
        self.stories.get(id).map_or(0, |story| story.fence)
    }

    /// Says whether a run had been replaced when it was answered.
    pub(super) fn was_replaced(&self, id: &TaskId, fence: u64, answered: &Answered) -> bool {
        let at = answered.events.first().map(|event| event.id);
        let newer = |(event, newer): &(EventId, u64)| *newer > fence && Some(*event) < at;
        self.stories.get(id).is_some_and(|story| story.starts.iter().any(newer))
    }

    /// What somebody knows is what the record tells, unless it is behind.
    pub(super) fn compare(&mut self, what: &str, world: &World) {
        let last = self.world.last_event();
        if world.last_event() != last || self.compared.insert(what.to_owned(), last) == Some(last) {
            return;
        }
        if *world != self.world {
            self.say(format!("the world of {what} is not what the record tells"));
        }
    }

    /// Compares the record with the files, at the end of everything.
    pub(super) fn compare_files(&mut self) {
        let mut memory = self.memory.clone();
        let read = memory.open().world.with_policy(self.policy.clone());
        if read != self.world {
            self.say("the world in the files is not what the record tells".to_owned());
        }
    }

    /// Every task that was ever made is there, and its last report is kept.
    pub(super) fn check_kept(&mut self) {
        let made: BTreeSet<TaskId> = self.stories.keys().cloned().collect();
        let mut wrong = Vec::new();
        for id in &made {
            if self.world.task(id).is_none() {
                wrong.push(format!("{id} is lost"));
            }
            let report = self.stories.get(id).and_then(|story| story.report.as_deref());
            if report.is_some_and(|report| !self.is_kept(id, report)) {
                wrong.push(format!("{id}: its report is in no file: {report:?}"));
            }
        }
        self.wrong.extend(wrong);
    }

    fn is_kept(&self, id: &TaskId, report: &str) -> bool {
        let of = format!("runs/{id}/");
        let files = self.memory.files();
        let results = files.iter().filter(|path| path.starts_with(&of));
        results.filter_map(|path| self.memory.file(path)).any(|text| text.contains(report))
    }
}

/// The record tells of the end of a run as it was, when it was over, and after all it said.
fn judge_exit(id: &TaskId, fence: u64, exit: &Exit, machine: &Machine) -> Option<String> {
    let Some(process) = machine.processes.get(&(id.clone(), fence)) else {
        let never = matches!(exit, Exit::NotStarted(_) | Exit::Lost);
        return (!never)
            .then(|| format!("run {fence} never was, and is said to have ended: {exit}"));
    };
    if process.is_working() {
        return Some(format!("run {fence} works and is said to have ended: {exit}"));
    }
    if process.answered < process.outbox.len() {
        return Some(format!("the end of run {fence} came before what it had said"));
    }
    let truth = process.ended.as_ref().map(Exit::from);
    let cannot_start = matches!(exit, Exit::NotStarted(_));
    (truth.as_ref() != Some(exit) && !cannot_start)
        .then(|| format!("run {fence} ended as {truth:?} and is said to have ended: {exit}"))
}
