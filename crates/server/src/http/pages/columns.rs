//! Serves the front page of the board.

use std::collections::BTreeSet;

use adjutant_core::World;
use adjutant_core::schedule::hold_reasons;
use adjutant_model::{Priority, Status, Task, TaskId, Time};
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::actions::confirmation;
use super::{BoardPage, BoardUser};
use crate::board::columns::{BoardFilter, FrontPage, StatusColumn, TaskCard};
use crate::board::page_frame::BoardTab;
use crate::http::SharedState;
use crate::http::params::QueryParams;
use crate::http::problem::ApiProblem;

/// How many cards a column shows next to others, and alone.
const CARDS_BESIDE: usize = 25;
const CARDS_ALONE: usize = 100;

/// The columns of the page when the filter names no status.
const COLUMNS: [Status; 7] = [
    Status::Backlog,
    Status::Ready,
    Status::InProgress,
    Status::Blocked,
    Status::Review,
    Status::Done,
    Status::Deadletter,
];

pub(super) async fn page(
    State(app): State<SharedState>,
    person: BoardUser,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiProblem> {
    let known = ["agent", "priority", "q", "status", "after", "did"];
    let mut params = QueryParams::parse(query.as_deref(), &known);
    let message = params.text("did").and_then(|did_| confirmation(&did_));
    let filter = read_filter(&mut params);
    params.check()?;
    let (board, now) = (filter.clone(), app.project.queries.now());
    let board = app
        .with_project(move |project| project.queries.with_world(|world| gather(world, &board, now)))
        .await?;
    BoardPage::new("Board", Some(BoardTab::Board), board.render())
        .with_message(message)
        .send(&app, &person)
        .await
}

/// Reads the filter. An empty field counts as not set, because a form sends all its fields.
fn read_filter(params: &mut QueryParams) -> BoardFilter {
    let text =
        |params: &QueryParams, key| params.text(key).filter(|text: &String| !text.is_empty());
    let priority = |text: &str| match Priority::parse(text) {
        None if !text.is_empty() => {
            Err("is not a priority: use critical, high, normal or low".to_owned())
        }
        parsed => Ok(parsed),
    };
    let status = |text: &str| match Status::parse(text) {
        None if !text.is_empty() => Err("is not a status".to_owned()),
        parsed => Ok(parsed),
    };
    BoardFilter {
        agent: text(params, "agent"),
        priority: params.parse_value("priority", priority).flatten(),
        text: text(params, "q"),
        status: params.parse_value("status", status).flatten(),
        after: text(params, "after"),
    }
}

fn gather(world: &World, filter: &BoardFilter, now: Time) -> FrontPage {
    let (columns, most) = match filter.status {
        Some(status) => (vec![status], CARDS_ALONE),
        None => (COLUMNS.to_vec(), CARDS_BESIDE),
    };
    let columns = columns.into_iter().map(|status| build_column(world, status, filter, most, now));
    let agents: BTreeSet<String> = world.policy().agents.keys().map(ToString::to_string).collect();
    let (running, slots) = (world.count(Status::InProgress), world.policy().scheduler.concurrency);
    FrontPage {
        columns: columns.collect(),
        filter: filter.clone(),
        agents: agents.into_iter().collect(),
        summary: format!("{running} in progress, concurrency limit {slots}"),
        now,
    }
}

/// Collects the first `most` tasks of a column in one pass, without sorting or storing the others.
fn build_column(
    world: &World,
    status: Status,
    filter: &BoardFilter,
    most: usize,
    now: Time,
) -> StatusColumn {
    let text = filter.text.as_ref().map(|text| text.to_lowercase());
    let wanted = |task: &&Task| matches_filter(task, filter, text.as_deref());
    let after = filter.after.as_deref().and_then(|id| TaskId::parse(id).ok());
    let after = after.and_then(|id| world.task(&id)).map(column_order);
    let mut count = 0;
    let mut first: BTreeSet<ColumnOrder<'_>> = BTreeSet::new();
    for task in world.with_status(status).filter(wanted) {
        count += 1;
        let place = column_order(task);
        if after.is_some_and(|after| place <= after) {
            continue;
        }
        first.insert(place);
        if first.len() > most {
            first.pop_last();
        }
    }
    let tasks = first.iter().filter_map(|(_, _, id)| world.task(id));
    StatusColumn { status, count, cards: tasks.map(|task| build_card(world, task, now)).collect() }
}

/// The sort key of a task in its column: closed tasks newest first, others by priority.
type ColumnOrder<'a> = (Priority, i64, &'a TaskId);

fn column_order(task: &Task) -> ColumnOrder<'_> {
    match task.status() {
        Status::Done | Status::Cancelled => {
            (Priority::Critical, -task.last_transition_at.as_millis(), &task.id)
        }
        _ => (task.priority, 0, &task.id),
    }
}

fn matches_filter(task: &Task, filter: &BoardFilter, text: Option<&str>) -> bool {
    let agent = || shown_agent(task);
    let has = |text: &str| {
        task.title.to_lowercase().contains(text)
            || task.id.as_str().to_lowercase().contains(text)
            || task.routing.tags.iter().any(|tag| tag.to_lowercase().contains(text))
    };
    filter.priority.is_none_or(|priority| task.priority == priority)
        && filter.agent.as_ref().is_none_or(|wanted| agent().as_ref() == Some(wanted))
        && text.is_none_or(has)
}

/// Returns the agent that works on the task; else the one it is assigned to; else the last one.
fn shown_agent(task: &Task) -> Option<String> {
    let leased = task.lease().map(|lease| &lease.agent);
    let named =
        leased.or(task.routing.agent.as_ref()).or(task.last_run.as_ref().map(|run| &run.agent));
    named.map(ToString::to_string)
}

fn build_card(world: &World, task: &Task, now: Time) -> TaskCard {
    let note = match task.status() {
        Status::Backlog | Status::Done | Status::Cancelled => None,
        Status::InProgress => task.lease().map(|lease| format!("run {}", lease.attempt)),
        Status::Review | Status::Blocked | Status::Deadletter => {
            task.history.reason.as_deref().map(shorten)
        }
        Status::Ready => hold_reasons(world, &task.id, now).first().map(|hold| shorten(&hold.text)),
    };
    TaskCard {
        id: task.id.to_string(),
        title: task.title.to_string(),
        priority: task.priority,
        agent: shown_agent(task),
        note,
        since: task.last_transition_at,
    }
}

/// Shortens a text to fit on a card. The end is kept, because it has the error.
fn shorten(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = text.chars().count();
    if count <= NOTE_CHARS_MAX {
        return text;
    }
    let half = NOTE_CHARS_MAX / 2;
    let end = text.chars().skip(count - half + 1);
    text.chars().take(half).chain(['…']).chain(end).collect()
}

/// How long a note on a card is.
const NOTE_CHARS_MAX: usize = 140;
