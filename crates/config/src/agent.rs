//! `[agents.NAME]`: how an agent is started, and what it may do.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use adjutant_http_client::PostUrl;
use adjutant_model::sandbox_level::SandboxLevel;
use schemars::JsonSchema;
use serde::Deserialize;

use super::duration::TimeLimit;
use super::money::DollarAmount;
use super::network::NetworkAccess;
use super::permissions::Permission;
use super::project::{Merge, refuse_empty_commands};
use super::resource_limits::{
    MemoryLimit, PROCESSES_MAX_DEFAULT, PROCESSES_MAX_LEAST, PROCESSES_MAX_MOST,
};

/// The value of `workspace` that gives each task its own git worktree.
const WORKTREE: &str = "worktree";

/// How an agent is started, and what it may do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The kind of agent: how it is started and how its output is read.
    pub kind: Kind,
    /// The mode of the agent; a `new_task` names it in `delegatedToMode`.
    #[serde(default)]
    pub mode: Option<String>,
    /// The role of the agent; a task names it in `routing.role`.
    #[serde(default)]
    pub role: Option<String>,
    /// The tags of the agent; a task with `routing.tags` is assigned to an agent with all of them.
    #[serde(default)]
    pub tags: Vec<String>,
    /// How many tasks the agent may work on at once.
    #[serde(default = "default_slots")]
    pub slots: u32,
    /// The program and its first arguments. For kinds that have a program, this replaces it.
    #[serde(default)]
    pub command: Vec<String>,
    /// Further arguments for the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// The model that the agent uses.
    #[serde(default)]
    pub model: Option<String>,
    /// The budget of a run, in dollars.
    #[serde(default)]
    pub budget_usd: Option<DollarAmount>,
    /// The budget of a run, in tokens.
    #[serde(default)]
    pub budget_tokens: Option<u64>,
    /// The budget of all runs of the agent in a day, in dollars.
    #[serde(default)]
    pub budget_usd_day: Option<DollarAmount>,
    /// The budget of all runs of the agent in a day, in tokens.
    #[serde(default)]
    pub budget_tokens_day: Option<u64>,
    /// The script that the agent plays, relative to the workspace. For the kind `script`.
    #[serde(default)]
    pub script: Option<PathBuf>,
    /// How the agent gets its work order.
    #[serde(default)]
    pub prompt: Prompt,
    /// The protocol of its work orders and reports.
    #[serde(default)]
    pub dialect: Dialect,
    /// What an exit with code 0 means if the agent has not reported.
    #[serde(default)]
    pub on_exit_ok: OnExitOk,
    /// Which lines `AOF/1 …` on its standard output are messages. Only for the kinds `command` and
    /// `script`, whose output is text.
    #[serde(default)]
    pub stdout_messages: StdoutMessages,
    /// The most tasks that one run may create.
    #[serde(default = "default_tasks_max")]
    pub tasks_max: u32,
    /// The time limit of a run. The default is `off` for the kind `command`, else 1 hour.
    #[serde(default)]
    pub timeout: Option<TimeLimit>,
    /// How long a run may print and report nothing. The default is `off` for the kind
    /// `command`, else 15 minutes.
    #[serde(default)]
    pub idle_timeout: Option<TimeLimit>,
    /// Environment variables that are added.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Environment variables that are removed; a `*` at the end matches any ending.
    #[serde(default)]
    pub env_deny: Vec<String>,
    /// Environment variables that the agent inherits besides those that its kind needs; a `*` at the
    /// end matches any ending. Agents of the kinds `command` and `script` inherit all.
    #[serde(default)]
    pub env_pass: Vec<String>,
    /// The folder that the agent works in, relative to the project. The default is the project
    /// itself. `worktree` gives each task its own git worktree and branch.
    #[serde(default)]
    pub workspace: Option<PathBuf>,
    /// Commands that must pass before its work counts as done, instead of those of the project.
    #[serde(default)]
    pub checks: Option<Vec<String>>,
    /// The address that work orders are posted to. For the kind `webhook`.
    #[serde(default)]
    pub url: Option<String>,
    /// The environment variable with the secret that signs posted work orders.
    /// For the kind `webhook`.
    #[serde(default)]
    pub secret_env: Option<String>,
    /// Rules that answer its permission requests; the first rule that matches applies. For the kinds
    /// `acp`, `gemini` and `opencode`.
    #[serde(default)]
    pub permissions: Option<Vec<Permission>>,
    /// How `approve` merges its work, instead of `merge` of the project.
    #[serde(default)]
    pub merge: Option<Merge>,
    /// Confines the agent, and every process it starts, to its workspace.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// What `sandbox = "auto"` stands for; nothing until it was settled for this machine.
    #[serde(skip)]
    #[schemars(skip)]
    pub auto_level: SandboxLevel,
    /// More paths, starting with `/` or `~/`, that it may read in a `strict` sandbox.
    #[serde(default)]
    pub sandbox_read: Vec<String>,
    /// More folders and files that it may write to in its sandbox; each path starts with `/` or `~/`.
    #[serde(default)]
    pub sandbox_write: Vec<String>,
    /// Which hosts the agent may connect to: `"open"`, `"off"`, or a list of `host` and `host:port`.
    #[serde(default)]
    pub network: NetworkAccess,
    /// How many processes and threads a run in a `strict` sandbox may have at once. The default is
    /// 4096. If it is set, the agent is not started where the limit cannot be enforced.
    #[serde(default)]
    pub processes_max: Option<u32>,
    /// How much memory a run in a `strict` sandbox may use, such as `4GiB`. Where it cannot be
    /// enforced, the agent is not started.
    #[serde(default)]
    pub memory_max: MemoryLimit,
}

