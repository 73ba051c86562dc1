//! The world: the in-memory state that decisions are made from. Only events change it; the `set_…`
//! methods record facts about the disk.

pub(crate) mod dependency;
pub mod file_fault;
pub mod retired_tasks;
pub(crate) mod task_lanes;
pub(crate) mod task_queue;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use adjutant_model::actor::AgentId;
use adjutant_model::completion::RunResult;
use adjutant_model::event::{Event, RecordedEvent, TransitionCause};
use adjutant_model::event_id::EventId;
use adjutant_model::evidence::WorkEvidence;
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::merge_mode::MergeMode;
use adjutant_model::permission::PermissionRequest;
use adjutant_model::policy::Policy;
use adjutant_model::run::{RunPlace, RunRef};
use adjutant_model::run_history::{AgentQuestion, ExpiredRun, FailedAttempt};
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::status::Status;
use adjutant_model::story::{StoryId, StoryPosition};
use adjutant_model::task::{Lease, Task, TaskState};
use adjutant_model::task_id::TaskId;
use adjutant_model::task_origin::meant;
use adjutant_model::time::Time;
use adjutant_model::usage::{AgentSession, ParkedAgent, RefusedHost, TokenUsage};
use adjutant_model::work::{PendingMerge, RefusedMerge, WorkClaim};

use crate::world::file_fault::FileFault;
use crate::world::retired_tasks::RetiredTasks;
use crate::world::task_queue::TaskQueue;

/// All tasks, with the indexes that decisions need.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct World {
    /// Shared, so that a copy of the world costs little until it differs.
    tasks: BTreeMap<TaskId, Arc<Task>>,
    by_status: BTreeMap<Status, BTreeSet<TaskId>>,
    unreadable: BTreeSet<TaskId>,
    /// The tasks whose files cannot be changed now.
    file_faults: BTreeMap<TaskId, FileFault>,
    /// The last state of tasks whose file is gone or cannot be read.
    retired: RetiredTasks,
    last_event: EventId,
    /// The highest task number assigned on each day.
    highest_numbers: BTreeMap<String, u64>,
    /// Tasks by the ids that other systems use for them.
    by_external_id: BTreeMap<Box<str>, BTreeSet<TaskId>>,
    policy: Arc<Policy>,
    queue: TaskQueue,
}

impl World {
    /// Builds a world from what a store loaded. A later task replaces an earlier one with
    /// the same id.
    pub fn load<T: Into<Arc<Task>>>(
        tasks: impl IntoIterator<Item = T>,
        last_event: EventId,
    ) -> Self {
        let mut world = Self { last_event, ..Self::default() };
        for task in tasks {
            world.insert_task(task.into());
        }
        world
    }

    #[must_use]
    pub fn with_policy(self, policy: impl Into<Arc<Policy>>) -> Self {
        Self { policy: policy.into(), ..self }
    }

    /// Sets a later last event: the event log may know more than the tasks show.
    #[must_use]
    pub fn with_last_event(self, last_event: EventId) -> Self {
        Self { last_event, ..self }
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the sandbox of the run that works on a task, as far as it is known.
    pub fn sandbox_of_run(&self, task: &Task) -> SandboxLevel {
        let agent = task.lease().and_then(|lease| self.policy.agents.get(&lease.agent));
        let own = agent.map(|agent| agent.sandbox_for(task)).unwrap_or_default();
        own.max(task.routing.sandbox)
    }

    pub(crate) fn queue(&self) -> &TaskQueue {
        &self.queue
    }

    pub fn task(&self, id: &TaskId) -> Option<&Task> {
        self.tasks.get(id).map(Arc::as_ref)
    }

    /// Returns the task that an id stands for: its own id, an id that another system uses, or the
    /// id of the mission it was made for. A valid task id without a task is returned unchanged.
    pub fn resolve(&self, id: &str) -> Option<TaskId> {
        let own = TaskId::parse(id).ok();
        if let Some(own) = own.as_ref().filter(|own| self.is_id_used(own)) {
            return Some(own.clone());
        }
        let known = self.find_by_external_id(id).cloned();
        let made = || meant(id).into_iter().find(|task| self.is_id_used(task));
        known.or_else(made).or(own)
    }

    /// Returns the task that another system knows by this id. A resumed story has several tasks: an
    /// open one wins, then the newest.
    fn find_by_external_id(&self, id: &str) -> Option<&TaskId> {
        let known = self.by_external_id.get(id)?;
        let is_open = |id: &&TaskId| self.task(id).is_some_and(|task| !task.status().is_closed());
        let is_story = |id: &&TaskId| self.task(id).is_some_and(|task| task.story().is_some());
        let age = |id: &&TaskId| self.task(id).map(|task| task.created_at);
        let last = known.iter().filter(is_story).max_by_key(age);
        known.iter().find(is_open).or(last).or(known.first())
    }

    /// Returns the newest task that was made for a story.
    pub fn task_of_story(&self, story: &StoryId) -> Option<&Task> {
        let tasks = self.by_external_id.get(story.as_str())?.iter().filter_map(|id| self.task(id));
        let is = |task: &&Task| task.story().is_some_and(|position| position.story == *story);
        tasks.filter(is).max_by_key(|task| (task.created_at, task.id.clone()))
    }

    /// Returns every task, ordered by id.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = &Task> {
        self.tasks.values().map(Arc::as_ref)
    }

