//! `handoff.request`, `handoff.accepted`, `handoff.rejected`: work given on, one level deep.

use super::Decision;
use super::draft::Draft;
use super::message::{find, may_speak, salvage};
use crate::answer::{Reason, Verdict};
use crate::aof::Envelope;
use crate::event::Event;
use crate::handoff::Handoff;
use crate::id::TaskId;
use crate::input::Facts;
use crate::status::Status;
use crate::task::{DEPTH_MAX, Task};
use crate::world::World;

pub(super) fn request(
    world: &World,
    mut draft: Draft,
    child: Result<&Task, Reason>,
    envelope: &Envelope,
    handoff: &Handoff,
    facts: &Facts,
) -> Decision {
    match check(world, child, envelope, handoff, facts) {
        Ok(()) => {
            draft.push(Event::DelegationRequested { handoff: Box::new(handoff.clone()) });
            draft.end(Verdict::Applied, None)
        }
        // The protocol has the delegation alone rejected here, not the message.
        Err(Reason::ParentNotFound) => {
            reject_delegation(&mut draft, Reason::ParentNotFound);
            draft.end(Verdict::Rejected, Some(Reason::ParentNotFound))
        }
        // The run that spoke too late is one of the parent.
        Err(reason @ Reason::StaleRun) => {
            reject_delegation(&mut draft, reason);
            salvage(draft.reject(reason, vec![]), &handoff.parent, envelope)
        }
        Err(reason) => {
            reject_delegation(&mut draft, reason);
            draft.reject(reason, vec![])
        }
    }
}

fn reject_delegation(draft: &mut Draft, reason: Reason) {
    draft.push(Event::DelegationRejected { reason: reason.as_str().to_owned() });
}

fn check(
    world: &World,
    child: Result<&Task, Reason>,
    envelope: &Envelope,
    handoff: &Handoff,
    facts: &Facts,
) -> Result<(), Reason> {
    let child = child?;
    let parent = find(world, &handoff.parent).map_err(|reason| match reason {
        Reason::TaskNotFound => Reason::ParentNotFound,
        other => other,
    })?;
    may_speak(world, parent, envelope, facts)?;
    if parent.depth.saturating_add(1) > DEPTH_MAX || is_part_of(world, &parent.id, &child.id) {
        return Err(Reason::NestedDelegation);
    }
    if child.status().is_closed() {
        return Err(Reason::TaskClosed);
    }
    Ok(())
}

/// Says whether `task` is `whole`, or a part of it, or a part of a part. Parents may go round in
/// files that people wrote, so the walk is bounded by the number of tasks.
pub(super) fn is_part_of(world: &World, task: &TaskId, whole: &TaskId) -> bool {
    let mut above = Some(task);
    for _ in 0..=world.tasks().len() {
        match above {
            Some(id) if id == whole => return true,
            Some(id) => above = world.task(id).and_then(|task| task.parent.as_ref()),
            None => return false,
        }
    }
    true
}

pub(super) fn accepted(mut draft: Draft) -> Decision {
    draft.push(Event::DelegationAccepted);
    draft.end(Verdict::Applied, None)
}

pub(super) fn rejected(mut draft: Draft, reason: Option<&str>) -> Decision {
    let reason = reason.filter(|reason| !reason.trim().is_empty()).unwrap_or("handoff rejected");
    draft.transition(Status::Blocked, reason);
    draft.push(Event::DelegationRejected { reason: reason.to_owned() });
    draft.end(Verdict::Applied, None)
}
