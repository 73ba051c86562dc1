//! The record as OTLP: every event as a log record, every run as a span, in JSON over HTTP.
//!
//! It is no part of the record: what cannot be delivered is dropped after a few tries, and nobody
//! waits for it. Four documents of JSON need no library of a hundred crates.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use adjutant_core::run::Exit;
use adjutant_core::{AgentId, Event, Recorded, TaskId, Time};
use adjutant_store::record::encode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Level;
use crate::http_post::{Address, BadAddress, Post, post};
use crate::secretive::masked;
use crate::token::hex;

/// The most events that wait; what comes then is dropped.
const WAITING_MAX: usize = 10_000;
/// The most events in one post.
const TOGETHER_MAX: usize = 500;
/// How long events are gathered.
const GATHER: Duration = Duration::from_millis(500);
/// How often a post is tried, and how long a try may take.
const TRIES_MAX: u32 = 3;
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last post is waited for when the daemon leaves.
const LEAVE: Duration = Duration::from_secs(3);
/// The most bytes of what an event says.
const PAYLOAD_CHARS_MAX: usize = 4_096;

/// Tells a collector what happens, for as long as it is kept.
pub struct Exporter {
    queue: SyncSender<Recorded>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// A run that began and has not ended.
struct Begun {
    at: Time,
    agent: AgentId,
    attempt: u32,
}

/// What posts to a collector.
struct Sender {
    logs: Address,
    traces: Address,
    mark: String,
    begun: BTreeMap<(TaskId, u64), Begun>,
    stop: Arc<AtomicBool>,
}

impl Exporter {
    /// Begins to tell a collector, under the mark of a folder.
    pub fn start(endpoint: &str, mark: String) -> io::Result<Self> {
        let bad = |bad: BadAddress| io::Error::new(io::ErrorKind::InvalidInput, bad.to_string());
        let base = endpoint.trim().trim_end_matches('/');
        let at = |path: &str| Address::parse(&format!("{base}/v1/{path}")).map_err(bad);
        let (queue, events) = sync_channel(WAITING_MAX);
        let stop = Arc::new(AtomicBool::new(false));
        let (logs, traces) = (at("logs")?, at("traces")?);
        let stopped = Arc::clone(&stop);
        let mut sender = Sender { logs, traces, mark, begun: BTreeMap::new(), stop: stopped };
        let named = thread::Builder::new().name("otlp".to_owned());
        let thread = Some(named.spawn(move || sender.work(&events))?);
        Ok(Self { queue, stop, thread })
    }

    /// Returns what must be called with everything that is committed.
    pub fn watcher(&self) -> impl Fn(&[Recorded]) + Send + 'static {
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

impl Drop for Exporter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let until = Instant::now() + LEAVE;
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Sender {
    fn work(&mut self, events: &Receiver<Recorded>) {
        loop {
            let first = events.recv_timeout(GATHER);
            let stopped = self.stop.load(Ordering::SeqCst);
            match first {
                Ok(first) => {
                    let mut some = vec![first];
                    if !stopped {
                        thread::sleep(GATHER);
                    }
                    some.extend(events.try_iter().take(TOGETHER_MAX - 1));
                    self.tell(&some);
                }
                Err(RecvTimeoutError::Timeout) if !stopped => {}
                Err(_) => return,
            }
        }
    }

    fn tell(&mut self, events: &[Recorded]) {
        let records: Vec<Value> = events.iter().map(record).collect();
        let scope = json!({"name": "adjutant", "version": env!("CARGO_PKG_VERSION")});
        let logs = json!({"resourceLogs": [{
            "resource": self.resource(),
            "scopeLogs": [{"scope": scope, "logRecords": records}],
        }]});
        self.post(&self.logs, &logs);
        let spans: Vec<Value> = events.iter().filter_map(|event| self.span(event)).collect();
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

    fn post(&self, to: &Address, document: &Value) {
        let body = document.to_string();
        for attempt in 1..=TRIES_MAX {
            let headers = vec![("content-type", "application/json".to_owned())];
            let (body, timeout) = (body.as_bytes(), TIMEOUT);
            match post(&Post { to, headers, body, timeout, answer_bytes_max: 1_024 }) {
                // What a collector calls a bad request stays one.
                Ok(reply) if reply.is_success() || (400..429).contains(&reply.status) => return,
                Ok(_) | Err(_) if self.stop.load(Ordering::SeqCst) => return,
                Ok(_) | Err(_) => thread::sleep(Duration::from_secs(1 << attempt.min(4)) / 2),
            }
        }
    }

    /// Returns a run that is over as a span; one that began before this process did has none.
    fn span(&mut self, recorded: &Recorded) -> Option<Value> {
        let task = recorded.happened.task.as_ref()?;
        match &recorded.happened.event {
            Event::RunStarted { agent, attempt, fence, .. } => {
                let begun = Begun { at: recorded.at, agent: agent.clone(), attempt: *attempt };
                self.begun.insert((task.clone(), *fence), begun);
                None
            }
            Event::RunExited { fence, exit, reason, .. } => {
                let begun = self.begun.remove(&(task.clone(), *fence))?;
                Some(self.over(task, *fence, &begun, recorded.at, exit, reason))
            }
            _ => None,
        }
    }

    fn over(
        &self,
        task: &TaskId,
        fence: u64,
        begun: &Begun,
        end: Time,
        exit: &Exit,
        reason: &str,
    ) -> Value {
        let failed = *exit != Exit::Code(0);
        let status =
            if failed { json!({"code": 2, "message": masked(reason)}) } else { json!({"code": 1}) };
        json!({
            "traceId": self.digest(task.as_str(), 16),
            "spanId": self.digest(&format!("{task} {fence}"), 8),
            "name": format!("run {}", begun.agent),
            "kind": 1,
            "startTimeUnixNano": nanos(begun.at),
            "endTimeUnixNano": nanos(end),
            "attributes": [
                text("adjutant.task", task.as_str()),
                text("adjutant.agent", begun.agent.as_str()),
                number("adjutant.attempt", u64::from(begun.attempt)),
                text("adjutant.exit", &exit.to_string()),
            ],
            "status": status,
        })
    }

    /// Returns an id of so many bytes that is always the same for the same.
    fn digest(&self, of: &str, bytes: usize) -> String {
        let digest = Sha256::digest(format!("{}\n{of}", self.mark));
        hex(&digest[..bytes])
    }
}

fn record(recorded: &Recorded) -> Value {
    let happened = &recorded.happened;
    let (severity, word) = match Level::of(&happened.event) {
        Level::Debug => (5, "DEBUG"),
        Level::Info => (9, "INFO"),
        Level::Warn => (13, "WARN"),
    };
    let line: Value = serde_json::from_str(&encode(recorded, None)).unwrap_or_default();
    let payload = line["payload"].to_string();
    let payload: String = masked(&payload).chars().take(PAYLOAD_CHARS_MAX).collect();
    let mut attributes = vec![
        number("adjutant.event", recorded.id.0),
        text("adjutant.actor", &happened.actor.to_string()),
        text("adjutant.payload", &payload),
    ];
    attributes.extend(happened.task.as_ref().map(|task| text("adjutant.task", task.as_str())));
    json!({
        "timeUnixNano": nanos(recorded.at),
        "observedTimeUnixNano": nanos(recorded.at),
        "severityNumber": severity,
        "severityText": word,
        "body": {"stringValue": happened.event.kind()},
        "attributes": attributes,
    })
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Numbers of 64 bits are text in OTLP's JSON.
fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

fn nanos(at: Time) -> String {
    (i128::from(at.as_millis()) * 1_000_000).to_string()
}