    /// Returns the tasks with a greater id, ordered by id; all tasks for `None`.
    pub fn tasks_after(&self, id: Option<&TaskId>) -> impl Iterator<Item = &Task> {
        let from = id.map_or(Bound::Unbounded, Bound::Excluded);
        self.tasks.range::<TaskId, _>((from, Bound::Unbounded)).map(|(_, task)| &**task)
    }

    /// Returns the tasks with a smaller id, the greatest first; all tasks for `None`.
    pub fn tasks_before(&self, id: Option<&TaskId>) -> impl Iterator<Item = &Task> {
        let until = id.map_or(Bound::Unbounded, Bound::Excluded);
        self.tasks.range::<TaskId, _>((Bound::Unbounded, until)).rev().map(|(_, task)| &**task)
    }

    /// Returns the tasks with this status, ordered by id.
    pub fn with_status(&self, status: Status) -> impl Iterator<Item = &Task> {
        let ids = self.by_status.get(&status);
        ids.into_iter().flatten().filter_map(|id| self.task(id))
    }

    /// Returns the tasks with this status and a greater id, ordered by id; all of them for `None`.
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

    /// Returns the tasks with this status and a smaller id, the greatest first; all of
    /// them for `None`.
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

    pub fn count(&self, status: Status) -> usize {
        self.by_status.get(&status).map_or(0, BTreeSet::len)
    }

    /// Returns the tasks whose files cannot be read.
    pub fn unreadable(&self) -> &BTreeSet<TaskId> {
        &self.unreadable
    }

    /// Returns why a task is on hold, if its files cannot be changed now.
    pub fn file_fault(&self, id: &TaskId) -> Option<&FileFault> {
        self.file_faults.get(id)
    }

    /// Returns the tasks that are on hold because their files cannot be changed.
    pub fn file_faults(&self) -> &BTreeMap<TaskId, FileFault> {
        &self.file_faults
    }

    pub fn last_event(&self) -> EventId {
        self.last_event
    }

    /// Returns the next free id of the day of `now`. A number is never assigned twice, even if its
    /// task's file was deleted.
    pub fn next_id(&self, now: Time) -> TaskId {
        self.next_ids(now).next().expect("there are more numbers than tasks")
    }

    /// Returns the next free ids of the day of `now`, in order.
    pub fn next_ids(&self, now: Time) -> impl Iterator<Item = TaskId> {
        let highest = self.highest_numbers.get(&now.day()).copied().unwrap_or(0);
        let ids = (highest + 1..).map(move |number| TaskId::numbered(now, number));
        // A person may have named a file with a number above the counted ones.
        ids.filter(|id| !self.is_id_used(id))
    }

    fn is_id_used(&self, id: &TaskId) -> bool {
        self.tasks.contains_key(id) || self.unreadable.contains(id)
    }

