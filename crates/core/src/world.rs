//! The world: what decisions are made on. It changes by events and by nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::account::{Parked, Session, Usage};
use crate::completion::RunResult;
use crate::event::{Event, EventId, Manner, Recorded};
use crate::foreign::meant;
use crate::handoff::Handoff;
use crate::id::TaskId;
use crate::name::AgentId;
use crate::permit::Permit;
use crate::pipeline::{Position, StoryId};
use crate::policy::{Merge, Policy};
use crate::run::Place;
use crate::schedule::Queue;
use crate::status::Status;
use crate::task::{DEPTH_MAX, LastRun, Lease, State, Task};
use crate::time::Time;
use crate::trials::{Expired, Failure, OpenRun};
use crate::work::{Claim, Merging};

/// Every task, as decisions see it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct World {
    /// Shared, so that a copy of the world costs next to nothing until it differs.
    tasks: BTreeMap<TaskId, Arc<Task>>,
    by_status: BTreeMap<Status, BTreeSet<TaskId>>,
    unreadable: BTreeSet<TaskId>,
    last_event: EventId,
    /// The highest number given out on each day.
    counted: BTreeMap<String, u64>,
    /// The tasks that others know by an id of theirs.
    foreign: BTreeMap<Box<str>, BTreeSet<TaskId>>,
    policy: Arc<Policy>,
    /// What the scheduler needs to find without looking at every task.
    queue: Queue,
}

impl World {
    /// Makes a world of what a store found. Later tasks of the same id replace earlier ones.
    pub fn load<T: Into<Arc<Task>>>(
        tasks: impl IntoIterator<Item = T>,
        last_event: EventId,
    ) -> Self {
        let mut world = Self { last_event, ..Self::default() };
        for task in tasks {
            world.put(task.into());
        }
        world
    }

    /// Returns the same world under another policy.
    #[must_use]
    pub fn with_policy(self, policy: impl Into<Arc<Policy>>) -> Self {
        Self { policy: policy.into(), ..self }
    }

    /// Returns the same world with a later last event: the record knows more than the tasks show.
    #[must_use]
    pub fn after(self, last_event: EventId) -> Self {
        Self { last_event, ..self }
    }

