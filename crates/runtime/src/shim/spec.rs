//! What a shim is told: one run, and how to run it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One run, and how to run it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// The task.
    pub task_id: String,
    /// Who works on it.
    pub agent: String,
    /// The number of the run.
    pub attempt: u32,
    /// The fence of its lease.
    pub fence: u64,
    /// The folder of the attempt, absolute.
    pub folder: PathBuf,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The folder the agent works in.
    pub workspace: PathBuf,
    /// What the agent's environment is made of.
    pub environment: Environment,
    /// How the agent gets its work order, which lies in the folder.
    pub prompt: Prompt,
    /// Whether its lines `AOF/1 …` are messages.
    pub lines: Lines,
    /// In what document it says what came of it, if it does.
    pub report: Option<Report>,
    /// How long it may take and be silent, and how it is stopped.
    pub limits: Limits,
    /// Who is asked to end when it is to.
    #[serde(default)]
    pub asks: Asks,
    /// The kind of agent whose events are read in what it prints.
    #[serde(default)]
    pub reads: Option<String>,
    /// What its conversation will be known by, if that is known before it begins.
    #[serde(default)]
    pub session: Option<String>,
    /// What is to be said of the version of its program, where the agent does not tell it.
    #[serde(default)]
    pub untried: Option<String>,
    /// The folders and files it may write to; none if it may write wherever its user can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confined: Option<Vec<PathBuf>>,
}

/// The document in which a run says what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The name of its file in the folder of the attempt.
    pub file: String,
    /// What kind of document it is, by its word.
    pub kind: String,
}

/// What the agent's environment is made of: what the shim has, less this, plus that.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Names to leave out; a `*` at the end stands for any ending.
    pub deny: Vec<String>,
    /// What is added.
    pub set: BTreeMap<String, String>,
}

/// How the agent gets its work order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Prompt {
    /// On standard input, which is then closed.
    Stdin,
    /// As the last argument.
    Argument,
    /// In a file, whose path is the last argument.
    File,
}

/// Who is asked to end when a run is to. What does not is killed in either case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Asks {
    /// Everything that is left of it.
    #[default]
    All,
    /// The process that was started alone, which ends the others in an orderly way.
    Agent,
}

/// What a line `AOF/1 …` on the agent's standard output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lines {
    /// A message.
    Messages,
    /// Output like any other.
    Output,
}

/// How long things may take, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// How long the run may take.
    pub timeout_ms: Option<u64>,
    /// How long it may print and report nothing.
    pub idle_timeout_ms: Option<u64>,
    /// The time between asking and killing.
    pub grace_ms: u64,
    /// How long a heartbeat counts.
    pub ttl_ms: u64,
    /// The time between two heartbeats.
    pub beat_ms: u64,
    /// How many tokens the run may use, as far as its agent tells.
    #[serde(default)]
    pub budget_tokens: Option<u64>,
    /// How much it may cost, in millionths of a dollar.
    #[serde(default)]
    pub budget_cost: Option<u64>,
    /// How long a log gets before it is put aside; one that was put aside is kept.
    pub log_bytes: u64,
}

impl Limits {
    /// Makes limits without an end, with so much grace and so long a life of a heartbeat.
    pub fn new(grace: Duration, ttl: Duration) -> Self {
        Self {
            timeout_ms: None,
            idle_timeout_ms: None,
            grace_ms: millis(grace),
            ttl_ms: millis(ttl),
            beat_ms: (millis(ttl) / 5).max(1),
            budget_tokens: None,
            budget_cost: None,
            log_bytes: 64 << 20,
        }
    }
}

/// Returns whole milliseconds.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
