//! Writes refused calls to the event log. The first refusal for a reason is written at once, later
//! ones are summed up once a minute, so that callers cannot flood the log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_engine::Request as EngineCall;
use adjutant_model::answer::Reason;
use adjutant_model::request::RefusedAccess;
use adjutant_model::{Actor, TaskId};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, header};
use parking_lot::Mutex;

use super::auth::CallerIdentity;
use super::problem::ApiProblem;
use super::request_checks::client_address;
use super::{ServerState, SharedState};

/// How long refusals are collected after one was written.
const COLLECT_TIME: Duration = Duration::from_mins(1);

/// A call, as described in the event log.
#[derive(Debug, Clone)]
pub(super) struct CallDescription {
    pub(super) method: Method,
    words: String,
}

impl CallDescription {
    pub(super) fn from_request(request: &Request) -> Self {
        let from =
            client_address(request).map_or_else(String::new, |peer| format!(" from {}", peer.ip()));
        let method = request.method().clone();
        let words = format!("{method} {}{from}", request.uri().path());
        Self { method, words }
    }

    /// Returns the description that the gate made of the call.
    pub(super) fn from_parts(parts: &Parts) -> Self {
        let noted = parts.extensions.get::<Self>().cloned();
        noted.unwrap_or_else(|| Self::new(parts.method.as_str(), parts.uri.path()))
    }

    pub(super) fn new(method: &str, path: &str) -> Self {
        let method = Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET);
        Self { words: format!("{method} {path}"), method }
    }
}

/// The refusals of the last minute that are not written yet, by reason.
#[derive(Default)]
pub(super) struct RefusalLog {
    gathered: Mutex<BTreeMap<Reason, CollectedRefusals>>,
}

struct CollectedRefusals {
    since: Instant,
    last: Option<RefusedAccess>,
    count: u64,
}

impl RefusalLog {
    /// Counts a refusal. Returns it if it must be written now, and whether the caller must schedule
    /// a [`RefusalLog::take`] for the collected ones.
    fn record(&self, refused: RefusedAccess) -> (Option<RefusedAccess>, bool) {
        let mut gathered = self.gathered.lock();
        match gathered.get_mut(&refused.reason) {
            Some(before) if before.since.elapsed() < COLLECT_TIME => {
                let first = before.count == 0;
                before.count += 1;
                before.last = Some(refused);
                (None, first)
            }
            _ => {
                let new = CollectedRefusals { since: Instant::now(), last: None, count: 0 };
                gathered.insert(refused.reason, new);
                (Some(refused), false)
            }
        }
    }

    fn take(&self, reason: Reason) -> Option<RefusedAccess> {
        let mut gathered = self.gathered.lock();
        let CollectedRefusals { last, count, .. } = gathered.remove(&reason)?;
        last.map(|last| RefusedAccess { count, ..last })
    }

    fn take_all(&self) -> Vec<RefusedAccess> {
        let mut gathered = self.gathered.lock();
        let all = std::mem::take(&mut *gathered).into_values();
        all.filter_map(|one| one.last.map(|last| RefusedAccess { count: one.count, ..last }))
            .collect()
    }
}

impl ServerState {
    /// Refuses a call and has the refusal written in the background, so that the caller does not
    /// wait for the disk.
    pub(super) fn refuse(
        self: &Arc<Self>,
        reason: Reason,
        who: Option<&CallerIdentity>,
        attempt: &CallDescription,
        detail: impl Into<String>,
    ) -> ApiProblem {
        let detail = detail.into();
        let detail_text = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        let (by, task) = match who {
            Some(CallerIdentity::Run(run)) => {
                (Actor::Agent(run.agent.clone()), Some(run.task.clone()))
            }
            Some(CallerIdentity::Operator(_)) => (self.operator.clone(), None),
            Some(CallerIdentity::Anonymous) | None => (Actor::System, None),
        };
        self.log_refusal(RefusedAccess {
            by,
            task,
            reason,
            detail: format!("{}{detail_text}", attempt.words),
            count: 1,
        });
        self.metrics.count_refusal(reason);
        refusal_response(reason)
    }

    /// Refuses a run's call about a task that is not its own.
    pub(super) fn refuse_foreign_task(
        self: &Arc<Self>,
        run: &adjutant_query::RunCredentials,
        task: &TaskId,
        method: &Method,
        path: &str,
    ) -> ApiProblem {
        let attempt = CallDescription { method: method.clone(), words: format!("{method} {path}") };
        self.refuse(
            Reason::NotYourTask,
            Some(&CallerIdentity::Run(run.clone())),
            &attempt,
            task.to_string(),
        )
    }

    fn log_refusal(self: &Arc<Self>, refused: RefusedAccess) {
        let reason = refused.reason;
        let (now, later) = self.refusals.record(refused);
        if let Some(refused) = now {
            let app = Arc::clone(self);
            // The call is refused even if that cannot be written.
            tokio::task::spawn_blocking(move || {
                app.project.ask(EngineCall::Refused(refused).into()).map(drop)
            });
        }
        if later {
            tokio::spawn(flush_later(Arc::clone(self), reason));
        }
    }

    /// Writes the collected refusals, at shutdown.
    pub(super) fn flush_refusals(&self) {
        for refused in self.refusals.take_all() {
            let _ = self.project.ask(EngineCall::Refused(refused).into());
        }
    }
}

async fn flush_later(app: SharedState, reason: Reason) {
    tokio::time::sleep(COLLECT_TIME).await;
    if let Some(refused) = app.refusals.take(reason) {
        let _ = tokio::task::spawn_blocking(move || {
            app.project.ask(EngineCall::Refused(refused).into()).map(drop)
        })
        .await;
    }
}

/// Returns the response to a refused call, with a hint what to do.
fn refusal_response(reason: Reason) -> ApiProblem {
    let mut problem = ApiProblem::refused(reason);
    problem.hint = match reason {
        Reason::Unauthenticated => Some(
            "send `Authorization: Bearer TOKEN` with the operator's token (the file `operator-token` \
             of the data folder) or the token of a run; in a browser, sign in at /login",
        ),
        Reason::ForeignHost => {
            Some("use the IP address or `localhost`, or add the name to `hosts` in `[server]`")
        }
        Reason::ForgedRequest => Some(
            "sign in again with the link of `adjutant open`, and allow JavaScript and storage for \
             this page; a program sends the token instead of a cookie",
        ),
        Reason::OperatorOnly => Some("a run can report with POST /v1/messages or through MCP"),
        Reason::TooManyRequests => Some("wait a second, then retry"),
        _ => None,
    }
    .map(str::to_owned);
    match reason {
        Reason::Unauthenticated => {
            problem.with_header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
        }
        Reason::TooManyRequests => {
            problem.with_header(header::RETRY_AFTER, HeaderValue::from_static("1"))
        }
        _ => problem,
    }
}