    /// Returns what the configuration says.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns what the scheduler has in view.
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Returns a task.
    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.get(id).map(Arc::as_ref)
    }

    /// Returns the task an id stands for: its own, one that others know it by, or one that was made
    /// for a mission. An id of ours that stands for no task is returned as it is.
    pub fn resolve(&self, id: &str) -> Option<TaskId> {
        let own = TaskId::parse(id).ok();
        if let Some(own) = own.as_ref().filter(|own| self.is_taken(own)) {
            return Some(own.clone());
        }
        let known = self.known_by(id).cloned();
        let made = || meant(id).into_iter().find(|task| self.is_taken(task));
        known.or_else(made).or(own)
    }

    /// Returns the task that others know by an id of theirs. A story that was taken up again has
    /// several: the one that is not over counts, else the last.
    fn known_by(&self, id: &str) -> Option<&TaskId> {
        let known = self.foreign.get(id)?;
        let is_open = |id: &&TaskId| self.task(id).is_some_and(|task| !task.status().is_closed());
        let is_story = |id: &&TaskId| self.task(id).is_some_and(|task| task.story().is_some());
        let age = |id: &&TaskId| self.task(id).map(|task| task.created_at);
        let last = known.iter().filter(is_story).max_by_key(age);
        known.iter().find(is_open).or(last).or(known.first())
    }

    /// Returns the task that is a story: the last one that was made for it.
    pub fn story(&self, story: &StoryId) -> Option<&Task> {
        let tasks = self.foreign.get(story.as_str())?.iter().filter_map(|id| self.task(id));
        let is = |task: &&Task| task.story().is_some_and(|position| position.story == *story);
        tasks.filter(is).max_by_key(|task| (task.created_at, task.id.clone()))
    }

    /// Returns every task, by id.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = &Task> {
        self.tasks.values().map(Arc::as_ref)
    }

    /// Returns the tasks whose ids come after this one, by id; all of them after none.
    pub fn tasks_after(&self, id: Option<&TaskId>) -> impl Iterator<Item = &Task> {
        let from = id.map_or(Bound::Unbounded, Bound::Excluded);
        self.tasks.range::<TaskId, _>((from, Bound::Unbounded)).map(|(_, task)| &**task)
    }

    /// Returns the tasks whose ids come before this one, the last one first; all of them before
    /// none.
    pub fn tasks_before(&self, id: Option<&TaskId>) -> impl Iterator<Item = &Task> {
        let until = id.map_or(Bound::Unbounded, Bound::Excluded);
        self.tasks.range::<TaskId, _>((Bound::Unbounded, until)).rev().map(|(_, task)| &**task)
    }

    /// Returns the tasks that stand at `status`, by id.
    pub fn with_status(&self, status: Status) -> impl Iterator<Item = &Task> {
        let ids = self.by_status.get(&status);
        ids.into_iter().flatten().filter_map(|id| self.task(id))
    }

    /// Returns those of them whose ids come after this one; all of them after none.
    pub fn with_status_after(
        &self,
        status: Status,
        id: Option<&TaskId>,
    ) -> impl Iterator<Item = &Task> {
        let from = id.map_or(Bound::Unbounded, Bound::Excluded);
        let ids = self.by_status.get(&status);
        let ids =
            ids.into_iter().flat_map(move |ids| ids.range::<TaskId, _>((from, Bound::Unbounded)));
        ids.filter_map(|id| self.task(id))
    }

    /// Returns those of them whose ids come before this one, the last one first; all of them
    /// before none.
    pub fn with_status_before(
        &self,
        status: Status,
        id: Option<&TaskId>,
    ) -> impl Iterator<Item = &Task> {
        let until = id.map_or(Bound::Unbounded, Bound::Excluded);
        let ids = self.by_status.get(&status);
        let ids = ids
            .into_iter()
            .flat_map(move |ids| ids.range::<TaskId, _>((Bound::Unbounded, until)).rev());
        ids.filter_map(|id| self.task(id))
    }

    /// Returns how many tasks stand at `status`.
    pub fn count(&self, status: Status) -> usize {
        self.by_status.get(&status).map_or(0, BTreeSet::len)
    }

    /// Returns the tasks whose files cannot be read.
    pub fn unreadable(&self) -> &BTreeSet<TaskId> {
        &self.unreadable
    }

    /// Returns the number of the last event.
    pub fn last_event(&self) -> EventId {
        self.last_event
    }

    /// Returns the next free id of the day `now` falls on. A number is never given out twice,
    /// even if its task's file was taken away.
    pub fn next_id(&self, now: Time) -> TaskId {
        let day = now.day();
        let highest = self.counted.get(&day).copied().unwrap_or(0);
        let mut ids = (highest + 1..).map(|number| TaskId::numbered(now, number));
        // A person may have given a file a number beyond what is counted.
        ids.find(|id| !self.is_taken(id)).expect("there are more numbers than tasks")
    }

    fn is_taken(&self, id: &TaskId) -> bool {
        self.tasks.contains_key(id) || self.unreadable.contains(id)
    }

    /// Returns the highest id ever given out on each day, where no task has it any more: what the
    /// tasks themselves do not tell.
    pub fn spent_ids(&self) -> impl Iterator<Item = TaskId> {
        let id = |(day, number)| TaskId::parse(&format!("TASK-{day}-{number:03}")).ok();
        self.counted.iter().filter_map(id).filter(|id| !self.tasks.contains_key(id))
    }

    /// Changes the world by what happened.
    pub fn apply(&mut self, recorded: &Recorded) {
        self.last_event = recorded.id;
        let Some(id) = &recorded.happened.task else {
            return;
        };
        let at = recorded.at;
        match &recorded.happened.event {
            Event::TaskCreated { task, .. } | Event::TaskEdited { task, .. } => {
                self.put(Arc::new((**task).clone()));
            }
            Event::TaskRemoved => self.remove(id),
            Event::TaskTransitioned { to, reason, manner, .. } => {
                self.change(id, at, |task| transition(task, *to, reason, *manner, at));
            }
            Event::TaskCompleted { result, .. } => {
                self.change(id, at, |task| complete(task, result));
            }
            Event::StoryMoved { position } => {
                self.change(id, at, |task| tell(task, position));
                if let Some(task) = self.tasks.get(id).cloned() {
                    self.know(&task);
                }
            }
            Event::TaskLogged { .. } => self.change(id, at, |_| {}),
            Event::DelegationRequested { handoff } => {
                self.change(id, at, |task| delegate(task, handoff));
            }
            Event::TaskAnswered { text } => self.change(id, at, |task| answer(task, text)),
            Event::TaskAsked { question } => {
                self.change(id, at, |task| task.trials.question = Some(question.clone()));
            }
            Event::RunAsked { permit } => self.change(id, at, |task| ask(task, permit)),
            Event::RunAnswered { .. } => self.change(id, at, |task| task.trials.permit = None),
            Event::RunStarted { agent, attempt, fence, expires_at, place } => {
                let run = OpenRun { agent: agent.clone(), attempt: *attempt, fence: *fence };
                self.change(id, at, |task| start(task, run, at, *expires_at, place));
            }
            Event::RunHeartbeat { fence, expires_at } => {
                self.change(id, at, |task| renew(task, *fence, *expires_at));
            }
            Event::RunExited { fence, .. } => self.change(id, at, |task| close(task, *fence)),
            Event::RunFailed { attempt, reason, not_before, .. } => {
                let failure = Failure { attempt: *attempt, reason: reason.as_str().into() };
                self.change(id, at, |task| fail(task, failure, *not_before, at));
            }
            Event::RunUsage { agent, session, usage, .. } => {
                let day = at.day();
                self.change(id, at, |task| told(task, agent, session.as_deref(), *usage, &day));
            }
            Event::RunParked { parked, not_before, .. } => {
                self.change(id, at, |task| park(task, parked, *not_before));
            }
            Event::AgentFreed { agent } => {
                self.change(id, at, |task| free(task, |it| it.agent == *agent));
            }
            Event::TaskRetried => self.change(id, at, retry),
            Event::RunDeferred { reason, not_before, .. } => {
                self.change(id, at, |task| defer(task, reason, *not_before, at));
            }
            Event::WorkClaimed { attempt, fence, outcome, reason, merge } => {
                let reason = reason.as_str().into();
                let claim = Claim { attempt: *attempt, fence: *fence, outcome: *outcome, reason };
                self.change(id, at, |task| note_claim(task, claim, *merge));
            }
            Event::WorkChecked { evidence, .. } | Event::WorkMerged { evidence, .. } => {
                let words: Option<Box<str>> = Some(evidence.in_words().into());
                let words = words.filter(|words| !words.is_empty());
                self.change(id, at, |task| task.trials.change_work(|work| work.evidence = words));
            }
            Event::MergeRequested { note } => {
                let merging = Merging { note: note.as_str().into(), waits: None };
                self.change(id, at, |task| {
                    task.trials.change_work(|work| work.merging = Some(merging));
                });
            }
            Event::MergeRefused { reason, .. } => self.change(id, at, |task| {
                task.trials.change_work(|work| work.merging = None);
                task.trials.reason = Some(reason.as_str().into());
            }),
            Event::MergeWaiting { reason } => self.change(id, at, |task| wait(task, reason)),
            Event::MessageReceived { .. }
            | Event::DocumentReceived { .. }
            | Event::EpicNoted { .. }
            | Event::MessageRejected { .. }
            | Event::MessageUnknown { .. }
            | Event::MessageWarned { .. }
            | Event::DelegationAccepted
            | Event::DelegationRejected { .. }
            | Event::WorkSaved { .. }
            | Event::RunSalvaged { .. }
            | Event::SalvageApplied { .. }
            | Event::DispatchRefused { .. }
            | Event::CommandRefused { .. }
            | Event::AccessRefused { .. }
            | Event::RequestKept { .. }
            | Event::FleetDecider { .. }
            | Event::NotifySent { .. }
            | Event::NotifyFailed { .. }
            | Event::FolderAdopted { .. } => {}
        }
    }

    /// Takes note that a task's file cannot be read. This is a fact about the disk, not an event:
    /// the record goes on when somebody mends the file.
    pub fn set_unreadable(&mut self, id: TaskId) {
        self.remove(&id);
        self.note_number(&id);
        self.unreadable.insert(id);
    }

    /// Shows a task as its file has it. This is a fact about the disk, for who only reads.
    pub fn set_seen(&mut self, task: Arc<Task>) {
        self.put(task);
    }

    /// Shows that a task has no file. This is a fact about the disk, for who only reads.
    pub fn set_gone(&mut self, id: &TaskId) {
        self.remove(id);
    }

    /// Brings what the scheduler has in view in line with a task that is new, changed or gone.
    fn requeue(&mut self, id: &TaskId) {
        let tasks = &self.tasks;
        self.queue.follow(id, &|id| tasks.get(id).map(Arc::as_ref));
    }

    /// Takes note of a number that was given out in the past.
    pub fn note_number(&mut self, id: &TaskId) {
        let Some(number) = id.number() else { return };
        match self.counted.get_mut(id.day()) {
            Some(highest) => *highest = (*highest).max(number),
            None => drop(self.counted.insert(id.day().to_owned(), number)),
        }
    }

    fn put(&mut self, task: Arc<Task>) {
        self.note_number(&task.id);
        self.unreadable.remove(&task.id);
        self.know(&task);
        self.by_status.entry(task.status()).or_default().insert(task.id.clone());
        let (id, status) = (task.id.clone(), task.status());
        if let Some(before) = self.tasks.insert(id.clone(), task) {
            self.forget(&before);
            if before.status() != status {
                self.unlist(before.status(), &id);
            }
        }
        self.requeue(&id);
    }

    /// Holds a task once that another world shows the same: two that follow the same events would
    /// each come to hold its own.
    pub fn share(&mut self, id: &TaskId, other: &Self) {
        if let (Some(own), Some(theirs)) = (self.tasks.get_mut(id), other.tasks.get(id))
            && own == theirs
        {
            *own = Arc::clone(theirs);
        }
    }

    fn remove(&mut self, id: &TaskId) {
        self.unreadable.remove(id);
        if let Some(task) = self.tasks.remove(id) {
            self.forget(&task);
            self.unlist(task.status(), id);
            self.requeue(id);
        }
    }

    /// Lets a task be found by the ids others know it by.
    fn know(&mut self, task: &Task) {
        for foreign in task.foreign.iter().flat_map(|foreign| foreign.ids()) {
            self.foreign.entry(foreign.into()).or_default().insert(task.id.clone());
        }
    }

    /// Lets a task no longer be found by ids that are not its own any more.
    fn forget(&mut self, before: &Task) {
        let is = |id: &str| {
            let now = self.tasks.get(&before.id).and_then(|task| task.foreign.as_ref());
            now.is_some_and(|foreign| foreign.ids().any(|known| known == id))
        };
        let ids = before.foreign.iter().flat_map(|foreign| foreign.ids());
        let gone: Vec<Box<str>> = ids.filter(|id| !is(id)).map(Into::into).collect();
        for foreign in gone {
            if let Some(tasks) = self.foreign.get_mut(&foreign) {
                tasks.remove(&before.id);
                if tasks.is_empty() {
                    self.foreign.remove(&foreign);
                }
            }
        }
    }

    fn unlist(&mut self, status: Status, id: &TaskId) {
        if let Some(ids) = self.by_status.get_mut(&status) {
            ids.remove(id);
            if ids.is_empty() {
                self.by_status.remove(&status);
            }
        }
    }

    fn change(&mut self, id: &TaskId, at: Time, change: impl FnOnce(&mut Task)) {
        let Some(task) = self.tasks.get_mut(id).map(Arc::make_mut) else {
            return;
        };
        let before = task.status();
        change(task);
        task.updated_at = at;
        let after = task.status();
        if before != after {
            self.unlist(before, id);
            self.by_status.entry(after).or_default().insert(id.clone());
        }
        self.requeue(id);
    }
}

