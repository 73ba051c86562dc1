//! `[scheduler]`: how work is given out.

use schemars::JsonSchema;
use serde::Deserialize;

use super::money::Dollars;
use super::span::Span;

/// How work is given out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scheduler {
    /// How many runs there may be at once.
    pub concurrency: u32,
    /// How often to look, if nothing happens.
    pub poll: Span,
    /// How many attempts without a result a task may have before it goes to deadletter.
    #[schemars(range(min = 1))]
    pub attempts_max: u32,
    /// The wait after the first attempt without a result; four times as long each time, at most
    /// 15 minutes, with jitter.
    pub backoff: Span,
    /// How long a heartbeat counts.
    pub heartbeat_ttl: Span,
    /// The time between asking an agent to stop and killing it.
    pub grace: Span,
    /// How much all agents together may cost on a day, in dollars.
    pub budget_usd_day: Option<Dollars>,
    /// How many tokens all agents together may use on a day.
    pub budget_tokens_day: Option<u64>,
    /// How much a task may cost, in dollars, unless it says otherwise in `metadata.budgetUsd`.
    pub budget_usd_task: Option<Dollars>,
    /// How many tokens a task may use, unless it says otherwise in `metadata.budgetTokens`.
    pub budget_tokens_task: Option<u64>,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            concurrency: 4,
            poll: Span::secs(30),
            attempts_max: 3,
            backoff: Span::secs(60),
            heartbeat_ttl: Span::secs(5 * 60),
            grace: Span::secs(10),
            budget_usd_day: None,
            budget_tokens_day: None,
            budget_usd_task: None,
            budget_tokens_task: None,
        }
    }
}