    /// Returns the highest id assigned on each day, if its task is gone. The tasks alone do not
    /// show these ids.
    pub fn retired_ids(&self) -> impl Iterator<Item = TaskId> {
        let id = |(day, number)| TaskId::parse(&format!("TASK-{day}-{number:03}")).ok();
        self.highest_numbers.iter().filter_map(id).filter(|id| !self.tasks.contains_key(id))
    }

    /// Applies one event of the event log.
    #[expect(clippy::too_many_lines, reason = "it has one arm for every event")]
    pub fn apply(&mut self, recorded: &RecordedEvent) {
        self.last_event = recorded.id;
        let Some(id) = &recorded.new_event.task else {
            return;
        };
        let at = recorded.at;
        match &recorded.new_event.event {
            Event::TaskCreated { task, .. } | Event::TaskEdited { task, .. } => {
                self.insert_task(Arc::new((**task).clone()));
            }
            Event::TaskRemoved {} => {
                self.remove(id);
                self.retired.revoke(id);
            }
            Event::TaskTransitioned { to, reason, manner, .. } => {
                self.update_task(id, at, |task| transition(task, *to, reason, *manner, at));
            }
            Event::TaskCompleted { result, .. } => {
                self.update_task(id, at, |task| record_report(task, result));
            }
            Event::StoryMoved { position } => {
                self.update_task(id, at, |task| set_story_position(task, position));
                if let Some(task) = self.tasks.get(id).cloned() {
                    self.index_external_ids(&task);
                }
            }
            Event::TaskLogged { .. } => self.update_task(id, at, |_| {}),
            Event::DelegationRequested { handoff, sandbox } => {
                let above = self.task(&handoff.parent).map_or(0, |parent| parent.depth);
                self.update_task(id, at, |task| set_delegation(task, handoff, above, *sandbox));
            }
            Event::TaskAnswered { text } => self.update_task(id, at, |task| set_answer(task, text)),
            Event::TaskAsked { question, suggestion } => {
                let asked =
                    AgentQuestion { text: question.clone(), suggestion: suggestion.clone() };
                self.update_task(id, at, |task| task.history.question = Some(Box::new(asked)));
            }
            Event::RunAsked { permit } => {
                self.update_task(id, at, |task| set_permission_request(task, permit));
            }
            Event::RunAnswered { .. } => {
                self.update_task(id, at, |task| task.history.permit = None);
            }
            Event::RunStarted { agent, attempt, fence, nonce, expires_at, place, .. } => {
                let (agent, attempt, fence, nonce) = (agent.clone(), *attempt, *fence, *nonce);
                let run = RunRef { agent, attempt, fence, nonce };
                self.update_task(id, at, |task| start_run(task, run, at, *expires_at, place));
            }
            Event::RunHeartbeat { fence, expires_at } => {
                self.update_task(id, at, |task| renew_lease(task, *fence, *expires_at));
            }
            Event::RunExited { fence, .. } => {
                self.update_task(id, at, |task| close_run(task, *fence));
            }
            Event::RunFailed { attempt, reason, not_before, .. } => {
                let failure = FailedAttempt { attempt: *attempt, reason: reason.as_str().into() };
                self.update_task(id, at, |task| record_failure(task, failure, *not_before, at));
            }
            Event::RunUsage { agent, session, usage, .. } => {
                let day = at.day();
                self.update_task(id, at, |task| {
                    record_telemetry(task, agent, session.as_deref(), *usage, &day);
                });
            }
            Event::HostRefused { agent, host, .. } => {
                let refused = RefusedHost { agent: agent.clone(), host: host.as_str().into() };
                self.update_task(id, at, |task| {
                    task.history.keep(|account| account.refused_hosts.push(refused));
                });
            }
            Event::RunParked { parked, not_before, .. } => {
                self.update_task(id, at, |task| park(task, parked, *not_before));
            }
            Event::AgentFreed { agent } => {
                self.update_task(id, at, |task| unpark_agents(task, |it| it.agent == *agent));
            }
            Event::TaskRetried {} => self.update_task(id, at, reset_attempts),
            Event::RunDeferred { reason, not_before, .. } => {
                self.update_task(id, at, |task| defer_task(task, reason, *not_before, at));
            }
            Event::WorkClaimed { attempt, fence, outcome, reason, merge } => {
                let reason = reason.as_str().into();
                let claim =
                    WorkClaim { attempt: *attempt, fence: *fence, outcome: *outcome, reason };
                self.update_task(id, at, |task| note_claim(task, claim, *merge));
            }
            Event::WorkChecked { evidence, .. } => {
                let protected = evidence.protected.iter().map(|file| file.as_str().into());
                self.update_task(id, at, |task| {
                    set_evidence(task, evidence);
                    task.history.change_work(|work| {
                        (work.protected, work.allowed) = (protected.collect(), vec![]);
                    });
                });
            }
            Event::WorkMerged { base, evidence, .. } => {
                // The branch of the task is deleted after the merge; the commit is on the base.
                let branch = evidence.branch.as_ref().map(|_| base.clone());
                let merged = WorkEvidence { branch, ..WorkEvidence::clone(evidence) };
                self.update_task(id, at, |task| set_evidence(task, &merged));
            }
            Event::ProtectedAllowed { files } => {
                let allowed = files.iter().map(|file| file.as_str().into()).collect();
                self.update_task(id, at, |task| {
                    task.history.change_work(|work| work.allowed = allowed);
                });
            }
            Event::ChecksAccepted { checks } => {
                let checks = checks.as_ref().map(|checks| to_boxes(checks));
                self.update_task(id, at, |task| task.history.accepted_checks = checks);
            }
            Event::MergeRequested { note } => {
                let merging = PendingMerge { note: note.as_str().into(), waits: None };
                self.update_task(id, at, |task| {
                    task.history
                        .change_work(|work| (work.merging, work.refused) = (Some(merging), None));
                });
            }
            Event::MergeRefused { reason, files } => self.update_task(id, at, |task| {
                let files = files.iter().map(|file| file.as_str().into()).collect();
                let refused = RefusedMerge { reason: reason.as_str().into(), files };
                task.history
                    .change_work(|work| (work.merging, work.refused) = (None, Some(refused)));
                task.history.reason = Some(reason.as_str().into());
            }),
            Event::MergeWaiting { reason } => {
                self.update_task(id, at, |task| set_merge_wait(task, reason));
            }
            Event::MessageReceived(_)
            | Event::EpicNoted { .. }
            | Event::MessageRejected { .. }
            | Event::MessageUnknown { .. }
            | Event::MessageWarned { .. }
            | Event::DelegationAccepted {}
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
            | Event::FolderAdopted { .. }
            | Event::LogRestored { .. } => {}
        }
    }

