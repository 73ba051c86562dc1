//! The first page.

use std::collections::BTreeSet;

use adjutant_core::schedule::why;
use adjutant_core::{Priority, Status, Task, TaskId, Time, World};
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::act::did;
use super::{Page, Person};
use crate::board::columns::{Board, Card, Column, Filter};
use crate::board::shell::Tab;
use crate::http::App;
use crate::http::params::Params;
use crate::http::problem::Problem;

/// How many cards a column shows beside others, and alone.
const BESIDE: usize = 25;
const ALONE: usize = 100;

/// The columns that are shown if nobody asks for one.
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
    State(app): State<App>,
    person: Person,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let known = ["agent", "priority", "q", "status", "after", "did"];
    let mut params = Params::read(query.as_deref(), &known);
    let said = params.text("did").and_then(|did_| did(&did_));
    let filter = read(&mut params);
    params.check()?;
    let (board, now) = (filter.clone(), app.office.now());
    let board = app
        .office(move |office| {
            let mut made = None;
            office.look(&mut |world| made = Some(gather(world, &board, now)))?;
            Ok(made)
        })
        .await?;
    let board = board.ok_or_else(Problem::bug)?;
    Page::new("Board", Some(Tab::Board), board.shown()).saying(said).send(&app, &person).await
}

/// Reads what is left out. What is empty is not asked for: a form sends all its fields.
fn read(params: &mut Params) -> Filter {
    let text = |params: &Params, key| params.text(key).filter(|text: &String| !text.is_empty());
    let priority = |text: &str| match Priority::parse(text) {
        None if !text.is_empty() => Err("is no priority".to_owned()),
        parsed => Ok(parsed),
    };
    let status = |text: &str| match Status::parse(text) {
        None if !text.is_empty() => Err("is no status".to_owned()),
        parsed => Ok(parsed),
    };
    Filter {
        agent: text(params, "agent"),
        priority: params.parsed("priority", priority).flatten(),
        text: text(params, "q"),
        status: params.parsed("status", status).flatten(),
        after: text(params, "after"),
    }
}

fn gather(world: &World, filter: &Filter, now: Time) -> Board {
    let (columns, most) = match filter.status {
        Some(status) => (vec![status], ALONE),
        None => (COLUMNS.to_vec(), BESIDE),
    };
    let columns = columns.into_iter().map(|status| column(world, status, filter, most, now));
    let agents: BTreeSet<String> = world.policy().agents.keys().map(ToString::to_string).collect();
    let (running, slots) = (world.count(Status::InProgress), world.policy().scheduler.concurrency);
    Board {
        columns: columns.collect(),
        filter: filter.clone(),
        agents: agents.into_iter().collect(),
        glance: format!("{running} in progress, at most {slots} at once"),
        now,
    }
}

/// Gathers the first of a column in its order, in one pass and with room for no more than those.
fn column(world: &World, status: Status, filter: &Filter, most: usize, now: Time) -> Column {
    let text = filter.text.as_ref().map(|text| text.to_lowercase());
    let wanted = |task: &&Task| is_wanted(task, filter, text.as_deref());
    let after = filter.after.as_deref().and_then(|id| TaskId::parse(id).ok());
    let after = after.and_then(|id| world.task(&id)).map(place);
    let mut count = 0;
    let mut first: BTreeSet<Place<'_>> = BTreeSet::new();
    for task in world.with_status(status).filter(wanted) {
        count += 1;
        let place = place(task);
        if after.is_some_and(|after| place <= after) {
            continue;
        }
        first.insert(place);
        if first.len() > most {
            first.pop_last();
        }
    }
    let tasks = first.iter().filter_map(|(_, _, id)| world.task(id));
    Column { status, count, cards: tasks.map(|task| card(world, task, now)).collect() }
}

/// Where a task stands in its column: what is at its end by time, the last first; else by urgency.
type Place<'a> = (Priority, i64, &'a TaskId);

fn place(task: &Task) -> Place<'_> {
    match task.status() {
        Status::Done | Status::Cancelled => {
            (Priority::Critical, -task.last_transition_at.as_millis(), &task.id)
        }
        _ => (task.priority, 0, &task.id),
    }
}

fn is_wanted(task: &Task, filter: &Filter, text: Option<&str>) -> bool {
    let agent = || agent(task);
    let has = |text: &str| {
        task.title.to_lowercase().contains(text) || task.id.as_str().to_lowercase().contains(text)
    };
    filter.priority.is_none_or(|priority| task.priority == priority)
        && filter.agent.as_ref().is_none_or(|wanted| agent().as_ref() == Some(wanted))
        && text.is_none_or(has)
}

/// Returns who works on a task, or whom it is for, or who worked on it.
fn agent(task: &Task) -> Option<String> {
    let leased = task.lease().map(|lease| &lease.agent);
    let named =
        leased.or(task.routing.agent.as_ref()).or(task.last_run.as_ref().map(|run| &run.agent));
    named.map(ToString::to_string)
}

fn card(world: &World, task: &Task, now: Time) -> Card {
    let note = match task.status() {
        Status::Backlog | Status::Done | Status::Cancelled => None,
        Status::InProgress => task.lease().map(|lease| format!("run {}", lease.attempt)),
        Status::Review | Status::Blocked | Status::Deadletter => {
            task.trials.reason.as_deref().map(brief)
        }
        Status::Ready => why(world, &task.id, now).first().map(|hold| brief(&hold.text)),
    };
    Card {
        id: task.id.to_string(),
        title: task.title.to_string(),
        priority: task.priority,
        agent: agent(task),
        note,
        since: task.last_transition_at,
    }
}

/// As much as fits on a card.
fn brief(text: &str) -> String {
    let text = text.lines().next().unwrap_or_default();
    match text.char_indices().nth(140) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
