//! What a daemon tells those who look after machines: a log on standard error, and OTLP.

use adjutant_core::Recorded;
use adjutant_runtime::config::LogFormat;
use adjutant_runtime::daemon::Daemon;
use adjutant_runtime::secretive::masked;
use adjutant_runtime::telemetry::{Exporter, Level};
use adjutant_runtime::token::Secret;
use adjutant_store::record::encode;
use serde_json::Value;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{fmt, registry};

use crate::data::Data;
use crate::error::Failure;
use crate::output::clean;
use crate::view::event::detail;

/// Begins what the configuration asks for.
pub(super) fn start(data: &Data, daemon: &mut Daemon) -> Result<(), Failure> {
    let config = data.config();
    let stopped = |error| Failure::broken("cannot follow the record", &error);
    if config.log.format != LogFormat::Off {
        let level = Level::from(config.log.level);
        listen(config.log.format, level);
        let mirror = daemon.client().mirror().map_err(stopped)?;
        mirror.watch(move |events| events.iter().for_each(|event| log(event, level)));
        tracing::info!(pid = std::process::id(), "up");
    }
    if let Some(endpoint) = &config.otlp.endpoint {
        let failed = |error| Failure::broken("cannot export to the collector of [otlp]", &error);
        let mark = Secret::open(data.folder.root()).map_err(failed)?.mark();
        let exporter = Exporter::start(endpoint, mark).map_err(failed)?;
        daemon.client().mirror().map_err(stopped)?.watch(exporter.watcher());
        daemon.attach(Box::new(exporter));
    }
    Ok(())
}

/// What never gets into a log: it would show what nodes and servers say to each other, and what
/// tokens are made from is said there.
const CONFIDENTIAL: &str = "async_nats";

/// Has everything written to standard error that is said from now on, what libraries say included.
fn listen(format: LogFormat, level: Level) {
    let max = match level {
        Level::Debug => LevelFilter::DEBUG,
        Level::Info => LevelFilter::INFO,
        Level::Warn => LevelFilter::WARN,
    };
    let filter = Targets::new().with_default(max).with_target(CONFIDENTIAL, LevelFilter::OFF);
    let log = fmt::layer().with_writer(std::io::stderr).with_ansi(false);
    // Whoever has set up a log before keeps it.
    let _ = match format {
        LogFormat::Json => registry().with(filter).with(log.json().flatten_event(true)).try_init(),
        LogFormat::Text | LogFormat::Off => registry().with(filter).with(log).try_init(),
    };
}

/// Writes down what happened. What agents wrote is quoted, so that it can forge no line.
fn log(recorded: &Recorded, at_least: Level) {
    let level = Level::of(&recorded.happened.event);
    if level < at_least {
        return;
    }
    let line: Value = serde_json::from_str(&encode(recorded, None)).unwrap_or_default();
    let happened = &recorded.happened;
    let (event, kind, actor) =
        (recorded.id.0, happened.event.kind(), clean(&happened.actor.to_string()));
    let task = happened.task.as_ref().map_or("", |task| task.as_str());
    let said = detail(kind, &line["payload"]);
    let said = masked(&said);
    match level {
        Level::Debug => tracing::debug!(event, task, actor = ?actor, said = ?said, "{kind}"),
        Level::Info => tracing::info!(event, task, actor = ?actor, said = ?said, "{kind}"),
        Level::Warn => tracing::warn!(event, task, actor = ?actor, said = ?said, "{kind}"),
    }
}