fn transition(task: &mut Task, to: Status, reason: &str, manner: Manner, at: Time) {
    note(task, to, reason, manner);
    if let Some(lease) = task.lease() {
        task.last_run = Some(LastRun::from(lease));
    }
    let sent_back = task.status() == Status::Review && !to.is_closed() && to != Status::Blocked;
    if sent_back && manner == Manner::Ruled && !reason.is_empty() {
        task.feedback = Some(reason.into());
    }
    if !matches!(to, Status::Blocked | Status::Review | Status::Deadletter) {
        task.trials.question = None;
    }
    task.trials.permit = None;
    let claimed = task.trials.claim().is_some();
    task.trials.change_work(|work| (work.claim, work.merging) = (None, None));
    // What was claimed and held is a result; what did not hold is one attempt more without one.
    if claimed && !matches!(to, Status::Ready | Status::Deadletter) {
        task.trials.start_again();
    }
    task.state = State::entered(to);
    task.last_transition_at = at;
}

/// What the scheduler makes of a move. A task that somebody takes up again starts its count anew;
/// one that only the scheduler held back, or a run gave back, does not.
fn note(task: &mut Task, to: Status, reason: &str, manner: Manner) {
    let from = task.status();
    let trials = &mut task.trials;
    if to == Status::Ready && from != Status::InProgress && trials.blocked_by.is_none() {
        trials.start_again();
        trials.keep(|account| account.parked.clear());
    }
    trials.blocked_by = match manner {
        Manner::Held(by) => Some(by),
        Manner::Ruled | Manner::ByHand | Manner::AgainstTheTable => None,
    };
    // Whoever moves a file to review knows why; whoever finds it there must be told.
    let waits = match to {
        Status::Blocked | Status::Deadletter => true,
        Status::Review => manner == Manner::Ruled,
        _ => false,
    };
    trials.reason = (waits && !reason.is_empty()).then(|| reason.into());
}

