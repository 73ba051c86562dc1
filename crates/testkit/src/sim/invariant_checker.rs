//! Invariants that hold at every moment, checked from the event log and the machine alone.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::{World, invariants};
use adjutant_engine::EngineAnswer;
use adjutant_model::answer::AnswerVerdict;
use adjutant_model::effect::StopReason;
use adjutant_model::run::RunExit;
use adjutant_model::{Actor, Effect, Event, EventId, Policy, RecordedEvent, Status, Task, TaskId};
use adjutant_store::{MemoryStore, Store, StoreUpdate};

use super::machine::SimMachine;

/// Follows the event log and checks every event.
pub(super) struct InvariantChecker {
    memory: MemoryStore,
    policy: Policy,
    pub(super) world: World,
    pub(super) events: Vec<RecordedEvent>,
    histories: BTreeMap<TaskId, TaskEventHistory>,
    /// The last event at which the world of each program was compared.
    compared_at: BTreeMap<String, EventId>,
    pub(super) violations: Vec<String>,
}

/// The history of one task, from the event log.
#[derive(Default)]
struct TaskEventHistory {
    fence: u64,
    /// The event and the fence of each started run.
    starts: Vec<(EventId, u64)>,
    attempt: u32,
    /// Failed attempts since the task was last reopened.
    failures: u32,
    /// The notes of the last report that was applied.
    report: Option<String>,
}

impl InvariantChecker {
    pub(super) fn new(mut memory: MemoryStore, policy: Policy) -> Self {
        let world = memory.open().world.with_policy(policy.clone());
        let (histories, compared_at) = (BTreeMap::new(), BTreeMap::new());
        Self { memory, policy, world, events: vec![], histories, compared_at, violations: vec![] }
    }

    /// Applies the events committed since the last call.
    pub(super) fn catch_up(&mut self, machine: &SimMachine) {
        let Ok(StoreUpdate::Events(events)) = self.memory.begin() else {
            self.violations.push("the record cannot be read".to_owned());
            return;
        };
        let changed = !events.is_empty();
        for recorded in events {
            self.apply_event(recorded, machine);
        }
        if changed {
            self.violations.extend(invariants::find_violations(&self.world));
            self.check_runs(machine);
        }
    }

    fn apply_event(&mut self, recorded: RecordedEvent, machine: &SimMachine) {
        let next = self.events.last().map_or(EventId(1), |last| last.id.next());
        if recorded.id != next {
            self.add_violation(format!("event {} stands where {next} should", recorded.id));
        }
        if let Some(id) = recorded.new_event.task.clone() {
            self.check_event(&id, &recorded, machine);
        }
        self.world.apply(&recorded);
        self.events.push(recorded);
    }

    fn add_violation(&mut self, what: String) {
        self.violations.push(what);
    }

