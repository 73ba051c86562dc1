//! `adjutant.toml`: every setting is optional, and a misspelt setting is an error.
//!
//! Owns the settings, their parsing and their validation. It does not know where the file is or how
//! an error is shown.

pub mod redact;
pub mod run_token;

mod acceptance;
mod agent;
mod duration;
mod edit;
mod live;
mod log;
mod money;
mod nats;
mod network;
mod notify;
mod permissions;
mod policy;
mod project;
mod resource_limits;
mod scheduler;
mod server;

mod config_error;
mod environment;
mod keys;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use adjutant_model::AgentId;
use adjutant_model::policy::DelegationDepth;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::de::DeTable;

pub use acceptance::{AcceptedConfig, SettingChange};
pub use agent::{Agent, Dialect, Kind, OnExitOk, Prompt, Sandbox, StdoutMessages};
pub use config_error::ConfigError;
pub use duration::{ConfigDuration, TimeLimit};
pub use edit::allow_host;
pub use keys::HARMLESS_SETTINGS;
pub use live::SharedConfig;
pub use log::{Log, LogFormat, LogLevel, Otlp};
pub use money::DollarAmount;
pub use nats::{Durability, Nats};
pub use network::NetworkAccess;
pub use notify::{Format, Notify, NotifyTrigger, Target, Urgency};
pub use permissions::{Permission, PermissionAnswer, Tool};
pub use project::{CheckSandbox, Merge, Project};
pub use resource_limits::{MemoryLimit, PROCESSES_MAX_DEFAULT};
pub use scheduler::Scheduler;
pub use server::{ListenSetting, Server};

use keys::SettingLocation;

/// The name of the file in the data folder.
pub const FILE: &str = "adjutant.toml";

/// The file with the operator's token in the data folder, unless `token_file` names another.
pub const OPERATOR_TOKEN_FILE: &str = "operator-token";

/// The file that `adjutant init` writes.
pub const TEMPLATE: &str = include_str!("template.toml");

/// The configuration in `adjutant.toml`. Every setting is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Rules for messages.
    pub protocol: Protocol,
    /// How tasks are assigned and retried.
    pub scheduler: Scheduler,
    /// The HTTP server and the board.
    pub server: Server,
    /// Checks, worktrees and merging.
    pub project: Project,
    /// The daemon's log on standard error.
    pub log: Log,
    /// Export of events and runs over OTLP.
    pub otlp: Otlp,
    /// The servers of a fleet, as `nats://host:port,host:port,…`. Without it, the project belongs to
    /// this machine alone.
    pub store: Option<String>,
    /// The connection to the servers of a fleet, and the name of this node.
    pub nats: Nats,
    /// The agents, by name.
    pub agents: BTreeMap<String, Agent>,
    /// The rules that say which events notify a person, and how.
    pub notify: Vec<Notify>,
}

/// Rules for messages.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Protocol {
    /// Whether every message must carry the token of its run.
    pub require_token: bool,
    /// How many delegations may lie above a task. A task at this depth cannot be delegated further.
    pub delegation_depth_max: u32,
}

impl Default for Protocol {
    fn default() -> Self {
        Self { require_token: false, delegation_depth_max: DelegationDepth::default().0 }
    }
}

impl Config {
    /// Parses a configuration and applies the environment variables, which override the file.
    pub fn read(
        text: &str,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let table = DeTable::parse(text).map_err(|error| ConfigError::from_toml(text, &error))?;
        keys::check(text, table.get_ref())?;
        let config: Self =
            toml::from_str(text).map_err(|error| ConfigError::from_toml(text, &error))?;
        let mut config = environment::apply_variables(config, text, variables)?;
        config.apply_project_workspace();
        config.check().map_err(|(place, what)| ConfigError {
            line: place.line(text, table.get_ref()),
            message: what,
            hint: None,
        })?;
        Ok(config)
    }

    /// Gives the project's `workspace` to the agents that have none of their own.
    fn apply_project_workspace(&mut self) {
        let local = |agent: &&mut Agent| agent.kind != Kind::Webhook && agent.workspace.is_none();
        for agent in self.agents.values_mut().filter(local) {
            agent.workspace.clone_from(&self.project.workspace);
        }
    }

    pub fn agent(&self, name: &AgentId) -> Option<&Agent> {
        self.agents.get(name.as_str())
    }

    /// Returns the notification rules with their names. Where several share a name, the later ones
    /// get a number as a suffix.
    pub fn notify(&self) -> impl Iterator<Item = (String, &Notify)> {
        let mut names = BTreeMap::<&str, u32>::new();
        self.notify.iter().map(move |rule| {
            let own = rule.own_name();
            let count = names.entry(own).or_default();
            *count += 1;
            (if *count == 1 { own.to_owned() } else { format!("{own}-{count}") }, rule)
        })
    }

    /// Returns the environment variables that hold secrets: every setting `…_env` names one.
    /// No agent, check or setup command may see them.
    pub fn secret_variables(&self) -> Vec<String> {
        let rules = self.notify.iter().flat_map(Notify::secret_variables);
        let agents = self.agents.values().filter_map(|agent| agent.secret_env.as_ref());
        let names: BTreeSet<&String> = rules.chain(agents).collect();
        names.into_iter().cloned().collect()
    }

    /// Finds the first invalid setting and where it is.
    fn check(&self) -> Result<(), (SettingLocation<'_>, String)> {
        let top = |what| (SettingLocation::Top, what);
        if self.scheduler.attempts_max == 0 {
            return Err(top("`attempts_max` in [scheduler] must be at least 1".to_owned()));
        }
        self.server.check().map_err(|what| top(format!("[server] {what}")))?;
        self.nats.check().map_err(|what| top(format!("[nats] {what}")))?;
        self.project.check().map_err(|what| top(format!("[project] {what}")))?;
        self.otlp.check().map_err(|what| top(format!("[otlp] {what}")))?;
        let secrets = self.secret_variables();
        for (name, agent) in &self.agents {
            let here = |what| (SettingLocation::Agent(name), what);
            match AgentId::parse(name) {
                Err(bad) => return Err(here(format!("the name of an agent {bad}"))),
                Ok(id) if id.is_reserved() => {
                    return Err(here(format!(
                        "`{name}` is reserved and cannot be the name of an agent"
                    )));
                }
                Ok(_) => {}
            }
            agent.check().map_err(|what| here(format!("[agents.{name}] {what}")))?;
            let passed = agent.env_pass.iter().find(|name| secrets.contains(name));
            if let Some(variable) = passed {
                return Err(here(format!(
                    "[agents.{name}] `env_pass` names {variable:?}, which holds a secret of \
                     Adjutant: no agent may see it"
                )));
            }
        }
        self.check_notify()
    }

    fn check_notify(&self) -> Result<(), (SettingLocation<'_>, String)> {
        let mut names = BTreeSet::new();
        for (number, (name, rule)) in self.notify().enumerate() {
            let here =
                |what: String| (SettingLocation::Notify(number), format!("[[notify]] {what}"));
            rule.check().map_err(here)?;
            let is_unknown = |agent: &&String| !self.agents.contains_key(*agent);
            if let Some(agent) = rule.agents.iter().find(is_unknown) {
                return Err(here(format!(
                    "`agents` names {agent:?}, which is not a configured agent"
                )));
            }
            if !names.insert(name.clone()) {
                return Err(here(format!("`name`: two rules are called {name:?}")));
            }
        }
        Ok(())
    }
}

/// Returns the environment variables of this process that are UTF-8, as every setting is.
pub fn environment_variables() -> Vec<(String, String)> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

#[cfg(test)]
mod tests;
