//! `[agents.NAME]`: how an agent is started, and what it may do.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::span::Limit;

/// How an agent is started, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// What sort of agent it is.
    pub kind: Kind,
    /// What `delegatedToMode` of a task names.
    #[serde(default)]
    pub mode: Option<String>,
    /// What `routing.role` of a task names.
    #[serde(default)]
    pub role: Option<String>,
    /// What it is good at: a task with `routing.tags` runs where all of them are.
    #[serde(default)]
    pub tags: Vec<String>,
    /// How many runs it may have at once.
    #[serde(default = "one")]
    pub slots: u32,
    /// The program and its arguments. For the kind `command`.
    #[serde(default)]
    pub command: Vec<String>,
    /// The file that says how it behaves, from the workspace. For the kind `script`.
    #[serde(default)]
    pub script: Option<PathBuf>,
    /// How it gets its work order.
    #[serde(default)]
    pub prompt: Prompt,
    /// What its work order is written in, and how it says what came of it.
    #[serde(default)]
    pub dialect: Dialect,
    /// What it means when it exits with 0 and has not reported.
    #[serde(default)]
    pub on_exit_ok: OnExitOk,
    /// How long a run may take: `off` for the kind `command`, else 1 hour.
    #[serde(default)]
    pub timeout: Option<Limit>,
    /// How long a run may print and report nothing: `off` for the kind `command`, else 15 minutes.
    #[serde(default)]
    pub idle_timeout: Option<Limit>,
    /// What is added to its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// What is taken from its environment; a `*` at the end stands for any ending.
    #[serde(default)]
    pub env_deny: Vec<String>,
    /// The folder it works in, from the one that holds the data folder, which is the default.
    #[serde(default)]
    pub workspace: Option<PathBuf>,
}

/// What sort of agent it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// goose.
    Goose,
    /// An agent that speaks the Agent Client Protocol.
    Acp,
    /// Any program.
    Command,
    /// The built-in agent that plays a script.
    Script,
    /// An agent elsewhere that is called by HTTP.
    Webhook,
}

/// How an agent gets its work order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Prompt {
    /// On standard input, which is then closed.
    #[default]
    Stdin,
    /// As the last argument.
    Argument,
    /// In a file, whose path is the last argument.
    File,
}

/// What a work order is written in, and how an agent says what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// A `handoff.request` of AOF/1, answered by a `completion.report`.
    Aof,
    /// A mission of Agent Protocol v1, answered by a result.
    Mission,
    /// A `new_task`, answered by an `attempt_completion`.
    NewTask,
    /// Plain words, answered by `adjutant report`.
    #[default]
    Prompt,
}

impl Dialect {
    /// Returns what the core calls it.
    pub fn of_core(self) -> adjutant_core::dialect::Dialect {
        match self {
            Self::Aof => adjutant_core::dialect::Dialect::Aof,
            Self::Mission => adjutant_core::dialect::Dialect::Mission,
            Self::NewTask => adjutant_core::dialect::Dialect::NewTask,
            Self::Prompt => adjutant_core::dialect::Dialect::Prompt,
        }
    }
}

/// What it means when an agent exits with 0 and has not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExitOk {
    /// An attempt without a result.
    #[default]
    NoReport,
    /// Somebody must look at it.
    NeedsReview,
    /// The work is done.
    Done,
}

impl Kind {
    /// Returns the word of the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Goose => "goose",
            Self::Acp => "acp",
            Self::Command => "command",
            Self::Script => "script",
            Self::Webhook => "webhook",
        }
    }

    fn times(self) -> Times {
        match self {
            Self::Command => Times { whole: Limit::Off, idle: Limit::Off },
            Self::Claude
            | Self::Codex
            | Self::Gemini
            | Self::Opencode
            | Self::Goose
            | Self::Acp
            | Self::Script
            | Self::Webhook => Times {
                whole: Limit::After(Duration::from_hours(1)),
                idle: Limit::After(Duration::from_mins(15)),
            },
        }
    }
}

/// What holds where nothing is said.
struct Times {
    whole: Limit,
    idle: Limit,
}

impl Agent {
    /// Makes an agent of a kind, with the defaults.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            mode: None,
            role: None,
            tags: vec![],
            slots: one(),
            command: vec![],
            script: None,
            prompt: Prompt::default(),
            dialect: Dialect::default(),
            on_exit_ok: OnExitOk::default(),
            timeout: None,
            idle_timeout: None,
            env: BTreeMap::new(),
            env_deny: vec![],
            workspace: None,
        }
    }

    /// Returns how long a run may take.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout.unwrap_or(self.kind.times().whole).as_duration()
    }

    /// Returns how long a run may print and report nothing.
    pub fn idle_timeout(&self) -> Option<Duration> {
        self.idle_timeout.unwrap_or(self.kind.times().idle).as_duration()
    }

    /// Says what is missing or out of place.
    pub(super) fn check(&self) -> Result<(), String> {
        let wants =
            |key, kind: Kind| Err(format!("needs `{key}`, as its kind is {}", kind.as_str()));
        let stray =
            |key, kind: Kind| Err(format!("`{key}` is only for the kind {}", kind.as_str()));
        let commanded = self.command.first().is_some_and(|program| !program.is_empty());
        match self.kind {
            Kind::Command if !commanded => wants("command", Kind::Command),
            Kind::Script if self.script.is_none() => wants("script", Kind::Script),
            Kind::Script if !self.command.is_empty() => stray("command", Kind::Command),
            kind if kind != Kind::Script && self.script.is_some() => stray("script", Kind::Script),
            _ => Ok(()),
        }
    }
}

fn one() -> u32 {
    1
}
