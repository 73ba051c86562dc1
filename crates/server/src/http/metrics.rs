//! Metrics for Prometheus: counts of tasks, events and calls, and commit durations.

use adjutant_core::World;
use adjutant_engine::EngineActivity;
use adjutant_model::Status;
use adjutant_model::answer::Reason;
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

use super::SharedState;
use super::auth::OperatorCaller;
use super::event_feed::FeedLine;
use super::problem::ApiProblem;

/// The buckets of commit durations, from 250 microseconds on.
const COMMIT_SECONDS: [f64; 12] =
    [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventTypeLabel {
    r#type: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabel {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MessageLabel {
    result: &'static str,
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunOutcomeLabel {
    outcome: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NoticeLabel {
    rule: String,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TaskStatusLabel {
    status: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct HttpCallLabel {
    method: &'static str,
    status: String,
}

/// The counters and gauges of the server.
pub(super) struct ServerMetrics {
    registry: Registry,
    tasks: Family<TaskStatusLabel, Gauge>,
    queue_age: Gauge,
    runs_open: Gauge,
    last_event: Gauge,
    followers: Gauge,
    messages: Family<MessageLabel, Counter>,
    runs: Family<RunOutcomeLabel, Counter>,
    events: Family<EventTypeLabel, Counter>,
    expiries: Counter,
    calls: Family<HttpCallLabel, Counter>,
    refusals: Family<RefusalLabel, Counter>,
    commits: Histogram,
    ticks: Counter,
    notices: Family<NoticeLabel, Counter>,
}

impl Default for ServerMetrics {
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

impl ServerMetrics {
    fn register(&mut self) {
        let all = &mut self.registry;
        all.register("tasks", "Tasks by status", self.tasks.clone());
        let help = "Seconds that the oldest ready task has been waiting";
        all.register("queue_age_seconds", help, self.queue_age.clone());
        all.register("runs_open", "Runs that have a lease", self.runs_open.clone());
        all.register("last_event", "The number of the last event", self.last_event.clone());
        let help = "Open streams of the event log or of the output of a run";
        all.register("stream_clients", help, self.followers.clone());
        all.register("messages", "Messages by result and reason", self.messages.clone());
        all.register("runs", "Runs that ended, by outcome", self.runs.clone());
        all.register("events", "Events by type", self.events.clone());
        all.register("lease_expiries", "Leases that expired", self.expiries.clone());
        all.register("http_requests", "Calls by method and status", self.calls.clone());
        all.register("http_refusals", "Calls that were refused, by reason", self.refusals.clone());
        let help = "Seconds that the engine took for a turn that committed something";
        all.register("commit_seconds", help, self.commits.clone());
        let help = "Scheduler runs";
        all.register("ticks", help, self.ticks.clone());
        let help = "Notices that were sent or given up, by rule and result";
        all.register("notifications", help, self.notices.clone());
    }

    /// Counts an event.
    pub(super) fn count_event(&self, line: &FeedLine) {
        self.events.get_or_create(&EventTypeLabel { r#type: line.kind.clone() }).inc();
        let text = |key| line.payload_text(key);
        let judged = |result, reason| {
            self.messages.get_or_create(&MessageLabel { result, reason }).inc();
        };
        match line.kind.as_str() {
            "protocol.message.received" => judged("received", String::new()),
            "protocol.message.rejected" => judged("rejected", text("reason")),
            "protocol.message.unknown" => judged("unknown", "unknown_type".to_owned()),
            "task.completed" => self.count_run(text("outcome")),
            "notify.sent" => self.count_notice(text("rule"), "sent"),
            "notify.failed" => self.count_notice(text("rule"), "failed"),
            "run.failed" => {
                self.count_run("failed".to_owned());
                let reason = text("reason");
                if reason.starts_with("lease_expired") || reason.starts_with("stale_heartbeat") {
                    self.expiries.inc();
                }
            }
            _ => {}
        }
    }

    fn count_notice(&self, rule: String, result: &'static str) {
        self.notices.get_or_create(&NoticeLabel { rule, result }).inc();
    }

    fn count_run(&self, outcome: String) {
        self.runs.get_or_create(&RunOutcomeLabel { outcome }).inc();
    }

    pub(super) fn count_response(&self, method: &Method, status: StatusCode) {
        let method = match *method {
            Method::GET => "GET",
            Method::POST => "POST",
            Method::PATCH => "PATCH",
            Method::DELETE => "DELETE",
            _ => "other",
        };
        self.calls
            .get_or_create(&HttpCallLabel { method, status: status.as_u16().to_string() })
            .inc();
    }

    pub(super) fn count_refusal(&self, reason: Reason) {
        self.refusals.get_or_create(&RefusalLabel { reason: reason.as_str() }).inc();
    }

    /// Counts engine activity.
    pub(super) fn count_activity(&self, pulse: EngineActivity) {
        match pulse {
            EngineActivity::Committed(took) => self.commits.observe(took.as_secs_f64()),
            EngineActivity::Ticked => drop(self.ticks.inc()),
        }
    }

    fn update_gauges(&self, world: &World, now: i64) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        for status in Status::ALL {
            let of = TaskStatusLabel { status: status.as_str().to_owned() };
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

pub(super) async fn show(
    State(app): State<SharedState>,
    _: OperatorCaller,
) -> Result<Response, ApiProblem> {
    let now = app.project.queries.now().as_millis();
    app.project.queries.with_world(|world| app.metrics.update_gauges(world, now))?;
    app.metrics.followers.set(i64::try_from(app.limits.open_streams()).unwrap_or(i64::MAX));
    let mut text = String::new();
    encode(&mut text, &app.metrics.registry).map_err(|_| ApiProblem::internal_error())?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
