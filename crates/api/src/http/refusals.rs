//! Who was refused, written down: the first for a reason at once, those that follow in one line a
//! minute, so that nobody can fill the record.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::answer::Reason;
use adjutant_core::input::Refused;
use adjutant_core::{Actor, TaskId};
use adjutant_runtime::Request as Asked;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, header};

use super::auth::Who;
use super::gate::peer;
use super::problem::Problem;
use super::{App, Shared};

/// How long refusals for a reason are gathered after one was written down.
const PAUSE: Duration = Duration::from_mins(1);

/// What somebody tried.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) method: Method,
    words: String,
}

impl Attempt {
    /// Takes note of a call.
    pub(super) fn of(request: &Request) -> Self {
        let from = peer(request).map_or_else(String::new, |peer| format!(" from {}", peer.ip()));
        let method = request.method().clone();
        let words = format!("{method} {}{from}", request.uri().path());
        Self { method, words }
    }

    /// Returns what was noted of a call at the gate.
    pub(super) fn of_parts(parts: &Parts) -> Self {
        let noted = parts.extensions.get::<Self>().cloned();
        noted.unwrap_or_else(|| Self::named(parts.method.as_str(), parts.uri.path()))
    }

    /// Takes note of a call in so many words.
    pub(super) fn named(method: &str, path: &str) -> Self {
        let method = Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET);
        Self { words: format!("{method} {path}"), method }
    }
}

/// What is to be written down, by reason.
#[derive(Default)]
pub(super) struct Refusals {
    gathered: Mutex<BTreeMap<Reason, Gathered>>,
}

struct Gathered {
    since: Instant,
    last: Option<Refused>,
    count: u64,
}

impl Refusals {
    /// Takes note of a refusal. Returns what is to be written down now, and whether somebody must
    /// come back for what is gathered.
    fn note(&self, refused: Refused) -> (Option<Refused>, bool) {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        match gathered.get_mut(&refused.reason) {
            Some(before) if before.since.elapsed() < PAUSE => {
                let first = before.count == 0;
                before.count += 1;
                before.last = Some(refused);
                (None, first)
            }
            _ => {
                let new = Gathered { since: Instant::now(), last: None, count: 0 };
                gathered.insert(refused.reason, new);
                (Some(refused), false)
            }
        }
    }

    /// Takes what was gathered for a reason.
    fn take(&self, reason: Reason) -> Option<Refused> {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let Gathered { last, count, .. } = gathered.remove(&reason)?;
        last.map(|last| Refused { count, ..last })
    }

    /// Takes everything that was gathered.
    fn take_all(&self) -> Vec<Refused> {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let all = std::mem::take(&mut *gathered).into_values();
        all.filter_map(|one| one.last.map(|last| Refused { count: one.count, ..last })).collect()
    }
}

impl Shared {
    /// Refuses a call, and has that written down. Nobody who is refused waits for the disk.
    pub(super) fn refuse(
        self: &Arc<Self>,
        reason: Reason,
        who: Option<&Who>,
        attempt: &Attempt,
        detail: impl Into<String>,
    ) -> Problem {
        let detail = detail.into();
        let told = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        let (by, task) = match who {
            Some(Who::Run(run)) => (Actor::Agent(run.agent.clone()), Some(run.task.clone())),
            Some(Who::Operator(_)) => (self.operator.clone(), None),
            Some(Who::Nobody) | None => (Actor::System, None),
        };
        self.write_down(Refused {
            by,
            task,
            reason,
            detail: format!("{}{told}", attempt.words),
            count: 1,
        });
        self.metrics.refused(reason);
        explained(reason)
    }

    /// Refuses what a run asked for about another's task.
    pub(super) fn not_yours(
        self: &Arc<Self>,
        run: &crate::mcp::Bound,
        task: &TaskId,
        method: &Method,
        path: &str,
    ) -> Problem {
        let attempt = Attempt { method: method.clone(), words: format!("{method} {path}") };
        self.refuse(Reason::NotYourTask, Some(&Who::Run(run.clone())), &attempt, task.to_string())
    }

    fn write_down(self: &Arc<Self>, refused: Refused) {
        let reason = refused.reason;
        let (now, later) = self.refusals.note(refused);
        if let Some(refused) = now {
            let app = Arc::clone(self);
            // That it cannot be written down does not let anybody in.
            tokio::task::spawn_blocking(move || app.office.ask(Asked::Refused(refused)).map(drop));
        }
        if later {
            tokio::spawn(come_back(Arc::clone(self), reason));
        }
    }

    /// Writes down what was gathered; for the end.
    pub(super) fn write_down_rest(&self) {
        for refused in self.refusals.take_all() {
            let _ = self.office.ask(Asked::Refused(refused));
        }
    }
}

async fn come_back(app: App, reason: Reason) {
    tokio::time::sleep(PAUSE).await;
    if let Some(refused) = app.refusals.take(reason) {
        let _ =
            tokio::task::spawn_blocking(move || app.office.ask(Asked::Refused(refused)).map(drop))
                .await;
    }
}

/// Says to whom it concerns what to do.
fn explained(reason: Reason) -> Problem {
    let mut problem = Problem::refused(reason);
    problem.hint = match reason {
        Reason::Unauthenticated => Some(
            "send `Authorization: Bearer TOKEN`: the operator's token, which is in a file of the \
             data folder, or a run's; a browser signs in at /login",
        ),
        Reason::ForeignHost => Some("call it by its address, or name it in `[server] hosts`"),
        Reason::ForgedRequest => Some("send what the page was given as `X-CSRF-Token`"),
        Reason::OperatorOnly => Some("a run reports by POST /v1/messages or by MCP"),
        Reason::TooManyRequests => Some("wait a second, then try again"),
        _ => None,
    }
    .map(str::to_owned);
    match reason {
        Reason::Unauthenticated => {
            problem.header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
        }
        Reason::TooManyRequests => {
            problem.header(header::RETRY_AFTER, HeaderValue::from_static("1"))
        }
        _ => problem,
    }
}
