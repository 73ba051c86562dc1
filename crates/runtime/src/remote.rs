//! Hands a run to an agent elsewhere by HTTP, and stays until it has reported.
//!
//! The process that does this is the run, as far as anybody here can see: it is stopped as one, and
//! what the agent elsewhere does is known by what it reports and by its signs of life.

#[cfg(test)]
mod golden_tests;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use adjutant_core::aof::MESSAGE_BYTES_MAX;
use serde::Deserialize;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::clock::{Clock, SystemClock};
use crate::daemon::{Holder, Place};
use crate::http_post::{Address, Post, Reply, Unposted, post};
use crate::notifier::webhook::{key, sign};

/// How long one post may take. Who needs longer says that it has taken the order, and reports.
const POST: Duration = Duration::from_mins(10);
/// How long it may take to tell that the run is stopped.
const CANCEL: Duration = Duration::from_secs(5);
/// The waits between tries.
const WAITS: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(15)];
/// The longest wait that an answer may ask for.
const WAIT_MAX: Duration = Duration::from_mins(2);
/// The time between two looks whether it has reported, or is to stop.
const PAUSE: Duration = Duration::from_millis(100);
/// How much of an answer that is no report is shown.
const SHOWN_CHARS_MAX: usize = 300;

/// The paper that says where the agent is: `webhook.json` in the folder of the attempt.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Paper {
    url: String,
    secret_env: Option<String>,
}

/// A run to be handed on.
#[derive(Debug, Clone)]
pub struct Errand {
    /// The data folder.
    pub root: PathBuf,
    /// The task.
    pub task: String,
    /// Who is to work on it.
    pub agent: String,
    /// The number of the run.
    pub attempt: u32,
    /// What proves that a message is this run's.
    pub token: String,
    /// The work order.
    pub order: String,
}

/// Why a run could not be handed on.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The paper, the address or the secret makes no sense.
    #[error("cannot hand the run on: {0}")]
    Unusable(String),
    /// Nobody could be reached.
    #[error("{why}; tried {tries} times")]
    Unreached {
        /// Why.
        why: String,
        /// How often it was tried.
        tries: usize,
    },
    /// It was not taken.
    #[error("{0}")]
    Refused(String),
    /// Somebody wants it stopped.
    #[error("it was asked to stop")]
    Stopped,
}

/// Posts the work order that a paper says where to, prints what comes back, and stays until the
/// agent has reported.
pub fn run(paper: &Path, errand: &Errand, out: &mut dyn Write) -> Result<(), Trouble> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        // Where it cannot be listened to, the signal ends the process, as it does.
        let _ = signal_hook::flag::register(signal, Arc::clone(&stop));
    }
    let remote = Remote::read(paper, errand)?;
    let reply = remote.hand_on(errand, &stop)?;
    let reported = say(&reply, out)?;
    let result = errand.root.join("runs").join(&errand.task).join("run_result.json");
    while !reported && !result.exists() {
        if stop.load(Ordering::Acquire) {
            remote.cancel(errand);
            return Err(Trouble::Stopped);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

struct Remote {
    to: Address,
    key: Option<Vec<u8>>,
    /// What every try for this run is known by, so that it is taken once.
    id: String,
}

impl Remote {
    fn read(paper: &Path, errand: &Errand) -> Result<Self, Trouble> {
        let unusable = |what: &str, why: String| Trouble::Unusable(format!("{what}: {why}"));
        let text = std::fs::read(paper).map_err(|e| unusable("its paper", e.to_string()))?;
        let paper: Paper =
            serde_json::from_slice(&text).map_err(|e| unusable("its paper", e.to_string()))?;
        let to = Address::parse(&paper.url).map_err(|bad| unusable("`url`", bad.to_string()))?;
        let secret = paper.secret_env.as_deref().map(|name| {
            let missing = || format!("there is no variable {name} in the environment");
            std::env::var(name).map_err(|_| missing()).and_then(|text| key(&text))
        });
        let key = secret.transpose().map_err(|why| unusable("`secret_env`", why))?;
        Ok(Self { to, key, id: format!("{}-{}", errand.task, errand.attempt) })
    }

    /// Posts the work order, again where that may help.
    fn hand_on(&self, errand: &Errand, stop: &AtomicBool) -> Result<Reply, Trouble> {
        let mut waits = WAITS.iter();
        loop {
            let tries = WAITS.len() - waits.len() + 1;
            let (why, asked) = match self.post(&order(errand), &self.id, POST) {
                Ok(reply) if is_passing(reply.status) => {
                    (format!("{} answers {}", self.to, reply.status), reply.retry_after)
                }
                Ok(reply) => return self.judge(reply),
                Err(error) => (error.to_string(), None),
            };
            let Some(wait) = waits.next() else { return Err(Trouble::Unreached { why, tries }) };
            let wait = asked.map_or(*wait, |asked| asked.min(WAIT_MAX));
            if !sleep(wait, stop) {
                self.cancel(errand);
                return Err(Trouble::Stopped);
            }
        }
    }

    /// Says what an answer means that will not be another one the next time.
    fn judge(&self, reply: Reply) -> Result<Reply, Trouble> {
        let refused = |why: &str| Err(Trouble::Refused(format!("{} {why}", self.to)));
        match reply.status {
            200..300 if reply.body.len() > MESSAGE_BYTES_MAX => {
                refused("sent an answer of more than 1 MiB, which is not read")
            }
            200..300 => Ok(reply),
            300..=399 => refused(&format!(
                "answers {}: it is elsewhere, which is not followed",
                reply.status
            )),
            401 | 403 => refused(&format!("answers {}: it does not let us in", reply.status)),
            status => refused(&format!("answers {status}{}", shown(&reply.body))),
        }
    }

    /// Tells that the run is over. Whoever does not hear it is told by the token, which is worth
    /// nothing any more.
    fn cancel(&self, errand: &Errand) {
        let _ = self.post(&head("cancel", errand), &format!("{}-cancel", self.id), CANCEL);
    }

    fn post(&self, body: &Value, id: &str, timeout: Duration) -> Result<Reply, Unposted> {
        let body = body.to_string();
        let stamp = SystemClock.now().as_millis().div_euclid(1_000).to_string();
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("idempotency-key", id.to_owned()),
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", stamp.clone()),
        ];
        if let Some(key) = &self.key {
            headers.push(("webhook-signature", sign(key, id, &stamp, &body)));
        }
        let most = u64::try_from(MESSAGE_BYTES_MAX).unwrap_or(u64::MAX) + 1;
        let (to, body) = (&self.to, body.as_bytes());
        post(&Post { to, headers, body, timeout, answer_bytes_max: most })
    }
}

/// Says whether an answer may be another one in a moment.
fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..600)
}