    fn check_event(&mut self, id: &TaskId, recorded: &RecordedEvent, machine: &SimMachine) {
        let attempts_max = self.policy.scheduler.attempts_max;
        let lease = self.world.task(id).and_then(Task::lease).map(|lease| lease.fence);
        let works = |fence: u64| {
            let process = machine.processes.get(&(id.clone(), fence));
            process.is_some_and(super::process::SimProcess::is_working)
        };
        let story = self.histories.entry(id.clone()).or_default();
        let mut wrong = Vec::new();
        match &recorded.new_event.event {
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
                wrong.extend(check_exit(id, *fence, exit, machine));
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
                let by_itself = recorded.new_event.actor == Actor::Scheduler;
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
        self.violations.extend(wrong.into_iter().map(|what| format!("{id}: {what}")));
    }

    fn check_runs(&mut self, machine: &SimMachine) {
        for task in self.world.tasks() {
            let working = machine.working_fences(&task.id);
            if working.len() > 1 {
                self.violations.push(format!("{} is in the runs {working:?} at once", task.id));
            }
        }
    }

    /// Every event of an answer is in the event log, unchanged.
    pub(super) fn check_answer(&mut self, answered: &EngineAnswer) {
        for event in &answered.events {
            let place = usize::try_from(event.id.0).unwrap_or(0).saturating_sub(1);
            if self.events.get(place) != Some(event) {
                self.add_violation(format!(
                    "event {} was answered and is not in the record",
                    event.id
                ));
            }
        }
        let lost = |effect: &Effect| {
            matches!(effect, Effect::StopRun { reason: StopReason::LeaseLost, .. })
        };
        if answered.effects.iter().any(|pending| lost(&pending.effect)) {
            self.add_violation("a run was to be stopped for a lost lease".to_owned());
        }
    }

    /// A message without a valid token must not be applied.
    pub(super) fn check_refused(&mut self, answered: &EngineAnswer, what: &str) {
        if answered.answer.verdict == AnswerVerdict::Applied {
            self.add_violation(format!("{what} was applied: {:?}", answered.answer));
        }
    }

    /// Returns the highest fence of any run of a task.
    pub(super) fn highest_fence(&self, id: &TaskId) -> u64 {
        self.histories.get(id).map_or(0, |story| story.fence)
    }

    /// Tells whether a run had been replaced when it was answered.
    pub(super) fn was_replaced(&self, id: &TaskId, fence: u64, answered: &EngineAnswer) -> bool {
        let at = answered.events.first().map(|event| event.id);
        let newer = |(event, newer): &(EventId, u64)| *newer > fence && Some(*event) < at;
        self.histories.get(id).is_some_and(|story| story.starts.iter().any(newer))
    }

    /// Compares a program's world with the event log's, unless the program is behind.
    pub(super) fn compare_world(&mut self, what: &str, world: &World) {
        let last = self.world.last_event();
        if world.last_event() != last
            || self.compared_at.insert(what.to_owned(), last) == Some(last)
        {
            return;
        }
        if *world != self.world {
            self.add_violation(format!("the world of {what} is not what the record tells"));
        }
    }

    /// Compares the event log with the files, at the end of the simulation.
    pub(super) fn compare_files(&mut self) {
        let mut memory = self.memory.clone();
        let read = memory.open().world.with_policy(self.policy.clone());
        if read != self.world {
            self.add_violation("the world in the files is not what the record tells".to_owned());
        }
    }

    /// Every task still exists, and its last report is in a file.
    pub(super) fn check_nothing_lost(&mut self) {
        let made: BTreeSet<TaskId> = self.histories.keys().cloned().collect();
        let mut wrong = Vec::new();
        for id in &made {
            if self.world.task(id).is_none() {
                wrong.push(format!("{id} is lost"));
            }
            let report = self.histories.get(id).and_then(|story| story.report.as_deref());
            if report.is_some_and(|report| !self.is_report_stored(id, report)) {
                wrong.push(format!("{id}: its report is in no file: {report:?}"));
            }
        }
        self.violations.extend(wrong);
    }

    fn is_report_stored(&self, id: &TaskId, report: &str) -> bool {
        let of = format!("runs/{id}/");
        let files = self.memory.files();
        let results = files.iter().filter(|path| path.starts_with(&of));
        results.filter_map(|path| self.memory.file(path)).any(|text| text.contains(report))
    }
}

/// A recorded exit must be the real one, after the run was over and all its lines were answered.
fn check_exit(id: &TaskId, fence: u64, exit: &RunExit, machine: &SimMachine) -> Option<String> {
    let Some(process) = machine.processes.get(&(id.clone(), fence)) else {
        let never = matches!(exit, RunExit::NotStarted(_) | RunExit::Lost);
        return (!never)
            .then(|| format!("run {fence} never was, and is said to have ended: {exit}"));
    };
    if process.is_working() {
        return Some(format!("run {fence} works and is said to have ended: {exit}"));
    }
    if process.answered < process.outbox.len() {
        return Some(format!("the end of run {fence} came before what it had said"));
    }
    let truth = process.recorded_exit.as_ref().map(RunExit::from);
    let cannot_start = matches!(exit, RunExit::NotStarted(_));
    (truth.as_ref() != Some(exit) && !cannot_start)
        .then(|| format!("run {fence} ended as {truth:?} and is said to have ended: {exit}"))
}