fn start(task: &mut Task, run: OpenRun, at: Time, expires_at: Time, place: &Place) {
    let shows = |parked: &Parked| parked.agent == run.agent && parked.is_at(place);
    free(task, shows);
    task.state = State::InProgress(Some(Lease {
        agent: run.agent.clone(),
        acquired_at: at,
        expires_at,
        renew_count: 0,
        attempt: run.attempt,
        fence: run.fence,
    }));
    task.trials.not_before = None;
    task.trials.permit = None;
    task.trials.work = None;
    let (open, node) = match place {
        Place::Here => (Some(run), None),
        Place::Node(node) => (Some(run), Some(node.clone())),
        Place::Elsewhere => (None, None),
    };
    (task.trials.open, task.trials.node) = (open, node);
}

/// Takes in what an agent told of itself. A conversation that it did not name again is over.
fn told(task: &mut Task, agent: &AgentId, session: Option<&str>, usage: Usage, day: &str) {
    let node = task.trials.node.clone();
    let session = session.map(|id| Session { agent: agent.clone(), id: id.into(), node });
    task.trials.keep(|account| {
        account.session = session;
        account.spend(day, agent, usage);
    });
}

/// Notes that an agent cannot work.
fn park(task: &mut Task, parked: &Parked, not_before: Option<Time>) {
    task.trials.not_before = not_before;
    task.trials.keep(|account| {
        account.parked.retain(|known| !known.is_of(parked));
        account.parked.push(parked.clone());
    });
}

