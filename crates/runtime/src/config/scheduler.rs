//! `[scheduler]`: how work is given out.

use schemars::JsonSchema;
use serde::Deserialize;

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
        }
    }
}
