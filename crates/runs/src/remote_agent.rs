//! Sends a run to a remote agent by HTTP, and stays until the agent has reported.
//!
//! For the rest of Adjutant this process is the run: it is stopped as one, and the remote agent is
//! known only by its reports and heartbeats.

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use adjutant_core::protocols::aof::{MESSAGE_BYTES_MAX, MESSAGE_PREFIX};
use adjutant_http_client::webhook_signature::{decode_key, sign_webhook};
use adjutant_http_client::{PostError, PostReply, PostRequest, PostUrl, post};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_run_files::daemon_lock::DaemonInfo;
use adjutant_run_files::http_endpoint::HttpEndpointFile;
use serde::Deserialize;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};

/// The timeout of a post. An agent that needs longer accepts the order first, and reports later.
const POST_TIMEOUT: Duration = Duration::from_mins(10);
/// The timeout for telling the agent that the run is stopped.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);
/// The waits between tries.
const WAITS: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(4), Duration::from_secs(15)];
/// The longest wait that a reply may ask for.
const WAIT_MAX: Duration = Duration::from_mins(2);
/// How often to check whether the agent has reported, or the run is to stop.
const PAUSE: Duration = Duration::from_millis(100);
/// How much of a reply that is no report is shown.
const SHOWN_CHARS_MAX: usize = 300;

/// `webhook.json` in the attempt's folder: the address of the agent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WebhookFile {
    url: String,
    secret_env: Option<String>,
}

/// A run to send to a remote agent.
#[derive(Debug, Clone)]
pub struct RemoteRun {
    pub root: PathBuf,
    pub task: String,
    pub agent: String,
    pub attempt: u32,
    /// The run token, which authenticates the messages of this run.
    pub token: String,
    pub order: String,
}

#[derive(Debug, thiserror::Error)]
pub enum RemoteRunError {
    /// The file, the address or the secret is invalid.
    #[error("cannot send the work order: {0}")]
    Unusable(String),
    #[error("{why} ({tries} attempts)")]
    Unreached { why: String, tries: usize },
    /// The agent rejected the order.
    #[error("{0}")]
    Refused(String),
    /// A signal asked to stop the run.
    #[error("the run was asked to stop")]
    Stopped,
}

