//! What the agents of a task report about themselves: usage, sessions, and why they cannot work.

use serde::{Deserialize, Serialize};

use crate::actor::AgentId;
use crate::encoding::{hex_u64, usd};
use crate::node_id::NodeId;
use crate::run::RunPlace;
use crate::time::Time;

/// What the agents of a task reported, stored in its front matter under `metadata`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskUsage {
    /// The session in which the next run can resume.
    pub session: Option<AgentSession>,
    /// The agents that were parked while they worked on this task: one entry per
    /// agent and fleet node.
    pub parked: Vec<ParkedAgent>,
    /// One entry per day and agent.
    pub spent: Vec<DailyUsage>,
    /// The limit for all runs of the task together.
    pub budget: UsageBudget,
    /// The hosts that the last run wanted to connect to and may not.
    pub refused_hosts: Vec<RefusedHost>,
}

/// A host that an agent wanted to connect to and may not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedHost {
    pub agent: AgentId,
    /// The host with its port.
    pub host: Box<str>,
}

/// A conversation that an agent can resume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentSession {
    pub agent: AgentId,
    /// The session's id, as the agent names it.
    pub id: Box<str>,
    /// The fleet node that has the session; absent on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
}

/// An agent that cannot work for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ParkedAgent {
    pub agent: AgentId,
    /// When the agent may work again; absent if it stays parked until a person acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// The agent's own explanation.
    pub reason: Box<str>,
    /// A fingerprint of the agent's settings. Under other settings the agent is not parked.
    #[serde(with = "hex_u64")]
    #[cfg_attr(feature = "schema", schemars(with = "String", regex(pattern = "^[0-9a-f]{16}$")))]
    pub settings: u64,
    /// The fleet node where the agent is parked; it may work on others. Absent on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
}

impl ParkedAgent {
    /// Returns whether a run in this place shows that the agent works again.
    pub fn is_at(&self, place: &RunPlace) -> bool {
        match (&self.node, place) {
            (Some(node), RunPlace::Node(there)) => node == there,
            (None, _) | (Some(_), RunPlace::Here | RunPlace::Elsewhere) => true,
        }
    }

    /// Returns whether both are about the same agent on the same node.
    pub fn is_of(&self, other: &Self) -> bool {
        (&self.agent, &self.node) == (&other.agent, &other.node)
    }

    /// Returns the agent's name, and its node if there is one.
    pub fn who(&self) -> String {
        match &self.node {
            Some(node) => format!("{} on {node}", self.agent),
            None => self.agent.to_string(),
        }
    }
}

/// The usage of one agent on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DailyUsage {
    /// A UTC day, as `YYYY-MM-DD`.
    pub day: Box<str>,
    pub agent: AgentId,
    #[serde(flatten)]
    pub usage: TokenUsage,
}

/// The usage of a model. Numbers that an agent does not report are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TokenUsage {
    /// The tokens that the model read, including those from a cache.
    #[serde(rename = "inputTokens")]
    pub input: u64,
    /// The tokens that the model wrote.
    #[serde(rename = "outputTokens")]
    pub output: u64,
    /// The tokens read from a cache.
    #[serde(rename = "cachedTokens")]
    pub cached: u64,
    /// In millionths of a dollar.
    #[serde(rename = "costUsd", with = "usd")]
    #[cfg_attr(feature = "schema", schemars(with = "f64", description = "The cost in dollars."))]
    pub cost: u64,
}

/// A limit on usage; `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UsageBudget {
    /// The sum of input and output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// In millionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
}

impl UsageBudget {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What an agent reports about itself during a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentTelemetry {
    /// The session's id, as the agent names it.
    pub session: Option<String>,
    pub usage: TokenUsage,
    pub trouble: Option<AgentTrouble>,
    /// A warning about the agent's program, such as a version that was never tested.
    pub warning: Option<String>,
    /// The hosts with their ports that the run wanted to connect to and may not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_hosts: Vec<String>,
}

/// Why an agent cannot work, as the agent itself reports. The task is not at fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AgentTrouble {
    /// The agent reached its usage limit.
    Limited {
        /// `None` if the agent did not say when the limit ends.
        until: Option<Time>,
        reason: String,
    },
    /// The agent is not signed in, or its key is refused.
    Unusable { reason: String },
}

