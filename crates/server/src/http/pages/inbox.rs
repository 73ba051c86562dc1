//! Serves the inbox page.

use std::collections::BTreeMap;

use adjutant_core::World;
use adjutant_model::TaskId;
use adjutant_query::failure::CommandFailure;
use adjutant_query::inbox::InboxItem;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::done_action::DoneAction;
use super::{BoardPage, BoardUser};
use crate::board::form::TaskFormFacts;
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
    let mut params = QueryParams::parse(query.as_deref(), &["did", "about", "page"]);
    let number = params.number("page").unwrap_or(1).max(1);
    let page = usize::try_from(number).unwrap_or(usize::MAX);
    let done = DoneAction::read(&params);
    params.check()?;
    let message = done.message(&app).await?;
    let now = app.project.queries.now();
    let from = (page - 1).saturating_mul(ITEMS);
    let (items, all, facts) = app
        .with_project(move |project| {
            let (items, all) = project.queries.inbox_page(from, ITEMS)?;
            let facts = project.queries.with_world(|world| facts_of(world, &items))?;
            Ok::<_, CommandFailure>((items, all, facts))
        })
        .await?;
    let more = from.saturating_add(ITEMS) < all;
    let content = InboxPage { items, all, page, more, facts, now }.render();
    BoardPage::new("Inbox", Some(BoardTab::Inbox), content)
        .with_message(message)
        .send(&app, &person)
        .await
}

/// Returns what forms say about the tasks of the items.
fn facts_of(world: &World, items: &[InboxItem]) -> BTreeMap<String, TaskFormFacts> {
    let ids = items.iter().filter_map(|item| TaskId::parse(item.task_id.as_deref()?).ok());
    let tasks = ids.filter_map(|id| world.task(&id));
    tasks.map(|task| (task.id.to_string(), TaskFormFacts::of(world, task))).collect()
}
