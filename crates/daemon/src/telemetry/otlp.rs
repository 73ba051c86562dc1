//! The event log as OTLP: every event as a log record, every run as a span, in JSON over HTTP.
//!
//! Delivery is best effort: documents that cannot be delivered are dropped after a few
//! tries, and nothing waits for them. Four JSON documents do not justify a library with
//! a hundred dependencies.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use adjutant_config::redact::redact_text;
use adjutant_config::run_token::hex;
use adjutant_http_client::{PostRequest, PostUrl, PostUrlError, post};
use adjutant_model::event::EventSeverity;
use adjutant_model::run::RunExit;
use adjutant_model::{AgentId, Event, RecordedEvent, TaskId, Time};
use adjutant_store::event_log::encode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The most events in the queue; further ones are dropped.
const WAITING_MAX: usize = 10_000;
/// The most events in one post.
const EVENTS_PER_POST_MAX: usize = 500;
/// How long events are collected before a post.
const BATCH_DELAY: Duration = Duration::from_millis(500);
/// How often a post is tried, and the timeout of each try.
const TRIES_MAX: u32 = 3;
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last post may take when the daemon leaves.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(3);
/// The most characters of an event's payload.
const PAYLOAD_CHARS_MAX: usize = 4_096;

/// Sends events to a collector until it is dropped.
pub struct OtlpExporter {
    queue: SyncSender<RecordedEvent>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

struct StartedRun {
    at: Time,
    agent: AgentId,
    attempt: u32,
}

struct OtlpSender {
    logs: PostUrl,
    traces: PostUrl,
    mark: String,
    started_runs: BTreeMap<(TaskId, u64), StartedRun>,
    stop: Arc<AtomicBool>,
}

impl OtlpExporter {
    /// Starts sending. `mark` identifies the data folder, as `service.instance.id`.
    pub fn start(endpoint: &str, mark: String) -> io::Result<Self> {
        let bad = |bad: PostUrlError| io::Error::new(io::ErrorKind::InvalidInput, bad.to_string());
        let base = endpoint.trim().trim_end_matches('/');
        let at = |path: &str| PostUrl::parse(&format!("{base}/v1/{path}")).map_err(bad);
        let (queue, events) = sync_channel(WAITING_MAX);
        let stop = Arc::new(AtomicBool::new(false));
        let (logs, traces) = (at("logs")?, at("traces")?);
        let stopped = Arc::clone(&stop);
        let mut sender =
            OtlpSender { logs, traces, mark, started_runs: BTreeMap::new(), stop: stopped };
        let named = thread::Builder::new().name("otlp".to_owned());
        let thread = Some(named.spawn(move || sender.run(&events))?);
        Ok(Self { queue, stop, thread })
    }

    /// Returns the function to call with all committed events.
    pub fn commit_callback(&self) -> impl Fn(&[RecordedEvent]) + Send + 'static {
        let queue = self.queue.clone();
        move |events| {
            for event in events {
                match queue.try_send(event.clone()) {
                    Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
                }
            }
        }
    }
}

