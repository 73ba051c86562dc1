//! What the agents of a task told of themselves: what they used, how to go on, why they cannot.

use crate::name::AgentId;
use crate::node::NodeId;
use crate::run::Place;
use crate::time::Time;

/// What the agents of a task told, kept in its front matter under `metadata`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// How the last run can be gone on with.
    pub session: Option<Session>,
    /// The agents that cannot work, as was found out with this task: each once, and once for each
    /// node of a fleet.
    pub parked: Vec<Parked>,
    /// What was used, by day and agent.
    pub spent: Vec<Spent>,
    /// How much the task may use, all in all.
    pub budget: Budget,
}

/// A conversation that an agent can go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Whose it is.
    pub agent: AgentId,
    /// What the agent knows it by.
    pub id: Box<str>,
    /// The node of a fleet that has it; none on one machine.
    pub node: Option<NodeId>,
}

/// An agent that cannot work for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// Who.
    pub agent: AgentId,
    /// Until when; none if a person has to do something.
    pub until: Option<Time>,
    /// What the agent said.
    pub reason: Box<str>,
    /// The settings it was tried under: it may work under others.
    pub settings: u64,
    /// The node of a fleet it was tried on: it may work on others. None on one machine.
    pub node: Option<NodeId>,
}

impl Parked {
    /// Says whether a run in this place shows whether the agent works again.
    pub(crate) fn is_at(&self, place: &Place) -> bool {
        match (&self.node, place) {
            (Some(node), Place::Node(there)) => node == there,
            (None, _) | (Some(_), Place::Here | Place::Elsewhere) => true,
        }
    }

    /// Says whether this is about the same agent in the same place.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        (&self.agent, &self.node) == (&other.agent, &other.node)
    }

    /// Says who cannot work, and where.
    pub fn who(&self) -> String {
        match &self.node {
            Some(node) => format!("{} on {node}", self.agent),
            None => self.agent.to_string(),
        }
    }
}

/// What one agent used on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spent {
    /// The day, in UTC.
    pub day: Box<str>,
    /// Who.
    pub agent: AgentId,
    /// How much.
    pub usage: Usage,
}

/// What was used of a model. What an agent does not tell is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens read, those from a cache included.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from a cache.
    pub cached: u64,
    /// What it cost, in millionths of a dollar.
    pub cost: u64,
}

/// How much may be used; none is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// Millionths of a dollar.
    pub cost: Option<u64>,
}

/// What an agent told of itself in the course of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// What it knows its conversation by.
    pub session: Option<String>,
    /// What it used.
    pub usage: Usage,
    /// Why it could not work.
    pub trouble: Option<Trouble>,
    /// What whoever reads its numbers should know of its program, as that nobody tried it.
    pub warning: Option<String>,
}

/// Why an agent cannot work, as it says itself. No fault of the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It has used up what it may use for now.
    Limited {
        /// Until when, if it said so.
        until: Option<Time>,
        /// Its words.
        reason: String,
    },
    /// It is not signed in, or its key is not taken.
    Unusable {
        /// Its words.
        reason: String,
    },
}

impl Usage {
    /// Returns all tokens.
    pub fn tokens(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            cost: self.cost.saturating_add(other.cost),
        }
    }

    /// Returns what is left without the other.
    #[must_use]
    pub(crate) fn minus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cached: self.cached.saturating_sub(other.cached),
            cost: self.cost.saturating_sub(other.cost),
        }
    }

    /// Says whether nothing was used.
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }
}

impl Budget {
    /// Says what of it is used up, in words; none if there is something left of all.
    pub fn overdrawn(self, used: Usage) -> Option<String> {
        let tokens = self.tokens.filter(|limit| used.tokens() >= *limit);
        let cost = self.cost.filter(|limit| used.cost >= *limit);
        match (tokens, cost) {
            (_, Some(limit)) => Some(format!("{} of {}", dollars(used.cost), dollars(limit))),
            (Some(limit), None) => Some(format!("{} of {limit} tokens", used.tokens())),
            (None, None) => None,
        }
    }

    /// Returns what is left of it.
    #[must_use]
    pub fn left(self, used: Usage) -> Self {
        Self {
            tokens: self.tokens.map(|limit| limit.saturating_sub(used.tokens())),
            cost: self.cost.map(|limit| limit.saturating_sub(used.cost)),
        }
    }

    /// Returns the lower of each.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        let lower = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        Self { tokens: lower(self.tokens, other.tokens), cost: lower(self.cost, other.cost) }
    }
}

impl Account {
    /// Returns what was used, all in all.
    pub fn used(&self) -> Usage {
        self.spent.iter().fold(Usage::default(), |sum, spent| sum.plus(spent.usage))
    }

    /// Adds what an agent used on a day.
    pub(crate) fn spend(&mut self, day: &str, agent: &AgentId, usage: Usage) {
        if usage.is_nothing() {
            return;
        }
        let same = |spent: &&mut Spent| &*spent.day == day && spent.agent == *agent;
        match self.spent.iter_mut().find(same) {
            Some(spent) => spent.usage = spent.usage.plus(usage),
            None => self.spent.push(Spent { day: day.into(), agent: agent.clone(), usage }),
        }
    }
}

/// Writes millionths of a dollar for people.
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
    fn a_budget_is_overdrawn_when_nothing_is_left_of_it() {
        let used = Usage { input: 90, output: 10, cached: 0, cost: 500_000 };
        let budget = |tokens, cost| Budget { tokens, cost }.overdrawn(used);
        assert_eq!(budget(None, None), None);
        assert_eq!(budget(Some(101), Some(500_001)), None);
        assert_eq!(budget(Some(100), None).as_deref(), Some("100 of 100 tokens"));
        assert_eq!(budget(Some(1), Some(500_000)).as_deref(), Some("$0.5000 of $0.5000"));
    }

    #[test]
    fn what_is_left_is_never_below_nothing() {
        let budget = Budget { tokens: Some(50), cost: None };
        let used = Usage { input: 60, ..Usage::default() };
        assert_eq!(budget.left(used), Budget { tokens: Some(0), cost: None });
        let other = Budget { tokens: Some(70), cost: Some(1) };
        assert_eq!(budget.within(other), Budget { tokens: Some(50), cost: Some(1) });
    }

    #[test]
    fn what_an_agent_uses_on_a_day_adds_up() {
        let (agent, mut account) = (AgentId::parse("a").expect("a name"), Account::default());
        let usage = Usage { input: 1, output: 2, cached: 0, cost: 3 };
        account.spend("2026-02-09", &agent, usage);
        account.spend("2026-02-09", &agent, usage);
        account.spend("2026-02-10", &agent, usage);
        account.spend("2026-02-10", &agent, Usage::default());
        assert_eq!((account.spent.len(), account.used().tokens()), (2, 9));
        assert_eq!(dollars(account.used().cost), "$0.0000");
        assert_eq!((dollars(2_345_678), dollars(0)), ("$2.34".to_owned(), "$0.00".to_owned()));
    }
}
