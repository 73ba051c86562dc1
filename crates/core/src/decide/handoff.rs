//! Decides `handoff.request`, `handoff.accepted` and `handoff.rejected`: delegation,
//! one level deep.

use adjutant_model::answer::{AnswerVerdict, Reason};
use adjutant_model::event::Event;
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;

use super::draft::DecisionDraft;
use super::message::{check_sender, find_task, salvage_late_message};
use crate::decision::Decision;
use crate::input::MessageFacts;
use crate::protocols::aof::AofEnvelope;
use crate::world::World;

pub(super) fn decide_request(
    world: &World,
    mut draft: DecisionDraft,
    child: Result<&Task, Reason>,
    envelope: &AofEnvelope,
    handoff: &TaskHandoff,
    facts: &MessageFacts,
) -> Decision {
    match check(world, child, envelope, handoff, facts) {
        Ok(()) => {
            let parent = world.task(&handoff.parent);
            let sandbox = parent.map(|parent| world.sandbox_of_run(parent)).unwrap_or_default();
            let handoff = Box::new(handoff.clone());
            draft.push(Event::DelegationRequested { handoff, sandbox });
            draft.finish(AnswerVerdict::Applied, None)
        }
        // The protocol rejects only the delegation here, not the message.
        Err(Reason::ParentNotFound) => {
            reject_delegation(&mut draft, Reason::ParentNotFound);
            draft.finish(AnswerVerdict::Rejected, Some(Reason::ParentNotFound))
        }
        // The late message came from a run of the parent, so the parent keeps it.
        Err(reason @ Reason::StaleRun) => {
            reject_delegation(&mut draft, reason);
            salvage_late_message(draft.reject(reason, vec![]), &handoff.parent, envelope)
        }
        Err(reason) => {
            reject_delegation(&mut draft, reason);
            draft.reject(reason, vec![])
        }
    }
}

fn reject_delegation(draft: &mut DecisionDraft, reason: Reason) {
    draft.push(Event::DelegationRejected { reason: reason.as_str().to_owned() });
}

fn check(
    world: &World,
    child: Result<&Task, Reason>,
    envelope: &AofEnvelope,
    handoff: &TaskHandoff,
    facts: &MessageFacts,
) -> Result<(), Reason> {
    let child = child?;
    let parent = find_task(world, &handoff.parent).map_err(|reason| match reason {
        Reason::TaskNotFound => Reason::ParentNotFound,
        other => other,
    })?;
    check_sender(world, parent, envelope, facts)?;
    let depth = parent.depth.saturating_add(1);
    if depth > world.policy().delegation_depth_max.0
        || is_descendant_of(world, &parent.id, &child.id)
    {
        return Err(Reason::NestedDelegation);
    }
    if child.status().is_closed() {
        return Err(Reason::TaskClosed);
    }
    if !may_hand_over(parent, child, envelope, handoff) {
        return Err(Reason::UnauthorizedAgent);
    }
    Ok(())
}

/// Returns whether the sender may give the child to another agent: it must not take a task away
/// from an agent that works on it or that it was routed to. A repeated handoff is always allowed.
fn may_hand_over(
    parent: &Task,
    child: &Task,
    envelope: &AofEnvelope,
    handoff: &TaskHandoff,
) -> bool {
    let is_child_of_parent = child.parent.as_ref() == Some(&parent.id);
    let is_repeated = is_child_of_parent && child.routing.agent.as_ref() == Some(&handoff.to);
    let is_own = is_child_of_parent || *child.created_by == *envelope.from.as_str();
    let is_free = child.routing.agent.as_ref().is_none_or(|agent| *agent == envelope.from);
    is_repeated || (child.lease().is_none() && (is_own || is_free))
}

/// Returns whether `task` is `whole` or one of its descendants. Parents may form a cycle in files
/// that people wrote, so the walk is bounded by the number of tasks; a cycle counts as a match.
pub(super) fn is_descendant_of(world: &World, task: &TaskId, whole: &TaskId) -> bool {
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

pub(super) fn accept_handoff(mut draft: DecisionDraft) -> Decision {
    draft.push(Event::DelegationAccepted {});
    draft.finish(AnswerVerdict::Applied, None)
}

pub(super) fn reject_handoff(mut draft: DecisionDraft, reason: Option<&str>) -> Decision {
    let reason = reason.filter(|reason| !reason.trim().is_empty()).unwrap_or("handoff rejected");
    draft.transition(Status::Blocked, reason);
    draft.push(Event::DelegationRejected { reason: reason.to_owned() });
    draft.finish(AnswerVerdict::Applied, None)
}
