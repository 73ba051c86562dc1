//! `[log]` and `[otlp]`: what the daemon tells those who look after machines.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::http_post::Address;
use crate::telemetry::Level;

/// What the daemon writes to standard error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// How it is written.
    pub format: LogFormat,
    /// What is written: this and what is worse.
    pub level: LogLevel,
}

/// How a log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Not at all.
    #[default]
    Off,
    /// A line of text each.
    Text,
    /// A JSON document on a line each.
    Json,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What a person should look at.
    Warn,
    /// What happened.
    #[default]
    Info,
    /// What happens all the time.
    Debug,
}

/// Where what happens is told in OTLP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Otlp {
    /// The address of a collector that takes OTLP by HTTP, as `http://127.0.0.1:4318`.
    pub endpoint: Option<String>,
}

impl Otlp {
    pub(super) fn check(&self) -> Result<(), String> {
        let bad = self.endpoint.as_deref().map(Address::parse).transpose();
        bad.map(drop).map_err(|bad| format!("`endpoint` {bad}"))
    }
}

impl From<LogLevel> for Level {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Warn => Self::Warn,
            LogLevel::Info => Self::Info,
            LogLevel::Debug => Self::Debug,
        }
    }
}
