//! An agent that says it cannot work: its task is parked, and no attempt is spent.

use super::draft::Draft;
use super::recovery::exited;
use super::run_exited::Seen;
use crate::account::{Parked, Told, Trouble};
use crate::event::Event;
use crate::name::AgentId;
use crate::schedule::closed_on;
use crate::status::Status;
use crate::task::Task;
use crate::time::Time;
use crate::world::World;

/// How long an agent is left alone that did not say until when it is to be.
const WAIT_MS: i64 = 15 * 60_000;
/// The shortest and the longest time an agent is left alone, whatever it says.
const WAIT_MIN_MS: i64 = 60_000;
const WAIT_MAX_MS: i64 = 31 * 86_400_000;

/// Writes down what the agent of a run told of itself, if that is anything new.
pub(super) fn note(
    draft: &mut Draft,
    task: &Task,
    (agent, attempt, fence): (&AgentId, u32, u64),
    told: &Told,
    session: Option<&str>,
) {
    let known = task.trials.account().is_some_and(|account| account.session.is_some());
    if told.usage.is_nothing() && session.is_none() && told.warning.is_none() && !known {
        return;
    }
    let (agent, session) = (agent.clone(), session.map(str::to_owned));
    let (usage, warning) = (told.usage, told.warning.clone());
    draft.push(Event::RunUsage { agent, attempt, fence, session, usage, warning });
}

/// Sends the task back, and leaves the agent alone for as long as it said.
pub(super) fn park(
    world: &World,
    draft: &mut Draft,
    task: &Task,
    seen: &Seen<'_>,
    trouble: &Trouble,
    now: Time,
) {
    let Some(lease) = task.lease() else { return };
    exited(draft, task, seen.exit, seen.tail);
    let agent = &lease.agent;
    let (until, reason) = match trouble {
        Trouble::Limited { until, reason } => (Some(rested(*until, now)), reason),
        Trouble::Unusable { reason } => (None, reason),
    };
    let (policy, node) = (world.policy(), task.trials.node.clone());
    let settings = policy.agent_on(agent, node.as_ref()).map_or(0, |known| known.settings);
    let not_before = until.filter(|_| !has_others(world, task, agent, now));
    let parked =
        Parked { agent: agent.clone(), until, reason: reason.as_str().into(), settings, node };
    let (who, parked) = (parked.who(), Box::new(parked));
    let (attempt, fence) = (lease.attempt, lease.fence);
    let back = match until {
        Some(until) => format!("{who} has reached a limit, until {until}: {reason}"),
        None => format!("{who} cannot be used: {reason}"),
    };
    draft.push(Event::RunParked { attempt, fence, parked, not_before });
    // A story goes back when its files say so: they still say that its step is being done.
    if task.story().is_none() {
        draft.transition(Status::Ready, &back);
    }
}

/// Says whether others may do a task now: another agent, or the same one on another node.
fn has_others(world: &World, task: &Task, agent: &AgentId, now: Time) -> bool {
    let (policy, here) = (world.policy(), task.trials.node.as_ref());
    let may = |name: &AgentId, node| closed_on(world, name, node, now).is_none();
    policy.agents_for(&task.routing).any(|(name, _)| {
        let is_other = |node| name != agent || node != here;
        let mut nodes = policy.nodes_for(name, &task.routing).map(|(node, _)| Some(node));
        let alone = policy.nodes.is_empty() && is_other(None) && may(name, None);
        alone || nodes.any(|node| is_other(node) && may(name, node))
    })
}

/// Returns until when an agent is left alone.
fn rested(said: Option<Time>, now: Time) -> Time {
    let now = now.as_millis();
    let wait = said.map_or(WAIT_MS, |until| until.as_millis().saturating_sub(now));
    Time::from_millis(now.saturating_add(wait.clamp(WAIT_MIN_MS, WAIT_MAX_MS)))
}