    /// Marks a task whose file cannot be read. This is a fact about the disk, not an event: the
    /// task continues once the file is repaired.
    pub fn set_unreadable(&mut self, id: TaskId) {
        self.remove(&id);
        self.note_number(&id);
        self.unreadable.insert(id);
    }

    /// Sets the tasks whose files cannot be changed. This is a fact about the disk, not an event:
    /// such a task is on hold, and continues once the fault is gone.
    pub fn set_file_faults(&mut self, faults: BTreeMap<TaskId, FileFault>) {
        let before = std::mem::replace(&mut self.file_faults, faults);
        let now: Vec<TaskId> = self.file_faults.keys().cloned().collect();
        self.queue.set_on_hold(now.iter().cloned().collect());
        for id in before.into_keys().chain(now) {
            self.requeue(&id);
        }
    }

    /// Shows a task as its file has it. This is a fact about the disk, for readers only.
    pub fn set_task_on_disk(&mut self, task: Arc<Task>) {
        self.insert_task(task);
    }

    /// Shows that a task has no file. This is a fact about the disk, for readers only.
    pub fn set_missing_on_disk(&mut self, id: &TaskId) {
        self.remove(id);
    }

    /// Updates the scheduler's queue after a task was added, changed or removed.
    fn requeue(&mut self, id: &TaskId) {
        let tasks = &self.tasks;
        self.queue.update(id, &|id| tasks.get(id).map(Arc::as_ref));
    }

    /// Returns the last state of a task without a readable file, if it had a run or was closed.
    pub fn retired_task(&self, id: &TaskId) -> Option<&Task> {
        self.retired.get(id)
    }

