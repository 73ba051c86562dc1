//! `[[notify]]`: who is told of what, how, and when.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;

use adjutant_core::notice::{self, Kind, Quiet};
use adjutant_core::{AgentId, Priority};
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::span::Span;
use crate::http_post::Address;

/// A rule: who is told of what, how, and when.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// What is told.
    pub on: Vec<On>,
    /// Who is told.
    pub target: Target,
    /// What the record and variables call it; the target, if nothing else does.
    #[serde(default)]
    pub name: Option<String>,
    /// Only of the work of these agents.
    #[serde(default)]
    pub agents: Vec<String>,
    /// Only of tasks with one of these tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Only of tasks that are at least so urgent.
    #[serde(default)]
    pub priority: Urgency,
    /// The part of the day in which nothing is told, as `22:00-07:00`.
    #[serde(default)]
    pub quiet: Option<String>,
    /// Where the clocks are that `quiet` goes by, as `Europe/Berlin`; those of this machine if
    /// nothing is said.
    #[serde(default)]
    pub time_zone: Option<String>,
    /// What is told in quiet times too, and at once.
    #[serde(default)]
    pub urgent: Vec<On>,
    /// How long notices are gathered to be told as one.
    #[serde(default = "at_once")]
    pub batch: Span,
    /// How long a try may take.
    #[serde(default = "ten_seconds")]
    pub timeout: Span,
    /// The wait after the first failure; twice as long each time, at most 15 minutes, with jitter.
    #[serde(default = "five_seconds")]
    pub backoff: Span,
    /// After how many failures in a row everything that is due is given up.
    #[serde(default = "twenty")]
    pub attempts_max: u32,
    /// The program and its arguments. For the target `command`.
    #[serde(default)]
    pub command: Vec<String>,
    /// What is posted. For the target `webhook`.
    #[serde(default)]
    pub format: Option<Format>,
    /// The address to post to. For the target `webhook`.
    #[serde(default)]
    pub url: Option<String>,
    /// The file the address is in, from the data folder.
    #[serde(default)]
    pub url_file: Option<PathBuf>,
    /// The environment variable the address is in.
    #[serde(default)]
    pub url_env: Option<String>,
    /// The file the secret is in that posts are signed with, from the data folder.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
    /// The environment variable the secret is in that posts are signed with.
    #[serde(default)]
    pub secret_env: Option<String>,
}

/// What is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// Everything that waits for a person from now on.
    Inbox,
    /// This alone.
    Of(Kind),
}

/// Who is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Whoever looks at what `up` prints.
    Console,
    /// Whoever sits at this machine: by `notify-send`.
    Desktop,
    /// A program, on its standard input.
    Command,
    /// A program elsewhere, by HTTP.
    Webhook,
}

/// What is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON that says everything, signed if there is a secret.
    #[default]
    Json,
    /// What an incoming webhook of Slack takes.
    Slack,
    /// What a webhook of Discord takes.
    Discord,
}

/// How urgent a task must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    /// Only what comes before everything else.
    Critical,
    /// And what is to be done soon.
    High,
    /// And what comes in its turn.
    Normal,
    /// Everything.
    #[default]
    Low,
}

