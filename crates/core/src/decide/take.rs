//! An agent that works elsewhere asks for work, and is given the next task that is for it.

use super::Decision;
use super::draft::Draft;
use crate::answer::{Reason, Verdict};
use crate::event::Event;
use crate::name::{Actor, AgentId};
use crate::run::Place;
use crate::schedule::next_for;
use crate::status::Status;
use crate::task::Task;
use crate::time::Time;
use crate::world::World;

pub(super) fn decide(world: &World, agent: &AgentId, now: Time) -> Decision {
    let mut draft = Draft::new(Actor::Agent(agent.clone()), None);
    if let Some(task) = held(world, agent) {
        draft.on(task);
        return draft.end(Verdict::Noop, None);
    }
    let Some(task) = next_for(world, agent, now) else {
        return draft.end(Verdict::Noop, Some(Reason::NothingToDo));
    };
    draft.on(task);
    let ttl = world.policy().scheduler.heartbeat_ttl_ms;
    draft.transition(Status::InProgress, &format!("fetched by {agent}"));
    draft.push(Event::RunStarted {
        agent: agent.clone(),
        attempt: task.next_attempt(),
        fence: task.next_fence(),
        expires_at: Time::from_millis(now.as_millis().saturating_add(ttl)),
        place: Place::Elsewhere,
    });
    draft.end(Verdict::Applied, None)
}

/// Returns what an agent was given before and has not reported on: who asks twice, because the
/// first answer got lost, may not be given two tasks.
fn held<'w>(world: &'w World, agent: &AgentId) -> Option<&'w Task> {
    let is_its = |task: &&Task| task.lease().is_some_and(|lease| lease.agent == *agent);
    let elsewhere = |task: &&Task| task.trials.open.is_none();
    world.with_status(Status::InProgress).filter(elsewhere).find(is_its)
}