/// Lets a task be given out at once, as if it had never been tried.
fn retry(task: &mut Task) {
    task.trials.start_again();
    task.trials.reason = None;
    task.trials.keep(|account| account.parked.clear());
}

/// Lets agents be given work again that could not work. The task waits for them no longer.
fn free(task: &mut Task, whom: impl Fn(&Parked) -> bool) {
    if task.trials.parked().iter().any(&whom) {
        task.trials.keep(|account| account.parked.retain(|parked| !whom(parked)));
        if task.trials.failures.is_empty() {
            task.trials.not_before = None;
        }
    }
}

fn answer(task: &mut Task, text: &str) {
    task.trials.answer = Some(text.into());
    task.trials.question = None;
}

fn ask(task: &mut Task, permit: &Permit) {
    task.trials.permit = Some(Box::new(permit.clone()));
}

fn renew(task: &mut Task, fence: u64, expires_at: Time) {
    if let State::InProgress(Some(lease)) = &mut task.state
        && lease.fence == fence
    {
        lease.expires_at = expires_at;
        lease.renew_count = lease.renew_count.saturating_add(1);
    }
}

fn close(task: &mut Task, fence: u64) {
    if task.trials.open.as_ref().is_some_and(|run| run.fence == fence) {
        task.trials.open = None;
    }
    if task.trials.permit.as_ref().is_some_and(|permit| permit.fence == fence) {
        task.trials.permit = None;
    }
    // What a step of a story came to is measured when its run is over, and takes its time. Its lease
    // ends with the run, and nobody else is given the task before that is known.
    if task.story().is_some()
        && let Some(lease) = task.lease().filter(|lease| lease.fence == fence)
    {
        task.last_run = Some(LastRun::from(lease));
        task.state = State::InProgress(None);
    }
}