/// Posts the work order to the address in `paper`, prints the reply, and stays until the
/// agent has reported.
pub fn run(paper: &Path, errand: &RemoteRun, out: &mut dyn Write) -> Result<(), RemoteRunError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        // If the handler cannot be installed, the signal ends the process, which is its default.
        let _ = signal_hook::flag::register(signal, Arc::clone(&stop));
    }
    let remote = RemoteAgent::from_file(paper, errand)?;
    let reply = remote.post_order(errand, &stop)?;
    let reported = print_reply(&reply, out)?;
    let result = errand.root.join("runs").join(&errand.task).join("run_result.json");
    while !reported && !result.exists() {
        if stop.load(Ordering::Acquire) {
            remote.cancel(errand);
            return Err(RemoteRunError::Stopped);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

struct RemoteAgent {
    to: PostUrl,
    key: Option<Vec<u8>>,
    /// The same for every try of this run, so that the agent accepts it once.
    id: String,
}

impl RemoteAgent {
    fn from_file(paper: &Path, errand: &RemoteRun) -> Result<Self, RemoteRunError> {
        let unusable = |what: &str, why: String| RemoteRunError::Unusable(format!("{what}: {why}"));
        let text = std::fs::read(paper).map_err(|e| unusable("its webhook file", e.to_string()))?;
        let paper: WebhookFile = serde_json::from_slice(&text)
            .map_err(|e| unusable("its webhook file", e.to_string()))?;
        let to = PostUrl::parse(&paper.url).map_err(|bad| unusable("`url`", bad.to_string()))?;
        let secret = paper.secret_env.as_deref().map(|name| {
            let missing = || format!("the environment variable {name} is not set");
            std::env::var(name).map_err(|_| missing()).and_then(|text| decode_key(&text))
        });
        let key = secret.transpose().map_err(|why| unusable("`secret_env`", why))?;
        Ok(Self { to, key, id: format!("{}-{}", errand.task, errand.attempt) })
    }

    /// Posts the work order, and retries failures that may pass.
    fn post_order(
        &self,
        errand: &RemoteRun,
        stop: &AtomicBool,
    ) -> Result<PostReply, RemoteRunError> {
        let mut waits = WAITS.iter();
        loop {
            let tries = WAITS.len() - waits.len() + 1;
            let (why, asked) = match self.post(&order_message(errand), &self.id, POST_TIMEOUT) {
                Ok(reply) if is_transient_status(reply.status) => {
                    (format!("{} answered {}", self.to, reply.status), reply.retry_after)
                }
                Ok(reply) => return self.interpret_reply(reply),
                Err(error) => (error.to_string(), None),
            };
            let Some(wait) = waits.next() else {
                return Err(RemoteRunError::Unreached { why, tries });
            };
            let wait = asked.map_or(*wait, |asked| asked.min(WAIT_MAX));
            if !sleep_unless_stopped(wait, stop) {
                self.cancel(errand);
                return Err(RemoteRunError::Stopped);
            }
        }
    }

    /// Interprets a reply that a retry would not change.
    fn interpret_reply(&self, reply: PostReply) -> Result<PostReply, RemoteRunError> {
        let refused = |why: &str| Err(RemoteRunError::Refused(format!("{} {why}", self.to)));
        match reply.status {
            200..300 if reply.body.len() > MESSAGE_BYTES_MAX => {
                refused("sent a reply larger than 1 MiB, which was not read")
            }
            200..300 => Ok(reply),
            300..=399 => refused(&format!("answered {}: redirects are not followed", reply.status)),
            401 | 403 => refused(&format!("answered {}: access denied", reply.status)),
            status => refused(&format!("answered {status}{}", body_excerpt(&reply.body))),
        }
    }

    /// Tells the agent that the run is over. An agent that misses this learns it when its
    /// token is refused.
    fn cancel(&self, errand: &RemoteRun) {
        let _ = self.post(
            &message_head("cancel", errand),
            &format!("{}-cancel", self.id),
            CANCEL_TIMEOUT,
        );
    }

    fn post(&self, body: &Value, id: &str, timeout: Duration) -> Result<PostReply, PostError> {
        let body = body.to_string();
        let stamp = SystemClock.now().as_millis().div_euclid(1_000).to_string();
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("idempotency-key", id.to_owned()),
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", stamp.clone()),
        ];
        if let Some(key) = &self.key {
            headers.push(("webhook-signature", sign_webhook(key, id, &stamp, &body)));
        }
        let most = u64::try_from(MESSAGE_BYTES_MAX).unwrap_or(u64::MAX) + 1;
        let (to, body) = (&self.to, body.as_bytes());
        post(&PostRequest { to, headers, body, timeout, answer_bytes_max: most })
    }
}

/// Returns whether a retry may get another reply.
fn is_transient_status(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..600)
}

fn message_head(kind: &str, errand: &RemoteRun) -> Value {
    json!({
        "version": 1, "type": kind, "taskId": errand.task, "agent": errand.agent,
        "attempt": errand.attempt,
    })
}

/// Returns the work order, with the URLs for reports and heartbeats if the daemon serves HTTP.
fn order_message(errand: &RemoteRun) -> Value {
    let place = DaemonInfo::find_running(&errand.root)
        .and_then(|holder| HttpEndpointFile::read(&errand.root, holder.pid));
    let at = |path: String| place.as_ref().map(|place| format!("{}{path}", place.url));
    let mut order = message_head("work_order", errand);
    order["runToken"] = errand.token.clone().into();
    order["reportTo"] = at("/v1/messages".to_owned()).into();
    order["beatTo"] = at(format!("/v1/tasks/{}/beat", errand.task)).into();
    order["order"] = errand.order.clone().into();
    order
}

/// Prints the reply, and returns whether it is a report: a message on its own line, or a document,
/// which the shim looks for.
fn print_reply(reply: &PostReply, out: &mut dyn Write) -> Result<bool, RemoteRunError> {
    let text = String::from_utf8_lossy(&reply.body);
    let text = text.trim();
    let lost = |error: std::io::Error| RemoteRunError::Unusable(error.to_string());
    let (line, reported) = match serde_json::from_str::<Value>(text) {
        _ if text.starts_with(MESSAGE_PREFIX) => (text.replace(['\n', '\r'], " "), true),
        Ok(value) if value["protocol"] == "aof" => (format!("{MESSAGE_PREFIX}{value}"), true),
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

fn body_excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().take(SHOWN_CHARS_MAX).collect();
    if line.is_empty() { line } else { format!(": {line}") }
}

/// Sleeps, and returns whether no signal asked to stop meanwhile.
fn sleep_unless_stopped(long: Duration, stop: &AtomicBool) -> bool {
    let until = Instant::now() + long;
    while Instant::now() < until && !stop.load(Ordering::Acquire) {
        std::thread::sleep(PAUSE.min(until.saturating_duration_since(Instant::now())));
    }
    !stop.load(Ordering::Acquire)
}
