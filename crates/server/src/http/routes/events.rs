//! Serves the event log: page by page, or as a stream.

use adjutant_model::EventId;
use adjutant_query::failure::CommandFailure;
use adjutant_store::file::EventFiles;
use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::Event;
use super::call::TASK_ID;
use super::tasks::{link_next, refuse_stream, resolve_task};
use crate::http::SharedState;
use crate::http::auth::AuthenticatedCaller;
use crate::http::event_feed::FeedLine;
use crate::http::event_stream::{self, EventFilter};
use crate::http::operation::{ApiOperation, ApiParameter, ApiResponse, ApiRoute};
use crate::http::params::{LIMIT, QueryParams};
use crate::http::problem::ApiProblem;
use crate::http::request_checks::header_text;

/// How many events are scanned for one page.
const SCANNED_MAX: usize = 100_000;

pub(super) fn operations() -> Vec<ApiOperation> {
    let after = ApiParameter::query::<u64>("after", "Only events after this event id");
    let task = ApiParameter::query::<String>("task", "Only events of this task");
    let types = ApiParameter::query::<Vec<String>>(
        "type",
        "Only events of this type, such as `task.transitioned`, or group, such as `task`",
    );
    vec![
        ApiRoute::get("/v1/events", "events", "list_events", list)
            .summary(
                "Lists events, one page at a time; the header `Link` names the next page. With \
                 `Accept: text/event-stream`, the response is a stream of new events.",
            )
            .parameters([after, LIMIT, task, types])
            .with_response_type::<Vec<Event>>("A page of events."),
        ApiRoute::get("/v1/events/stream", "events", "stream", stream)
            .summary(
                "Streams events as server-sent events, starting after `Last-Event-ID`, else after \
                 `after`, else with the next event.",
            )
            .parameters([
                ApiParameter::query::<u64>("after", "Start after this event id"),
                task,
                types,
                ApiParameter::header::<u64>(
                    "Last-Event-ID",
                    "The id of the last event that the client received",
                ),
            ])
            .response("200", ApiResponse::text("text/event-stream", "A stream that does not end.")),
        ApiRoute::get("/v1/tasks/{id}/events", "events", "of_task", list_of_task)
            .summary("Lists the events of a task.")
            .parameters([TASK_ID, after, LIMIT, types])
            .with_response_type::<Vec<Event>>("A page of events."),
    ]
}

/// The parameters of a call for events.
struct EventQuery {
    filter: EventFilter,
    after: Option<u64>,
    limit: usize,
}

async fn list(
    State(app): State<SharedState>,
    who: AuthenticatedCaller,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let asked = read_query(&app, &who, query.as_deref(), None).await?;
    if header_text(&headers, "accept").contains("text/event-stream") {
        return follow(app, &who, asked, &headers);
    }
    page(&app, asked, "/v1/events", query.as_deref()).await
}

async fn stream(
    State(app): State<SharedState>,
    who: AuthenticatedCaller,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let asked = read_query(&app, &who, query.as_deref(), None).await?;
    follow(app, &who, asked, &headers)
}

async fn list_of_task(
    State(app): State<SharedState>,
    who: AuthenticatedCaller,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let id = resolve_task(&app, &who, id, &Method::GET).await?;
    let asked = read_query(&app, &who, query.as_deref(), Some(id.as_str())).await?;
    if header_text(&headers, "accept").contains("text/event-stream") {
        return follow(app, &who, asked, &headers);
    }
    page(&app, asked, &format!("/v1/tasks/{id}/events"), query.as_deref()).await
}

async fn read_query(
    app: &SharedState,
    who: &AuthenticatedCaller,
    query: Option<&str>,
    of: Option<&str>,
) -> Result<EventQuery, ApiProblem> {
    let known: &[&str] = if of.is_some() {
        &["after", "limit", "type"]
    } else {
        &["after", "limit", "task", "type"]
    };
    let mut params = QueryParams::parse(query, known);
    let (after, limit) = (params.number("after"), params.limit());
    let (task, types) = (params.text("task"), params.all("type"));
    params.check()?;
    let task = match (of, task) {
        (Some(task), _) => Some(task.to_owned()),
        (None, Some(task)) => Some(resolve_task(app, who, task, &Method::GET).await?.to_string()),
        // A run sees only the events of its own task.
        (None, None) => who.visible_task().map(ToString::to_string),
    };
    Ok(EventQuery { filter: EventFilter { task, types }, after, limit })
}

async fn page(
    app: &SharedState,
    asked: EventQuery,
    path: &str,
    query: Option<&str>,
) -> Result<Response, ApiProblem> {
    let EventQuery { filter, after, limit } = asked;
    let after = after.unwrap_or(0);
    let (events, next) = app
        .with_project(move |project| {
            read(project.queries.root(), after, limit, &filter)
                .map_err(|error| CommandFailure::unreadable_log(&error))
        })
        .await?;
    let mut response = Json(Value::Array(events)).into_response();
    if let Some(next) = next {
        link_next(&mut response, path, query, &next.to_string());
    }
    Ok(response)
}

/// Reads a page. Also returns the event after which the next page begins, if there may be one.
fn read(
    root: &std::path::Path,
    after: u64,
    limit: usize,
    filter: &EventFilter,
) -> Result<(Vec<Value>, Option<u64>), adjutant_store::StoreError> {
    let mut files = EventFiles::after(root, EventId(after))?;
    let (mut events, mut last) = (Vec::new(), after);
    for _ in 0..SCANNED_MAX {
        let Some(line) = files.next_line()? else { return Ok((events, None)) };
        let Some(line) = FeedLine::parse(line.bytes).filter(|line| line.id > after) else {
            continue;
        };
        if events.len() == limit && filter.matches(&line) {
            return Ok((events, Some(last)));
        }
        last = line.id;
        if filter.matches(&line) {
            events.push(line.to_json());
        }
    }
    Ok((events, Some(last)))
}

fn follow(
    app: SharedState,
    who: &AuthenticatedCaller,
    asked: EventQuery,
    headers: &HeaderMap,
) -> Result<Response, ApiProblem> {
    let heard = header_text(headers, "last-event-id");
    let wrong = |_| ApiProblem::bad_request("Last-Event-ID must be an event id (a number)");
    let heard = (!heard.is_empty()).then(|| heard.parse().map_err(wrong)).transpose()?;
    let now = app.project.queries.with_world(|world| world.last_event().0)?;
    let after = heard.or(asked.after).unwrap_or(now);
    let run = who.visible_task().map(|_| who.key_owner());
    let Some(seat) = app.limits.reserve_stream(run.as_deref()) else {
        return Err(refuse_stream(&app, who, "/v1/events"));
    };
    Ok(event_stream::stream_events(app, after, asked.filter, seat))
}