impl Notify {
    /// Returns what the rule is called if no other has that name.
    pub(super) fn own_name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.target.as_str())
    }

    /// Finds what makes no sense. What only the process that delivers must have is not looked at:
    /// an address in a variable is not for agents to see.
    pub(super) fn check(&self) -> Result<(), String> {
        let own = |target: Target, given: bool, key: &str| {
            let foreign = given && self.target != target;
            let error = || format!("`{key}` is for the target `{}`", target.as_str());
            if foreign { Err(error()) } else { Ok(()) }
        };
        own(Target::Command, !self.command.is_empty(), "command")?;
        own(Target::Webhook, self.format.is_some(), "format")?;
        own(Target::Webhook, self.url.is_some(), "url")?;
        own(Target::Webhook, self.url_file.is_some(), "url_file")?;
        own(Target::Webhook, self.url_env.is_some(), "url_env")?;
        own(Target::Webhook, self.secret_file.is_some(), "secret_file")?;
        own(Target::Webhook, self.secret_env.is_some(), "secret_env")?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if self
            .name
            .as_ref()
            .is_some_and(|name| name.is_empty() || name.len() > 64 || !name.chars().all(is_name))
        {
            return Err("`name` has letters, digits, `-` and `_`, at most 64 of them".to_owned());
        }
        if self.on.is_empty() {
            return Err("`on` names nothing".to_owned());
        }
        if self.target == Target::Command && self.command.is_empty() {
            return Err("`command` is missing: the program and its arguments".to_owned());
        }
        if self.attempts_max == 0 {
            return Err("`attempts_max` must be at least 1".to_owned());
        }
        if self.timeout.0.is_zero() {
            return Err("`timeout` must be longer than nothing".to_owned());
        }
        let addresses = [self.url.is_some(), self.url_file.is_some(), self.url_env.is_some()];
        if addresses.iter().filter(|given| **given).count() > 1 {
            return Err("of `url`, `url_file` and `url_env` there can be one".to_owned());
        }
        if self.secret_file.is_some() && self.secret_env.is_some() {
            return Err("of `secret_file` and `secret_env` there can be one".to_owned());
        }
        if self.time_zone.is_some() && self.quiet.is_none() {
            return Err("`time_zone` is for `quiet`, which is missing".to_owned());
        }
        if let Some(url) = &self.url {
            Address::parse(url).map_err(|bad| format!("`url` {bad}"))?;
        }
        self.quiet_time().map(drop)
    }

    fn quiet_time(&self) -> Result<Option<Quiet>, String> {
        let Some(quiet) = &self.quiet else { return Ok(None) };
        let zone = match self.time_zone.as_deref() {
            None => TimeZone::system(),
            Some(name) => TimeZone::get(name)
                .map_err(|_| format!("`time_zone`: this machine knows no time zone {name:?}"))?,
        };
        Quiet::parse(quiet, zone).map(Some).map_err(|bad| format!("`quiet` {bad}"))
    }

    /// Returns what decisions go by.
    pub(super) fn rule(&self, name: &str) -> notice::Rule {
        notice::Rule {
            name: name.into(),
            on: kinds(&self.on),
            agents: self.agents.iter().filter_map(|name| AgentId::parse(name).ok()).collect(),
            tags: self.tags.iter().map(|tag| tag.as_str().into()).collect(),
            priority: self.priority.into(),
            // What makes no sense was refused when the configuration was read.
            quiet: self.quiet_time().ok().flatten(),
            urgent: kinds(&self.urgent),
            batch_ms: millis(self.batch),
            backoff_ms: millis(self.backoff),
            attempts_max: self.attempts_max,
        }
    }

    /// Returns the variables that hold what is nobody else's business.
    pub(super) fn secret_variables(&self) -> impl Iterator<Item = &String> {
        self.url_env.iter().chain(&self.secret_env)
    }
}

fn millis(span: Span) -> i64 {
    i64::try_from(span.0.as_millis()).unwrap_or(i64::MAX)
}

fn kinds(on: &[On]) -> BTreeSet<Kind> {
    on.iter().flat_map(|on| on.kinds()).collect()
}

impl On {
    /// The words there are.
    const WORDS: [&str; Kind::ALL.len() + 1] = {
        let (mut words, mut number) = (["inbox"; Kind::ALL.len() + 1], 0);
        while number < Kind::ALL.len() {
            words[number + 1] = Kind::ALL[number].as_str();
            number += 1;
        }
        words
    };

    fn kinds(self) -> Vec<Kind> {
        match self {
            Self::Inbox => Kind::INBOX.to_vec(),
            Self::Of(kind) => vec![kind],
        }
    }
}

impl<'de> Deserialize<'de> for On {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        match (word.as_str(), Kind::parse(&word)) {
            ("inbox", _) => Ok(Self::Inbox),
            (_, Some(kind)) => Ok(Self::Of(kind)),
            (unknown, None) => Err(D::Error::unknown_variant(unknown, &Self::WORDS)),
        }
    }
}

impl JsonSchema for On {
    fn schema_name() -> Cow<'static, str> {
        "On".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"description": "What is told.", "type": "string", "enum": Self::WORDS})
    }
}

impl Target {
    /// Returns the word of the configuration and the record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Console => "console",
            Self::Desktop => "desktop",
            Self::Command => "command",
            Self::Webhook => "webhook",
        }
    }
}

impl From<Urgency> for Priority {
    fn from(urgency: Urgency) -> Self {
        match urgency {
            Urgency::Critical => Self::Critical,
            Urgency::High => Self::High,
            Urgency::Normal => Self::Normal,
            Urgency::Low => Self::Low,
        }
    }
}

fn at_once() -> Span {
    Span::secs(0)
}

fn five_seconds() -> Span {
    Span::secs(5)
}

fn ten_seconds() -> Span {
    Span::secs(10)
}

fn twenty() -> u32 {
    20
}
