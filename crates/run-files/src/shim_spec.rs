//! The input of a shim: one run, and how to execute it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use adjutant_model::run_nonce::RunNonce;
use serde::{Deserialize, Serialize};

use crate::sandbox_spec::CommandSandbox;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShimSpec {
    pub task_id: String,
    pub agent: String,
    pub attempt: u32,
    pub fence: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<RunNonce>,
    /// The absolute path of the attempt's folder.
    pub folder: PathBuf,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder that the agent works in.
    pub workspace: PathBuf,
    pub environment: AgentEnvironment,
    /// How the agent gets its work order, which lies in `folder`.
    pub prompt: OrderDelivery,
    pub lines: AofLineMode,
    /// The document in which the agent reports its result, if it leaves one.
    pub report: Option<ReportSpec>,
    pub limits: RunLimits,
    /// Which processes are asked to end when the run is stopped.
    #[serde(default)]
    pub asks: StopTarget,
    /// The kind of agent whose event stream is parsed; `None` if it is plain output.
    #[serde(default)]
    pub reads: Option<String>,
    /// The id of the agent's session, if it is known before the agent starts.
    #[serde(default)]
    pub session: Option<String>,
    /// A warning about the version of the agent's program, for agents that do not
    /// report their version.
    #[serde(default)]
    pub untried: Option<String>,
    /// What confines the agent.
    #[serde(default, skip_serializing_if = "CommandSandbox::is_none")]
    pub sandbox: CommandSandbox,
    /// Values that are redacted in the log. The spec is passed through a pipe and is in no file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportSpec {
    /// The name of the file in the attempt's folder.
    pub file: String,
    /// The name of a `DocumentKind`.
    pub kind: String,
}

/// The agent's environment: what it inherits from the shim, plus `set`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AgentEnvironment {
    /// Names to inherit; a `*` at the end matches any suffix. `None` inherits all but `deny`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pass: Option<Vec<String>>,
    /// Names to leave out, even if `pass` has them; a `*` at the end matches any suffix.
    pub deny: Vec<String>,
    pub set: BTreeMap<String, String>,
}

/// The prefixes of settings that an agent may see; every other `ADJUTANT_` variable may
/// hold a secret.
const VISIBLE_PREFIXES: [&str; 2] = ["ADJUTANT_PROTOCOL_", "ADJUTANT_SCHEDULER_"];

impl AgentEnvironment {
    /// Returns whether the agent inherits the variable from the process that starts it.
    pub fn inherits(&self, name: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|pattern| matches_pattern(pattern, name));
        if listed(&self.deny) {
            return false;
        }
        if name.starts_with("ADJUTANT_") {
            return VISIBLE_PREFIXES.iter().any(|visible| name.starts_with(visible));
        }
        self.pass.as_deref().is_none_or(listed)
    }
}

fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OrderDelivery {
    /// On standard input, which is then closed.
    Stdin,
    Argument,
    /// In a file, whose path is the last argument.
    File,
}

/// Which processes are asked to end when a run is stopped. Those that do not end are killed
/// in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopTarget {
    /// Every process of the run.
    #[default]
    All,
    /// Only the agent's own process, which shuts the others down in order.
    Agent,
}

/// How to treat lines `AOF/1 …` on the agent's standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AofLineMode {
    Messages,
    /// As messages that count only with the token of the run.
    TokenMessages,
    /// As ordinary output.
    Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunLimits {
    pub timeout_ms: Option<u64>,
    /// How long the agent may send neither output nor a heartbeat.
    pub idle_timeout_ms: Option<u64>,
    /// The time between asking to end and killing.
    pub grace_ms: u64,
    /// How long a heartbeat is valid.
    pub ttl_ms: u64,
    /// The time between two heartbeats.
    pub beat_ms: u64,
    /// As far as the agent reports its usage.
    #[serde(default)]
    pub budget_tokens: Option<u64>,
    /// In millionths of a dollar.
    #[serde(default)]
    pub budget_cost: Option<u64>,
    /// The size at which the log is rotated; one earlier log is kept.
    pub log_bytes: u64,
}

impl RunLimits {
    /// Makes limits without timeouts and budgets. The heartbeat interval is a fifth of `ttl`.
    pub fn new(grace: Duration, ttl: Duration) -> Self {
        Self {
            timeout_ms: None,
            idle_timeout_ms: None,
            grace_ms: to_millis(grace),
            ttl_ms: to_millis(ttl),
            beat_ms: (to_millis(ttl) / 5).max(1),
            budget_tokens: None,
            budget_cost: None,
            log_bytes: 64 << 20,
        }
    }
}

/// Returns whole milliseconds, at most `u64::MAX`.
pub fn to_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
