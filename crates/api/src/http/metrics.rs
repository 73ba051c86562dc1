//! Figures for Prometheus: what stands where, what came of things, and how long they took.

use adjutant_core::answer::Reason;
use adjutant_core::{Status, World};
use adjutant_runtime::Pulse;
use axum::extract::State;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::App;
use super::auth::Operator;
use super::problem::Problem;
use super::record::Line;

/// How long a commit takes: from a quarter of a millisecond on.
const COMMIT_SECONDS: [f64; 12] =
    [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Typed {
    r#type: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Because {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Judged {
    result: &'static str,
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByRule {
    rule: String,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    status: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Called {
    method: &'static str,
    status: String,
}

/// What is counted while the server runs.
pub(super) struct Metrics {
    registry: Registry,
    tasks: Family<Of, Gauge>,
    queue_age: Gauge,
    runs_open: Gauge,
    last_event: Gauge,
    followers: Gauge,
    messages: Family<Judged, Counter>,
    runs: Family<Outcome, Counter>,
    events: Family<Typed, Counter>,
    expiries: Counter,
    calls: Family<Called, Counter>,
    refusals: Family<Because, Counter>,
    commits: Histogram,
    ticks: Counter,
    notices: Family<ByRule, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("adjutant"),
            tasks: Family::default(),
            queue_age: Gauge::default(),
            runs_open: Gauge::default(),
            last_event: Gauge::default(),
            followers: Gauge::default(),
            messages: Family::default(),
            runs: Family::default(),
            events: Family::default(),
            expiries: Counter::default(),
            calls: Family::default(),
            refusals: Family::default(),
            commits: Histogram::new(COMMIT_SECONDS),
            ticks: Counter::default(),
            notices: Family::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let all = &mut self.registry;
        all.register("tasks", "Tasks by status", self.tasks.clone());
        let help = "Seconds since the task that has been ready for longest became so";
        all.register("queue_age_seconds", help, self.queue_age.clone());
        all.register("runs_open", "Runs that have a lease", self.runs_open.clone());
        all.register("last_event", "The number of the last event", self.last_event.clone());
        all.register("stream_clients", "Who follows the record or a log", self.followers.clone());
        all.register("messages", "Messages by result and reason", self.messages.clone());
        all.register("runs", "Runs that ended, by outcome", self.runs.clone());
        all.register("events", "Events by type", self.events.clone());
        all.register("lease_expiries", "Leases that lapsed", self.expiries.clone());
        all.register("http_requests", "Calls by method and status", self.calls.clone());
        all.register("http_refusals", "Calls that were refused, by reason", self.refusals.clone());
        let help = "How long the engine took for a turn in which it committed something";
        all.register("commit_seconds", help, self.commits.clone());
        let help = "How often work was given out and what is over was cleared up";
        all.register("ticks", help, self.ticks.clone());
        let help = "Notices that were told or given up, by rule and result";
        all.register("notifications", help, self.notices.clone());
    }

    /// Counts what happened.
    pub(super) fn happened(&self, line: &Line) {
        self.events.get_or_create(&Typed { r#type: line.kind.clone() }).inc();
        let value = line.value();
        let text = |key: &str| value["payload"][key].as_str().unwrap_or_default().to_owned();
        let judged = |result, reason| {
            self.messages.get_or_create(&Judged { result, reason }).inc();
        };
        match line.kind.as_str() {
            "protocol.message.received" => judged("received", String::new()),
            "protocol.message.rejected" => judged("rejected", text("reason")),
            "protocol.message.unknown" => judged("unknown", "unknown_type".to_owned()),
            "task.completed" => self.ended(text("outcome")),
            "notify.sent" => self.told(text("rule"), "sent"),
            "notify.failed" => self.told(text("rule"), "failed"),
            "run.failed" => {
                self.ended("failed".to_owned());
                let reason = text("reason");
                if reason.starts_with("lease_expired") || reason.starts_with("stale_heartbeat") {
                    self.expiries.inc();
                }
            }
            _ => {}
        }
    }

    fn told(&self, rule: String, result: &'static str) {
        self.notices.get_or_create(&ByRule { rule, result }).inc();
    }

    fn ended(&self, outcome: String) {
        self.runs.get_or_create(&Outcome { outcome }).inc();
    }

    /// Counts a call that was answered.
    pub(super) fn answered(&self, method: &Method, status: StatusCode) {
        let method = match *method {
            Method::GET => "GET",
            Method::POST => "POST",
            Method::PATCH => "PATCH",
            Method::DELETE => "DELETE",
            _ => "other",
        };
        self.calls.get_or_create(&Called { method, status: status.as_u16().to_string() }).inc();
    }

    /// Counts a call that was refused.
    pub(super) fn refused(&self, reason: Reason) {
        self.refusals.get_or_create(&Because { reason: reason.as_str() }).inc();
    }

    /// Counts what the engine did.
    pub(super) fn count(&self, pulse: Pulse) {
        match pulse {
            Pulse::Committed(took) => self.commits.observe(took.as_secs_f64()),
            Pulse::Ticked => drop(self.ticks.inc()),
        }
    }

    fn look(&self, world: &World, now: i64) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        for status in Status::ALL {
            let of = Of { status: status.as_str().to_owned() };
            self.tasks.get_or_create(&of).set(number(world.count(status)));
        }
        let ready =
            world.with_status(Status::Ready).map(|task| task.last_transition_at.as_millis());
        self.queue_age.set(ready.min().map_or(0, |since| (now - since).max(0) / 1000));
        let leased = world.with_status(Status::InProgress).filter(|task| task.lease().is_some());
        self.runs_open.set(number(leased.count()));
        self.last_event.set(i64::try_from(world.last_event().0).unwrap_or(i64::MAX));
    }
}

/// Shows the figures.
pub(super) async fn show(State(app): State<App>, _: Operator) -> Result<Response, Problem> {
    let now = app.office.now().as_millis();
    app.office.look(&mut |world| app.metrics.look(world, now))?;
    app.metrics.followers.set(i64::try_from(app.limits.seated()).unwrap_or(i64::MAX));
    let mut text = String::new();
    encode(&mut text, &app.metrics.registry).map_err(|_| Problem::bug())?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
