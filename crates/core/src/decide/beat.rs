//! A sign of life: renews the lease, but not at every beat.

use super::Decision;
use super::draft::Draft;
use crate::answer::{Reason, Verdict};
use crate::event::Event;
use crate::id::TaskId;
use crate::name::Actor;
use crate::schedule::is_due;
use crate::time::Time;
use crate::world::World;

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
