//! Accepts what a person or another program did to a task's file, without judging it.

use adjutant_model::actor::Actor;
use adjutant_model::answer::{AnswerVerdict, Reason};
use adjutant_model::effect::StopReason;
use adjutant_model::event::{Event, TransitionCause};
use adjutant_model::run::RunRef;
use adjutant_model::run_history::RunHistory;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::task::{Task, TaskState};
use adjutant_model::task_id::TaskId;
use adjutant_model::task_origin::{DelegationNote, MissionNote};
use adjutant_model::usage::TaskUsage;

use super::draft::DecisionDraft;
use crate::decision::Decision;
use crate::input::FileChange;
use crate::world::World;
use crate::world::dependency::depends_on_itself;

/// The reason logged for a move that a person made in the file system.
const MOVED_BY_HAND: &str = "moved by hand";

pub(super) fn decide(world: &World, change: &FileChange) -> Decision {
    let draft = DecisionDraft::new(Actor::human(""), None);
    match change {
        FileChange::Changed(task) => match world.task(&task.id) {
            None => accept_new_file(draft, world, task),
            Some(known) => accept_changed_file(draft, world, known, task),
        },
        FileChange::Removed(id) => accept_removed_file(draft, world, id),
        FileChange::Unreadable(_) => draft.finish(AnswerVerdict::Noop, None),
    }
}

fn accept_new_file(mut draft: DecisionDraft, world: &World, task: &Task) -> Decision {
    let task = &match world.retired_task(&task.id) {
        Some(known) => merge_file(known, task),
        None => keep_newest_fence(None, task),
    };
    draft.load_task(task);
    let created = Box::new(task.clone());
    draft.push(Event::TaskCreated { task: created, body: None, limits: None });
    log_dependency_cycle(&mut draft, world, task);
    draft.finish(AnswerVerdict::Applied, None)
}

/// Records the edit first, then the move: the person made both.
fn accept_changed_file(
    mut draft: DecisionDraft,
    world: &World,
    known: &Task,
    seen: &Task,
) -> Decision {
    draft.load_task(known);
    let mut edited = merge_file(known, seen);
    let (from, to) = (known.status(), edited.status());
    let was_moved_back = to != seen.status();
    if from != to {
        // Keep the state from before the move; the transition event carries the new one.
        edited.state = known.state.clone();
    }
    let mut changed = changed_fields(known, &edited);
    if changed.is_empty() && from == to {
        changed.push(if was_moved_back { "status" } else { "body" }.to_owned());
    }
    if !changed.is_empty() {
        let waits = known.depends_on != edited.depends_on;
        let task = Box::new(edited);
        draft.push(Event::TaskEdited { task: task.clone(), changed, body: None, limits: None });
        if waits {
            log_dependency_cycle(&mut draft, world, &task);
        }
        if known.lease().is_some() && task.lease().is_none() {
            draft.request_stop(StopReason::LeaseLost);
        }
    }
    if from != to {
        let regular = from.may_move_to(to);
        let manner =
            if regular { TransitionCause::ByHand } else { TransitionCause::AgainstTheTable };
        draft.move_to(from, to, MOVED_BY_HAND, manner);
    }
    draft.finish(AnswerVerdict::Applied, None)
}

/// Logs a dependency cycle that a person wrote. The task is accepted, and the scheduler
/// holds it back.
fn log_dependency_cycle(draft: &mut DecisionDraft, world: &World, task: &Task) {
    if depends_on_itself(world, task) {
        let detail = format!("{} depends on itself, directly or through other tasks", task.id);
        draft.push(Event::DispatchRefused { reason: Reason::DependencyCycle, detail });
    }
}

/// Returns the task after a person changed its file, or the file came back. A text that is older
/// than the store's is an edit of what people own, and of nothing else.
fn merge_file(known: &Task, seen: &Task) -> Task {
    let newest = keep_newest_fence(Some(known), seen);
    let mut task =
        if seen.updated_at < known.updated_at { keep_store_fields(known, newest) } else { newest };
    if is_reopened_by_older_file(known, seen) {
        task.state = known.state.clone();
    }
    keep_attempts(known, &mut task);
    task
}