    /// Returns the last states of all tasks whose files are gone or cannot be read.
    pub fn retired_tasks(&self) -> impl Iterator<Item = &Task> {
        self.retired.iter()
    }

    /// Remembers a task whose file is gone, as a store loaded it.
    pub fn retire_task(&mut self, task: Arc<Task>) {
        if !self.tasks.contains_key(&task.id) {
            self.note_number(&task.id);
            self.retired.insert(task);
        }
    }

    /// Records a number that was assigned in the past, so that it is not assigned again.
    pub fn note_number(&mut self, id: &TaskId) {
        let Some(number) = id.number() else { return };
        match self.highest_numbers.get_mut(id.day()) {
            Some(highest) => *highest = (*highest).max(number),
            None => drop(self.highest_numbers.insert(id.day().to_owned(), number)),
        }
    }

    fn insert_task(&mut self, task: Arc<Task>) {
        self.note_number(&task.id);
        self.unreadable.remove(&task.id);
        self.retired.remove(&task.id);
        self.index_external_ids(&task);
        self.by_status.entry(task.status()).or_default().insert(task.id.clone());
        let (id, status) = (task.id.clone(), task.status());
        if let Some(before) = self.tasks.insert(id.clone(), task) {
            self.unindex_external_ids(&before);
            if before.status() != status {
                self.remove_from_status(before.status(), &id);
            }
        }
        self.requeue(&id);
    }

    /// Shares a task with another world that has the same value. Two worlds that follow the same
    /// events would otherwise each hold a copy.
    pub fn share_task(&mut self, id: &TaskId, other: &Self) {
        if let (Some(own), Some(theirs)) = (self.tasks.get_mut(id), other.tasks.get(id))
            && own == theirs
        {
            *own = Arc::clone(theirs);
        }
    }

    fn remove(&mut self, id: &TaskId) {
        self.unreadable.remove(id);
        if let Some(task) = self.tasks.remove(id) {
            self.unindex_external_ids(&task);
            self.remove_from_status(task.status(), id);
            self.requeue(id);
            self.retired.insert(task);
        }
    }

    /// Indexes a task by the ids that other systems use for it.
    fn index_external_ids(&mut self, task: &Task) {
        for external in task.origin.iter().flat_map(|origin| origin.ids()) {
            self.by_external_id.entry(external.into()).or_default().insert(task.id.clone());
        }
    }

    /// Removes the index entries of ids that the task no longer has.
    fn unindex_external_ids(&mut self, before: &Task) {
        let is = |id: &str| {
            let now = self.tasks.get(&before.id).and_then(|task| task.origin.as_ref());
            now.is_some_and(|origin| origin.ids().any(|known| known == id))
        };
        let ids = before.origin.iter().flat_map(|origin| origin.ids());
        let gone: Vec<Box<str>> = ids.filter(|id| !is(id)).map(Into::into).collect();
        for external in gone {
            if let Some(tasks) = self.by_external_id.get_mut(&external) {
                tasks.remove(&before.id);
                if tasks.is_empty() {
                    self.by_external_id.remove(&external);
                }
            }
        }
    }

    fn remove_from_status(&mut self, status: Status, id: &TaskId) {
        if let Some(ids) = self.by_status.get_mut(&status) {
            ids.remove(id);
            if ids.is_empty() {
                self.by_status.remove(&status);
            }
        }
    }

    fn update_task(&mut self, id: &TaskId, at: Time, change: impl FnOnce(&mut Task)) {
        let Some(task) = self.tasks.get_mut(id).map(Arc::make_mut) else {
            return;
        };
        let before = task.status();
        change(task);
        task.updated_at = at;
        let after = task.status();
        if before != after {
            self.remove_from_status(before, id);
            self.by_status.entry(after).or_default().insert(id.clone());
        }
        self.requeue(id);
    }
}

