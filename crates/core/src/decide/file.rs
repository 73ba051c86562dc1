//! What a person, or another program, did to a task's file is taken in as it stands.

use super::Decision;
use super::draft::Draft;
use crate::account::Account;
use crate::answer::{Reason, Verdict};
use crate::effect::Stop;
use crate::event::{Event, Manner};
use crate::foreign::{DelegationNote, MissionNote};
use crate::id::TaskId;
use crate::input::FileChange;
use crate::name::Actor;
use crate::schedule::waits_for_itself;
use crate::task::{LastRun, State, Task};
use crate::trials::Trials;
use crate::world::World;

/// What the record says of a move that a person made.
const BY_HAND: &str = "moved by hand";

pub(super) fn decide(world: &World, change: &FileChange) -> Decision {
    let draft = Draft::new(Actor::human(""), None);
    match change {
        FileChange::Seen(task) => match world.task(&task.id) {
            None => appeared(draft, world, task),
            Some(known) => changed(draft, world, known, task),
        },
        FileChange::Gone(id) => gone(draft, world, id),
        FileChange::Unreadable(_) => draft.end(Verdict::Noop, None),
    }
}

fn appeared(mut draft: Draft, world: &World, task: &Task) -> Decision {
    let task = &fenced(None, task);
    draft.on(task);
    draft.push(Event::TaskCreated { task: Box::new(task.clone()), body: None });
    flag(&mut draft, world, task);
    draft.end(Verdict::Applied, None)
}

/// First what was edited, then where it was moved: the person has spoken in both.
fn changed(mut draft: Draft, world: &World, known: &Task, seen: &Task) -> Decision {
    draft.on(known);
    let (from, to) = (known.status(), seen.status());
    let mut edited = fenced(Some(known), seen);
    if from != to {
        // The state before the move: the move itself says where it goes.
        edited.state = known.state.clone();
    }
    let mut changed = differences(known, &edited);
    if changed.is_empty() && from == to {
        changed.push("body".to_owned());
    }
    if !changed.is_empty() {
        let waits = known.depends_on != edited.depends_on;
        let task = Box::new(edited);
        draft.push(Event::TaskEdited { task: task.clone(), changed, body: None });
        if waits {
            flag(&mut draft, world, &task);
        }
        if known.lease().is_some() && task.lease().is_none() {
            draft.stop(Stop::LeaseLost);
        }
    }
    if from != to {
        let regular = from.may_move_to(to);
        let manner = if regular { Manner::ByHand } else { Manner::AgainstTheTable };
        draft.move_to(from, to, BY_HAND, manner);
    }
    draft.end(Verdict::Applied, None)
}

/// A person may write a task that waits for itself. It is taken in, and held back.
fn flag(draft: &mut Draft, world: &World, task: &Task) {
    if waits_for_itself(world, task) {
        let detail = format!("{} waits for itself, by way of others", task.id);
        draft.push(Event::DispatchRefused { reason: Reason::DependencyCycle, detail });
    }
}

/// A file may come from an older day (`git checkout`), or lose its lease to an editor; the fence
/// never goes back, or an older run could speak again.
fn fenced(known: Option<&Task>, seen: &Task) -> Task {
    let mut task = seen.clone();
    if let Some(known) = known {
        // Whether a process is there is not for a file to say.
        task.trials.open.clone_from(&known.trials.open);
    }
    let leased = known.and_then(Task::lease);
    let remembered = known.and_then(|known| known.last_run.clone());
    let runs = [leased.map(LastRun::from), remembered.clone(), seen.last_run.clone()];
    let Some(newest) = runs.into_iter().flatten().max_by_key(|run| run.fence) else { return task };
    if let State::InProgress(lease) = &mut task.state
        && lease.as_ref().is_some_and(|lease| lease.fence < newest.fence)
    {
        *lease = leased.filter(|lease| lease.fence >= newest.fence).cloned();
    }
    let current = task.lease().is_some_and(|lease| lease.fence == newest.fence);
    task.last_run = if current && known.is_some() { remembered } else { Some(newest) };
    task
}

fn gone(mut draft: Draft, world: &World, id: &TaskId) -> Decision {
    match world.task(id) {
        Some(task) => draft.on(task),
        None if world.unreadable().contains(id) => draft.about(id),
        None => return draft.end(Verdict::Noop, None),
    }
    draft.push(Event::TaskRemoved);
    draft.stop(Stop::Moved);
    draft.end(Verdict::Applied, None)
}

/// Returns the names of the fields in which two versions of a task differ, as the file has them.
pub(super) fn differences(a: &Task, b: &Task) -> Vec<String> {
    let (was, is) = (&a.trials, &b.trials);
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
        ("metadata.session", of(was, |a| &a.session) != of(is, |a| &a.session)),
        ("metadata.parked", of(was, |a| &a.parked) != of(is, |a| &a.parked)),
        ("metadata.usage", of(was, |a| &a.spent) != of(is, |a| &a.spent)),
        ("metadata.budget", of(was, |a| &a.budget) != of(is, |a| &a.budget)),
        ("metadata.story", a.story() != b.story()),
        ("metadata.mission", mission(a) != mission(b)),
        ("metadata.delegation", delegation(a) != delegation(b)),
    ];
    let names = different.into_iter().filter(|(_, differs)| *differs);
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Returns a part of what the agents of a task told; what is kept and says nothing is not there.
fn of<T: PartialEq + Default + Clone>(trials: &Trials, part: impl Fn(&Account) -> &T) -> T {
    trials.account().map(|account| part(account).clone()).unwrap_or_default()
}

fn mission(task: &Task) -> Option<&MissionNote> {
    task.foreign.as_deref()?.mission.as_ref()
}

fn delegation(task: &Task) -> Option<&DelegationNote> {
    task.foreign.as_deref()?.delegation.as_ref()
}