/// Takes title, priority, routing and status from an older file, and the rest from the store.
fn keep_store_fields(known: &Task, older: Task) -> Task {
    let mut task = known.clone();
    if task.status() != older.status() {
        (task.state, task.last_run) = (older.state, older.last_run);
    }
    (task.title, task.priority, task.routing) = (older.title, older.priority, older.routing);
    task.routing.sandbox = task.routing.sandbox.max(known.routing.sandbox);
    task
}

/// A person who moves the file of a closed task moves the text that closed it; a text from before
/// comes from git or a backup, and no person decided to do the work again.
fn is_reopened_by_older_file(known: &Task, seen: &Task) -> bool {
    let is_older = seen.last_transition_at < known.last_transition_at;
    known.status().is_closed() && !seen.status().is_closed() && is_older
}

/// Attempt numbers never go back: the files of a run must not be taken for those of a later one.
fn keep_attempts(known: &Task, task: &mut Task) {
    let last = known.next_attempt().saturating_sub(1);
    if task.next_attempt() > last {
        return;
    }
    match &mut task.last_run {
        Some(run) => run.attempt = run.attempt.max(last),
        None => task.history.failures.clone_from(&known.history.failures),
    }
}

/// Keeps the newest known fence. `git checkout` may restore an old file, and an editor may drop the
/// lease; under an older fence, an older run could report again.
fn keep_newest_fence(known: Option<&Task>, seen: &Task) -> Task {
    let mut task = seen.clone();
    if let Some(known) = known {
        // A file cannot tell whether the run's process exists.
        task.history.open.clone_from(&known.history.open);
    }
    keep_consent(known, &mut task);
    let leased = known.and_then(Task::lease);
    let remembered = known.and_then(|known| known.last_run.clone());
    let runs = [leased.map(RunRef::from), remembered.clone(), seen.last_run.clone()];
    let Some(newest) = runs.into_iter().flatten().max_by_key(|run| run.fence) else {
        keep_nonces(known, &mut task);
        return task;
    };
    if let TaskState::InProgress(lease) = &mut task.state
        && lease.as_ref().is_some_and(|lease| lease.fence < newest.fence)
    {
        *lease = leased.filter(|lease| lease.fence >= newest.fence).cloned();
    }
    let current = task.lease().is_some_and(|lease| lease.fence == newest.fence);
    task.last_run = if current && known.is_some() { remembered } else { Some(newest) };
    keep_nonces(known, &mut task);
    task
}

/// Takes the nonces of runs from the store, never from a file: a file that comes back after its task
/// was removed must not bring back the tokens of its old runs.
fn keep_nonces(known: Option<&Task>, task: &mut Task) {
    let leased = known.and_then(Task::lease).map(RunRef::from);
    let others = known.map(|known| [known.last_run.clone(), known.history.open.clone()]);
    let runs: Vec<RunRef> =
        leased.into_iter().chain(others.into_iter().flatten().flatten()).collect();
    let nonce_of = |fence| {
        let run = runs.iter().find(|run| run.fence == fence);
        run.map_or(Some(RunNonce::REVOKED), |run| run.nonce)
    };
    if let TaskState::InProgress(Some(lease)) = &mut task.state {
        lease.nonce = nonce_of(lease.fence);
    }
    for run in [&mut task.last_run, &mut task.history.open].into_iter().flatten() {
        run.nonce = nonce_of(run.fence);
    }
}

/// Keeps what a person consented to. A file cannot consent in a person's name, whatever it says.
fn keep_consent(known: Option<&Task>, task: &mut Task) {
    let accepted = known.and_then(|known| known.history.accepted_checks.clone());
    task.history.accepted_checks = accepted;
    let (protected, allowed) = known
        .and_then(|known| known.history.work.as_deref())
        .map(|work| (work.protected.clone(), work.allowed.clone()))
        .unwrap_or_default();
    task.history.change_work(|work| (work.protected, work.allowed) = (protected, allowed));
}