fn transition(task: &mut Task, to: Status, reason: &str, manner: TransitionCause, at: Time) {
    note_transition(task, to, reason, manner);
    if let Some(lease) = task.lease() {
        task.last_run = Some(RunRef::from(lease));
    }
    let sent_back = task.status() == Status::Review && !to.is_closed() && to != Status::Blocked;
    if sent_back && manner == TransitionCause::Ruled && !reason.is_empty() {
        task.feedback = Some(reason.into());
    }
    if !matches!(to, Status::Blocked | Status::Review | Status::Deadletter) {
        task.history.question = None;
    }
    task.history.permit = None;
    let claimed = task.history.claim().is_some();
    let is_reviewed = task.status() == Status::Review;
    task.history.change_work(|work| {
        (work.claim, work.merging) = (None, None);
        // A refused merge is news until the task it sent back moves on.
        work.refused = work.refused.take().filter(|_| is_reviewed);
    });
    // A report that passed its checks is a result; a disproved report is another failed attempt.
    if claimed && !matches!(to, Status::Ready | Status::Deadletter) {
        task.history.start_again();
    }
    task.state = TaskState::entered(to);
    task.last_transition_at = at;
}

/// Updates the scheduler's notes for a move. A task that is reopened starts a new count of failed
/// attempts, unless the scheduler had held it back or a run returned it.
fn note_transition(task: &mut Task, to: Status, reason: &str, manner: TransitionCause) {
    let from = task.status();
    let history = &mut task.history;
    if to == Status::Ready && from != Status::InProgress && history.blocked_by.is_none() {
        history.start_again();
        history.keep(|account| account.parked.clear());
    }
    if manner == TransitionCause::Reopened {
        // The work tree of a cancelled task is removed, so its session cannot be resumed.
        history.start_again();
        history.keep(|account| account.session = None);
    }
    history.blocked_by = match manner {
        TransitionCause::Held(by) => Some(by),
        TransitionCause::Ruled
        | TransitionCause::ByHand
        | TransitionCause::AgainstTheTable
        | TransitionCause::Reopened => None,
    };
    // A person who moves a file to review knows the reason; after any other move it must be shown.
    let waits = match to {
        Status::Blocked | Status::Deadletter => true,
        Status::Review => manner == TransitionCause::Ruled,
        _ => false,
    };
    history.reason = (waits && !reason.is_empty()).then(|| reason.into());
}

fn start_run(task: &mut Task, run: RunRef, at: Time, expires_at: Time, place: &RunPlace) {
    let shows = |parked: &ParkedAgent| parked.agent == run.agent && parked.is_at(place);
    unpark_agents(task, shows);
    if task.history.account().is_some_and(|account| !account.refused_hosts.is_empty()) {
        task.history.keep(|account| account.refused_hosts.clear());
    }
    task.state = TaskState::InProgress(Some(Lease {
        agent: run.agent.clone(),
        acquired_at: at,
        expires_at,
        renew_count: 0,
        attempt: run.attempt,
        fence: run.fence,
        nonce: run.nonce,
    }));
    task.history.not_before = None;
    task.history.permit = None;
    task.history.work = None;
    let (open, node) = match place {
        RunPlace::Here => (Some(run), None),
        RunPlace::Node(node) => (Some(run), Some(node.clone())),
        RunPlace::Elsewhere => (None, None),
    };
    (task.history.open, task.history.node) = (open, node);
}

/// Records what an agent reported about itself. A session that the agent did not name
/// again is over.
fn record_telemetry(
    task: &mut Task,
    agent: &AgentId,
    session: Option<&str>,
    usage: TokenUsage,
    day: &str,
) {
    let node = task.history.node.clone();
    let session = session.map(|id| AgentSession { agent: agent.clone(), id: id.into(), node });
    task.history.keep(|account| {
        account.session = session;
        account.spend(day, agent, usage);
    });
}

fn park(task: &mut Task, parked: &ParkedAgent, not_before: Option<Time>) {
    task.history.not_before = not_before;
    task.history.keep(|account| {
        account.parked.retain(|known| !known.is_of(parked));
        account.parked.push(parked.clone());
    });
}

/// Lets the task start at once, as if it had never been tried.
fn reset_attempts(task: &mut Task) {
    task.history.start_again();
    task.history.reason = None;
    task.history.keep(|account| account.parked.clear());
}

