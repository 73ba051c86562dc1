//! `[nats]`: how this node connects to the servers of a fleet, and its name there.

use std::path::PathBuf;
use std::time::Duration;

use adjutant_model::NodeId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::ConfigDuration;

/// The connection to the servers of a fleet, and the name of this node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Nats {
    /// The prefix of the names of this project on the servers.
    pub prefix: String,
    /// The name of this node. The default is the host name.
    pub node: Option<String>,
    /// Tags that all agents of this node have, because of where they run, e.g. `gpu`.
    pub labels: Vec<String>,
    /// The nodes of the fleet by their keys, each as `NODE KEY`, as `adjutant fleet key` prints it.
    /// For a node that has left, `NODE KEY until VERSION` keeps its commits up to that version.
    pub accepted_keys: Vec<String>,
    /// The file with the key of this node, relative to the data folder.
    pub node_key: PathBuf,
    /// The file with the seed of the NATS user (nkey), relative to the data folder.
    pub nkey: Option<PathBuf>,
    /// The file with the NATS credentials, relative to the data folder.
    pub credentials: Option<PathBuf>,
    /// The certificate authorities of the servers, relative to the data folder.
    pub ca: Option<PathBuf>,
    /// The client certificate of this node, relative to the data folder.
    pub cert: Option<PathBuf>,
    /// The key of the client certificate, relative to the data folder.
    pub key: Option<PathBuf>,
    /// The durability that the servers must have.
    pub durability: Durability,
    /// How long a leader leads without renewing its term; then another node takes over.
    pub term: ConfigDuration,
}

/// The durability that the servers must have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Three replicas, each synced to disk before it answers, and a server version
    /// that is known to work.
    #[default]
    Strict,
    /// No requirements on the servers.
    Relaxed,
}

/// The shortest and the longest term that make sense.
const TERM_MIN: Duration = Duration::from_secs(1);
const TERM_MAX: Duration = Duration::from_mins(10);

impl Nats {
    pub(super) fn check(&self) -> Result<(), String> {
        if let Some(node) = &self.node {
            NodeId::parse(node).map_err(|bad| format!("the name of a node {bad}"))?;
        }
        if self.nkey.is_some() && self.credentials.is_some() {
            return Err("`nkey` and `credentials` cannot be set together".to_owned());
        }
        if self.cert.is_some() != self.key.is_some() {
            return Err("`cert` and `key` must be set together".to_owned());
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
            accepted_keys: vec![],
            node_key: PathBuf::from("node-key"),
            nkey: None,
            credentials: None,
            ca: None,
            cert: None,
            key: None,
            durability: Durability::default(),
            term: ConfigDuration(Duration::from_secs(6)),
        }
    }
}