impl TokenUsage {
    /// Returns the sum of input and output tokens.
    pub fn tokens(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            cost: self.cost.saturating_add(other.cost),
        }
    }

    /// Returns the difference, never below 0.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cached: self.cached.saturating_sub(other.cached),
            cost: self.cost.saturating_sub(other.cost),
        }
    }

    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

impl UsageBudget {
    /// Describes the limit that is used up; `None` if no limit is.
    pub fn overdrawn(self, used: TokenUsage) -> Option<String> {
        let tokens = self.tokens.filter(|limit| used.tokens() >= *limit);
        let cost = self.cost.filter(|limit| used.cost >= *limit);
        match (tokens, cost) {
            (_, Some(limit)) => Some(format!("{} of {}", dollars(used.cost), dollars(limit))),
            (Some(limit), None) => Some(format!("{} of {limit} tokens", used.tokens())),
            (None, None) => None,
        }
    }

    /// Returns the rest of the budget, never below 0.
    #[must_use]
    pub fn left(self, used: TokenUsage) -> Self {
        Self {
            tokens: self.tokens.map(|limit| limit.saturating_sub(used.tokens())),
            cost: self.cost.map(|limit| limit.saturating_sub(used.cost)),
        }
    }

    /// Returns the lower limit of both, for tokens and for cost.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        let lower = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        Self { tokens: lower(self.tokens, other.tokens), cost: lower(self.cost, other.cost) }
    }
}

impl TaskUsage {
    /// Returns the total usage of all days and agents.
    pub fn used(&self) -> TokenUsage {
        self.spent.iter().fold(TokenUsage::default(), |sum, spent| sum.plus(spent.usage))
    }

    pub fn spend(&mut self, day: &str, agent: &AgentId, usage: TokenUsage) {
        if usage.is_nothing() {
            return;
        }
        let same = |spent: &&mut DailyUsage| &*spent.day == day && spent.agent == *agent;
        match self.spent.iter_mut().find(same) {
            Some(spent) => spent.usage = spent.usage.plus(usage),
            None => self.spent.push(DailyUsage { day: day.into(), agent: agent.clone(), usage }),
        }
    }
}

/// Formats millionths of a dollar for people.
pub fn dollars(millionths: u64) -> String {
    let cents = millionths / 10_000;
    if millionths > 0 && millionths < 1_000_000 {
        return format!("${:.4}", f64::from(u32::try_from(millionths).unwrap_or(0)) / 1e6);
    }
    format!("${}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_is_overdrawn_when_nothing_is_left() {
        let used = TokenUsage { input: 90, output: 10, cached: 0, cost: 500_000 };
        let budget = |tokens, cost| UsageBudget { tokens, cost }.overdrawn(used);
        assert_eq!(budget(None, None), None);
        assert_eq!(budget(Some(101), Some(500_001)), None);
        assert_eq!(budget(Some(100), None).as_deref(), Some("100 of 100 tokens"));
        assert_eq!(budget(Some(1), Some(500_000)).as_deref(), Some("$0.5000 of $0.5000"));
    }

    #[test]
    fn budget_rest_is_never_below_zero() {
        let budget = UsageBudget { tokens: Some(50), cost: None };
        let used = TokenUsage { input: 60, ..TokenUsage::default() };
        assert_eq!(budget.left(used), UsageBudget { tokens: Some(0), cost: None });
        let other = UsageBudget { tokens: Some(70), cost: Some(1) };
        assert_eq!(budget.within(other), UsageBudget { tokens: Some(50), cost: Some(1) });
    }

    #[test]
    fn usage_of_agent_on_one_day_adds_up() {
        let (agent, mut account) = (AgentId::parse("a").expect("a name"), TaskUsage::default());
        let usage = TokenUsage { input: 1, output: 2, cached: 0, cost: 3 };
        account.spend("2026-02-09", &agent, usage);
        account.spend("2026-02-09", &agent, usage);
        account.spend("2026-02-10", &agent, usage);
        account.spend("2026-02-10", &agent, TokenUsage::default());
        assert_eq!((account.spent.len(), account.used().tokens()), (2, 9));
        assert_eq!(dollars(account.used().cost), "$0.0000");
        assert_eq!((dollars(2_345_678), dollars(0)), ("$2.34".to_owned(), "$0.00".to_owned()));
    }
}