impl Drop for OtlpExporter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let until = Instant::now() + SHUTDOWN_WAIT;
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl OtlpSender {
    fn run(&mut self, events: &Receiver<RecordedEvent>) {
        loop {
            let first = events.recv_timeout(BATCH_DELAY);
            let stopped = self.stop.load(Ordering::SeqCst);
            match first {
                Ok(first) => {
                    let mut some = vec![first];
                    if !stopped {
                        thread::sleep(BATCH_DELAY);
                    }
                    some.extend(events.try_iter().take(EVENTS_PER_POST_MAX - 1));
                    self.send_events(&some);
                }
                Err(RecvTimeoutError::Timeout) if !stopped => {}
                Err(_) => return,
            }
        }
    }

    fn send_events(&mut self, events: &[RecordedEvent]) {
        let records: Vec<Value> = events.iter().map(log_record).collect();
        let scope = json!({"name": "adjutant", "version": env!("CARGO_PKG_VERSION")});
        let logs = json!({"resourceLogs": [{
            "resource": self.resource(),
            "scopeLogs": [{"scope": scope, "logRecords": records}],
        }]});
        self.post(&self.logs, &logs);
        let spans: Vec<Value> =
            events.iter().filter_map(|event| self.span_of_ended_run(event)).collect();
        if !spans.is_empty() {
            let traces = json!({"resourceSpans": [{
                "resource": self.resource(),
                "scopeSpans": [{"scope": scope, "spans": spans}],
            }]});
            self.post(&self.traces, &traces);
        }
    }

    fn resource(&self) -> Value {
        json!({"attributes": [
            text("service.name", "adjutant"),
            text("service.version", env!("CARGO_PKG_VERSION")),
            text("service.instance.id", &self.mark),
        ]})
    }

    fn post(&self, to: &PostUrl, document: &Value) {
        let body = document.to_string();
        for attempt in 1..=TRIES_MAX {
            let headers = vec![("content-type", "application/json".to_owned())];
            let (body, timeout) = (body.as_bytes(), TIMEOUT);
            match post(&PostRequest { to, headers, body, timeout, answer_bytes_max: 1_024 }) {
                // A request that the collector calls invalid stays invalid.
                Ok(reply) if reply.is_success() || (400..429).contains(&reply.status) => return,
                Ok(_) | Err(_) if self.stop.load(Ordering::SeqCst) => return,
                Ok(_) | Err(_) => thread::sleep(Duration::from_secs(1 << attempt.min(4)) / 2),
            }
        }
    }

    /// Returns the span of a run that has ended; `None` if the run started before this process did.
    fn span_of_ended_run(&mut self, recorded: &RecordedEvent) -> Option<Value> {
        let task = recorded.new_event.task.as_ref()?;
        match &recorded.new_event.event {
            Event::RunStarted { agent, attempt, fence, .. } => {
                let begun = StartedRun { at: recorded.at, agent: agent.clone(), attempt: *attempt };
                self.started_runs.insert((task.clone(), *fence), begun);
                None
            }
            Event::RunExited { fence, exit, reason, .. } => {
                let begun = self.started_runs.remove(&(task.clone(), *fence))?;
                Some(self.run_span(task, *fence, &begun, recorded.at, exit, reason))
            }
            _ => None,
        }
    }

    fn run_span(
        &self,
        task: &TaskId,
        fence: u64,
        begun: &StartedRun,
        end: Time,
        exit: &RunExit,
        reason: &str,
    ) -> Value {
        let failed = *exit != RunExit::Code(0);
        let status = if failed {
            json!({"code": 2, "message": redact_text(reason)})
        } else {
            json!({"code": 1})
        };
        json!({
            "traceId": self.digest(task.as_str(), 16),
            "spanId": self.digest(&format!("{task} {fence}"), 8),
            "name": format!("run {}", begun.agent),
            "kind": 1,
            "startTimeUnixNano": to_unix_nanos(begun.at),
            "endTimeUnixNano": to_unix_nanos(end),
            "attributes": [
                text("adjutant.task", task.as_str()),
                text("adjutant.agent", begun.agent.as_str()),
                number("adjutant.attempt", u64::from(begun.attempt)),
                text("adjutant.exit", &exit.to_string()),
            ],
            "status": status,
        })
    }

    /// Derives an id of `bytes` bytes, always the same one for the same text.
    fn digest(&self, of: &str, bytes: usize) -> String {
        let digest = Sha256::digest(format!("{}\n{of}", self.mark));
        hex(&digest[..bytes])
    }
}

fn log_record(recorded: &RecordedEvent) -> Value {
    let new_event = &recorded.new_event;
    let (severity, word) = match new_event.event.severity() {
        EventSeverity::Debug => (5, "DEBUG"),
        EventSeverity::Info => (9, "INFO"),
        EventSeverity::Warn => (13, "WARN"),
    };
    let line: Value = serde_json::from_str(&encode(recorded, None)).unwrap_or_default();
    let payload = line["payload"].to_string();
    let payload: String = redact_text(&payload).chars().take(PAYLOAD_CHARS_MAX).collect();
    let mut attributes = vec![
        number("adjutant.event", recorded.id.0),
        text("adjutant.actor", &new_event.actor.to_string()),
        text("adjutant.payload", &payload),
    ];
    attributes.extend(new_event.task.as_ref().map(|task| text("adjutant.task", task.as_str())));
    json!({
        "timeUnixNano": to_unix_nanos(recorded.at),
        "observedTimeUnixNano": to_unix_nanos(recorded.at),
        "severityNumber": severity,
        "severityText": word,
        "body": {"stringValue": new_event.event.kind()},
        "attributes": attributes,
    })
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// OTLP's JSON encodes 64-bit numbers as text.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

fn to_unix_nanos(at: Time) -> String {
    (i128::from(at.as_millis()) * 1_000_000).to_string()
}
