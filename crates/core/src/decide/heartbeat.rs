//! Heartbeats extend the lease of a run, but not every heartbeat writes an event.

use adjutant_model::actor::Actor;
use adjutant_model::answer::{AnswerVerdict, Reason};
use adjutant_model::event::{Event, NewEvent};
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;

use super::draft::DecisionDraft;
use super::message::find_task;
use crate::decision::Decision;
use crate::input::TokenOwner;
use crate::schedule::is_renewal_due;
use crate::world::World;

/// The command name logged when a heartbeat is refused.
const HEARTBEAT_COMMAND: &str = "beat";

/// Handles a heartbeat from an agent that the daemon did not start. A heartbeat without the token
/// of the task's current run is refused, and the refusal is logged.
pub(super) fn decide_external(
    world: &World,
    id: &TaskId,
    by: &Actor,
    token: &TokenOwner,
    now: Time,
) -> Decision {
    let held = find_task(world, id).and_then(|task| match token {
        TokenOwner::Run { task: of, fence, nonce } if of == id => {
            let lease = task.lease().filter(|lease| lease.is_of(*fence, *nonce));
            lease.map(|_| *fence).ok_or(Reason::StaleRun)
        }
        TokenOwner::None | TokenOwner::Unknown | TokenOwner::Run { .. } => {
            Err(Reason::UnknownToken)
        }
    });
    match held {
        Ok(fence) => decide(world, id, fence, now),
        Err(reason) => {
            let mut draft = DecisionDraft::new(by.clone(), Some(id.clone()));
            if let Some(task) = world.task(id) {
                draft.load_task(task);
            }
            draft.push(Event::CommandRefused { command: HEARTBEAT_COMMAND.to_owned(), reason });
            draft.finish(AnswerVerdict::Rejected, Some(reason))
        }
    }
}

pub(super) fn decide(world: &World, id: &TaskId, fence: u64, now: Time) -> Decision {
    let draft = DecisionDraft::new(Actor::Scheduler, Some(id.clone()));
    let Some(task) = world.task(id) else {
        return draft.finish(AnswerVerdict::Noop, Some(Reason::TaskNotFound));
    };
    let Some(lease) = task.lease().filter(|lease| lease.fence == fence) else {
        return draft.finish(AnswerVerdict::Noop, Some(Reason::StaleRun));
    };
    let mut draft = DecisionDraft::new(Actor::Agent(lease.agent.clone()), None);
    draft.load_task(task);
    match due_renewal(world, task, now) {
        Some(renewal) => {
            draft.push(renewal.event);
            draft.finish(AnswerVerdict::Applied, None)
        }
        None => draft.finish(AnswerVerdict::Noop, None),
    }
}

/// Returns the event that renews the lease of a task whose run is alive; `None` if that is not due.
pub(super) fn due_renewal(world: &World, task: &Task, now: Time) -> Option<NewEvent> {
    let policy = &world.policy().scheduler;
    let lease = task.lease().filter(|lease| is_renewal_due(lease, policy, now))?;
    let expires_at = Time::from_millis(now.as_millis().saturating_add(policy.heartbeat_ttl_ms));
    let event = Event::RunHeartbeat { fence: lease.fence, expires_at };
    let actor = Actor::Agent(lease.agent.clone());
    Some(NewEvent { actor, task: Some(task.id.clone()), event })
}