fn head(kind: &str, errand: &Errand) -> Value {
    json!({
        "version": 1, "type": kind, "taskId": errand.task, "agent": errand.agent,
        "attempt": errand.attempt,
    })
}

/// Returns the work order, with where to report and to give signs of life while a daemon can be
/// called.
fn order(errand: &Errand) -> Value {
    let place = Holder::of(&errand.root).and_then(|holder| Place::of(&errand.root, holder.pid));
    let at = |path: String| place.as_ref().map(|place| format!("{}{path}", place.url));
    let mut order = head("work_order", errand);
    order["runToken"] = errand.token.clone().into();
    order["reportTo"] = at("/v1/messages".to_owned()).into();
    order["beatTo"] = at(format!("/v1/tasks/{}/beat", errand.task)).into();
    order["order"] = errand.order.clone().into();
    order
}

/// Prints what came back, and says whether it is a report: a message on a line of its own, or a
/// document, which whoever reads this looks for.
fn say(reply: &Reply, out: &mut dyn Write) -> Result<bool, Trouble> {
    let text = String::from_utf8_lossy(&reply.body);
    let text = text.trim();
    let lost = |error: std::io::Error| Trouble::Unusable(error.to_string());
    let (line, reported) = match serde_json::from_str::<Value>(text) {
        _ if text.starts_with("AOF/1 ") => (text.replace(['\n', '\r'], " "), true),
        Ok(value) if value["protocol"] == "aof" => (format!("AOF/1 {value}"), true),
        Ok(value) => {
            (value.to_string(), value["status"].is_string() || value["result"].is_string())
        }
        Err(_) => (text.to_owned(), false),
    };
    if !line.is_empty() {
        writeln!(out, "{line}").and_then(|()| out.flush()).map_err(lost)?;
    }
    Ok(reported)
}

fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().take(SHOWN_CHARS_MAX).collect();
    if line.is_empty() { line } else { format!(": {line}") }
}

/// Sleeps, and says whether nobody wanted it to stop meanwhile.
fn sleep(long: Duration, stop: &AtomicBool) -> bool {
    let until = Instant::now() + long;
    while Instant::now() < until && !stop.load(Ordering::Acquire) {
        std::thread::sleep(PAUSE.min(until.saturating_duration_since(Instant::now())));
    }
    !stop.load(Ordering::Acquire)
}
