//! A call that is made twice with the same `Idempotency-Key` is done once, and answered alike.
//!
//! That a call was done is committed with what it did, so that no crash can come in between. What
//! was answered is remembered for a while; when that is forgotten, or the daemon was started anew,
//! the answer is made again from the record.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::{Answer, Event, EventId, TaskId, Time, Verdict};
use adjutant_runtime::Request;
use adjutant_store::file::EventFiles;
use adjutant_store::record::decode;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use super::App;
use super::auth::Known;
use super::problem::Problem;
use super::token::hex;

/// What carries the key.
pub(super) const HEADER: &str = "idempotency-key";
/// The longest key.
const KEY_CHARS_MAX: usize = 255;
/// How many answers are remembered.
const ANSWERS_MAX: usize = 1024;
/// The largest answer that is remembered as it was.
const ANSWER_BYTES_MAX: usize = 64 * 1024;
/// For how long a key counts.
const KEPT_MILLIS: i64 = 24 * 3600 * 1000;
/// The most deeds that are remembered.
const DEEDS_MAX: usize = 100_000;

/// A key, and what it was sent with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) key: String,
    pub(super) digest: String,
}

/// What was done, as the answer tells it.
#[derive(Debug, Clone)]
pub(super) struct Done {
    /// The answer.
    pub(super) answer: Answer,
    /// The events it caused.
    pub(super) events: Vec<u64>,
}

/// What came of calls that carried a key.
#[derive(Default)]
pub(super) struct Kept {
    slots: Mutex<Slots>,
    /// What the record says was done, read when somebody first asks.
    deeds: OnceCell<Mutex<HashMap<String, Deed>>>,
}

#[derive(Default)]
struct Slots {
    by_key: HashMap<String, Arc<tokio::sync::Mutex<Slot>>>,
    order: VecDeque<String>,
}

#[derive(Default)]
struct Slot {
    digest: String,
    answered: Option<Remembered>,
}

#[derive(Clone)]
struct Remembered {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
}

#[derive(Clone)]
struct Deed {
    digest: String,
    about: Option<TaskId>,
    events: Vec<u64>,
}

impl Key {
    /// Reads the key of a call. What it is sent with tells another call under the same key.
    pub(super) fn read(
        headers: &HeaderMap,
        who: &Known,
        path: &str,
        body: &[u8],
    ) -> Result<Option<Self>, Problem> {
        let Some(key) = headers.get(HEADER) else { return Ok(None) };
        let fits = |key: &&str| {
            (1..=KEY_CHARS_MAX).contains(&key.len())
                && key.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
        };
        let Some(key) = key.to_str().ok().filter(fits) else {
            let wrong = format!("an Idempotency-Key has 1 to {KEY_CHARS_MAX} visible characters");
            return Err(Problem::bad_call(wrong));
        };
        let mut digest = Sha256::new();
        digest.update(path.as_bytes());
        digest.update([0]);
        digest.update(body);
        let own = Sha256::digest(format!("{}\0{key}", who.name()).as_bytes());
        Ok(Some(Self { key: hex(&own[..16]), digest: hex(&digest.finalize()[..16]) }))
    }

    /// Has it written down with what is done that it was done.
    fn on(&self, request: Request) -> Request {
        Request::Keyed { key: self.key.clone(), digest: self.digest.clone(), of: Box::new(request) }
    }

    /// Returns the key of a part of a call that does several things.
    pub(super) fn part(&self, number: usize) -> Self {
        Self { key: format!("{}.{number}", self.key), digest: self.digest.clone() }
    }
}

/// Makes a call once. Who makes it again while it is under way waits for the answer.
pub(super) async fn once<F: Future<Output = Result<Response, Problem>>>(
    app: &App,
    key: Option<&Key>,
    call: F,
) -> Response {
    let Some(key) = key else { return call.await.into_response() };
    let slot = app.kept.slot(&key.key);
    let mut slot = slot.lock().await;
    if let Some(answered) = &slot.answered {
        return if slot.digest == key.digest {
            replayed(answered)
        } else {
            reused().into_response()
        };
    }
    let response = call.await.into_response();
    let (response, remembered) = remember(response).await;
    // What broke may work the next time.
    if !response.status().is_server_error() && response.status() != StatusCode::CONFLICT {
        key.digest.clone_into(&mut slot.digest);
        slot.answered = remembered;
    }
    response
}

/// Says whether the record says that a call was done.
pub(super) async fn was_done(app: &App, key: Option<&Key>) -> Result<bool, Problem> {
    let Some(key) = key else { return Ok(false) };
    match app.kept.deed(app, &key.key).await? {
        Some(deed) if deed.digest != key.digest => Err(reused()),
        deed => Ok(deed.is_some()),
    }
}

/// Asks for something under a key, unless the record says that it was done.
pub(super) async fn ask(app: &App, key: Option<&Key>, request: Request) -> Result<Done, Problem> {
    let done = ask_all(app, key, vec![request]).await?;
    done.into_iter().next().ok_or_else(Problem::bug)
}

