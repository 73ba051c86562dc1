//! `[[notify]]`: which events are notified, to which target, and when.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;

use adjutant_http_client::PostUrl;
use adjutant_model::notice::{NoticeKind, QuietHours};
use adjutant_model::{AgentId, Priority};
use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::duration::ConfigDuration;

/// A notification rule: which notices go to which target, and when.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// The kinds of notices that this rule sends.
    pub on: Vec<NotifyTrigger>,
    /// Where the notices go.
    pub target: Target,
    /// The name of the rule in the event log and in environment variables. The default is the target.
    #[serde(default)]
    pub name: Option<String>,
    /// Only notices about the work of these agents.
    #[serde(default)]
    pub agents: Vec<String>,
    /// Only notices about tasks with one of these tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Only notices about tasks of this priority or above.
    #[serde(default)]
    pub priority: Urgency,
    /// The quiet hours, e.g. `22:00-07:00`; notices are sent afterwards.
    #[serde(default)]
    pub quiet: Option<String>,
    /// The time zone of `quiet`, e.g. `Europe/Berlin`. The default is that of this machine.
    #[serde(default)]
    pub time_zone: Option<String>,
    /// The kinds of notices that are sent at once, even in quiet hours.
    #[serde(default)]
    pub urgent: Vec<NotifyTrigger>,
    /// How long notices are collected, to be sent as one.
    #[serde(default = "at_once")]
    pub batch: ConfigDuration,
    /// The time limit of one delivery.
    #[serde(default = "ten_seconds")]
    pub timeout: ConfigDuration,
    /// The wait after the first failed delivery; it doubles each time, up to 15 minutes, with jitter.
    #[serde(default = "five_seconds")]
    pub backoff: ConfigDuration,
    /// After how many failures in a row the pending notices are dropped.
    #[serde(default = "twenty")]
    pub attempts_max: u32,
    /// The program and its arguments. For the target `command`.
    #[serde(default)]
    pub command: Vec<String>,
    /// The format of what is posted. For the target `webhook`.
    #[serde(default)]
    pub format: Option<Format>,
    /// The address to post to. For the target `webhook`.
    #[serde(default)]
    pub url: Option<String>,
    /// The file with the address, relative to the data folder.
    #[serde(default)]
    pub url_file: Option<PathBuf>,
    /// The environment variable with the address.
    #[serde(default)]
    pub url_env: Option<String>,
    /// The file with the secret that signs posts, relative to the data folder.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
    /// The environment variable with the secret that signs posts.
    #[serde(default)]
    pub secret_env: Option<String>,
}

/// Which events a rule notifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotifyTrigger {
    /// Every event that needs a person.
    Inbox,
    /// This kind of event only.
    Kind(NoticeKind),
}

/// Where notices go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// The output of `adjutant up`.
    Console,
    /// The desktop of this machine, by `notify-send`.
    Desktop,
    /// A program, which gets notices on its standard input.
    Command,
    /// An HTTP address.
    Webhook,
}

/// The format of what is posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// JSON with all details, signed if there is a secret.
    #[default]
    Json,
    /// The format of incoming webhooks of Slack.
    Slack,
    /// The format of webhooks of Discord.
    Discord,
}

/// The lowest priority that a rule notifies about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    /// Only critical tasks.
    Critical,
    /// Tasks of high priority or above.
    High,
    /// Tasks of normal priority or above.
    Normal,
    /// Tasks of any priority.
    #[default]
    Low,
}

