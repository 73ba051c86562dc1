//! `adjutant.toml`: all of it optional, none of it misspelt in silence.
//!
//! What the settings are, how they are read, and what is wrong with them. Where the file lies and
//! how a mistake is shown is not known here.

mod agent;
mod money;
mod policy;
mod project;
mod scheduler;
mod server;
mod span;

mod environment;
mod keys;
mod wrong;

use std::collections::BTreeMap;

use adjutant_core::AgentId;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::de::DeTable;

pub use agent::{Agent, Dialect, Kind, OnExitOk, Prompt};
pub use money::Dollars;
pub use project::{Merge, Project};
pub use scheduler::Scheduler;
pub use server::{Listen, Server};
pub use span::{Limit, Span};
pub use wrong::Wrong;

/// The name of the file in the data folder.
pub const FILE: &str = "adjutant.toml";

/// What `adjutant init` writes.
pub const TEMPLATE: &str = include_str!("config/template.toml");

/// What `adjutant.toml` says. Everything is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How messages are taken.
    pub protocol: Protocol,
    /// How work is given out.
    pub scheduler: Scheduler,
    /// Where programs and browsers get in.
    pub server: Server,
    /// What work on the project goes through.
    pub project: Project,
    /// The agents, by name.
    pub agents: BTreeMap<String, Agent>,
}

/// How messages are taken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Protocol {
    /// Whether a message must carry the token of the run it comes from.
    pub require_token: bool,
}

impl Config {
    /// Reads a configuration, with what the environment says on top.
    pub fn read(
        text: &str,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, Wrong> {
        let table = DeTable::parse(text).map_err(|error| Wrong::toml(text, &error))?;
        keys::check(text, table.get_ref())?;
        let config: Self = toml::from_str(text).map_err(|error| Wrong::toml(text, &error))?;
        let config = environment::take(config, text, variables)?;
        config.check().map_err(|(name, what)| Wrong {
            line: keys::line_of_agent(text, table.get_ref(), name),
            what,
            hint: None,
        })?;
        Ok(config)
    }

    /// Returns the agent of a name.
    pub fn agent(&self, name: &AgentId) -> Option<&Agent> {
        self.agents.get(name.as_str())
    }

    /// Finds what makes no sense, and the agent it is about.
    fn check(&self) -> Result<(), (&str, String)> {
        if self.scheduler.attempts_max == 0 {
            return Err(("", "`attempts_max` in [scheduler] must be at least 1".to_owned()));
        }
        self.project.check().map_err(|what| ("", format!("[project] {what}")))?;
        for (name, agent) in &self.agents {
            match AgentId::parse(name) {
                Err(bad) => return Err((name, format!("the name of an agent {bad}"))),
                Ok(id) if id.is_reserved() => {
                    return Err((name, format!("`{name}` cannot be the name of an agent")));
                }
                Ok(_) => {}
            }
            agent.check().map_err(|what| (&**name, format!("[agents.{name}] {what}")))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
