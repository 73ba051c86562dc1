//! What the configuration says to decisions.

use std::time::Duration;

use adjutant_core::AgentId;
use adjutant_core::policy::{AgentPolicy, OnExitOk as Meaning, Policy, SchedulerPolicy};

use super::{Agent, Config, OnExitOk, Scheduler};

impl Config {
    /// Returns what decisions go by.
    pub fn policy(&self) -> Policy {
        let agents = self.agents.iter();
        let named = agents.filter_map(|(name, agent)| Some((AgentId::parse(name).ok()?, agent)));
        Policy {
            require_token: self.protocol.require_token,
            scheduler: SchedulerPolicy::from(&self.scheduler),
            agents: named.map(|(name, agent)| (name, AgentPolicy::from(agent))).collect(),
        }
    }
}

impl From<&Scheduler> for SchedulerPolicy {
    fn from(scheduler: &Scheduler) -> Self {
        Self {
            concurrency: scheduler.concurrency,
            attempts_max: scheduler.attempts_max,
            backoff_ms: millis(scheduler.backoff.0),
            heartbeat_ttl_ms: millis(scheduler.heartbeat_ttl.0),
        }
    }
}

impl From<&Agent> for AgentPolicy {
    fn from(agent: &Agent) -> Self {
        Self {
            slots: agent.slots,
            on_exit_ok: match agent.on_exit_ok {
                OnExitOk::NoReport => Meaning::NoReport,
                OnExitOk::NeedsReview => Meaning::NeedsReview,
                OnExitOk::Done => Meaning::Done,
            },
            mode: agent.mode.as_deref().map(Into::into),
            role: agent.role.as_deref().map(Into::into),
            tags: agent.tags.iter().map(|tag| tag.as_str().into()).collect(),
        }
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
