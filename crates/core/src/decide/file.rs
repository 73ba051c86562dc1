//! What a person, or another program, did to a task's file is taken in as it stands.

use super::Decision;
use super::draft::Draft;
use crate::answer::Verdict;
use crate::event::{Event, Manner};
use crate::id::TaskId;
use crate::input::FileChange;
use crate::name::Actor;
use crate::task::Task;
use crate::world::World;

/// What the record says of a move that a person made.
const BY_HAND: &str = "moved by hand";

pub(super) fn decide(world: &World, change: &FileChange) -> Decision {
    let draft = Draft::new(Actor::human(""), None);
    match change {
        FileChange::Seen(task) => match world.task(&task.id) {
            None => appeared(draft, task),
            Some(known) => changed(draft, known, task),
        },
        FileChange::Gone(id) => gone(draft, world, id),
        FileChange::Unreadable(_) => draft.end(Verdict::Noop, None),
    }
}

fn appeared(mut draft: Draft, task: &Task) -> Decision {
    draft.on(task);
    draft.push(Event::TaskCreated {
        task: Box::new(task.clone()),
        body: None,
    });
    draft.end(Verdict::Applied, None)
}

/// First what was edited, then where it was moved: the person has spoken in both.
fn changed(mut draft: Draft, known: &Task, seen: &Task) -> Decision {
    draft.on(known);
    let (from, to) = (known.status(), seen.status());
    let mut edited = seen.clone();
    if from != to {
        // The state before the move: the move itself says where it goes.
        edited.state = known.state.clone();
    }
    let mut changed = differences(known, &edited);
    if changed.is_empty() && from == to {
        changed.push("body");
    }
    if !changed.is_empty() {
        draft.push(Event::TaskEdited {
            task: Box::new(edited),
            changed,
            body: None,
        });
    }
    if from != to {
        let regular = from.may_move_to(to);
        let manner = if regular {
            Manner::ByHand
        } else {
            Manner::AgainstTheTable
        };
        draft.move_to(from, to, BY_HAND, manner);
    }
    draft.end(Verdict::Applied, None)
}

fn gone(mut draft: Draft, world: &World, id: &TaskId) -> Decision {
    let Some(task) = world.task(id) else {
        return draft.end(Verdict::Noop, None);
    };
    draft.on(task);
    draft.push(Event::TaskRemoved);
    draft.end(Verdict::Applied, None)
}

/// Returns the names of the fields in which two versions of a task differ, as the file has them.
pub(super) fn differences(a: &Task, b: &Task) -> Vec<&'static str> {
    let different = [
        ("title", a.title != b.title),
        ("status", a.status() != b.status()),
        ("lease", a.lease() != b.lease()),
        ("priority", a.priority != b.priority),
        ("createdAt", a.created_at != b.created_at),
        ("updatedAt", a.updated_at != b.updated_at),
        (
            "lastTransitionAt",
            a.last_transition_at != b.last_transition_at,
        ),
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
    ];
    different
        .into_iter()
        .filter(|(_, differs)| *differs)
        .map(|(name, _)| name)
        .collect()
}
