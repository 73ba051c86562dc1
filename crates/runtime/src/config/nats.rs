//! `[nats]`: how the servers of a fleet are reached, and what this machine is in it.

use std::path::PathBuf;
use std::time::Duration;

use adjutant_core::NodeId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Span;

/// How the servers of a fleet are reached, and what this machine is in it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Nats {
    /// What everything of this project begins with on the servers.
    pub prefix: String,
    /// What this machine is called; its host name where nothing is said.
    pub node: Option<String>,
    /// What the agents of this machine are good for because of where they are: a task with such a
    /// tag goes to them.
    pub labels: Vec<String>,
    /// The file with the credentials of the user, relative to the data folder.
    pub credentials: Option<PathBuf>,
    /// The certificates of those who may sign a server's, relative to the data folder.
    pub ca: Option<PathBuf>,
    /// The certificate of this machine, relative to the data folder.
    pub cert: Option<PathBuf>,
    /// The key of that certificate.
    pub key: Option<PathBuf>,
    /// What is asked of the servers before anything is promised.
    pub durability: Durability,
    /// How long the right to decide lasts unless it is renewed: another node takes over when it is
    /// over.
    pub term: Span,
}

/// What is asked of the servers before anything is promised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Three replicas, each synced before it answers, and a version that is known to work.
    #[default]
    Strict,
    /// Whatever the servers give.
    Relaxed,
}

/// The shortest and the longest term that make sense.
const TERM_MIN: Duration = Duration::from_secs(1);
const TERM_MAX: Duration = Duration::from_mins(10);

impl Nats {
    /// Finds what makes no sense.
    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(node) = &self.node {
            NodeId::parse(node).map_err(|bad| format!("the name of a node {bad}"))?;
        }
        if self.cert.is_some() != self.key.is_some() {
            return Err("`cert` and `key` go together".to_owned());
        }
        if !(TERM_MIN..=TERM_MAX).contains(&self.term.0) {
            return Err("`term` must be between 1s and 10m".to_owned());
        }
        Ok(())
    }
}

impl Default for Nats {
    fn default() -> Self {
        Self {
            prefix: "adjutant".to_owned(),
            node: None,
            labels: vec![],
            credentials: None,
            ca: None,
            cert: None,
            key: None,
            durability: Durability::default(),
            term: Span(Duration::from_secs(6)),
        }
    }
}
