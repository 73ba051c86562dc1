//! Tasks, as they are looked at.

use adjutant_core::TaskId;
use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::call::TASK_ID;
use super::{Run, StatusWord, Task, Why};
use crate::http::App;
use crate::http::auth::Known;
use crate::http::operation::{ApiBody, ApiOperation, ApiParameter, ApiRoute};
use crate::http::params::{LIMIT, Params};
use crate::http::printed;
use crate::http::problem::Problem;
use crate::office::{Order, Row, Wanted};
use adjutant_core::answer::Reason;

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::get("/v1/tasks", "tasks", "list", list)
            .summary("Lists tasks, by id, a page at a time. `Link` names the next page.")
            .parameters([
                ApiParameter::query::<Vec<StatusWord>>(
                    "status",
                    "Only those with one of these statuses",
                ),
                ApiParameter::query::<String>(
                    "agent",
                    "Only those this agent works on, or that are for it",
                ),
                ApiParameter::query::<String>(
                    "text",
                    "Only those with this in their id, title or foreign id",
                ),
                ApiParameter::query::<String>("order", "`asc`, or `desc` for the last one first"),
                ApiParameter::query::<String>("after", "Only those that come after this task"),
                LIMIT,
            ])
            .returns::<Vec<Task>>(),
        ApiRoute::get("/v1/tasks/{id}", "tasks", "show", show)
            .summary("Shows a task with its body.")
            .parameters([TASK_ID])
            .returns::<Task>(),
        ApiRoute::get("/v1/tasks/{id}/why", "tasks", "why", why)
            .summary("Says what holds a task back.")
            .parameters([TASK_ID])
            .returns::<Why>(),
        ApiRoute::get("/v1/tasks/{id}/runs", "runs", "runs", runs)
            .summary("Lists the runs of a task, the first one first.")
            .parameters([TASK_ID])
            .returns::<Vec<Run>>(),
        ApiRoute::get("/v1/tasks/{id}/log", "runs", "log", log)
            .summary(
                "Shows what a run of a task printed: all of it, or the bytes that `Range` asks \
                 for. With `follow`, what it prints is sent as it comes, until the run is over.",
            )
            .parameters([
                TASK_ID,
                ApiParameter::query::<u32>("attempt", "Which run; the last one if nothing is said"),
                ApiParameter::query::<bool>("follow", "Whether to go on until the run is over"),
                ApiParameter::query::<u64>("from", "With `follow`: from which byte on"),
                ApiParameter::header::<String>(
                    "Range",
                    "Which bytes, as `bytes=0-1023` or `bytes=-1024`",
                ),
            ])
            .response("200", ApiBody::text("text/plain"))
            .response("206", ApiBody::text("text/plain")),
    ]
}

async fn list(
    State(app): State<App>,
    who: Known,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let known = ["status", "agent", "text", "order", "after", "limit"];
    let mut params = Params::read(query.as_deref(), &known);
    let order = |text: &str| match text {
        "asc" => Ok(Order::Id),
        "desc" => Ok(Order::IdDown),
        _ => Err("must be asc or desc".to_owned()),
    };
    let limit = params.limit();
    let wanted = Wanted {
        statuses: params.statuses(),
        agent: params.agent(),
        text: params.text("text"),
        // One more says whether there is another page.
        limit: Some(limit + 1),
        order: params.parsed("order", order).unwrap_or(Order::Id),
        after: params.task("after"),
    };
    params.check()?;
    // A run sees its own task and no other.
    if let Some(own) = who.only().cloned() {
        let row = app.office(move |office| office.row(&own)).await?;
        return Ok(Json(Value::Array(vec![row])).into_response());
    }
    if let Some(rows) = app.office.list_at_once(&wanted) {
        return Ok(page(&rows, limit, query.as_deref()));
    }
    let mut listed = app.office(move |office| office.list(&wanted)).await?;
    let next = listed.as_array_mut().and_then(|tasks| {
        let more = tasks.len() > limit;
        tasks.truncate(limit);
        tasks.last().filter(|_| more)?["id"].as_str().map(str::to_owned)
    });
    let mut response = Json(listed).into_response();
    if let Some(after) = next {
        link_next(&mut response, "/v1/tasks", query.as_deref(), &after);
    }
    Ok(response)
}

/// A page of tasks that were written down before.
fn page(rows: &[Row], limit: usize, query: Option<&str>) -> Response {
    let shown = &rows[..rows.len().min(limit)];
    let texts: Vec<&str> = shown.iter().map(|row| &*row.json).collect();
    let body = format!("[{}]", texts.join(","));
    let mut response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    if let Some(last) = shown.last().filter(|_| rows.len() > limit) {
        link_next(&mut response, "/v1/tasks", query, last.id.as_str());
    }
    response
}

/// Says where the next page is: the same call, after the last of this one.
pub(super) fn link_next(response: &mut Response, path: &str, query: Option<&str>, after: &str) {
    let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let mut next = form_urlencoded::Serializer::new(String::new());
    next.extend_pairs(pairs.filter(|(key, _)| key != "after"));
    let next = next.append_pair("after", after).finish();
    if let Ok(link) = HeaderValue::from_str(&format!("<{path}?{next}>; rel=\"next\"")) {
        response.headers_mut().insert(header::LINK, link);
    }
}

/// Finds the task that a path names. A run may name its own and no other.
pub(super) async fn named(
    app: &App,
    who: &Known,
    text: String,
    method: &Method,
) -> Result<TaskId, Problem> {
    let path = format!("/v1/tasks/{text}");
    let id = app.office(move |office| office.known(&text)).await?;
    match who {
        Known::Run(run) if run.task != id => Err(app.not_yours(run, &id, method, &path)),
        _ => Ok(id),
    }
}

async fn show(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    if let Some((named, shown)) = app.office.show_at_once(&id)
        && who.only().is_none_or(|own| *own == named)
    {
        return Ok(Json(shown));
    }
    let id = named(&app, &who, id, &Method::GET).await?;
    Ok(Json(app.office(move |office| office.show(&id)).await?))
}

async fn why(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let id = named(&app, &who, id, &Method::GET).await?;
    Ok(Json(app.office(move |office| office.why(&id)).await?))
}

async fn runs(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let id = named(&app, &who, id, &Method::GET).await?;
    Ok(Json(app.office(move |office| office.runs(&id)).await?))
}

async fn log(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let mut params = Params::read(query.as_deref(), &["attempt", "follow", "from"]);
    let number = |text: &str| text.parse().map_err(|_| "must be a number".to_owned());
    let attempt = params.parsed("attempt", number);
    let (follow, from) = (params.flag("follow"), params.number("from").unwrap_or(0));
    params.check()?;
    let id = named(&app, &who, id, &Method::GET).await?;
    let printed = app.office(move |office| office.log(&id, attempt)).await?;
    if !follow {
        return printed::part(printed, &headers).await;
    }
    let run = who.only().map(|_| who.name());
    let Some(seat) = app.limits.seat(run.as_deref()) else {
        return Err(too_many(&app, &who, "/v1/tasks/…/log"));
    };
    Ok(printed::follow(app, &printed, from, seat))
}

/// Refuses to let more follow than there are seats.
pub(super) fn too_many(app: &App, who: &Known, path: &str) -> Problem {
    use crate::http::auth::{Session, Who};
    let who = match who {
        Known::Operator(_) => Who::Operator(Session::Token),
        Known::Run(run) => Who::Run(run.clone()),
    };
    let attempt = crate::http::refusals::Attempt::named("GET", path);
    app.refuse(Reason::TooManyRequests, Some(&who), &attempt, "too many follow already")
}
