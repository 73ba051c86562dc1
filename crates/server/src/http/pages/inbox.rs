//! Serves the inbox page.

use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::actions::confirmation;
use super::{BoardPage, BoardUser};
use crate::board::inbox::InboxPage;
use crate::board::page_frame::BoardTab;
use crate::http::SharedState;
use crate::http::params::QueryParams;
use crate::http::problem::ApiProblem;

const ITEMS: usize = 50;

pub(super) async fn page(
    State(app): State<SharedState>,
    person: BoardUser,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiProblem> {
    let mut params = QueryParams::parse(query.as_deref(), &["did", "page"]);
    let number = params.number("page").unwrap_or(1).max(1);
    let page = usize::try_from(number).unwrap_or(usize::MAX);
    let message = params.text("did").and_then(|word| confirmation(&word));
    params.check()?;
    let now = app.project.queries.now();
    let from = (page - 1).saturating_mul(ITEMS);
    let (items, all) =
        app.with_project(move |project| project.queries.inbox_page(from, ITEMS)).await?;
    let inbox = InboxPage { items, all, page, more: from.saturating_add(ITEMS) < all, now };
    let content = inbox.render();
    BoardPage::new("Inbox", Some(BoardTab::Inbox), content)
        .with_message(message)
        .send(&app, &person)
        .await
}
