//! Task queries: list, show, why, runs and log.

use adjutant_model::answer::Reason;
use adjutant_model::{Status, TaskId};
use adjutant_query::TaskRow;
use adjutant_query::changes::ChangeSet;
use adjutant_query::run::RunView;
use adjutant_query::task::serialize_list;
use adjutant_query::task_list::{TaskOrder, TaskQuery};
use adjutant_query::why::WhyView;
use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};

use super::Task;
use super::call::TASK_ID;
use crate::http::auth::AuthenticatedCaller;
use crate::http::operation::{ApiOperation, ApiParameter, ApiResponse, ApiRoute};
use crate::http::params::{LIMIT, QueryParams};
use crate::http::problem::ApiProblem;
use crate::http::{SharedState, run_output};

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::get("/v1/tasks", "tasks", "list_tasks", list)
            .summary(
                "Lists tasks by id, one page at a time; the header `Link` names the next page.",
            )
            .parameters([
                ApiParameter::query::<Vec<Status>>(
                    "status",
                    "Only tasks with one of these statuses",
                ),
                ApiParameter::query::<String>(
                    "agent",
                    "Only tasks that this agent works on or that are assigned to it",
                ),
                ApiParameter::query::<Vec<String>>("tag", "Only tasks that have all these tags"),
                ApiParameter::query::<String>(
                    "text",
                    "Only tasks with all these words in their title, or with this text in an id",
                ),
                ApiParameter::query::<bool>(
                    "open",
                    "Only tasks that are neither done nor cancelled",
                ),
                ApiParameter::query::<String>(
                    "order",
                    "`asc` (the default), or `desc` for the last task first",
                ),
                ApiParameter::query::<String>("after", "Only tasks that come after this task id"),
                LIMIT,
            ])
            .with_response_type::<Vec<Task>>("A page of tasks, without their bodies."),
        ApiRoute::get("/v1/tasks/{id}", "tasks", "show_task", show)
            .summary("Returns a task with its body.")
            .parameters([TASK_ID])
            .with_response_type::<Task>("The task."),
        ApiRoute::get("/v1/tasks/{id}/why", "tasks", "why", why)
            .summary("Explains why a task is not running.")
            .parameters([TASK_ID])
            .with_response_type::<WhyView>("The reasons."),
        ApiRoute::get("/v1/tasks/{id}/runs", "runs", "list_task_runs", runs)
            .summary("Lists the runs of a task, oldest first.")
            .parameters([TASK_ID])
            .with_response_type::<Vec<RunView>>("The runs."),
        ApiRoute::get("/v1/tasks/{id}/changes", "tasks", "changes", changes)
            .summary("Returns the changes that were made for a task by file, with line numbers.")
            .parameters([TASK_ID])
            .with_response_type::<ChangeSet>("The changes; without files if there are none."),
        ApiRoute::get("/v1/tasks/{id}/log", "runs", "log", log)
            .summary(
                "Returns the output of a run: all of it, or the bytes of `Range`. With `follow`, \
                 new output is streamed until the run ends.",
            )
            .parameters([
                TASK_ID,
                ApiParameter::query::<u32>(
                    "attempt",
                    "The number of the run; the last run by default",
                ),
                ApiParameter::query::<bool>(
                    "follow",
                    "Whether to stream output until the run ends",
                ),
                ApiParameter::query::<u64>("from", "With `follow`: the byte offset to start at"),
                ApiParameter::header::<String>(
                    "Range",
                    "The bytes to return, such as `bytes=0-1023` or `bytes=-1024`",
                ),
            ])
            .response("200", ApiResponse::text("text/plain", "The output."))
            .response("206", ApiResponse::text("text/plain", "The bytes of `Range`.")),
    ]
}

