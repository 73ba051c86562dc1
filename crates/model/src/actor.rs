//! The names of agents, and the actors that can cause an event.

use std::fmt;
use std::sync::Arc;

use crate::text_value::{serde_as_text, text_id};

/// The most characters a name may have.
pub const NAME_CHARS_MAX: usize = 256;

/// The name of an agent: one line that is not blank.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend(
        "maxLength" = NAME_CHARS_MAX,
        "pattern" = crate::schema::LINE,
        "examples" = ["swe-backend"],
    ))
)]
pub struct AgentId(Arc<str>);

/// Why a text is not a valid name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadName {
    /// Nothing but blanks.
    Empty,
    /// Longer than [`NAME_CHARS_MAX`].
    TooLong,
    /// Contains a control character.
    Control,
}

/// The originator of an event: an agent by its name, `human:` and a name, `scheduler`,
/// `router` or `system`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(
        with = "String",
        extend(
            "pattern" = crate::schema::LINE,
            "examples" = ["swe-backend", "human:alice", "router"],
        )
    )
)]
pub enum Actor {
    Agent(AgentId),
    /// A person, by the user name on the machine.
    Human(Arc<str>),
    Scheduler,
    /// The part of Adjutant that receives messages.
    Router,
    /// Any other part of Adjutant.
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

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the event log uses this name for an actor that is not an agent.
    pub fn is_reserved(&self) -> bool {
        !matches!(Actor::parse(&self.0), Some(Actor::Agent(_)))
    }
}

impl Actor {
    /// Parses an actor as the event log writes it.
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

    /// Makes a person; an empty name becomes `human:unknown`.
    pub fn human(name: &str) -> Self {
        let clean: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        Self::Human(if clean.trim().is_empty() { "unknown".into() } else { clean.into() })
    }
}

/// Makes a schema refuse the names that [`AgentId::is_reserved`] finds.
#[cfg(feature = "schema")]
pub fn refuse_reserved(schema: &mut schemars::Schema) {
    let names = serde_json::json!({"pattern": "^(?:scheduler|router|system)$|^human:"});
    schema.insert("not".into(), names);
}

text_id!(AgentId);

serde_as_text!(Actor, |text: &str| Actor::parse(text)
    .ok_or("must be an agent, `human:` and a name, `scheduler`, `router` or `system`"));

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
    fn agent_name_of_other_actor_is_reserved() {
        let reserved = |name| AgentId::parse(name).map(|agent| agent.is_reserved());
        assert_eq!(reserved("swe-backend"), Ok(false));
        assert_eq!(reserved("system"), Ok(true));
        assert_eq!(reserved("human:alice"), Ok(true));
    }

    #[test]
    fn agent_name_must_fit_on_one_line() {
        assert_eq!(AgentId::parse(" "), Err(BadName::Empty));
        assert_eq!(AgentId::parse("a\nb"), Err(BadName::Control));
        assert_eq!(AgentId::parse(&"x".repeat(257)), Err(BadName::TooLong));
    }
}