/// A story that came to another step starts the count of its runs again.
fn tell(task: &mut Task, position: &Position) {
    if task.story().is_some_and(|before| before.step != position.step) {
        task.trials.start_again();
    }
    task.foreign.get_or_insert_default().story = Some(position.clone());
}

fn fail(task: &mut Task, failure: Failure, not_before: Option<Time>, at: Time) {
    let trials = &mut task.trials;
    trials.expired = Some(Expired { at, reason: failure.reason.clone() });
    trials.failures.push(failure);
    trials.not_before = not_before;
}

fn defer(task: &mut Task, reason: &str, not_before: Time, at: Time) {
    let trials = &mut task.trials;
    trials.expired = Some(Expired { at, reason: reason.into() });
    trials.reason = Some(reason.into());
    trials.not_before = Some(not_before);
}

fn complete(task: &mut Task, result: &RunResult) {
    // What is looked into first may turn out to be an attempt without a result.
    if task.trials.claim().is_none() {
        task.trials.start_again();
    }
    task.trials.answer = None;
    task.trials.keep(|account| account.session = None);
    task.reported_by = Some(result.agent.clone());
    let fence = task.lease().map(|lease| lease.fence);
    task.reported_fence = fence.or(task.last_run.as_ref().map(|run| run.fence));
}

/// Notes what a run said, and what approving that does.
fn note_claim(task: &mut Task, claim: Claim, merge: Option<Merge>) {
    task.trials.change_work(|work| (work.claim, work.merge) = (Some(claim), merge));
}

/// Says why an approved merge waits.
fn wait(task: &mut Task, reason: &str) {
    task.trials.change_work(|work| {
        if let Some(merging) = &mut work.merging {
            merging.waits = Some(reason.into());
        }
    });
}

fn delegate(task: &mut Task, handoff: &Handoff) {
    task.parent = Some(handoff.parent.clone());
    task.depth = DEPTH_MAX;
    task.routing.agent = Some(handoff.to.clone());
}
