//! `[scheduler]`: concurrency, retries, timeouts and budgets.

use schemars::JsonSchema;
use serde::Deserialize;

use super::duration::ConfigDuration;
use super::money::DollarAmount;

/// How tasks are assigned and retried.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scheduler {
    /// How many runs may be active at once.
    pub concurrency: u32,
    /// How often the scheduler runs if nothing changes.
    pub poll: ConfigDuration,
    /// After how many failed attempts a task goes to deadletter.
    #[schemars(range(min = 1))]
    pub attempts_max: u32,
    /// The wait after the first failed attempt; four times as long each time, at most
    /// 15 minutes, with jitter.
    pub backoff: ConfigDuration,
    /// How long a run stays alive without another heartbeat.
    pub heartbeat_ttl: ConfigDuration,
    /// The time between asking an agent to stop and killing it.
    pub grace: ConfigDuration,
    /// The budget of all agents together in a day, in dollars.
    pub budget_usd_day: Option<DollarAmount>,
    /// The budget of all agents together in a day, in tokens.
    pub budget_tokens_day: Option<u64>,
    /// The budget of a task, in dollars. `metadata.budgetUsd` of a task replaces it.
    pub budget_usd_task: Option<DollarAmount>,
    /// The budget of a task, in tokens. `metadata.budgetTokens` of a task replaces it.
    pub budget_tokens_task: Option<u64>,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            concurrency: 4,
            poll: ConfigDuration::secs(30),
            attempts_max: 3,
            backoff: ConfigDuration::secs(60),
            heartbeat_ttl: ConfigDuration::secs(5 * 60),
            grace: ConfigDuration::secs(10),
            budget_usd_day: None,
            budget_tokens_day: None,
            budget_usd_task: None,
            budget_tokens_task: None,
        }
    }
}
