//! Who acts: agents by name, and everybody else who can cause an event.

use std::fmt;
use std::sync::Arc;

/// The most characters a name may have.
pub const NAME_CHARS_MAX: usize = 256;

/// The name of an agent.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId(Arc<str>);

/// Why a text is no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadName {
    /// There is nothing in it but blanks.
    Empty,
    /// It is longer than [`NAME_CHARS_MAX`].
    TooLong,
    /// It has a control character in it.
    Control,
}

/// Whoever caused an event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    /// An agent, by its name.
    Agent(AgentId),
    /// A person, by the name the machine knows.
    Human(Arc<str>),
    /// The part that gives out work.
    Scheduler,
    /// The part that takes in messages.
    Router,
    /// Adjutant itself.
    System,
}

impl AgentId {
    /// Parses a name: not blank, not too long, no control characters.
    pub fn parse(text: &str) -> Result<Self, BadName> {
        if text.trim().is_empty() {
            Err(BadName::Empty)
        } else if text.chars().nth(NAME_CHARS_MAX).is_some() {
            Err(BadName::TooLong)
        } else if text.chars().any(char::is_control) {
            Err(BadName::Control)
        } else {
            Ok(Self(text.into()))
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Says whether the record uses this name for somebody who is no agent.
    pub fn is_reserved(&self) -> bool {
        !matches!(Actor::parse(&self.0), Some(Actor::Agent(_)))
    }
}

impl Actor {
    /// Parses an actor as the record writes it.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "scheduler" => Self::Scheduler,
            "router" => Self::Router,
            "system" => Self::System,
            _ => match text.strip_prefix("human:") {
                Some(name) => Self::Human(name.into()),
                None => Self::Agent(AgentId::parse(text).ok()?),
            },
        })
    }

    /// Makes a person of a name, or `human:unknown` of none.
    pub fn human(name: &str) -> Self {
        let clean: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        Self::Human(if clean.trim().is_empty() { "unknown".into() } else { clean.into() })
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => f.pad(agent.as_str()),
            Self::Human(name) => f.pad(&format!("human:{name}")),
            Self::Scheduler => f.pad("scheduler"),
            Self::Router => f.pad("router"),
            Self::System => f.pad("system"),
        }
    }
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("must not be empty"),
            Self::TooLong => write!(f, "must have at most {NAME_CHARS_MAX} characters"),
            Self::Control => f.write_str("must not contain control characters"),
        }
    }
}

impl std::error::Error for BadName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_the_record_uses_for_others_is_reserved() {
        let reserved = |name| AgentId::parse(name).map(|agent| agent.is_reserved());
        assert_eq!(reserved("swe-backend"), Ok(false));
        assert_eq!(reserved("system"), Ok(true));
        assert_eq!(reserved("human:alice"), Ok(true));
    }

    #[test]
    fn a_name_must_be_something_a_line_can_hold() {
        assert_eq!(AgentId::parse(" "), Err(BadName::Empty));
        assert_eq!(AgentId::parse("a\nb"), Err(BadName::Control));
        assert_eq!(AgentId::parse(&"x".repeat(257)), Err(BadName::TooLong));
    }
}
