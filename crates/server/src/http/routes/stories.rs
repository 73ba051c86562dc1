//! Stories: their state, and what people do with them.

use adjutant_engine::{EngineRequest, Request};
use adjutant_model::story::{Step, StepFailReason, StoryId};
use adjutant_model::{Actor, AgentId};
use adjutant_stories::{StoryAutomation, StoryCommandAnswer};
use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::call::{ApiCall, IDEMPOTENCY_KEY, STORY_ID};
use super::fields::{self, FieldErrors, required_text};
use super::{AutoStory, BrokenStep, NewStory, Note, RejectStory, Story, ToStep};
use crate::http::SharedState;
use crate::http::auth::{AuthenticatedCaller, OperatorCaller};
use crate::http::idempotency::{send_request, was_executed};
use crate::http::operation::{ApiOperation, ApiResponse, ApiRoute};
use crate::http::params::QueryParams;
use crate::http::problem::ApiProblem;
use crate::story_operation::StoryOperation;

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::get("/v1/stories", "stories", "list_stories", list)
            .summary("Lists all stories with their state.")
            .with_response_type::<Vec<Story>>("The stories."),
        ApiRoute::post("/v1/stories", "stories", "start", start)
            .summary("Starts a story.")
            .parameters([IDEMPOTENCY_KEY])
            .with_request_type::<NewStory>()
            .response("201", ApiResponse::json::<Story>("The new story.")),
        ApiRoute::get("/v1/stories/{id}", "stories", "show_story", show)
            .summary("Returns the state of a story.")
            .parameters([STORY_ID])
            .with_response_type::<Story>("The state of the story."),
        ApiRoute::get("/v1/stories/{id}/prompt", "stories", "prompt", prompt)
            .summary("Returns the prompt for the executor of the current step.")
            .parameters([STORY_ID])
            .with_response_type::<Story>("The state of the story."),
        ApiRoute::post("/v1/stories/{id}/next", "stories", "next", next)
            .summary(
                "Continues a story: starts the next executor and returns its prompt, or says \
                 what the story waits for.",
            )
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .with_request_type::<Note>()
            .with_response_type::<Story>("The state of the story."),
        ApiRoute::post("/v1/stories/{id}/approve", "stories", "approve_story", approve)
            .summary("Approves a review, or another attempt at a step.")
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .with_request_type::<Note>()
            .with_response_type::<Story>("The state of the story."),
        ApiRoute::post("/v1/stories/{id}/reject", "stories", "reject_story", reject)
            .summary("Rejects a step. The reason decides to which step the story goes.")
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .with_request_type::<RejectStory>()
            .with_response_type::<Story>("The state of the story."),
        ApiRoute::post("/v1/stories/{id}/rollback", "stories", "rollback", rollback)
            .summary("Moves a story back to a step.")
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .with_request_type::<ToStep>()
            .with_response_type::<Story>("The state of the story."),
        ApiRoute::post("/v1/stories/{id}/reopen", "stories", "reopen", reopen)
            .summary("Reopens a story that is done, at the step `impl` by default.")
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .with_request_type::<ToStep>()
            .with_response_type::<Story>("The state of the story."),
        ApiRoute::post("/v1/stories/{id}/auto", "stories", "auto", auto)
            .summary("Lets agents perform the steps of a story, or has people start them again.")
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .with_request_type::<AutoStory>()
            .with_response_type::<Story>("The state of the story."),
        ApiRoute::post("/v1/stories/{id}/hook", "stories", "hook", hook)
            .summary(
                "Processes the hand-over of an executor: runs the tests and the check, and \
                 records the result of the step.",
            )
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .with_response_type::<Story>("The state of the story."),
        ApiRoute::post("/v1/stories/{id}/report-error", "stories", "report_error", report_error)
            .summary("Reports that the executor failed, which counts as an attempt.")
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .with_request_type::<BrokenStep>()
            .with_response_type::<Story>("The state of the story."),
    ]
}

