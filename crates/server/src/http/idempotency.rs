//! Executes a call with an `Idempotency-Key` once, and gives repeats the same answer.
//!
//! The engine commits the key together with the effect of the call, so a crash cannot separate
//! them. The answer is cached for a while; after that, or after a restart, it is rebuilt from
//! the event log.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use adjutant_core::World;
use adjutant_engine::EngineRequest;
use adjutant_model::answer::AnswerDocument;
use adjutant_model::request::IdempotencyKey;
use adjutant_model::{Answer, AnswerVerdict, Event, EventId, TaskId, Time};
use adjutant_store::event_log::decode;
use adjutant_store::file::EventFiles;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use super::SharedState;
use super::auth::AuthenticatedCaller;
use super::problem::ApiProblem;
use super::token::hex;

pub(super) const HEADER: &str = "idempotency-key";
const KEY_CHARS_MAX: usize = 255;
/// How many answers are cached.
const ANSWERS_MAX: usize = 1024;
/// The largest answer that is cached.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// How long a key is valid.
const KEY_VALID_MILLIS: i64 = 24 * 3600 * 1000;
/// How many executed calls are remembered.
const EXECUTED_MAX: usize = 100_000;

/// What a call did, as far as the answer reports it.
#[derive(Debug, Clone)]
pub(super) struct ExecutedRequest {
    pub(super) answer: Answer,
    /// The ids of the events it caused.
    pub(super) events: Vec<u64>,
}

/// Calls that carried a key, and their answers.
#[derive(Default)]
pub(super) struct IdempotencyCache {
    slots: Mutex<AnswerSlots>,
    /// The executed calls from the event log, read when the first key arrives.
    executed: OnceCell<Mutex<HashMap<String, ExecutedCall>>>,
}

#[derive(Default)]
struct AnswerSlots {
    by_key: HashMap<String, Arc<tokio::sync::Mutex<AnswerSlot>>>,
    order: VecDeque<String>,
}

#[derive(Default)]
struct AnswerSlot {
    digest: String,
    answered: Option<CachedResponse>,
}

#[derive(Clone)]
struct CachedResponse {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
}

#[derive(Clone)]
struct ExecutedCall {
    digest: String,
    about: Option<TaskId>,
    events: Vec<u64>,
}

/// Reads the key of a call. The digest of path and body detects another call with the same key.
pub(super) fn read_key(
    headers: &HeaderMap,
    who: &AuthenticatedCaller,
    path: &str,
    body: &[u8],
) -> Result<Option<IdempotencyKey>, ApiProblem> {
    let Some(key) = headers.get(HEADER) else { return Ok(None) };
    let fits = |key: &&str| {
        (1..=KEY_CHARS_MAX).contains(&key.len())
            && key.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
    };
    let Some(key) = key.to_str().ok().filter(fits) else {
        let wrong =
            format!("the Idempotency-Key must have 1 to {KEY_CHARS_MAX} visible ASCII characters");
        return Err(ApiProblem::bad_request(wrong));
    };
    let mut digest = Sha256::new();
    digest.update(path.as_bytes());
    digest.update([0]);
    digest.update(body);
    let own = Sha256::digest(format!("{}\0{key}", who.key_owner()).as_bytes());
    let (key, digest) = (hex(&own[..16]), hex(&digest.finalize()[..16]));
    Ok(Some(IdempotencyKey { key, digest, is_repeat: false }))
}

/// Returns the key for one request of a call that makes several.
fn key_of_part(key: &IdempotencyKey, number: usize) -> IdempotencyKey {
    IdempotencyKey { key: format!("{}.{number}", key.key), ..key.clone() }
}

