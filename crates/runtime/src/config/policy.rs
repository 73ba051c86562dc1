//! What the configuration says to decisions.

use std::time::Duration;

use adjutant_core::AgentId;
use adjutant_core::account::Budget;
use adjutant_core::policy::{AgentPolicy, OnExitOk as Meaning, Policy, SchedulerPolicy};
use sha2::{Digest, Sha256};

use super::{Agent, Config, Dollars, OnExitOk, Scheduler};

impl Config {
    /// Returns what decisions go by.
    pub fn policy(&self) -> Policy {
        let agents = self.agents.iter();
        let named = agents.filter_map(|(name, agent)| Some((AgentId::parse(name).ok()?, agent)));
        Policy {
            only: None,
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
            budget_day: budget(scheduler.budget_usd_day, scheduler.budget_tokens_day),
            budget_task: budget(scheduler.budget_usd_task, scheduler.budget_tokens_task),
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
            budget: budget(agent.budget_usd, agent.budget_tokens),
            budget_day: budget(agent.budget_usd_day, agent.budget_tokens_day),
            settings: fingerprint(agent),
        }
    }
}

fn budget(dollars: Option<Dollars>, tokens: Option<u64>) -> Budget {
    Budget { tokens, cost: dollars.map(|dollars| dollars.0) }
}

/// Returns a number that is another one for other settings.
fn fingerprint(agent: &Agent) -> u64 {
    let digest = Sha256::digest(format!("{agent:?}"));
    digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
