//! The stories of the project: where they stand, and what a person does to them.

use adjutant_core::pipeline::{Reason, Step, StoryId};
use adjutant_core::{Actor, AgentId};
use adjutant_runtime::Request;
use adjutant_runtime::story::Drive;
use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::call::{Call, IDEMPOTENCY_KEY, STORY_ID};
use super::fields::{self, Wrong, text_of};
use super::{AutoStory, BrokenStep, NewStory, Note, RejectStory, Story, ToStep};
use crate::http::App;
use crate::http::auth::{Known, Operator};
use crate::http::idempotency::{ask, was_done};
use crate::http::operation::{ApiBody, ApiOperation, ApiRoute};
use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::office::{Office, StoryDeed};

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::get("/v1/stories", "stories", "list", list)
            .summary("Lists where every story stands.")
            .returns::<Vec<Story>>(),
        ApiRoute::post("/v1/stories", "stories", "start", start)
            .summary("Begins a story.")
            .parameters([IDEMPOTENCY_KEY])
            .takes::<NewStory>()
            .response("201", ApiBody::json::<Story>()),
        ApiRoute::get("/v1/stories/{id}", "stories", "show", show)
            .summary("Says where a story stands.")
            .parameters([STORY_ID])
            .returns::<Story>(),
        ApiRoute::get("/v1/stories/{id}/prompt", "stories", "prompt", prompt)
            .summary("Says what an executor of the present step is or would be told.")
            .parameters([STORY_ID])
            .returns::<Story>(),
        ApiRoute::post("/v1/stories/{id}/next", "stories", "next", next)
            .summary(
                "Goes on: starts the next executor and returns its prompt, or says what is \
                 waited for.",
            )
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .takes::<Note>()
            .returns::<Story>(),
        ApiRoute::post("/v1/stories/{id}/approve", "stories", "approve_story", approve)
            .summary("Says yes: to a review, or to another try.")
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .takes::<Note>()
            .returns::<Story>(),
        ApiRoute::post("/v1/stories/{id}/reject", "stories", "reject_story", reject)
            .summary("Says no: the reason decides where the story goes, at once.")
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .takes::<RejectStory>()
            .returns::<Story>(),
        ApiRoute::post("/v1/stories/{id}/rollback", "stories", "rollback", rollback)
            .summary("Puts a story back to a step.")
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .takes::<ToStep>()
            .returns::<Story>(),
        ApiRoute::post("/v1/stories/{id}/reopen", "stories", "reopen", reopen)
            .summary("Takes a story up again that was done: at `impl` if nothing is said.")
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .takes::<ToStep>()
            .returns::<Story>(),
        ApiRoute::post("/v1/stories/{id}/auto", "stories", "auto", auto)
            .summary("Has agents do the steps of a story, or has them started by hand again.")
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .takes::<AutoStory>()
            .returns::<Story>(),
        ApiRoute::post("/v1/stories/{id}/hook", "stories", "hook", hook)
            .summary(
                "Takes in what an executor left: runs the tests and the check, and writes down how \
                 the step went.",
            )
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .returns::<Story>(),
        ApiRoute::post("/v1/stories/{id}/report-error", "stories", "report_error", report_error)
            .summary("Says that the executor broke; that counts as an attempt.")
            .parameters([STORY_ID, IDEMPOTENCY_KEY])
            .takes::<BrokenStep>()
            .returns::<Story>(),
    ]
}

async fn list(
    State(app): State<App>,
    _: Operator,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    Params::read(query.as_deref(), &[]).check()?;
    Ok(Json(app.office(Office::stories).await?))
}

async fn show(
    State(app): State<App>,
    _: Operator,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(app.office(move |office| office.story(&id)).await?))
}

async fn prompt(
    State(app): State<App>,
    _: Operator,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(app.office(move |office| office.story_prompt(&id)).await?))
}

async fn start(_: Operator, call: Call) -> Result<Response, Problem> {
    let NewStory { story, blocked_by, auto, force } = call.json()?;
    let mut wrong = Wrong::default();
    let story = wrong.required("story", story, self::story);
    let mut before = Vec::new();
    for (n, id) in blocked_by.unwrap_or_default().into_iter().enumerate() {
        before.extend(wrong.optional(&format!("blocked_by[{n}]"), Some(id), self::story));
    }
    wrong.check()?;
    let Some(story) = story else { return Err(Problem::bug()) };
    let deed = StoryDeed::Start {
        blocked_by: before,
        auto: auto.unwrap_or_default(),
        force: force.unwrap_or_default(),
    };
    call.tell(story, "start", deed, StatusCode::CREATED).await
}

async fn next(_: Operator, call: Call) -> Result<Response, Problem> {
    let Note { note } = call.json()?;
    call.on_story("next", StoryDeed::Next { note }).await
}

