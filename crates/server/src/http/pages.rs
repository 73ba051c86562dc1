//! The pages of the board: each handler reads its query, gathers the data and renders the page.
//!
//! Every page can be read without a script. A form executes the command of the same name, and needs
//! the script for its proof of origin.

mod actions;
mod agents;
mod board_user;
mod change_stream;
mod columns;
mod done_action;
mod event_log;
mod figures;
mod inbox;
mod stories;
mod task;
mod task_event_index;
mod task_files;

use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_core::World;
use adjutant_model::EventId;
use adjutant_query::ProjectQueries;
use adjutant_query::failure::CommandFailure;
use axum::Router;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use board_user::BoardUser;
pub(super) use figures::FigureSums;
use maud::Markup;
use parking_lot::Mutex;
pub(super) use task_event_index::TaskEventIndex;

use super::SharedState;
use super::problem::ApiProblem;
use crate::board::asset;
use crate::board::page_frame::{BoardTab, FlashMessage, PageFrame};

pub(super) fn router() -> Router<SharedState> {
    Router::new()
        .route("/", get(columns::page))
        .route("/inbox", get(inbox::page).post(actions::act_on_selected))
        .route("/stories", get(stories::page).post(stories::start_story))
        .route("/stories/{id}/{act}", post(stories::act_on_story))
        .route("/agents", get(agents::page))
        .route("/record", get(event_log::page))
        .route("/figures", get(figures::page))
        .route("/tasks", post(actions::create_task))
        .route("/tasks/new", get(actions::new_task_page))
        .route("/tasks/{id}", get(task::page))
        .route("/tasks/{id}/files/{*path}", get(task_files::show))
        .route("/tasks/{id}/{act}", post(actions::act_on_task))
        .route("/board/changes", get(change_stream::stream))
        .route("/assets/{name}", get(asset))
}

/// How long the inbox count is cached. Some items appear only because time passes or because a file
/// changed that has not been read yet.
const COUNT_VALID: Duration = Duration::from_secs(10);

/// The cached number of inbox items: the last event and the time when they were counted,
/// and the count.
#[derive(Default)]
pub(super) struct InboxCount(Mutex<Option<(EventId, Instant, usize)>>);

impl InboxCount {
    /// Counts the items, unless the cached count is still valid.
    fn count(&self, queries: &ProjectQueries) -> Result<usize, CommandFailure> {
        let now = queries.with_world(World::last_event)?;
        let kept = || self.0.lock();
        let is_good = |at: EventId, when: Instant| at == now && when.elapsed() < COUNT_VALID;
        if let Some((_, _, count)) = kept().filter(|(at, when, _)| is_good(*at, *when)) {
            return Ok(count);
        }
        let (_, count) = queries.inbox_page(0, 0)?;
        *kept() = Some((now, Instant::now(), count));
        Ok(count)
    }
}

/// A page before it is put into its frame.
struct BoardPage {
    title: String,
    tab: Option<BoardTab>,
    content: Markup,
    message: Option<FlashMessage>,
    status: StatusCode,
}

impl BoardPage {
    fn new(title: impl Into<String>, tab: Option<BoardTab>, content: Markup) -> Self {
        Self { title: title.into(), tab, content, message: None, status: StatusCode::OK }
    }

    /// Shows a message above the content.
    fn with_message(mut self, message: Option<FlashMessage>) -> Self {
        self.message = message;
        self
    }

    /// Adds the frame that every page has, and builds the response.
    async fn send(self, app: &SharedState, person: &BoardUser) -> Result<Response, ApiProblem> {
        let own = Arc::clone(app);
        let waiting = app.with_project(move |project| own.inbox_count.count(&project.queries));
        let root = app.project.queries.root();
        let home = root.parent().and_then(|home| home.file_name());
        let shell = PageFrame {
            project: home.map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            inbox_count: waiting.await?,
            message: self.message,
            storage_key: person.has_session.then(|| app.sessions.storage_key().to_owned()),
        };
        let page = shell.render(&self.title, self.tab, &self.content);
        Ok((self.status, Html(page.into_string())).into_response())
    }
}

async fn asset(uri: Uri) -> Result<Response, ApiProblem> {
    let found = asset::find(uri.path());
    let found = found.ok_or_else(|| ApiProblem::not_found("nothing is served at this path"))?;
    let mut response = found.text.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(found.media_type));
    // The path contains a hash of the content, so the content at a path never changes.
    let kept = HeaderValue::from_static("private, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, kept);
    Ok(response)
}
