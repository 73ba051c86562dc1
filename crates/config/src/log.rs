//! `[log]` and `[otlp]`: what the daemon logs and exports for the operator.

use adjutant_http_client::PostUrl;
use adjutant_model::event::EventSeverity;
use schemars::JsonSchema;
use serde::Deserialize;

/// The daemon's log on standard error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// The format of the log.
    pub format: LogFormat,
    /// The lowest level that is logged.
    pub level: LogLevel,
}

/// The format of the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// No log.
    #[default]
    Off,
    /// One line of text per entry.
    Text,
    /// One line of JSON per entry.
    Json,
}

/// The level of a log entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What a person should look at.
    Warn,
    /// Ordinary events, such as a run that started.
    #[default]
    Info,
    /// Routine events, such as heartbeats.
    Debug,
}

/// Export of events and runs over OTLP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Otlp {
    /// The address of an OTLP/HTTP collector, e.g. `http://127.0.0.1:4318`.
    pub endpoint: Option<String>,
}

impl Otlp {
    pub(super) fn check(&self) -> Result<(), String> {
        let bad = self.endpoint.as_deref().map(PostUrl::parse).transpose();
        bad.map(drop).map_err(|bad| format!("`endpoint` {bad}"))
    }
}

impl From<LogLevel> for EventSeverity {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Warn => Self::Warn,
            LogLevel::Info => Self::Info,
            LogLevel::Debug => Self::Debug,
        }
    }
}