/// What confines an agent to its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sandbox {
    /// The strongest level that works for this agent on this machine: `strict`, else `landlock` if
    /// its workspace does not contain the data folder, else no sandbox. Agents of the kinds `script`
    /// and `webhook` have none.
    #[default]
    Auto,
    /// No sandbox: the agent can write wherever its user can.
    None,
    /// Landlock, a sandbox of the Linux kernel, which confines what the agent writes. If the kernel
    /// does not have it, the agent is not started.
    Landlock,
    /// Bubblewrap, which also confines what the agent reads and does. If it does not work on this
    /// machine, the agent is not started.
    Strict,
}

impl From<SandboxLevel> for Sandbox {
    fn from(level: SandboxLevel) -> Self {
        match level {
            SandboxLevel::None => Self::None,
            SandboxLevel::Landlock => Self::Landlock,
            SandboxLevel::Strict => Self::Strict,
        }
    }
}

/// How an agent is started and how its output is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The program `claude`: Claude Code.
    Claude,
    /// The program `codex`: Codex.
    Codex,
    /// The program `gemini`: Gemini CLI.
    Gemini,
    /// The program `opencode`, over the Agent Client Protocol.
    Opencode,
    /// The program `goose`, in its run mode.
    Goose,
    /// An agent that speaks the Agent Client Protocol.
    Acp,
    /// Any program, as `command` names it.
    Command,
    /// The built-in agent that plays a script.
    Script,
    /// A remote agent that is called over HTTP.
    Webhook,
}

/// Which lines `AOF/1 …` on standard output are messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StdoutMessages {
    /// Those with the token of the run in `runToken`, so that a printed file does not report.
    #[default]
    Token,
    /// All of them.
    Any,
    /// No line: all output is text.
    Off,
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

/// The protocol of work orders and reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// A `handoff.request` of AOF/1, answered by a `completion.report`.
    Aof,
    /// A mission of Agent Protocol v1, answered by a result.
    Mission,
    /// A `new_task`, answered by an `attempt_completion`.
    NewTask,
    /// A prompt in plain text, answered by `adjutant report`.
    #[default]
    Prompt,
}

impl Dialect {
    /// Converts to the core's type.
    pub fn to_core(self) -> adjutant_model::dialect::ProtocolDialect {
        match self {
            Self::Aof => adjutant_model::dialect::ProtocolDialect::Aof,
            Self::Mission => adjutant_model::dialect::ProtocolDialect::Mission,
            Self::NewTask => adjutant_model::dialect::ProtocolDialect::NewTask,
            Self::Prompt => adjutant_model::dialect::ProtocolDialect::Prompt,
        }
    }
}

/// What an exit with code 0 means if the agent has not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExitOk {
    /// The attempt has failed.
    #[default]
    NoReport,
    /// The work needs a review.
    NeedsReview,
    /// The work is done.
    Done,
}

impl Kind {
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

    /// Parses the name used in the configuration.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns whether agents of this kind report usage and let the configuration choose a model.
    fn has_model(self) -> bool {
        matches!(self, Self::Claude | Self::Codex | Self::Gemini | Self::Opencode | Self::Goose)
    }