async fn list(
    State(app): State<SharedState>,
    who: AuthenticatedCaller,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiProblem> {
    let known = ["status", "agent", "tag", "text", "open", "order", "after", "limit"];
    let mut params = QueryParams::parse(query.as_deref(), &known);
    let order = |text: &str| match text {
        "asc" => Ok(TaskOrder::Id),
        "desc" => Ok(TaskOrder::IdDescending),
        _ => Err("must be asc or desc".to_owned()),
    };
    let limit = params.limit();
    let task_query = TaskQuery {
        statuses: params.statuses(),
        agent: params.agent(),
        tags: params.all("tag"),
        text: params.text("text"),
        is_open: params.flag("open"),
        // One more than asked for, to know whether there is a next page.
        limit: Some(limit + 1),
        order: params.parse_value("order", order).unwrap_or(TaskOrder::Id),
        after: params.task("after"),
        ..TaskQuery::default()
    };
    params.check()?;
    // A run sees only its own task.
    if let Some(own) = who.visible_task().cloned() {
        let task = app.with_project(move |project| project.queries.task(&own)).await?;
        return Ok(Json(serialize_list(&[task])).into_response());
    }
    if let Some(rows) = app.project.queries.cached_tasks(&task_query) {
        return Ok(serialized_page(&rows, limit, query.as_deref()));
    }
    let mut listed = app.with_project(move |project| project.queries.tasks(&task_query)).await?;
    let more = listed.len() > limit;
    listed.truncate(limit);
    let mut response = Json(serialize_list(&listed)).into_response();
    if let Some(after) = listed.last().filter(|_| more).and_then(|task| task.text("id")) {
        link_next(&mut response, "/v1/tasks", query.as_deref(), after);
    }
    Ok(response)
}

/// Builds a page from rows that are already serialized.
fn serialized_page(rows: &[TaskRow], limit: usize, query: Option<&str>) -> Response {
    let shown = &rows[..rows.len().min(limit)];
    let texts: Vec<&str> = shown.iter().map(|row| &*row.json).collect();
    let body = format!("[{}]", texts.join(","));
    let mut response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    if let Some(last) = shown.last().filter(|_| rows.len() > limit) {
        link_next(&mut response, "/v1/tasks", query, last.id.as_str());
    }
    response
}

/// Sets the link to the next page: the same query, after the last item of this page.
pub(super) fn link_next(response: &mut Response, path: &str, query: Option<&str>, after: &str) {
    let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let mut next = form_urlencoded::Serializer::new(String::new());
    next.extend_pairs(pairs.filter(|(key, _)| key != "after"));
    let next = next.append_pair("after", after).finish();
    if let Ok(link) = HeaderValue::from_str(&format!("<{path}?{next}>; rel=\"next\"")) {
        response.headers_mut().insert(header::LINK, link);
    }
}

/// Resolves a task id or alias. A run may name only its own task.
pub(super) async fn resolve_task(
    app: &SharedState,
    who: &AuthenticatedCaller,
    text: String,
    method: &Method,
) -> Result<TaskId, ApiProblem> {
    let path = format!("/v1/tasks/{text}");
    let id = app.with_project(move |project| project.queries.resolve_task(&text)).await?;
    match who {
        AuthenticatedCaller::Run(run) if run.task != id => {
            Err(app.refuse_foreign_task(run, &id, method, &path))
        }
        _ => Ok(id),
    }
}

async fn show(
    State(app): State<SharedState>,
    who: AuthenticatedCaller,
    Path(id): Path<String>,
) -> Result<Response, ApiProblem> {
    if let Some((named, shown)) = app.project.queries.cached_task(&id)
        && who.visible_task().is_none_or(|own| *own == named)
    {
        return Ok(Json(&*shown).into_response());
    }
    let id = resolve_task(&app, &who, id, &Method::GET).await?;
    let task = app.with_project(move |project| project.queries.task(&id)).await?;
    Ok(Json(&*task).into_response())
}

async fn why(
    State(app): State<SharedState>,
    who: AuthenticatedCaller,
    Path(id): Path<String>,
) -> Result<Json<WhyView>, ApiProblem> {
    let id = resolve_task(&app, &who, id, &Method::GET).await?;
    Ok(Json(app.with_project(move |project| project.queries.why(&id)).await?))
}

async fn runs(
    State(app): State<SharedState>,
    who: AuthenticatedCaller,
    Path(id): Path<String>,
) -> Result<Json<Vec<RunView>>, ApiProblem> {
    let id = resolve_task(&app, &who, id, &Method::GET).await?;
    Ok(Json(app.with_project(move |project| project.queries.runs(&id)).await?))
}

async fn changes(
    State(app): State<SharedState>,
    who: AuthenticatedCaller,
    Path(id): Path<String>,
) -> Result<Json<ChangeSet>, ApiProblem> {
    let id = resolve_task(&app, &who, id, &Method::GET).await?;
    let diff = app.with_project(move |project| Ok(project.queries.evidence(&id).1)).await?;
    Ok(Json(ChangeSet::parse(&diff.unwrap_or_default())))
}

async fn log(
    State(app): State<SharedState>,
    who: AuthenticatedCaller,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let mut params = QueryParams::parse(query.as_deref(), &["attempt", "follow", "from"]);
    let number = |text: &str| text.parse().map_err(|_| "must be a number".to_owned());
    let attempt = params.parse_value("attempt", number);
    let (follow, from) = (params.flag("follow"), params.number("from").unwrap_or(0));
    params.check()?;
    let id = resolve_task(&app, &who, id, &Method::GET).await?;
    let printed = app.with_project(move |project| project.queries.run_log(&id, attempt)).await?;
    if !follow {
        return run_output::respond_range(printed, &headers).await;
    }
    let run = who.visible_task().map(|_| who.key_owner());
    let Some(seat) = app.limits.reserve_stream(run.as_deref()) else {
        return Err(refuse_stream(&app, &who, "/v1/tasks/…/log"));
    };
    Ok(run_output::follow(app, &printed, from, seat))
}

/// Refuses a client because the limit on open streams is reached.
pub(super) fn refuse_stream(
    app: &SharedState,
    who: &AuthenticatedCaller,
    path: &str,
) -> ApiProblem {
    use crate::http::auth::{CallerIdentity, OperatorSession};
    let who = match who {
        AuthenticatedCaller::Operator(_) => CallerIdentity::Operator(OperatorSession::Token),
        AuthenticatedCaller::Run(run) => CallerIdentity::Run(run.clone()),
    };
    let attempt = crate::http::refusal_log::CallDescription::new("GET", path);
    app.refuse(Reason::TooManyRequests, Some(&who), &attempt, "too many open streams")
}
