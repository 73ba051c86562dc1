//! `[agents.NAME]`: how an agent is started, and what it may do.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::money::Dollars;
use super::permissions::Permission;
use super::project::{Merge, commands};
use super::span::Limit;
use crate::http_post::Address;

/// What `workspace` says for a git work tree of its own.
const WORKTREE: &str = "worktree";

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
    /// The program and its first arguments; for kinds with a program of their own, another one.
    #[serde(default)]
    pub command: Vec<String>,
    /// Further arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// The model it uses.
    #[serde(default)]
    pub model: Option<String>,
    /// How much a run may cost, in dollars.
    #[serde(default)]
    pub budget_usd: Option<Dollars>,
    /// How many tokens a run may use.
    #[serde(default)]
    pub budget_tokens: Option<u64>,
    /// How much all of its runs may cost on a day, in dollars.
    #[serde(default)]
    pub budget_usd_day: Option<Dollars>,
    /// How many tokens all of its runs may use on a day.
    #[serde(default)]
    pub budget_tokens_day: Option<u64>,
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
    /// The folder it works in, from the one that holds the data folder, which is the default; or
    /// `worktree`: each task has a git work tree of its own, on a branch of its own.
    #[serde(default)]
    pub workspace: Option<PathBuf>,
    /// The commands that must pass before its work counts as done, in place of the project's.
    #[serde(default)]
    pub checks: Option<Vec<String>>,
    /// Where it is called. For the kind `webhook`.
    #[serde(default)]
    pub url: Option<String>,
    /// The environment variable with the secret that what is posted is signed with. For the kind
    /// `webhook`.
    #[serde(default)]
    pub secret_env: Option<String>,
    /// What is answered when it wants to be allowed something: the first rule that fits counts. For
    /// the kinds `acp`, `gemini` and `opencode`.
    #[serde(default)]
    pub permissions: Option<Vec<Permission>>,
    /// What `approve` does with its work, in place of what the project says.
    #[serde(default)]
    pub merge: Option<Merge>,
    /// What keeps it, and everything it starts, from writing elsewhere than in its workspace.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// Further folders and files it may write to in its sandbox, by their whole path or from `~/`.
    #[serde(default)]
    pub sandbox_write: Vec<String>,
}

/// What keeps an agent from writing elsewhere than in its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    /// Nothing: it can write whatever its user can.
    #[default]
    None,
    /// The kernel. Where it cannot, the agent is not started.
    Landlock,
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
    /// Every kind there is.
    pub const ALL: [Self; 9] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Goose,
        Self::Acp,
        Self::Command,
        Self::Script,
        Self::Webhook,
    ];

    /// Parses the word of the configuration.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Says whether agents of this kind can say what they use, and have a model to choose.
    fn has_model(self) -> bool {
        matches!(self, Self::Claude | Self::Codex | Self::Gemini | Self::Opencode | Self::Goose)
    }

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
            args: vec![],
            model: None,
            budget_usd: None,
            budget_tokens: None,
            budget_usd_day: None,
            budget_tokens_day: None,
            script: None,
            prompt: Prompt::default(),
            dialect: Dialect::default(),
            on_exit_ok: OnExitOk::default(),
            timeout: None,
            idle_timeout: None,
            env: BTreeMap::new(),
            env_deny: vec![],
            workspace: None,
            checks: None,
            url: None,
            secret_env: None,
            permissions: None,
            merge: None,
            sandbox: Sandbox::None,
            sandbox_write: vec![],
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

    /// Says whether each of its tasks has a git work tree of its own.
    pub fn has_worktree(&self) -> bool {
        self.workspace.as_ref().is_some_and(|folder| folder.as_os_str() == WORKTREE)
    }

    /// Says what is missing or out of place.
    pub(super) fn check(&self) -> Result<(), String> {
        commands("checks", self.checks.as_deref().unwrap_or_default())?;
        if self.merge.is_some_and(|merge| merge != Merge::None) && !self.has_worktree() {
            return Err("`merge` is only for `workspace = \"worktree\"`".to_owned());
        }
        self.check_sandbox()?;
        let wants =
            |key, kind: Kind| Err(format!("needs `{key}`, as its kind is {}", kind.as_str()));
        let stray =
            |key, kind: Kind| Err(format!("`{key}` is only for the kind {}", kind.as_str()));
        let commanded = self.command.first().is_some_and(|program| !program.is_empty());
        match self.kind {
            Kind::Command | Kind::Acp if !commanded => wants("command", self.kind),
            kind if !kind.asks() && self.permissions.is_some() => {
                Err(format!("`permissions` is not for the kind {}", kind.as_str()))
            }
            Kind::Webhook if self.url.is_none() => wants("url", Kind::Webhook),
            Kind::Webhook if commanded => stray("command", Kind::Command),
            Kind::Webhook => address(self.url.as_deref().unwrap_or_default()),
            _ if self.url.is_some() => stray("url", Kind::Webhook),
            _ if self.secret_env.is_some() => stray("secret_env", Kind::Webhook),
            Kind::Script if self.script.is_none() => wants("script", Kind::Script),
            Kind::Script if !self.command.is_empty() => stray("command", Kind::Command),
            kind if kind != Kind::Script && self.script.is_some() => stray("script", Kind::Script),
            kind if !kind.has_model() && self.model.is_some() => {
                Err(format!("`model` is not for the kind {}", kind.as_str()))
            }
            Kind::Script if !self.args.is_empty() => {
                Err("`args` is not for the kind script".into())
            }
            _ => Ok(()),
        }
    }
}

impl Agent {
    /// A sandbox keeps an agent in a folder, which must not be the one that holds everything.
    fn check_sandbox(&self) -> Result<(), String> {
        let is_whole = |path: &&String| path.starts_with('/') || path.starts_with("~/");
        match self.sandbox {
            Sandbox::None if !self.sandbox_write.is_empty() => {
                Err("`sandbox_write` is only for `sandbox = \"landlock\"`".to_owned())
            }
            Sandbox::None => Ok(()),
            Sandbox::Landlock if self.workspace.is_none() => Err(
                "`sandbox` needs `workspace = \"worktree\"`, or a folder that does not hold the \
                 data folder"
                    .to_owned(),
            ),
            Sandbox::Landlock => match self.sandbox_write.iter().find(|path| !is_whole(path)) {
                Some(path) => Err(format!(
                    "`sandbox_write` names {path:?}, which begins with neither / nor ~/"
                )),
                None => Ok(()),
            },
        }
    }
}

fn address(url: &str) -> Result<(), String> {
    Address::parse(url).map(drop).map_err(|bad| format!("`url` {bad}"))
}

fn one() -> u32 {
    1
}