/// Asks for several things in one commit, but for what the record says was done.
pub(super) async fn ask_all(
    app: &App,
    key: Option<&Key>,
    requests: Vec<Request>,
) -> Result<Vec<Done>, Problem> {
    let Some(key) = key else {
        let answered = app.office(move |office| office.ask_all(requests)).await?;
        return Ok(answered.iter().map(Done::of).collect());
    };
    let single = requests.len() == 1;
    let keys: Vec<Key> =
        (0..requests.len()).map(|n| if single { key.clone() } else { key.part(n) }).collect();
    let mut before = Vec::new();
    for key in &keys {
        let deed = app.kept.deed(app, &key.key).await?;
        if deed.as_ref().is_some_and(|deed| deed.digest != key.digest) {
            return Err(reused());
        }
        before.push(deed);
    }
    let wanted: Vec<Request> = keys
        .iter()
        .zip(requests)
        .zip(&before)
        .filter(|(_, deed)| deed.is_none())
        .map(|((key, request), _)| key.on(request))
        .collect();
    let answered = if wanted.is_empty() {
        vec![]
    } else {
        app.office(move |office| office.ask_all(wanted)).await?
    };
    let mut answered = answered.iter().map(Done::of);
    let mut all = Vec::new();
    for (key, deed) in keys.iter().zip(before) {
        let done = match deed {
            Some(deed) => Some(deed.again(app)),
            None => answered.next().inspect(|done| app.kept.note(key, done)),
        };
        all.push(done.ok_or_else(Problem::bug)?);
    }
    Ok(all)
}

impl Done {
    fn of(answered: &adjutant_runtime::Answered) -> Self {
        let events = answered.event_ids().map(|EventId(id)| id).collect();
        Self { answer: answered.answer.clone(), events }
    }

    /// Says whether a rule said no.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.answer.verdict, Verdict::Rejected | Verdict::Unknown)
    }
}

impl Deed {
    /// Returns what was done, as it stands now.
    fn again(self, app: &App) -> Done {
        let mut status = None;
        let _ = app.office.look(&mut |world| {
            status =
                self.about.as_ref().and_then(|id| world.task(id)).map(adjutant_core::Task::status);
        });
        let answer = Answer { task: self.about, status, ..Answer::plain(Verdict::Applied) };
        Done { answer, events: self.events }
    }
}

impl Kept {
    fn slot(&self, key: &str) -> Arc<tokio::sync::Mutex<Slot>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Returns what the record says was done under a key.
    async fn deed(&self, app: &App, key: &str) -> Result<Option<Deed>, Problem> {
        let read = || async {
            let (root, now) = (app.office.root().to_owned(), app.office.now());
            app.office(move |_| Ok(read_deeds(&root, now))).await.map(Mutex::new)
        };
        let deeds = self.deeds.get_or_try_init(read).await?;
        Ok(deeds.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
    }

    fn note(&self, key: &Key, done: &Done) {
        let Some(deeds) = self.deeds.get().filter(|_| done.answer.verdict == Verdict::Applied)
        else {
            return;
        };
        let mut deeds = deeds.lock().unwrap_or_else(PoisonError::into_inner);
        if deeds.len() < DEEDS_MAX {
            let (digest, about) = (key.digest.clone(), done.answer.task.clone());
            deeds.insert(key.key.clone(), Deed { digest, about, events: done.events.clone() });
        }
    }
}

/// Reads what was done under keys that still count.
fn read_deeds(root: &std::path::Path, now: Time) -> HashMap<String, Deed> {
    let from = now.as_millis() - KEPT_MILLIS;
    let mut deeds = HashMap::new();
    let mut files = EventFiles::since(root, &Time::from_millis(from).day());
    // A record that cannot be read to its end is read as far as it goes.
    while let Ok(Some(line)) = files.next_line() {
        let Ok(text) = std::str::from_utf8(&line.bytes) else { continue };
        // Most lines speak of something else, and need not be parsed to be told apart.
        if !text.contains("\"request.kept\"") {
            continue;
        }
        let Ok(recorded) = decode(text) else { continue };
        if let Event::RequestKept { key, request, about, events } = recorded.happened.event
            && recorded.at.as_millis() >= from
        {
            let events = events.into_iter().map(|EventId(id)| id).collect();
            deeds.insert(key, Deed { digest: request, about, events });
        }
    }
    deeds
}

async fn remember(response: Response) -> (Response, Option<Remembered>) {
    let (parts, body) = response.into_parts();
    let Ok(body) = axum::body::to_bytes(body, 16 << 20).await else {
        return (Problem::bug().into_response(), None);
    };
    let names = [header::CONTENT_TYPE, header::LOCATION];
    let headers: Vec<(HeaderName, HeaderValue)> = names
        .into_iter()
        .filter_map(|name| parts.headers.get(&name).cloned().map(|value| (name, value)))
        .collect();
    let remembered = (body.len() <= ANSWER_BYTES_MAX).then(|| Remembered {
        status: parts.status,
        headers,
        body: body.clone(),
    });
    (Response::from_parts(parts, body.into()), remembered)
}

fn replayed(answered: &Remembered) -> Response {
    let mut response = (answered.status, answered.body.clone()).into_response();
    for (name, value) in &answered.headers {
        response.headers_mut().insert(name.clone(), value.clone());
    }
    let replayed = HeaderName::from_static("idempotency-replayed");
    response.headers_mut().insert(replayed, HeaderValue::from_static("true"));
    response
}

fn reused() -> Problem {
    let title = "The same Idempotency-Key was sent with another call.";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused", title)
}