    /// Returns whether agents of this kind inherit the environment, less the secrets of Adjutant.
    fn inherits_all(self) -> bool {
        matches!(self, Self::Command | Self::Script | Self::Webhook)
    }

    /// Returns the name used in the configuration.
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

    fn default_timeouts(self) -> DefaultTimeouts {
        match self {
            Self::Command => {
                DefaultTimeouts { timeout: TimeLimit::Off, idle_timeout: TimeLimit::Off }
            }
            Self::Claude
            | Self::Codex
            | Self::Gemini
            | Self::Opencode
            | Self::Goose
            | Self::Acp
            | Self::Script
            | Self::Webhook => DefaultTimeouts {
                timeout: TimeLimit::After(Duration::from_hours(1)),
                idle_timeout: TimeLimit::After(Duration::from_mins(15)),
            },
        }
    }
}

/// The default time limits of an agent kind.
struct DefaultTimeouts {
    timeout: TimeLimit,
    idle_timeout: TimeLimit,
}

impl Agent {
    /// Makes an agent with the default settings.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            mode: None,
            role: None,
            tags: vec![],
            slots: default_slots(),
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
            stdout_messages: StdoutMessages::default(),
            tasks_max: default_tasks_max(),
            timeout: None,
            idle_timeout: None,
            env: BTreeMap::new(),
            env_deny: vec![],
            env_pass: vec![],
            workspace: None,
            checks: None,
            url: None,
            secret_env: None,
            permissions: None,
            merge: None,
            sandbox: Sandbox::Auto,
            auto_level: SandboxLevel::None,
            sandbox_read: vec![],
            sandbox_write: vec![],
            network: NetworkAccess::Open,
            processes_max: None,
            memory_max: MemoryLimit::Off,
        }
    }

    /// Returns how long a run may take; `None` means without limit.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout.unwrap_or(self.kind.default_timeouts().timeout).as_duration()
    }

    /// Returns how long a run may be silent; `None` means without limit.
    pub fn idle_timeout(&self) -> Option<Duration> {
        self.idle_timeout.unwrap_or(self.kind.default_timeouts().idle_timeout).as_duration()
    }

    /// Returns how many processes a run in a `strict` sandbox may have at once.
    pub fn processes_max(&self) -> u32 {
        self.processes_max.unwrap_or(PROCESSES_MAX_DEFAULT)
    }

    /// Returns whether each of the agent's tasks gets its own git worktree.
    pub fn has_worktree(&self) -> bool {
        self.workspace.as_ref().is_some_and(|folder| folder.as_os_str() == WORKTREE)
    }

    /// Returns what confines its runs.
    pub fn sandbox_level(&self) -> SandboxLevel {
        match self.sandbox {
            Sandbox::Auto => self.auto_level,
            Sandbox::None => SandboxLevel::None,
            Sandbox::Landlock => SandboxLevel::Landlock,
            Sandbox::Strict => SandboxLevel::Strict,
        }
    }

    /// Returns what confines its steps of stories. They work in the folder of the project, which
    /// Landlock cannot grant without the data folder in it.
    pub fn step_sandbox_level(&self) -> SandboxLevel {
        match (self.sandbox, self.sandbox_level()) {
            (Sandbox::Auto, SandboxLevel::Landlock) => SandboxLevel::None,
            (_, level) => level,
        }
    }

    /// Returns what is missing or misplaced.
    pub(super) fn check(&self) -> Result<(), String> {
        refuse_empty_commands("checks", self.checks.as_deref().unwrap_or_default())?;
        if self.merge.is_some_and(|merge| merge != Merge::None) && !self.has_worktree() {
            return Err("`merge` requires `workspace = \"worktree\"`".to_owned());
        }
        self.check_sandbox()?;
        self.check_network()?;
        self.check_resource_limits()?;
        if self.kind.inherits_all() && !self.env_pass.is_empty() {
            let kind = self.kind.as_str();
            return Err(format!(
                "`env_pass` is not valid for the kind {kind}, which inherits the environment"
            ));
        }
        let wants =
            |key, kind: Kind| Err(format!("`{key}` is required for the kind {}", kind.as_str()));
        let stray =
            |key, kind: Kind| Err(format!("`{key}` is only valid for the kind {}", kind.as_str()));
        let commanded = self.command.first().is_some_and(|program| !program.is_empty());
        match self.kind {
            Kind::Command | Kind::Acp if !commanded => wants("command", self.kind),
            kind if !kind.can_request_permission() && self.permissions.is_some() => {
                Err(format!("`permissions` is not valid for the kind {}", kind.as_str()))
            }
            Kind::Webhook if self.url.is_none() => wants("url", Kind::Webhook),
            Kind::Webhook if commanded => stray("command", Kind::Command),
            Kind::Webhook => check_url(self.url.as_deref().unwrap_or_default()),
            _ if self.url.is_some() => stray("url", Kind::Webhook),
            _ if self.secret_env.is_some() => stray("secret_env", Kind::Webhook),
            Kind::Script if self.script.is_none() => wants("script", Kind::Script),
            Kind::Script if !self.command.is_empty() => stray("command", Kind::Command),
            kind if kind != Kind::Script && self.script.is_some() => stray("script", Kind::Script),
            kind if !kind.has_model() && self.model.is_some() => {
                Err(format!("`model` is not valid for the kind {}", kind.as_str()))
            }
            Kind::Script if !self.args.is_empty() => {
                Err("`args` is not valid for the kind script".into())
            }
            _ => Ok(()),
        }
    }
}