/// Executes a call once. A repeat that arrives meanwhile waits for the same answer.
pub(super) async fn execute_once<F: Future<Output = Result<Response, ApiProblem>>>(
    app: &SharedState,
    key: Option<&IdempotencyKey>,
    call: F,
) -> Response {
    let Some(key) = key else { return call.await.into_response() };
    let slot = app.idempotency.slot_for(&key.key);
    let mut slot = slot.lock().await;
    if let Some(answered) = &slot.answered {
        return if slot.digest == key.digest {
            replay_response(answered)
        } else {
            key_reused_problem().into_response()
        };
    }
    let response = call.await.into_response();
    let (response, remembered) = cache_response(response).await;
    // Not cached, since a retry may succeed.
    if !response.status().is_server_error() && response.status() != StatusCode::CONFLICT {
        key.digest.clone_into(&mut slot.digest);
        slot.answered = remembered;
    }
    response
}

/// Whether the event log has the call as executed.
pub(super) async fn was_executed(
    app: &SharedState,
    key: Option<&IdempotencyKey>,
) -> Result<bool, ApiProblem> {
    let Some(key) = key else { return Ok(false) };
    match app.idempotency.find_executed(app, &key.key).await? {
        Some(executed) if executed.digest != key.digest => Err(key_reused_problem()),
        executed => Ok(executed.is_some()),
    }
}

/// Sends a request under a key, unless it was executed before.
pub(super) async fn send_request(
    app: &SharedState,
    key: Option<&IdempotencyKey>,
    request: EngineRequest,
) -> Result<ExecutedRequest, ApiProblem> {
    let done = send_requests(app, key, vec![request]).await?;
    done.into_iter().next().ok_or_else(ApiProblem::internal_error)
}

/// Sends several requests in one commit, without those that were executed before.
pub(super) async fn send_requests(
    app: &SharedState,
    key: Option<&IdempotencyKey>,
    requests: Vec<EngineRequest>,
) -> Result<Vec<ExecutedRequest>, ApiProblem> {
    let Some(key) = key else {
        let answered = app.with_project(move |project| project.ask_all(requests)).await?;
        return Ok(answered.iter().map(ExecutedRequest::from_answer).collect());
    };
    let single = requests.len() == 1;
    let keys: Vec<IdempotencyKey> = (0..requests.len())
        .map(|n| if single { key.clone() } else { key_of_part(key, n) })
        .collect();
    let mut before = Vec::new();
    for key in &keys {
        let executed = app.idempotency.find_executed(app, &key.key).await?;
        if executed.as_ref().is_some_and(|executed| executed.digest != key.digest) {
            return Err(key_reused_problem());
        }
        before.push(executed);
    }
    let wanted: Vec<EngineRequest> = keys
        .iter()
        .zip(requests)
        .zip(&before)
        .filter(|(_, executed)| executed.is_none())
        .map(|((key, request), _)| EngineRequest { key: Some(key.clone()), ..request })
        .collect();
    let answered = if wanted.is_empty() {
        vec![]
    } else {
        app.with_project(move |project| project.ask_all(wanted)).await?
    };
    let mut answered = answered.iter().map(ExecutedRequest::from_answer);
    let mut all = Vec::new();
    for (key, executed) in keys.iter().zip(before) {
        let done = match executed {
            Some(executed) => Some(executed.rebuild_answer(app)),
            None => answered.next().inspect(|done| app.idempotency.remember_executed(key, done)),
        };
        all.push(done.ok_or_else(ApiProblem::internal_error)?);
    }
    Ok(all)
}

impl ExecutedRequest {
    fn from_answer(answered: &adjutant_engine::EngineAnswer) -> Self {
        let events = answered.event_ids().map(|EventId(id)| id).collect();
        Self { answer: answered.answer.clone(), events }
    }

    /// Returns the answer in the form of every channel.
    pub(super) fn view(&self) -> AnswerDocument {
        AnswerDocument::new(&self.answer, self.events.iter().copied().map(EventId).collect())
    }

    /// Whether a rule refused the request.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.answer.verdict, AnswerVerdict::Rejected | AnswerVerdict::Unknown)
    }
}

impl ExecutedCall {
    /// Rebuilds the answer, with the task's present status.
    fn rebuild_answer(self, app: &SharedState) -> ExecutedRequest {
        let task_status = |world: &World| Some(world.task(self.about.as_ref()?)?.status());
        let status = app.project.queries.with_world(task_status).ok().flatten();
        let answer = Answer { task: self.about, status, ..Answer::plain(AnswerVerdict::Applied) };
        ExecutedRequest { answer, events: self.events }
    }
}