async fn list(
    State(app): State<SharedState>,
    _: OperatorCaller,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, ApiProblem> {
    QueryParams::parse(query.as_deref(), &[]).check()?;
    let stories = app.with_project(|project| project.queries.stories()).await?;
    Ok(Json(stories.iter().map(StoryCommandAnswer::to_json).collect()))
}

async fn show(
    State(app): State<SharedState>,
    _: OperatorCaller,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiProblem> {
    Ok(Json(app.with_project(move |project| project.queries.story(&id)).await?.to_json()))
}

async fn prompt(
    State(app): State<SharedState>,
    _: OperatorCaller,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiProblem> {
    Ok(Json(app.with_project(move |project| project.queries.story_prompt(&id)).await?.to_json()))
}

async fn start(_: OperatorCaller, call: ApiCall) -> Result<Response, ApiProblem> {
    let NewStory { story, blocked_by, auto, force } = call.json()?;
    let mut wrong = FieldErrors::default();
    let story = wrong.required("story", story, parse_story);
    let mut before = Vec::new();
    for (n, id) in blocked_by.unwrap_or_default().into_iter().enumerate() {
        before.extend(wrong.optional(&format!("blocked_by[{n}]"), Some(id), parse_story));
    }
    wrong.check()?;
    let Some(story) = story else { return Err(ApiProblem::internal_error()) };
    let operation = StoryOperation::Start {
        blocked_by: before,
        auto: auto.unwrap_or_default(),
        force: force.unwrap_or_default(),
    };
    call.execute_operation(story, "start", operation, StatusCode::CREATED).await
}

async fn next(_: OperatorCaller, call: ApiCall) -> Result<Response, ApiProblem> {
    let Note { note } = call.json()?;
    call.execute_on_story("next", StoryOperation::Next { note }).await
}

async fn approve(_: OperatorCaller, call: ApiCall) -> Result<Response, ApiProblem> {
    let Note { note } = call.json()?;
    call.execute_on_story("approve", StoryOperation::Approve { note }).await
}

async fn reject(_: OperatorCaller, call: ApiCall) -> Result<Response, ApiProblem> {
    let RejectStory { reason, note } = call.json()?;
    let mut wrong = FieldErrors::default();
    let reason = wrong.required("reason", reason, parse_reason);
    wrong.check()?;
    let reason = reason.ok_or_else(ApiProblem::internal_error)?;
    call.execute_on_story("reject", StoryOperation::Reject { reason, note }).await
}

async fn rollback(_: OperatorCaller, call: ApiCall) -> Result<Response, ApiProblem> {
    let ToStep { step: to, note } = call.json()?;
    let mut wrong = FieldErrors::default();
    let to = wrong.required("step", to, parse_step);
    wrong.check()?;
    let step = to.ok_or_else(ApiProblem::internal_error)?;
    call.execute_on_story("rollback", StoryOperation::Rollback { step, note }).await
}

async fn reopen(_: OperatorCaller, call: ApiCall) -> Result<Response, ApiProblem> {
    let ToStep { step: to, note } = call.json()?;
    let mut wrong = FieldErrors::default();
    let to = wrong.optional("step", to, parse_step);
    wrong.check()?;
    call.execute_on_story("reopen", StoryOperation::Reopen { step: to.unwrap_or(Step::Impl), note })
        .await
}

async fn auto(_: OperatorCaller, call: ApiCall) -> Result<Response, ApiProblem> {
    let AutoStory { agent, off } = call.json()?;
    let mut wrong = FieldErrors::default();
    let agent: Option<AgentId> = wrong.optional("agent", agent, fields::agent);
    let off = off.unwrap_or_default();
    if off && agent.is_some() {
        wrong.push("agent: cannot be named with `off`".to_owned());
    }
    wrong.check()?;
    let drive = if off { StoryAutomation::Manual } else { StoryAutomation::Agents(agent) };
    call.execute_on_story("auto", StoryOperation::Drive(drive)).await
}

async fn hook(_: OperatorCaller, call: ApiCall) -> Result<Response, ApiProblem> {
    call.execute_on_story("hook", StoryOperation::ProcessHandOver).await
}

async fn report_error(_: OperatorCaller, call: ApiCall) -> Result<Response, ApiProblem> {
    let BrokenStep { error } = call.json()?;
    let error = required_text("error", error)?;
    call.execute_on_story("report-error", StoryOperation::ExecutorFailed { error }).await
}

impl ApiCall {
    /// Executes an operation on the story in the path.
    async fn execute_on_story(
        &self,
        word: &str,
        operation: StoryOperation,
    ) -> Result<Response, ApiProblem> {
        let text = self.path_param("id");
        // An invalid id cannot belong to a story: let the lookup report that it was not found.
        let Ok(story) = StoryId::parse(&text) else {
            self.app.with_project(move |project| project.queries.story(&text)).await?;
            return Err(ApiProblem::internal_error());
        };
        self.execute_operation(story, word, operation, StatusCode::OK).await
    }

    /// Executes an operation on a story once, lets the story's task follow, and returns
    /// the story's state.
    async fn execute_operation(
        &self,
        story: StoryId,
        word: &str,
        operation: StoryOperation,
        status: StatusCode,
    ) -> Result<Response, ApiProblem> {
        let AuthenticatedCaller::Operator(by) = &self.who else {
            return Err(ApiProblem::internal_error());
        };
        let key = self.key(&format!("/v1/stories/{story}/{word}"))?;
        let doing = async {
            let answer = if was_executed(&self.app, key.as_ref()).await? {
                let id = story.to_string();
                self.app.with_project(move |project| project.queries.story(&id)).await?
            } else {
                let mark = key.as_ref().map(|key| format!("{}.{}", key.key, key.digest));
                let answer = self
                    .app
                    .with_project(move |project| {
                        project.apply_story_operation(&story, &operation, mark)
                    })
                    .await?;
                send_request(&self.app, key.as_ref(), sync_stories_request(by)).await?;
                answer
            };
            Ok((status, Json(answer.to_json())).into_response())
        };
        self.execute_once(key.as_ref(), doing).await
    }
}

/// Returns the request that brings the tasks of stories in line with the story files.
pub(in crate::http) fn sync_stories_request(by: &Actor) -> EngineRequest {
    Request::Stories { by: by.clone(), told: None, facts: vec![] }.into()
}

pub(in crate::http) fn parse_story(text: &str) -> Result<StoryId, String> {
    StoryId::parse(text).map_err(|error| error.to_string())
}

pub(in crate::http) fn parse_step(text: &str) -> Result<Step, String> {
    let all = Step::ALL.map(Step::as_str).join(", ");
    Step::parse(text).ok_or_else(|| format!("must be one of: {all}"))
}

/// Parses a rejection reason; `default` means none of the reasons that have a route.
pub(in crate::http) fn parse_reason(text: &str) -> Result<Option<StepFailReason>, String> {
    if text == "default" {
        return Ok(None);
    }
    let all = StepFailReason::ALL.map(StepFailReason::as_str).join(", ");
    StepFailReason::parse(text).map(Some).ok_or_else(|| format!("must be one of: default, {all}"))
}
