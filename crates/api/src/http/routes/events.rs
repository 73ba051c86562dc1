//! The record: page by page, or as it grows.

use adjutant_core::EventId;
use adjutant_store::file::EventFiles;
use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::Event;
use super::call::TASK_ID;
use super::tasks::{link_next, named, too_many};
use crate::http::App;
use crate::http::auth::Known;
use crate::http::gate::header_text;
use crate::http::operation::{ApiBody, ApiOperation, ApiParameter, ApiRoute};
use crate::http::params::{LIMIT, Params};
use crate::http::problem::Problem;
use crate::http::record::Line;
use crate::http::stream::{self, Filter};
use crate::office::{Kind, Trouble};

/// How much of the record is looked at for one page.
const LOOKED_AT_MAX: usize = 100_000;

pub(super) fn operations() -> Vec<ApiOperation> {
    let after = ApiParameter::query::<u64>("after", "Only those after this event");
    let task = ApiParameter::query::<String>("task", "Only those about this task");
    let types = ApiParameter::query::<Vec<String>>("type", "Only those of this type or kind");
    vec![
        ApiRoute::get("/v1/events", "events", "list", list)
            .summary(
                "Lists events, a page at a time; `Link` names the next page. To whoever accepts \
                 `text/event-stream`, they are sent as they come.",
            )
            .parameters([
                after,
                LIMIT,
                task,
                ApiParameter::query::<Vec<String>>(
                    "type",
                    "Only those of this type, as `task.transitioned`, or of a kind, as `task`",
                ),
            ])
            .returns::<Vec<Event>>(),
        ApiRoute::get("/v1/events/stream", "events", "stream", stream)
            .summary(
                "Sends events as they come: server-sent events, from `Last-Event-ID` or `after` \
                 on, else from now on.",
            )
            .parameters([
                ApiParameter::query::<u64>("after", "From after this event on"),
                task,
                types,
                ApiParameter::header::<u64>("Last-Event-ID", "The last event that was heard"),
            ])
            .response("200", ApiBody::text("text/event-stream")),
        ApiRoute::get("/v1/tasks/{id}/events", "events", "of_task", of_task)
            .summary("Lists the events about a task.")
            .parameters([TASK_ID, after, LIMIT, types])
            .returns::<Vec<Event>>(),
    ]
}

/// What a call about the record asks for.
struct Asked {
    filter: Filter,
    after: Option<u64>,
    limit: usize,
}

async fn list(
    State(app): State<App>,
    who: Known,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asked = asked(&app, &who, query.as_deref(), None).await?;
    if header_text(&headers, "accept").contains("text/event-stream") {
        return follow(app, &who, asked, &headers);
    }
    page(&app, asked, "/v1/events", query.as_deref()).await
}

async fn stream(
    State(app): State<App>,
    who: Known,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let asked = asked(&app, &who, query.as_deref(), None).await?;
    follow(app, &who, asked, &headers)
}

async fn of_task(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let id = named(&app, &who, id, &Method::GET).await?;
    let asked = asked(&app, &who, query.as_deref(), Some(id.as_str())).await?;
    if header_text(&headers, "accept").contains("text/event-stream") {
        return follow(app, &who, asked, &headers);
    }
    page(&app, asked, &format!("/v1/tasks/{id}/events"), query.as_deref()).await
}

async fn asked(
    app: &App,
    who: &Known,
    query: Option<&str>,
    of: Option<&str>,
) -> Result<Asked, Problem> {
    let known: &[&str] = if of.is_some() {
        &["after", "limit", "type"]
    } else {
        &["after", "limit", "task", "type"]
    };
    let mut params = Params::read(query, known);
    let (after, limit) = (params.number("after"), params.limit());
    let (task, types) = (params.text("task"), params.all("type"));
    params.check()?;
    let task = match (of, task) {
        (Some(task), _) => Some(task.to_owned()),
        (None, Some(task)) => Some(named(app, who, task, &Method::GET).await?.to_string()),
        // A run sees what concerns its own task.
        (None, None) => who.only().map(ToString::to_string),
    };
    Ok(Asked { filter: Filter { task, types }, after, limit })
}

async fn page(
    app: &App,
    asked: Asked,
    path: &str,
    query: Option<&str>,
) -> Result<Response, Problem> {
    let Asked { filter, after, limit } = asked;
    let after = after.unwrap_or(0);
    let (events, next) = app
        .office(move |office| {
            read(office.root(), after, limit, &filter).map_err(|error| Trouble {
                kind: Kind::Broken,
                code: "io".to_owned(),
                message: "cannot read the record".to_owned(),
                causes: vec![error.to_string()],
                hint: None,
            })
        })
        .await?;
    let mut response = Json(Value::Array(events)).into_response();
    if let Some(next) = next {
        link_next(&mut response, path, query, &next.to_string());
    }
    Ok(response)
}

/// Reads a page, and returns where the next one begins, if there may be one.
fn read(
    root: &std::path::Path,
    after: u64,
    limit: usize,
    filter: &Filter,
) -> Result<(Vec<Value>, Option<u64>), adjutant_store::StoreError> {
    let mut files = EventFiles::after(root, EventId(after))?;
    let (mut events, mut last) = (Vec::new(), after);
    for _ in 0..LOOKED_AT_MAX {
        let Some(line) = files.next_line()? else { return Ok((events, None)) };
        let Some(line) = Line::read(line.bytes).filter(|line| line.id > after) else { continue };
        if events.len() == limit && filter.wants(&line) {
            return Ok((events, Some(last)));
        }
        last = line.id;
        if filter.wants(&line) {
            events.push(line.value());
        }
    }
    Ok((events, Some(last)))
}

fn follow(app: App, who: &Known, asked: Asked, headers: &HeaderMap) -> Result<Response, Problem> {
    let heard = header_text(headers, "last-event-id");
    let wrong = |_| Problem::bad_call("Last-Event-ID must be the number of an event");
    let heard = (!heard.is_empty()).then(|| heard.parse().map_err(wrong)).transpose()?;
    let mut now = 0;
    app.office.look(&mut |world| now = world.last_event().0)?;
    let after = heard.or(asked.after).unwrap_or(now);
    let run = who.only().map(|_| who.name());
    let Some(seat) = app.limits.seat(run.as_deref()) else {
        return Err(too_many(&app, who, "/v1/events"));
    };
    Ok(stream::events(app, after, asked.filter, seat))
}