async fn approve(_: Operator, call: Call) -> Result<Response, Problem> {
    let Note { note } = call.json()?;
    call.on_story("approve", StoryDeed::Approve { note }).await
}

async fn reject(_: Operator, call: Call) -> Result<Response, Problem> {
    let RejectStory { reason: said, note } = call.json()?;
    let mut wrong = Wrong::default();
    let said = wrong.required("reason", said, reason);
    wrong.check()?;
    let reason = said.ok_or_else(Problem::bug)?;
    call.on_story("reject", StoryDeed::Reject { reason, note }).await
}

async fn rollback(_: Operator, call: Call) -> Result<Response, Problem> {
    let ToStep { step: to, note } = call.json()?;
    let mut wrong = Wrong::default();
    let to = wrong.required("step", to, step);
    wrong.check()?;
    let step = to.ok_or_else(Problem::bug)?;
    call.on_story("rollback", StoryDeed::Rollback { step, note }).await
}

async fn reopen(_: Operator, call: Call) -> Result<Response, Problem> {
    let ToStep { step: to, note } = call.json()?;
    let mut wrong = Wrong::default();
    let to = wrong.optional("step", to, step);
    wrong.check()?;
    call.on_story("reopen", StoryDeed::Reopen { step: to.unwrap_or(Step::Impl), note }).await
}

async fn auto(_: Operator, call: Call) -> Result<Response, Problem> {
    let AutoStory { agent, off } = call.json()?;
    let mut wrong = Wrong::default();
    let agent: Option<AgentId> = wrong.optional("agent", agent, fields::agent);
    let off = off.unwrap_or_default();
    if off && agent.is_some() {
        wrong.push("agent: cannot be named with `off`".to_owned());
    }
    wrong.check()?;
    let drive = if off { Drive::ByHand } else { Drive::Agents(agent) };
    call.on_story("auto", StoryDeed::Drive(drive)).await
}

async fn hook(_: Operator, call: Call) -> Result<Response, Problem> {
    call.on_story("hook", StoryDeed::Hook).await
}

async fn report_error(_: Operator, call: Call) -> Result<Response, Problem> {
    let BrokenStep { error } = call.json()?;
    let error = text_of("error", error)?;
    call.on_story("report-error", StoryDeed::Broke { error }).await
}

impl Call {
    /// Does something to the story that its path names.
    async fn on_story(&self, word: &str, deed: StoryDeed) -> Result<Response, Problem> {
        let text = self.named("id");
        // What is no id is the id of no story.
        let Ok(story) = StoryId::parse(&text) else {
            self.app.office(move |office| office.story(&text)).await?;
            return Err(Problem::bug());
        };
        self.tell(story, word, deed, StatusCode::OK).await
    }

    /// Does something to a story once, has the board follow, and says where the story stands.
    async fn tell(
        &self,
        story: StoryId,
        word: &str,
        deed: StoryDeed,
        status: StatusCode,
    ) -> Result<Response, Problem> {
        let Known::Operator(by) = &self.who else { return Err(Problem::bug()) };
        let key = self.key(&format!("/v1/stories/{story}/{word}"))?;
        let doing = async {
            let answer = if was_done(&self.app, key.as_ref()).await? {
                let id = story.to_string();
                self.app.office(move |office| office.story(&id)).await?
            } else {
                let mark = key.as_ref().map(|key| format!("{}.{}", key.key, key.digest));
                let answer =
                    self.app.office(move |office| office.tell_story(&story, &deed, mark)).await?;
                ask(&self.app, key.as_ref(), followed(by)).await?;
                answer
            };
            Ok((status, Json(answer)).into_response())
        };
        self.once(key.as_ref(), doing).await
    }
}

/// Asks for the tasks of stories to follow their files.
pub(in crate::http) fn followed(by: &Actor) -> Request {
    Request::Stories { by: by.clone(), told: None, facts: vec![] }
}

/// Reads the id of a story.
pub(in crate::http) fn story(text: &str) -> Result<StoryId, String> {
    StoryId::parse(text).map_err(|error| error.to_string())
}

/// Reads the name of a step.
pub(in crate::http) fn step(text: &str) -> Result<Step, String> {
    let all = Step::ALL.map(Step::as_str).join(", ");
    Step::parse(text).ok_or_else(|| format!("must be one of: {all}"))
}

/// Reads a reason to say no: one that a story is routed by, or none in particular.
pub(in crate::http) fn reason(text: &str) -> Result<Option<Reason>, String> {
    if text == "default" {
        return Ok(None);
    }
    let all = Reason::ALL.map(Reason::as_str).join(", ");
    Reason::parse(text).map(Some).ok_or_else(|| format!("must be one of: default, {all}"))
}
