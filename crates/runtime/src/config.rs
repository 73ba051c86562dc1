//! `adjutant.toml`: all of it optional, none of it misspelt in silence.
//!
//! What the settings are, how they are read, and what is wrong with them. Where the file lies and
//! how a mistake is shown is not known here.

mod agent;
mod log;
mod money;
mod nats;
mod notify;
mod permissions;
mod policy;
mod project;
mod scheduler;
mod server;
mod span;

mod environment;
mod keys;
mod wrong;

use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::AgentId;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::de::DeTable;

pub use agent::{Agent, Dialect, Kind, OnExitOk, Prompt, Sandbox};
pub use log::{Log, LogFormat, LogLevel, Otlp};
pub use money::Dollars;
pub use nats::{Durability, Nats};
pub use notify::{Format, Notify, On, Target, Urgency};
pub use permissions::{Answer, Permission, Tool};
pub use project::{Merge, Project};
pub use scheduler::Scheduler;
pub use server::{Listen, Server};
pub use span::{Limit, Span};
pub use wrong::Wrong;

use keys::Place;

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
    /// What the daemon writes to standard error.
    pub log: Log,
    /// Where what happens is told in OTLP.
    pub otlp: Otlp,
    /// Where the record is kept: `nats://host:port,host:port,…` for many machines; a folder of this
    /// one where nothing is said.
    pub store: Option<String>,
    /// How the servers of a fleet are reached, and what this machine is in it.
    pub nats: Nats,
    /// The agents, by name.
    pub agents: BTreeMap<String, Agent>,
    /// Who is told of what.
    pub notify: Vec<Notify>,
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
        config.check().map_err(|(place, what)| Wrong {
            line: place.line(text, table.get_ref()),
            what,
            hint: None,
        })?;
        Ok(config)
    }

    /// Returns the agent of a name.
    pub fn agent(&self, name: &AgentId) -> Option<&Agent> {
        self.agents.get(name.as_str())
    }

    /// Returns who is told of what, each with its name: where two have the same, the later ones
    /// have a number behind it.
    pub fn notify(&self) -> impl Iterator<Item = (String, &Notify)> {
        let mut names = BTreeMap::<&str, u32>::new();
        self.notify.iter().map(move |rule| {
            let own = rule.own_name();
            let count = names.entry(own).or_default();
            *count += 1;
            (if *count == 1 { own.to_owned() } else { format!("{own}-{count}") }, rule)
        })
    }

    /// Returns the environment variables that hold what is nobody else's business.
    pub fn secret_variables(&self) -> Vec<String> {
        self.notify.iter().flat_map(Notify::secret_variables).cloned().collect()
    }

    /// Finds what makes no sense, and where it stands.
    fn check(&self) -> Result<(), (Place<'_>, String)> {
        let top = |what| (Place::Top, what);
        if self.scheduler.attempts_max == 0 {
            return Err(top("`attempts_max` in [scheduler] must be at least 1".to_owned()));
        }
        self.nats.check().map_err(|what| top(format!("[nats] {what}")))?;
        self.project.check().map_err(|what| top(format!("[project] {what}")))?;
        self.otlp.check().map_err(|what| top(format!("[otlp] {what}")))?;
        for (name, agent) in &self.agents {
            let here = |what| (Place::Agent(name), what);
            match AgentId::parse(name) {
                Err(bad) => return Err(here(format!("the name of an agent {bad}"))),
                Ok(id) if id.is_reserved() => {
                    return Err(here(format!("`{name}` cannot be the name of an agent")));
                }
                Ok(_) => {}
            }
            agent.check().map_err(|what| here(format!("[agents.{name}] {what}")))?;
        }
        self.check_notify()
    }

    fn check_notify(&self) -> Result<(), (Place<'_>, String)> {
        let mut names = BTreeSet::new();
        for (number, (name, rule)) in self.notify().enumerate() {
            let here = |what: String| (Place::Notify(number), format!("[[notify]] {what}"));
            rule.check().map_err(here)?;
            let of_nobody = |agent: &&String| !self.agents.contains_key(*agent);
            if let Some(agent) = rule.agents.iter().find(of_nobody) {
                return Err(here(format!("`agents` names {agent:?}, and there is no such agent")));
            }
            if !names.insert(name.clone()) {
                return Err(here(format!("`name`: there are two rules called {name:?}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