impl IdempotencyCache {
    fn slot_for(&self, key: &str) -> Arc<tokio::sync::Mutex<AnswerSlot>> {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.by_key.get(key) {
            return Arc::clone(slot);
        }
        while slots.order.len() >= ANSWERS_MAX {
            if let Some(old) = slots.order.pop_front() {
                slots.by_key.remove(&old);
            }
        }
        slots.order.push_back(key.to_owned());
        let slot = Arc::default();
        slots.by_key.insert(key.to_owned(), Arc::clone(&slot));
        slot
    }

    /// Returns the executed call with this key, if there is one.
    async fn find_executed(
        &self,
        app: &SharedState,
        key: &str,
    ) -> Result<Option<ExecutedCall>, ApiProblem> {
        let read = || async {
            let (root, now) = (app.project.queries.root().to_owned(), app.project.queries.now());
            app.with_project(move |_| Ok(read_executed_calls(&root, now))).await.map(Mutex::new)
        };
        let deeds = self.executed.get_or_try_init(read).await?;
        Ok(deeds.lock().get(key).cloned())
    }

    fn remember_executed(&self, key: &IdempotencyKey, done: &ExecutedRequest) {
        let Some(deeds) =
            self.executed.get().filter(|_| done.answer.verdict == AnswerVerdict::Applied)
        else {
            return;
        };
        let mut deeds = deeds.lock();
        if deeds.len() < EXECUTED_MAX {
            let (digest, about) = (key.digest.clone(), done.answer.task.clone());
            deeds.insert(
                key.key.clone(),
                ExecutedCall { digest, about, events: done.events.clone() },
            );
        }
    }
}

/// Reads the executed calls whose keys are still valid.
fn read_executed_calls(root: &std::path::Path, now: Time) -> HashMap<String, ExecutedCall> {
    let from = now.as_millis() - KEY_VALID_MILLIS;
    let mut deeds = HashMap::new();
    let mut files = EventFiles::since(root, &Time::from_millis(from).day());
    // If the event log cannot be read to its end, the part that was read is used.
    while let Ok(Some(line)) = files.next_line() {
        let Ok(text) = std::str::from_utf8(&line.bytes) else { continue };
        // Parsing only the lines that may match is much cheaper.
        if !text.contains("\"request.kept\"") {
            continue;
        }
        let Ok(recorded) = decode(text) else { continue };
        if let Event::RequestKept { key, request, about, events } = recorded.new_event.event
            && recorded.at.as_millis() >= from
        {
            let events = events.into_iter().map(|EventId(id)| id).collect();
            deeds.insert(key, ExecutedCall { digest: request, about, events });
        }
    }
    deeds
}

async fn cache_response(response: Response) -> (Response, Option<CachedResponse>) {
    let (parts, body) = response.into_parts();
    let Ok(body) = axum::body::to_bytes(body, 16 << 20).await else {
        return (ApiProblem::internal_error().into_response(), None);
    };
    let names = [header::CONTENT_TYPE, header::LOCATION];
    let headers: Vec<(HeaderName, HeaderValue)> = names
        .into_iter()
        .filter_map(|name| parts.headers.get(&name).cloned().map(|value| (name, value)))
        .collect();
    let remembered = (body.len() <= ANSWER_BYTES_MAX).then(|| CachedResponse {
        status: parts.status,
        headers,
        body: body.clone(),
    });
    (Response::from_parts(parts, body.into()), remembered)
}

fn replay_response(answered: &CachedResponse) -> Response {
    let mut response = (answered.status, answered.body.clone()).into_response();
    for (name, value) in &answered.headers {
        response.headers_mut().insert(name.clone(), value.clone());
    }
    let replayed = HeaderName::from_static("idempotency-replayed");
    response.headers_mut().insert(replayed, HeaderValue::from_static("true"));
    response
}

fn key_reused_problem() -> ApiProblem {
    let title = "This Idempotency-Key was already used for a different request.";
    ApiProblem::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", title)
}
