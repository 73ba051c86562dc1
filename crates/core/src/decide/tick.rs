//! A tick: the plan, carried out.

use super::Decision;
use super::draft::Draft;
use super::recovery::{Rules, Sign, exited, recover};
use crate::answer::{Answer, Verdict};
use crate::effect::Effect;
use crate::event::{Event, Manner};
use crate::id::TaskId;
use crate::input::TickFacts;
use crate::name::{Actor, AgentId};
use crate::run::{Exit, Place};
use crate::schedule::{Action, plan};
use crate::status::Status;
use crate::task::Task;
use crate::time::Time;
use crate::trials::BlockedBy;
use crate::world::World;

pub(super) fn decide(world: &World, facts: &TickFacts, now: Time) -> Decision {
    let mut all =
        Decision { answer: Answer::plain(Verdict::Noop), events: vec![], effects: vec![] };
    for action in plan(world, facts, now) {
        let Some(task) = world.task(action.task()) else { continue };
        let mut draft = Draft::new(Actor::Scheduler, None);
        draft.on(task);
        carry_out(world, &mut draft, task, &action, facts, now);
        let part = draft.end(Verdict::Applied, None);
        all.answer.verdict = Verdict::Applied;
        all.events.extend(part.events);
        all.effects.extend(part.effects);
    }
    all
}

fn carry_out(
    world: &World,
    draft: &mut Draft,
    task: &Task,
    action: &Action,
    facts: &TickFacts,
    now: Time,
) {
    let policy = &world.policy().scheduler;
    let rules = Rules { policy: world.policy(), jitter: facts.jitter, now };
    let found = facts.runs.get(&task.id).and_then(|seen| seen.found.as_ref());
    match action {
        Action::StaleHeartbeat { .. } => recover(draft, task, Sign::Stale, found, rules),
        Action::ExpireLease { .. } => recover(draft, task, Sign::LeaseExpired, found, rules),
        Action::RunLost { .. } => {
            recover(draft, task, Sign::Exited(&Exit::Lost, ""), found, rules);
        }
        Action::RunOver { .. } => exited(draft, task, &Exit::Lost, ""),
        Action::RenewLease { fence, expires_at, .. } => {
            draft.push(Event::RunHeartbeat { fence: *fence, expires_at: *expires_at });
        }
        Action::Block { dependency, .. } => block(draft, world, dependency),
        Action::Unblock { .. } => {
            draft.transition(Status::Ready, "its dependencies are done");
        }
        Action::Assign { agent, node, attempt, fence, .. } => {
            let ttl = policy.heartbeat_ttl_ms;
            let expires_at = Time::from_millis(now.as_millis().saturating_add(ttl));
            let place = node.clone().map_or(Place::Here, Place::Node);
            assign(draft, task, agent, (*attempt, *fence), (expires_at, place));
        }
    }
}

fn block(draft: &mut Draft, world: &World, dependency: &TaskId) {
    let status = world.task(dependency).map_or(Status::Cancelled, Task::status);
    let reason = format!("waits for {dependency}, which was given up ({status})");
    let held = Manner::Held(BlockedBy::Dependency);
    draft.move_to(Status::Ready, Status::Blocked, &reason, held);
}

/// Lease and move in one commit; the agent is started after it.
fn assign(
    draft: &mut Draft,
    task: &Task,
    agent: &AgentId,
    (attempt, fence): (u32, u64),
    (expires_at, place): (Time, Place),
) {
    let given = match &place {
        Place::Node(node) => format!("given to {agent} on {node}"),
        Place::Here | Place::Elsewhere => format!("given to {agent}"),
    };
    draft.transition(Status::InProgress, &given);
    draft.push(Event::RunStarted { agent: agent.clone(), attempt, fence, expires_at, place });
    draft.owe(Effect::StartRun { task: task.id.clone(), agent: agent.clone(), attempt, fence });
}
