//! Assigns the next suitable task to an agent that works elsewhere and asks for work.

use adjutant_model::actor::{Actor, AgentId};
use adjutant_model::answer::{AnswerVerdict, Reason};
use adjutant_model::event::Event;
use adjutant_model::run::RunPlace;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::time::Time;

use super::draft::DecisionDraft;
use crate::decision::Decision;
use crate::schedule::next_task_for;
use crate::world::World;

pub(super) fn decide(
    world: &World,
    agent: &AgentId,
    nonce: Option<RunNonce>,
    now: Time,
) -> Decision {
    let mut draft = DecisionDraft::new(Actor::Agent(agent.clone()), None);
    if let Some(task) = find_held_task(world, agent) {
        draft.load_task(task);
        return draft.finish(AnswerVerdict::Noop, None);
    }
    let Some(task) = next_task_for(world, agent, now) else {
        return draft.finish(AnswerVerdict::Noop, Some(Reason::NothingToDo));
    };
    draft.load_task(task);
    let ttl = world.policy().scheduler.heartbeat_ttl_ms;
    draft.transition(Status::InProgress, &format!("fetched by {agent}"));
    draft.push(Event::RunStarted {
        agent: agent.clone(),
        attempt: task.next_attempt(),
        fence: task.next_fence(),
        nonce,
        expires_at: Time::from_millis(now.as_millis().saturating_add(ttl)),
        place: RunPlace::Elsewhere,
        // What a fetched task is done with is not known here.
        sandbox: SandboxLevel::None,
    });
    draft.finish(AnswerVerdict::Applied, None)
}

/// Returns the task that the agent already holds. An agent that asks again because the first answer
/// got lost must not be assigned two tasks.
fn find_held_task<'w>(world: &'w World, agent: &AgentId) -> Option<&'w Task> {
    let is_its = |task: &&Task| task.lease().is_some_and(|lease| lease.agent == *agent);
    let elsewhere = |task: &&Task| task.history.open.is_none();
    world.with_status(Status::InProgress).filter(elsewhere).find(is_its)
}
