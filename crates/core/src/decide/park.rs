//! Handles an agent that says it cannot work: the agent is parked, its task goes back, and no
//! attempt is counted.

use std::collections::BTreeSet;

use adjutant_model::actor::AgentId;
use adjutant_model::event::Event;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::time::Time;
use adjutant_model::usage::{AgentTelemetry, AgentTrouble, ParkedAgent};

use super::draft::DecisionDraft;
use super::recovery::record_exit;
use super::run_exited::RunEndFacts;
use crate::network::AllowedHost;
use crate::schedule::agent_unavailable_on_node;
use crate::world::World;

/// The pause of an agent that does not say when it can work again.
const WAIT_MS: i64 = 15 * 60_000;
/// Bounds of the pause, regardless of what the agent says.
const WAIT_MIN_MS: i64 = 60_000;
const WAIT_MAX_MS: i64 = 31 * 86_400_000;
/// The most refused hosts of a run that are recorded.
const REFUSED_HOSTS_MAX: usize = 50;

/// Records what the agent of a run reported about itself. An event without news is still needed
/// where a session is stored, because it clears the session.
pub(super) fn record_telemetry(
    draft: &mut DecisionDraft,
    task: &Task,
    (agent, attempt, fence): (&AgentId, u32, u64),
    told: &AgentTelemetry,
    session: Option<&str>,
) {
    record_refused_hosts(draft, (agent, attempt, fence), &told.refused_hosts);
    let known = task.history.account().is_some_and(|account| account.session.is_some());
    if told.usage.is_nothing() && session.is_none() && told.warning.is_none() && !known {
        return;
    }
    let (agent, session) = (agent.clone(), session.map(str::to_owned));
    let (usage, warning) = (told.usage, told.warning.clone());
    draft.push(Event::RunUsage { agent, attempt, fence, session, usage, warning });
}

/// Records the hosts that the run was refused. What is no host is left out: it could not be allowed.
fn record_refused_hosts(
    draft: &mut DecisionDraft,
    (agent, attempt, fence): (&AgentId, u32, u64),
    hosts: &[String],
) {
    let valid = hosts.iter().filter_map(|text| AllowedHost::parse(text).ok());
    let hosts: BTreeSet<AllowedHost> = valid.take(REFUSED_HOSTS_MAX).collect();
    for host in hosts {
        let (agent, host) = (agent.clone(), host.to_string());
        draft.push(Event::HostRefused { agent, attempt, fence, host });
    }
}

/// Sends the task back, and parks the agent for the time it asked for.
pub(super) fn park_agent(
    world: &World,
    draft: &mut DecisionDraft,
    task: &Task,
    seen: &RunEndFacts<'_>,
    trouble: &AgentTrouble,
    now: Time,
) {
    let Some(lease) = task.lease() else { return };
    record_exit(draft, task, seen.exit, seen.tail);
    let agent = &lease.agent;
    let (until, reason) = match trouble {
        AgentTrouble::Limited { until, reason } => (Some(parked_until(*until, now)), reason),
        AgentTrouble::Unusable { reason } => (None, reason),
    };
    let (policy, node) = (world.policy(), task.history.node.clone());
    let settings = policy.agent_on(agent, node.as_ref()).map_or(0, |known| known.settings);
    let not_before = until.filter(|_| !has_alternative(world, task, agent, now));
    let parked =
        ParkedAgent { agent: agent.clone(), until, reason: reason.as_str().into(), settings, node };
    let (who, parked) = (parked.who(), Box::new(parked));
    let (attempt, fence) = (lease.attempt, lease.fence);
    let back = match until {
        Some(until) => format!("{who} has reached a usage limit until {until}: {reason}"),
        None => format!("{who} cannot be used: {reason}"),
    };
    draft.push(Event::RunParked { attempt, fence, parked, not_before });
    // A story goes back when its files say so; they still say that the step is running.
    if task.story().is_none() {
        draft.transition(Status::Ready, &back);
    }
}

/// Returns whether the task can run now without this agent here: by another agent, or by the same
/// agent on another node.
fn has_alternative(world: &World, task: &Task, agent: &AgentId, now: Time) -> bool {
    let (policy, here) = (world.policy(), task.history.node.as_ref());
    let may = |name: &AgentId, node| agent_unavailable_on_node(world, name, node, now).is_none();
    policy.agents_for(&task.routing).any(|(name, _)| {
        let is_other = |node| name != agent || node != here;
        let mut nodes = policy.nodes_for(name, &task.routing).map(|(node, _)| Some(node));
        let alone = policy.nodes.is_empty() && is_other(None) && may(name, None);
        alone || nodes.any(|node| is_other(node) && may(name, node))
    })
}

/// Returns until when the agent is parked.
fn parked_until(said: Option<Time>, now: Time) -> Time {
    let now = now.as_millis();
    let wait = said.map_or(WAIT_MS, |until| until.as_millis().saturating_sub(now));
    Time::from_millis(now.saturating_add(wait.clamp(WAIT_MIN_MS, WAIT_MAX_MS)))
}
