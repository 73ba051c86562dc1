//! The types that all adapters share: their input, the start they build, and the events they parse.
//!
//! An adapter is one file with five items: `start` builds the start command, `read` parses a line
//! of output, `TESTED_VERSIONS` lists the tested versions, `SIGN_IN_DETECTION` tells how to
//! detect a signed-in user, and `PASSED_VARIABLES` lists the variables that the agent inherits
//! besides `COMMON_VARIABLES`. They only compute values; none has a side effect.

use std::collections::BTreeMap;
use std::path::Path;

use adjutant_config::{Agent, Kind};
use adjutant_run_files::shim_spec::{OrderDelivery, StopTarget};
use adjutant_run_files::socket_protocol::RUN_SOCKET_VARIABLE;
use serde_json::{Value, json};

use super::ResumedSession;

/// The input of an adapter's `start`.
#[derive(Debug, Clone, Copy)]
pub(super) struct AdapterInput<'a> {
    pub(super) agent: &'a Agent,
    /// The `adjutant` executable, which is the MCP server.
    pub(super) program: &'a str,
    /// The attempt folder, where the adapter's files go.
    pub(super) folder: &'a Path,
    /// A unique name for the run.
    pub(super) name: &'a str,
    pub(super) resume: Option<ResumedSession<'a>>,
    /// The run's cost limit, in millionths of a dollar.
    pub(super) cost: Option<u64>,
    /// The time between the request to terminate and the kill, in milliseconds.
    pub(super) grace_ms: u64,
}

/// What an adapter returns from `start`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct StartPlan {
    pub(super) command: Vec<String>,
    /// Variables to add to the environment; the configuration overrides them.
    pub(super) environment: BTreeMap<String, String>,
    /// Files to write into the attempt folder, as (name, content).
    pub(super) files: Vec<(String, String)>,
    /// The session id, where Adjutant chooses it instead of the agent.
    pub(super) session: Option<String>,
    /// Which processes get the request to terminate.
    pub(super) terminate_scope: StopTarget,
}

/// One event that an agent reports about itself in its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentStreamEvent {
    /// The agent's own id for the session.
    Session(String),
    Version(String),
    /// The agent could not connect to Adjutant's MCP server; holds the agent's message.
    McpServerFailed(String),
    /// The total usage so far.
    TotalUsage(ModelUsage),
    /// The usage of one model call; events with the same id update the same call.
    ModelCall {
        id: String,
        used: ModelUsage,
    },
    /// The model answered, so an earlier limit or error is over.
    ModelAnswered,
    /// The agent's latest message to its reader.
    Message(String),
    /// The tool that the agent was not allowed to use.
    ToolDenied(String),
    /// An error after which the agent may continue; holds the agent's message.
    RecoverableError(String),
    /// The agent reached a usage or rate limit.
    LimitReached {
        until: LimitResetTime,
        words: String,
    },
    /// The agent is not signed in, or its API key was refused.
    SignInRejected(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitResetTime {
    Unknown,
    /// Seconds since 1970.
    At(i64),
    /// Seconds from now.
    After(i64),
    /// Local wall-clock time, on `day` (counted from 1970) or on the next day that fits.
    LocalTime {
        day: Option<i64>,
        minute: i64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalNow {
    pub secs: i64,
    /// The offset of local time from UTC, in seconds.
    pub utc_offset_secs: i64,
}

impl LimitResetTime {
    /// Returns the end in seconds since 1970; `None` if the agent did not say.
    pub(super) fn resolve(self, now: LocalNow) -> Option<i64> {
        match self {
            Self::Unknown => None,
            Self::At(at) => Some(at),
            Self::After(seconds) => Some(now.secs.saturating_add(seconds)),
            Self::LocalTime { day, minute } => {
                let wall = now.secs.saturating_add(now.utc_offset_secs);
                let of = |day: i64| day.saturating_mul(86_400).saturating_add(minute * 60);
                let today = wall.div_euclid(86_400);
                let next = if of(today) > wall { of(today) } else { of(today + 1) };
                Some(day.map_or(next, of).saturating_sub(now.utc_offset_secs))
            }
        }
    }
}

/// Model usage as the agent reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelUsage {
    /// Input tokens, including cached ones.
    pub input: u64,
    pub output: u64,
    /// Input tokens that came from a cache.
    pub cached: u64,
    /// In millionths of a dollar.
    pub cost: u64,
}

/// The versions an adapter was tested with, and the oldest that can work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestedVersions {
    pub versions: &'static [&'static str],
    /// Older versions lack a feature that the adapter needs.
    pub oldest: &'static str,
}

