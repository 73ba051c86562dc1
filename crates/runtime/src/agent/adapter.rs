//! What every adapter has in common: what it is given, what it makes of it, what it hears.
//!
//! An adapter is one file and four things: how its agent is started (`start`), how a line of what
//! it prints is read (`read`), the versions it was tried with (`TRIED`), and how it is seen that
//! somebody is signed in (`SIGNED_IN`). None of them does anything: they make values.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::Resume;
use crate::config::{Agent, Kind};
use crate::shim::spec::{Asks, Prompt};

/// What an adapter is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    /// The settings of the agent.
    pub(super) agent: &'a Agent,
    /// This program, which is the MCP server.
    pub(super) program: &'a str,
    /// The folder of the attempt, for papers.
    pub(super) folder: &'a Path,
    /// A name for the run that no other has.
    pub(super) name: &'a str,
    /// The conversation to go on with.
    pub(super) resume: Option<Resume<'a>>,
    /// How much the run may cost, in millionths of a dollar.
    pub(super) cost: Option<u64>,
    /// The time between asking and killing, in milliseconds.
    pub(super) grace_ms: u64,
}

/// How to start an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Start {
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// What is added to its environment, unless the configuration says otherwise.
    pub(super) environment: BTreeMap<String, String>,
    /// Papers for the folder of the attempt, by name.
    pub(super) papers: Vec<(String, String)>,
    /// What its conversation will be known by, where that is for us to say.
    pub(super) session: Option<String>,
    /// Who is asked to end when the run is to.
    pub(super) asks: Asks,
}

/// One thing an agent says of itself in the stream of what it prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// What it knows its conversation by.
    Session(String),
    /// Its version.
    Version(String),
    /// Our MCP server could not be reached; its words.
    NoServer(String),
    /// What it has used so far, all in all.
    Used(Used),
    /// What one call of the model used; those with the same id are the same call.
    Call {
        /// The id.
        id: String,
        /// What it used.
        used: Used,
    },
    /// The model answers: whatever was in the way is not any more.
    Works,
    /// What it said last to whoever reads it.
    Words(String),
    /// It was not allowed to use this tool.
    Denied(String),
    /// Something went wrong, and it may go on; its words.
    Stumbled(String),
    /// It has reached a limit.
    Limited {
        /// Until when.
        until: Until,
        /// Its words.
        words: String,
    },
    /// It is not signed in, or its key is not taken.
    Unusable(String),
}

/// When a limit ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Nobody said.
    Unknown,
    /// In seconds since 1970.
    At(i64),
    /// In so many seconds.
    In(i64),
    /// By the clock on the wall: on a day, counted from 1970, or on the next one that fits.
    Wall {
        /// The day.
        day: Option<i64>,
        /// The minute of the day.
        minute: i64,
    },
}

/// What time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Seconds since 1970.
    pub secs: i64,
    /// How many seconds the clock on the wall is ahead of UTC.
    pub ahead: i64,
}

impl Until {
    /// Returns the end in seconds since 1970, if it was said.
    pub(super) fn at(self, now: Now) -> Option<i64> {
        match self {
            Self::Unknown => None,
            Self::At(at) => Some(at),
            Self::In(seconds) => Some(now.secs.saturating_add(seconds)),
            Self::Wall { day, minute } => {
                let wall = now.secs.saturating_add(now.ahead);
                let of = |day: i64| day.saturating_mul(86_400).saturating_add(minute * 60);
                let today = wall.div_euclid(86_400);
                let next = if of(today) > wall { of(today) } else { of(today + 1) };
                Some(day.map_or(next, of).saturating_sub(now.ahead))
            }
        }
    }
}

/// What was used of a model, as an agent tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Used {
    /// Tokens read, those from a cache included.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from a cache.
    pub cached: u64,
    /// Millionths of a dollar.
    pub cost: u64,
}

/// The versions an adapter was tried with, and the first that can work at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tried {
    /// The versions.
    pub versions: &'static [&'static str],
    /// What is older lacks something that is needed.
    pub oldest: &'static str,
}

impl Tried {
    /// Says what is to be known of a version, if there is anything: that it is too old, or that
    /// nobody tried it.
    pub fn warns(self, version: &str) -> Option<String> {
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
            format!("version {version} was not tried with Adjutant, {known} was")
        })
    }
}

/// How it is seen that somebody is signed in, without using the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedIn {
    /// Any of these variables.
    pub variables: &'static [&'static str],
    /// Any of these files, from the home folder.
    pub files: &'static [&'static str],
}

/// The variables that tell our MCP server which run it speaks for.
pub const RUN_VARIABLES: [&str; 5] = [
    "ADJUTANT_DATA",
    "ADJUTANT_TASK_ID",
    "ADJUTANT_AGENT",
    "ADJUTANT_ATTEMPT",
    "ADJUTANT_RUN_TOKEN",
];

impl Given<'_> {
    /// Returns the program: as the configuration has it, else by its name.
    pub(super) fn command(&self, name: &str) -> Vec<String> {
        match &self.agent.command[..] {
            [] => vec![name.to_owned()],
            own => own.to_owned(),
        }
    }

    /// Says whether the configuration gives any of these arguments itself.
    pub(super) fn says(&self, any: &[&str]) -> bool {
        let is =
            |arg: &String| any.iter().any(|one| arg == one || arg.starts_with(&format!("{one}=")));
        self.agent.args.iter().chain(self.agent.command.iter().skip(1)).any(is)
    }

    /// Returns a file in the folder of the attempt.
    pub(super) fn paper(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    /// Returns our MCP server as a configuration in JSON has it, with each variable as `quote`
    /// writes it: a file need not hold a token.
    pub(super) fn server(&self, quote: impl Fn(&str) -> String) -> Value {
        let variables: serde_json::Map<String, Value> =
            RUN_VARIABLES.iter().map(|name| ((*name).to_owned(), quote(name).into())).collect();
        json!({"command": self.program, "args": ["mcp"], "env": variables})
    }
}

/// Adds arguments.
pub(super) fn push(command: &mut Vec<String>, args: &[&str]) {
    command.extend(args.iter().map(|arg| (*arg).to_owned()));
}

/// Returns how an agent of a kind gets its work order. Standard input that stays open hangs some.
pub(super) fn prompt(kind: Kind, wanted: Prompt) -> Prompt {
    match kind {
        Kind::Claude | Kind::Codex | Kind::Gemini | Kind::Opencode | Kind::Goose | Kind::Acp => {
            Prompt::Stdin
        }
        Kind::Webhook => Prompt::Stdin,
        Kind::Command | Kind::Script => wanted,
    }
}

/// Returns a number of a JSON object; 0 if there is none.
pub(super) fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// Returns a text of a JSON object, if it is there and says something.
pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}
