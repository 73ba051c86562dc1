//! The daemon's logging: to standard error, and to an OTLP collector.

use std::io::{self, Write};

use adjutant_config::LogFormat;
use adjutant_config::redact::{RedactionScope, SecretRedactor};
use adjutant_config::run_token::TokenSecret;
use adjutant_daemon::ProjectDaemon;
use adjutant_daemon::telemetry::OtlpExporter;
use adjutant_model::RecordedEvent;
use adjutant_model::event::EventSeverity;
use adjutant_store::event_log::encode;
use serde_json::Value;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{fmt, registry};

use crate::data::ProjectData;
use crate::output::clean;
use crate::output::error::CommandFailure;
use adjutant_query::event_text::describe_payload;

/// Starts the log and the exporter that the configuration asks for.
pub(super) fn start(data: &ProjectData, daemon: &mut ProjectDaemon) -> Result<(), CommandFailure> {
    let config = data.config();
    let stopped = |error| CommandFailure::broken("cannot follow the event log", &error);
    if config.log.format != LogFormat::Off {
        let level = EventSeverity::from(config.log.level);
        install_subscriber(config.log.format, level, daemon.redactor());
        let snapshot = daemon.client().world_snapshot().map_err(stopped)?;
        snapshot.on_commit(move |events| events.iter().for_each(|event| log_event(event, level)));
        tracing::info!(pid = std::process::id(), "up");
    }
    if let Some(endpoint) = &config.otlp.endpoint {
        let failed =
            |error| CommandFailure::broken("cannot export to the collector of [otlp]", &error);
        let mark = TokenSecret::open(data.folder.root()).map_err(failed)?.folder_id();
        let exporter = OtlpExporter::start(endpoint, mark).map_err(failed)?;
        daemon.client().world_snapshot().map_err(stopped)?.on_commit(exporter.commit_callback());
        daemon.attach(Box::new(exporter));
    }
    Ok(())
}

/// The target that is never logged: it would print the messages between nodes and servers, which
/// include the secret that tokens are derived from.
const CONFIDENTIAL_TARGET: &str = "async_nats";

/// Writes all log records to standard error from now on, also those of libraries. Secrets are
/// redacted in them.
fn install_subscriber(format: LogFormat, level: EventSeverity, redactor: SecretRedactor) {
    let max = match level {
        EventSeverity::Debug => LevelFilter::DEBUG,
        EventSeverity::Info => LevelFilter::INFO,
        EventSeverity::Warn => LevelFilter::WARN,
    };
    let filter =
        Targets::new().with_default(max).with_target(CONFIDENTIAL_TARGET, LevelFilter::OFF);
    let writer = move || RedactedStderr(redactor.clone());
    let log = fmt::layer().with_writer(writer).with_ansi(false);
    // If a subscriber is already installed, it stays.
    let _ = match format {
        LogFormat::Json => registry().with(filter).with(log.json().flatten_event(true)).try_init(),
        LogFormat::Text | LogFormat::Off => registry().with(filter).with(log).try_init(),
    };
}

/// Standard error for whole log records: the subscriber writes each of them at once.
struct RedactedStderr(SecretRedactor);

impl Write for RedactedStderr {
    fn write(&mut self, record: &[u8]) -> io::Result<usize> {
        let redacted = self.0.redact_bytes(record, RedactionScope::LookAlikes);
        let shown = redacted.as_ref().map_or(record, |(shown, _)| shown);
        io::stderr().write_all(shown).map(|()| record.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Logs an event. Text from agents is quoted, so that it cannot forge a log line.
fn log_event(recorded: &RecordedEvent, at_least: EventSeverity) {
    let level = recorded.new_event.event.severity();
    if level < at_least {
        return;
    }
    let line: Value = serde_json::from_str(&encode(recorded, None)).unwrap_or_default();
    let happened = &recorded.new_event;
    let (event, kind, actor) =
        (recorded.id.0, happened.event.kind(), clean(&happened.actor.to_string()));
    let task = happened.task.as_ref().map_or("", |task| task.as_str());
    let said = describe_payload(kind, &line["payload"]);
    match level {
        EventSeverity::Debug => {
            tracing::debug!(event, task, actor = ?actor, said = ?said, "{kind}");
        }
        EventSeverity::Info => tracing::info!(event, task, actor = ?actor, said = ?said, "{kind}"),
        EventSeverity::Warn => tracing::warn!(event, task, actor = ?actor, said = ?said, "{kind}"),
    }
}
