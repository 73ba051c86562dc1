//! The pages of the board: what is asked for by an address, gathered and shown.
//!
//! Every page is whole without script. What a form does is the command of the same name.

mod act;
mod agents;
mod changes;
mod columns;
mod figures;
mod file;
mod inbox;
mod person;
mod record;
mod stories;
mod task;
mod trail;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_core::EventId;
use axum::Router;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use maud::Markup;

pub(super) use figures::Sums;
use person::Person;
pub(super) use trail::Trail;

use super::App;
use super::problem::Problem;
use crate::board::asset;
use crate::board::shell::{Said, Shell, Tab};
use crate::office::{Office, Trouble};

/// Returns what attends to the pages.
pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/", get(columns::page))
        .route("/inbox", get(inbox::page).post(act::batch))
        .route("/stories", get(stories::page).post(stories::begin))
        .route("/stories/{id}/{act}", post(stories::act))
        .route("/agents", get(agents::page))
        .route("/record", get(record::page))
        .route("/figures", get(figures::page))
        .route("/tasks", post(act::create))
        .route("/tasks/new", get(act::new))
        .route("/tasks/{id}", get(task::page))
        .route("/tasks/{id}/files/{*path}", get(file::show))
        .route("/tasks/{id}/{act}", post(act::one))
        .route("/board/changes", get(changes::stream))
        .route("/assets/{name}", get(asset))
}

/// How long what was counted is good for. Some of it waits because of the time of day, or because of
/// files that nobody has looked at yet.
const COUNTED: Duration = Duration::from_secs(10);

/// How many things wait for a person, as it was counted last: after which event, and when.
#[derive(Default)]
pub(super) struct Waiting(Mutex<Option<(EventId, Instant, usize)>>);

impl Waiting {
    /// Counts them, unless nothing happened since.
    fn count(&self, office: &dyn Office) -> Result<usize, Trouble> {
        let mut now = EventId::default();
        office.look(&mut |world| now = world.last_event())?;
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_good = |at: EventId, when: Instant| at == now && when.elapsed() < COUNTED;
        if let Some((_, _, count)) = kept().filter(|(at, when, _)| is_good(*at, *when)) {
            return Ok(count);
        }
        let (_, count) = office.inbox_part(0, 0)?;
        *kept() = Some((now, Instant::now(), count));
        Ok(count)
    }
}

/// A page, as it is sent.
struct Page {
    title: String,
    tab: Option<Tab>,
    content: Markup,
    said: Option<Said>,
    status: StatusCode,
}

impl Page {
    fn new(title: impl Into<String>, tab: Option<Tab>, content: Markup) -> Self {
        Self { title: title.into(), tab, content, said: None, status: StatusCode::OK }
    }

    /// Says something above it.
    fn saying(mut self, said: Option<Said>) -> Self {
        self.said = said;
        self
    }

    /// Puts everything around it that every page has.
    async fn send(self, app: &App, person: &Person) -> Result<Response, Problem> {
        let own = Arc::clone(app);
        let waiting = app.office(move |office| own.waiting.count(office));
        let root = app.office.root();
        let home = root.parent().and_then(|home| home.file_name());
        let shell = Shell {
            project: home.map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            waiting: waiting.await?,
            said: self.said,
            csrf: person.proof.clone(),
        };
        let page = shell.page(&self.title, self.tab, &self.content);
        Ok((self.status, Html(page.into_string())).into_response())
    }
}

async fn asset(uri: Uri) -> Result<Response, Problem> {
    let found = asset::find(uri.path());
    let found = found.ok_or_else(|| Problem::not_found("there is nothing at this path"))?;
    let mut response = found.text.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(found.media_type));
    // It is known by what it is, so that it never changes.
    let kept = HeaderValue::from_static("private, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, kept);
    Ok(response)
}