fn accept_removed_file(mut draft: DecisionDraft, world: &World, id: &TaskId) -> Decision {
    match world.task(id) {
        Some(task) => draft.load_task(task),
        None if world.unreadable().contains(id) => draft.set_task_id(id),
        None => return draft.finish(AnswerVerdict::Noop, None),
    }
    draft.push(Event::TaskRemoved {});
    draft.request_stop(StopReason::Moved);
    draft.finish(AnswerVerdict::Applied, None)
}

/// Returns the names of the fields in which two versions of a task differ, as the front
/// matter writes them.
pub(super) fn changed_fields(a: &Task, b: &Task) -> Vec<String> {
    let (was, is) = (&a.history, &b.history);
    let different = [
        ("title", a.title != b.title),
        ("status", a.status() != b.status()),
        ("lease", a.lease() != b.lease()),
        ("priority", a.priority != b.priority),
        ("createdAt", a.created_at != b.created_at),
        ("updatedAt", a.updated_at != b.updated_at),
        ("lastTransitionAt", a.last_transition_at != b.last_transition_at),
        ("createdBy", a.created_by != b.created_by),
        ("routing", a.routing != b.routing),
        ("parentId", a.parent != b.parent),
        ("dependsOn", a.depends_on != b.depends_on),
        ("resource", a.resource != b.resource),
        ("dueBy", a.due_by != b.due_by),
        ("metadata.reviewRequired", a.review != b.review),
        ("metadata.delegationDepth", a.depth != b.depth),
        ("metadata.lastRun", a.last_run != b.last_run),
        ("metadata.reportedBy", a.reported_by != b.reported_by),
        ("metadata.feedback", a.feedback != b.feedback),
        ("metadata.openRun", was.open != is.open),
        ("metadata.failures", was.failures != is.failures),
        ("metadata.notBefore", was.not_before != is.not_before),
        ("metadata.expiredAt", was.expired != is.expired),
        ("metadata.blockedBy", was.blocked_by != is.blocked_by),
        ("metadata.statusReason", was.reason != is.reason),
        ("metadata.answer", was.answer != is.answer),
        ("metadata.question", was.question != is.question),
        ("metadata.session", usage_part(was, |a| &a.session) != usage_part(is, |a| &a.session)),
        ("metadata.parked", usage_part(was, |a| &a.parked) != usage_part(is, |a| &a.parked)),
        (
            "metadata.refusedHosts",
            usage_part(was, |a| &a.refused_hosts) != usage_part(is, |a| &a.refused_hosts),
        ),
        ("metadata.usage", usage_part(was, |a| &a.spent) != usage_part(is, |a| &a.spent)),
        ("metadata.checks", was.checks != is.checks),
        ("metadata.budget", usage_part(was, |a| &a.budget) != usage_part(is, |a| &a.budget)),
        ("metadata.story", a.story() != b.story()),
        ("metadata.mission", mission_note(a) != mission_note(b)),
        ("metadata.delegation", delegation_note(a) != delegation_note(b)),
    ];
    let names = different.into_iter().filter(|(_, differs)| *differs);
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Returns one part of the task's recorded usage; the default if nothing is recorded.
fn usage_part<T: PartialEq + Default + Clone>(
    trials: &RunHistory,
    part: impl Fn(&TaskUsage) -> &T,
) -> T {
    trials.account().map(|account| part(account).clone()).unwrap_or_default()
}

fn mission_note(task: &Task) -> Option<&MissionNote> {
    task.origin.as_deref()?.mission.as_ref()
}

fn delegation_note(task: &Task) -> Option<&DelegationNote> {
    task.origin.as_deref()?.delegation.as_ref()
}