impl Agent {
    /// Landlock confines an agent to a folder, which must not contain the data folder.
    fn check_sandbox(&self) -> Result<(), String> {
        match self.sandbox {
            Sandbox::None if !self.sandbox_write.is_empty() => {
                Err("`sandbox_write` requires `sandbox = \"strict\"` or `\"landlock\"`".to_owned())
            }
            Sandbox::None | Sandbox::Landlock if !self.sandbox_read.is_empty() => {
                Err("`sandbox_read` requires `sandbox = \"strict\"`".to_owned())
            }
            Sandbox::None => Ok(()),
            Sandbox::Landlock if self.workspace.is_none() => Err(
                "`sandbox = \"landlock\"` requires `workspace = \"worktree\"`, or a folder that \
                 does not contain the data folder"
                    .to_owned(),
            ),
            Sandbox::Auto | Sandbox::Landlock | Sandbox::Strict => {
                check_paths("sandbox_read", &self.sandbox_read)?;
                check_paths("sandbox_write", &self.sandbox_write)
            }
        }
    }
}

impl Agent {
    /// Only a network namespace confines an agent to hosts.
    fn check_network(&self) -> Result<(), String> {
        match (&self.network, self.sandbox) {
            (NetworkAccess::Open, _) | (_, Sandbox::Strict) => Ok(()),
            // What `auto` stands for is known only when a daemon starts.
            (
                NetworkAccess::Off | NetworkAccess::Hosts(_),
                Sandbox::None | Sandbox::Landlock | Sandbox::Auto,
            ) => Err("`network` other than \"open\" requires `sandbox = \"strict\"`".to_owned()),
        }
    }
}

impl Agent {
    /// Only the namespaces of a `strict` sandbox keep the processes of a run together.
    fn check_resource_limits(&self) -> Result<(), String> {
        let named = [
            ("processes_max", self.processes_max.is_some()),
            ("memory_max", self.memory_max != MemoryLimit::Off),
        ];
        let may_be_strict = match self.sandbox {
            Sandbox::Auto | Sandbox::Strict => true,
            Sandbox::None | Sandbox::Landlock => false,
        };
        if let Some((key, _)) = named.iter().find(|(_, is_named)| *is_named && !may_be_strict) {
            return Err(format!("`{key}` requires `sandbox = \"strict\"`"));
        }
        let range = PROCESSES_MAX_LEAST..=PROCESSES_MAX_MOST;
        if !range.contains(&self.processes_max()) {
            return Err(format!(
                "`processes_max` is at least {PROCESSES_MAX_LEAST} and at most {PROCESSES_MAX_MOST}"
            ));
        }
        Ok(())
    }
}

fn check_paths(key: &str, paths: &[String]) -> Result<(), String> {
    let is_whole = |path: &&String| path.starts_with('/') || path.starts_with("~/");
    match paths.iter().find(|path| !is_whole(path)) {
        Some(path) => Err(format!("`{key}` has {path:?}, which does not start with / or ~/")),
        None => Ok(()),
    }
}

fn check_url(url: &str) -> Result<(), String> {
    PostUrl::parse(url).map(drop).map_err(|bad| format!("`url` {bad}"))
}

fn default_tasks_max() -> u32 {
    adjutant_model::policy::TASKS_MAX
}

fn default_slots() -> u32 {
    1
}
