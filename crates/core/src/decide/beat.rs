//! A sign of life: renews the lease, but not at every beat.

use super::Decision;
use super::draft::Draft;
use super::message::find;
use crate::answer::{Reason, Verdict};
use crate::event::Event;
use crate::id::TaskId;
use crate::input::Token;
use crate::name::Actor;
use crate::schedule::is_due;
use crate::time::Time;
use crate::world::World;

/// What a command is called that gives a sign of life.
const COMMAND: &str = "beat";

/// Hears somebody who works elsewhere. One that shows no token of the task's run, or that of a run
/// which has been replaced, is told so, and it is in the record.
pub(super) fn hear(world: &World, id: &TaskId, by: &Actor, token: &Token, now: Time) -> Decision {
    let held = find(world, id).and_then(|task| match token {
        Token::Run { task: of, fence } if of == id => {
            let lease = task.lease().filter(|lease| lease.fence == *fence);
            lease.map(|_| *fence).ok_or(Reason::StaleRun)
        }
        Token::None | Token::Unknown | Token::Run { .. } => Err(Reason::UnknownToken),
    });
    match held {
        Ok(fence) => decide(world, id, fence, now),
        Err(reason) => {
            let mut draft = Draft::new(by.clone(), Some(id.clone()));
            if let Some(task) = world.task(id) {
                draft.on(task);
            }
            draft.push(Event::CommandRefused { command: COMMAND.to_owned(), reason });
            draft.end(Verdict::Rejected, Some(reason))
        }
    }
}

pub(super) fn decide(world: &World, id: &TaskId, fence: u64, now: Time) -> Decision {
    let draft = Draft::new(Actor::Scheduler, Some(id.clone()));
    let Some(task) = world.task(id) else {
        return draft.end(Verdict::Noop, Some(Reason::TaskNotFound));
    };
    let Some(lease) = task.lease().filter(|lease| lease.fence == fence) else {
        return draft.end(Verdict::Noop, Some(Reason::StaleRun));
    };
    let policy = &world.policy().scheduler;
    let mut draft = Draft::new(Actor::Agent(lease.agent.clone()), None);
    draft.on(task);
    if !is_due(lease, policy, now) {
        return draft.end(Verdict::Noop, None);
    }
    let expires_at = Time::from_millis(now.as_millis().saturating_add(policy.heartbeat_ttl_ms));
    draft.push(Event::RunHeartbeat { fence, expires_at });
    draft.end(Verdict::Applied, None)
}