/// Unparks the matching agents. The task no longer waits for them.
fn unpark_agents(task: &mut Task, whom: impl Fn(&ParkedAgent) -> bool) {
    if task.history.parked().iter().any(&whom) {
        task.history.keep(|account| account.parked.retain(|parked| !whom(parked)));
        if task.history.failures.is_empty() {
            task.history.not_before = None;
        }
    }
}

fn set_answer(task: &mut Task, text: &str) {
    task.history.answer = Some(text.into());
    task.history.question = None;
}

fn set_permission_request(task: &mut Task, permit: &PermissionRequest) {
    task.history.permit = Some(Box::new(permit.clone()));
}

fn renew_lease(task: &mut Task, fence: u64, expires_at: Time) {
    if let TaskState::InProgress(Some(lease)) = &mut task.state
        && lease.fence == fence
    {
        lease.expires_at = expires_at;
        lease.renew_count = lease.renew_count.saturating_add(1);
    }
}

fn close_run(task: &mut Task, fence: u64) {
    if task.history.open.as_ref().is_some_and(|run| run.fence == fence) {
        task.history.open = None;
    }
    if task.history.permit.as_ref().is_some_and(|permit| permit.fence == fence) {
        task.history.permit = None;
    }
    // A story step is measured after its run is over, which takes time. The lease ends with the
    // run, and the task stays in progress so that it is not assigned before the result is known.
    if task.story().is_some()
        && let Some(lease) = task.lease().filter(|lease| lease.fence == fence)
    {
        task.last_run = Some(RunRef::from(lease));
        task.state = TaskState::InProgress(None);
    }
}

/// Sets the position of a story. A new step starts a new count of failed attempts.
fn set_story_position(task: &mut Task, position: &StoryPosition) {
    if task.story().is_some_and(|before| before.step != position.step) {
        task.history.start_again();
    }
    task.origin.get_or_insert_default().story = Some(position.clone());
}

fn record_failure(task: &mut Task, failure: FailedAttempt, not_before: Option<Time>, at: Time) {
    let history = &mut task.history;
    history.expired = Some(ExpiredRun { at, reason: failure.reason.clone() });
    history.failures.push(failure);
    history.not_before = not_before;
}

fn defer_task(task: &mut Task, reason: &str, not_before: Time, at: Time) {
    let history = &mut task.history;
    history.expired = Some(ExpiredRun { at, reason: reason.into() });
    history.reason = Some(reason.into());
    history.not_before = Some(not_before);
}

fn record_report(task: &mut Task, result: &RunResult) {
    // A report that is still being checked may turn out to be a failed attempt.
    if task.history.claim().is_none() {
        task.history.start_again();
    }
    task.history.answer = None;
    task.history.keep(|account| account.session = None);
    task.reported_by = Some(result.agent.clone());
    let fence = task.lease().map(|lease| lease.fence);
    task.reported_fence = fence.or(task.last_run.as_ref().map(|run| run.fence));
}

fn set_evidence(task: &mut Task, evidence: &WorkEvidence) {
    let words = Some(evidence.in_words()).filter(|words| !words.is_empty());
    let unsettled = evidence.unsettled_reason().map(Into::into);
    task.history.change_work(|work| {
        (work.evidence, work.unsettled) = (words.map(Into::into), unsettled);
    });
}

fn to_boxes(texts: &[String]) -> Box<[Box<str>]> {
    texts.iter().map(|text| text.as_str().into()).collect()
}

/// Records a run's report, and what approving it will do.
fn note_claim(task: &mut Task, claim: WorkClaim, merge: Option<MergeMode>) {
    task.history.change_work(|work| (work.claim, work.merge) = (Some(claim), merge));
}

/// Records why an approved merge waits.
fn set_merge_wait(task: &mut Task, reason: &str) {
    task.history.change_work(|work| {
        if let Some(merging) = &mut work.merging {
            merging.waits = Some(reason.into());
        }
    });
}

fn set_delegation(task: &mut Task, handoff: &TaskHandoff, above: u32, sandbox: SandboxLevel) {
    task.parent = Some(handoff.parent.clone());
    task.depth = above.saturating_add(1);
    task.routing.agent = Some(handoff.to.clone());
    task.routing.sandbox = task.routing.sandbox.max(sandbox);
}