impl TestedVersions {
    /// Returns a warning if the version is too old or untested.
    pub fn version_warning(self, version: &str) -> Option<String> {
        let known = self.versions.join(", ");
        if self.versions.contains(&version) {
            return None;
        }
        let numbers = |text: &str| -> Vec<u64> {
            text.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
        };
        let version: String = version.chars().filter(|c| !c.is_control()).take(64).collect();
        Some(if numbers(&version) < numbers(self.oldest) {
            format!("version {version} is too old: {} or newer is needed", self.oldest)
        } else {
            format!("version {version} was not tested with Adjutant; tested: {known}")
        })
    }
}

/// How to detect that the user is signed in, without starting the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignInDetection {
    /// Any of these environment variables is enough.
    pub variables: &'static [&'static str],
    /// Any of these files is enough; paths are relative to the home folder.
    pub files: &'static [&'static str],
}

/// The variables that every agent with an adapter inherits: its user, its terminal, the network and
/// the toolchains it builds with. None of them holds a secret by convention. A `*` at the end
/// matches any suffix.
pub(super) const COMMON_VARIABLES: &[&str] = &[
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "COLUMNS",
    "LINES",
    "CI",
    "EDITOR",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_*",
    "WSL_DISTRO_NAME",
    // The network.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "FTP_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "ftp_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
    // The author of commits.
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    // Toolchains.
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTFLAGS",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "GOFLAGS",
    "GOTOOLCHAIN",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_USER_HOME",
    "SDKMAN_DIR",
    "ANDROID_HOME",
    "NODE_PATH",
    "NVM_DIR",
    "NVM_BIN",
    "FNM_DIR",
    "VOLTA_HOME",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "COREPACK_HOME",
    "PYTHONPATH",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "UV_CACHE_DIR",
    "PIPX_HOME",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
    "DOTNET_ROOT",
    "LD_LIBRARY_PATH",
    "PKG_CONFIG_PATH",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
];

/// The variables that name the model provider and its key, for agents that can use any provider.
pub(super) const PROVIDER_VARIABLES: &[&str] = &[
    "ANTHROPIC_*",
    "OPENAI_*",
    "GEMINI_*",
    "GOOGLE_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
    "CEREBRAS_API_KEY",
    "FIREWORKS_API_KEY",
    "TOGETHER_API_KEY",
    "AZURE_OPENAI_*",
    "OLLAMA_*",
    "LITELLM_*",
];

/// The variables that tell the MCP server which run it serves.
pub const RUN_VARIABLES: [&str; 6] = [
    "ADJUTANT_DATA",
    "ADJUTANT_TASK_ID",
    "ADJUTANT_AGENT",
    "ADJUTANT_ATTEMPT",
    "ADJUTANT_RUN_TOKEN",
    RUN_SOCKET_VARIABLE,
];

impl AdapterInput<'_> {
    /// Returns the configured command, or else `name`.
    pub(super) fn command(&self, name: &str) -> Vec<String> {
        match &self.agent.command[..] {
            [] => vec![name.to_owned()],
            own => own.to_owned(),
        }
    }

    /// Returns whether the configuration already passes any of these arguments.
    pub(super) fn has_argument(&self, any: &[&str]) -> bool {
        let is =
            |arg: &String| any.iter().any(|one| arg == one || arg.starts_with(&format!("{one}=")));
        self.agent.args.iter().chain(self.agent.command.iter().skip(1)).any(is)
    }

    /// Returns the path of a file in the attempt folder.
    pub(super) fn attempt_file(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    /// Returns the MCP server's entry for a JSON configuration. `quote` writes a reference to each
    /// variable, so that the file need not contain the token.
    pub(super) fn mcp_server_config(&self, quote: impl Fn(&str) -> String) -> Value {
        let variables: serde_json::Map<String, Value> =
            RUN_VARIABLES.iter().map(|name| ((*name).to_owned(), quote(name).into())).collect();
        json!({"command": self.program, "args": ["mcp"], "env": variables})
    }
}

pub(super) fn push_args(command: &mut Vec<String>, args: &[&str]) {
    command.extend(args.iter().map(|arg| (*arg).to_owned()));
}

/// Returns how an agent gets its work order. Some agents hang while standard input stays open.
pub(super) fn prompt_delivery(kind: Kind, wanted: OrderDelivery) -> OrderDelivery {
    match kind {
        Kind::Claude | Kind::Codex | Kind::Gemini | Kind::Opencode | Kind::Goose | Kind::Acp => {
            OrderDelivery::Stdin
        }
        Kind::Webhook => OrderDelivery::Stdin,
        Kind::Command | Kind::Script => wanted,
    }
}

/// Returns a number from a JSON object; 0 if it is missing.
pub(super) fn json_number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// Returns a string from a JSON object; `None` if it is missing or blank.
pub(super) fn json_text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}