impl Notify {
    /// Returns the rule's name before it is made unique.
    pub(super) fn own_name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.target.as_str())
    }

    /// Checks one rule. Values that only the delivering process needs are not checked: agents read
    /// the configuration too, and must not see an address in a variable.
    pub(super) fn check(&self) -> Result<(), String> {
        let own = |target: Target, given: bool, key: &str| {
            let foreign = given && self.target != target;
            let error = || format!("`{key}` is only valid for the target `{}`", target.as_str());
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
            return Err(
                "`name` must have 1 to 64 characters: letters, digits, `-` and `_`".to_owned()
            );
        }
        if self.on.is_empty() {
            return Err("`on` is empty".to_owned());
        }
        if self.target == Target::Command && self.command.is_empty() {
            return Err(
                "`command`, the program and its arguments, is required for the target `command`"
                    .to_owned(),
            );
        }
        if self.attempts_max == 0 {
            return Err("`attempts_max` must be at least 1".to_owned());
        }
        if self.timeout.0.is_zero() {
            return Err("`timeout` must be longer than 0s".to_owned());
        }
        let addresses = [self.url.is_some(), self.url_file.is_some(), self.url_env.is_some()];
        if addresses.iter().filter(|given| **given).count() > 1 {
            return Err("only one of `url`, `url_file` and `url_env` can be set".to_owned());
        }
        if self.secret_file.is_some() && self.secret_env.is_some() {
            return Err("only one of `secret_file` and `secret_env` can be set".to_owned());
        }
        if self.time_zone.is_some() && self.quiet.is_none() {
            return Err("`time_zone` requires `quiet`".to_owned());
        }
        if let Some(url) = &self.url {
            PostUrl::parse(url).map_err(|bad| format!("`url` {bad}"))?;
        }
        self.quiet_time().map(drop)
    }

    fn quiet_time(&self) -> Result<Option<QuietHours>, String> {
        let Some(quiet) = &self.quiet else { return Ok(None) };
        let zone = match self.time_zone.as_deref() {
            None => TimeZone::system(),
            Some(name) => TimeZone::get(name).map_err(|_| {
                format!("`time_zone`: this machine does not know the time zone {name:?}")
            })?,
        };
        QuietHours::parse(quiet, zone).map(Some).map_err(|bad| format!("`quiet` {bad}"))
    }

    /// Converts to the core's rule.
    pub(super) fn rule(&self, name: &str) -> adjutant_model::notice::NotifyRule {
        adjutant_model::notice::NotifyRule {
            name: name.into(),
            on: kinds(&self.on),
            agents: self.agents.iter().filter_map(|name| AgentId::parse(name).ok()).collect(),
            tags: self.tags.iter().map(|tag| tag.as_str().into()).collect(),
            priority: self.priority.into(),
            // `check` refused an invalid `quiet` when the configuration was read.
            quiet: self.quiet_time().ok().flatten(),
            urgent: kinds(&self.urgent),
            batch_ms: millis(self.batch),
            backoff_ms: millis(self.backoff),
            attempts_max: self.attempts_max,
        }
    }

    /// Returns the environment variables that hold secrets.
    pub(super) fn secret_variables(&self) -> impl Iterator<Item = &String> {
        self.url_env.iter().chain(&self.secret_env)
    }
}

fn millis(span: ConfigDuration) -> i64 {
    i64::try_from(span.0.as_millis()).unwrap_or(i64::MAX)
}

fn kinds(on: &[NotifyTrigger]) -> BTreeSet<NoticeKind> {
    on.iter().flat_map(|on| on.kinds()).collect()
}

impl NotifyTrigger {
    const WORDS: [&str; NoticeKind::ALL.len() + 1] = {
        let (mut words, mut number) = (["inbox"; NoticeKind::ALL.len() + 1], 0);
        while number < NoticeKind::ALL.len() {
            words[number + 1] = NoticeKind::ALL[number].as_str();
            number += 1;
        }
        words
    };

    fn kinds(self) -> Vec<NoticeKind> {
        match self {
            Self::Inbox => NoticeKind::INBOX.to_vec(),
            Self::Kind(kind) => vec![kind],
        }
    }
}

impl<'de> Deserialize<'de> for NotifyTrigger {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        match (word.as_str(), NoticeKind::parse(&word)) {
            ("inbox", _) => Ok(Self::Inbox),
            (_, Some(kind)) => Ok(Self::Kind(kind)),
            (unknown, None) => Err(D::Error::unknown_variant(unknown, &Self::WORDS)),
        }
    }
}

impl JsonSchema for NotifyTrigger {
    fn schema_name() -> Cow<'static, str> {
        "On".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"description": "A kind of notice; `inbox` is everything that needs a person.", "type": "string", "enum": Self::WORDS})
    }
}

impl Target {
    /// Returns the name used in the configuration and the event log.
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

fn at_once() -> ConfigDuration {
    ConfigDuration::secs(0)
}

fn five_seconds() -> ConfigDuration {
    ConfigDuration::secs(5)
}

fn ten_seconds() -> ConfigDuration {
    ConfigDuration::secs(10)
}

fn twenty() -> u32 {
    20
}
