//! Serves the stories page and executes its forms.

use adjutant_model::Task;
use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryId};
use adjutant_query::failure::FailureKind;
use adjutant_stories::{StoryAutomation, StoryCommandAnswer};
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use serde::Deserialize;

use super::actions::{confirmation, redirect_back, render_not_done};
use super::board_user::SignedForm;
use super::{BoardPage, BoardUser};
use crate::board::page_frame::BoardTab;
use crate::board::stories::{StoriesPage as Stories, StoryAct, StoryRow};
use crate::http::SharedState;
use crate::http::params::QueryParams;
use crate::http::problem::ApiProblem;
use crate::http::routes::stories::{parse_reason, parse_step, sync_stories_request};
use crate::story_operation::StoryOperation;

const BACK: &str = "/stories";

const STEPS: [Step; 10] = [
    Step::Bdd,
    Step::SddDelta,
    Step::Contract,
    Step::Review,
    Step::Scaffold,
    Step::Impl,
    Step::Verify,
    Step::Commit,
    Step::UpdateMemory,
    Step::Done,
];

#[derive(Deserialize)]
pub(super) struct NewStoryFields {
    #[serde(default)]
    story: String,
    #[serde(default)]
    auto: String,
}

#[derive(Deserialize)]
pub(super) struct StoryActFields {
    #[serde(default)]
    text: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    step: String,
}

pub(super) async fn page(
    State(app): State<SharedState>,
    person: BoardUser,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiProblem> {
    let params = QueryParams::parse(query.as_deref(), &["did"]);
    let message = params.text("did").and_then(|word| confirmation(&word));
    params.check()?;
    let (stories, has_agents) = app
        .with_project(|project| {
            let stories = project.queries.stories()?;
            project.queries.with_world(|world| {
                let has_agents = !world.policy().agents.is_empty();
                let rows = stories.iter().filter_map(|story| {
                    let id = story.state.story.as_ref()?;
                    let task = world.resolve(id.as_str()).and_then(|task| world.task(&task));
                    Some(to_story_row(id, story, task, has_agents))
                });
                (rows.collect(), has_agents)
            })
        })
        .await?;
    let content = Stories { stories, has_agents }.render();
    BoardPage::new("Stories", Some(BoardTab::Stories), content)
        .with_message(message)
        .send(&app, &person)
        .await
}

pub(super) async fn start_story(
    State(app): State<SharedState>,
    person: BoardUser,
    SignedForm(new): SignedForm<NewStoryFields>,
) -> Result<Response, ApiProblem> {
    let operation =
        StoryOperation::Start { blocked_by: vec![], auto: !new.auto.is_empty(), force: false };
    run_operation(&app, &person, new.story.trim(), operation, "begin").await
}

pub(super) async fn act_on_story(
    State(app): State<SharedState>,
    person: BoardUser,
    Path((id, word)): Path<(String, String)>,
    SignedForm(fields): SignedForm<StoryActFields>,
) -> Result<Response, ApiProblem> {
    let nothing = || ApiProblem::not_found("nothing is served at this path");
    let act = StoryAct::parse(&word).ok_or_else(nothing)?;
    match to_operation(act, &fields) {
        Ok(operation) => run_operation(&app, &person, &id, operation, act.as_str()).await,
        Err(wrong) => {
            render_not_done(&app, &person, BACK, &format!("Nothing was done: {wrong}.")).await
        }
    }
}

/// Returns the story operation for an action.
fn to_operation(act: StoryAct, fields: &StoryActFields) -> Result<StoryOperation, String> {
    let text = fields.text.trim().replace("\r\n", "\n");
    let note = (!text.is_empty()).then_some(text);
    let step = || parse_step(&fields.step).map_err(|wrong| format!("the step {wrong}"));
    Ok(match act {
        StoryAct::Approve => StoryOperation::Approve { note },
        StoryAct::Reject => {
            let reason =
                parse_reason(&fields.reason).map_err(|wrong| format!("the reason {wrong}"))?;
            StoryOperation::Reject { reason, note }
        }
        StoryAct::Auto => StoryOperation::Drive(StoryAutomation::Agents(None)),
        StoryAct::ByHand => StoryOperation::Drive(StoryAutomation::Manual),
        StoryAct::Rollback => StoryOperation::Rollback { step: step()?, note },
        StoryAct::Reopen => StoryOperation::Reopen { step: step()?, note },
    })
}

/// Executes a story operation, lets the story's task follow, and redirects back.
async fn run_operation(
    app: &SharedState,
    person: &BoardUser,
    id: &str,
    operation: StoryOperation,
    word: &'static str,
) -> Result<Response, ApiProblem> {
    let Ok(story) = StoryId::parse(id) else {
        return render_not_done(app, person, BACK, "Invalid story id: use an id such as US-001.")
            .await;
    };
    let request = sync_stories_request(&person.actor);
    let project = std::sync::Arc::clone(&app.project);
    let done = tokio::task::spawn_blocking(move || {
        project.apply_story_operation(&story, &operation, None)?;
        project.ask(request)
    });
    match done.await.map_err(|_| ApiProblem::internal_error())? {
        Ok(_) => Ok(redirect_back(BACK, word)),
        Err(failure) if failure.kind == FailureKind::Broken => Err(failure.into()),
        Err(failure) => {
            let why = std::iter::once(failure.message).chain(failure.causes);
            render_not_done(app, person, BACK, &format!("{}.", why.collect::<Vec<_>>().join(": ")))
                .await
        }
    }
}

/// Returns the actions possible in the story's present state.
fn possible_acts(story: &StoryCommandAnswer, has_agents: bool) -> Vec<StoryAct> {
    if story.state.is_done() {
        return vec![StoryAct::Reopen];
    }
    let mut acts = Vec::new();
    if matches!(story.state.status, StepStatus::NeedsHuman | StepStatus::Timeout) {
        acts.extend([StoryAct::Approve, StoryAct::Reject]);
    }
    if story.auto {
        acts.push(StoryAct::ByHand);
    } else if has_agents {
        acts.push(StoryAct::Auto);
    }
    if story.state.status != StepStatus::Running {
        acts.push(StoryAct::Rollback);
    }
    acts
}

fn to_story_row(
    id: &StoryId,
    story: &StoryCommandAnswer,
    task: Option<&Task>,
    has_agents: bool,
) -> StoryRow {
    let state = &story.state;
    let mut steps = STEPS.to_vec();
    if !steps.contains(&state.step) {
        // Other story tools have further steps; each is placed before the step that follows it.
        steps.insert(if state.step == Step::Bootstrap { 0 } else { 7 }, state.step);
    }
    let at = steps.iter().position(|step| *step == state.step).unwrap_or(0);
    let done = state.is_done();
    let tone = match state.status {
        _ if done => "done",
        StepStatus::Running => "in-progress",
        StepStatus::NeedsHuman => "review",
        StepStatus::Timeout | StepStatus::Failing => "deadletter",
        StepStatus::Pending | StepStatus::Pass => "ready",
    };
    let status_text = if done {
        "done".to_owned()
    } else {
        let status = state.status.as_str().replace('_', " ");
        format!("{}: {status}, attempt {} of {}", state.step, state.attempt, story.max_attempts)
    };
    let acts = possible_acts(story, has_agents);
    // The forms already ask the person, so the instruction is left out.
    let waits = acts.contains(&StoryAct::Approve);
    let instruction = (!waits).then(|| story.caller_instruction().replace('`', ""));
    let reason = state.reason.map(|reason| reason.to_string());
    let message = state.message.as_ref();
    let summary = message.and_then(|message| Some(message.summary()?.to_owned()));
    let questions = message.map(|message| message.questions().to_vec()).unwrap_or_default();
    let text = message.and_then(|message| Some(message.notes()?.to_owned())).filter(|_| waits);
    let notes = [reason, state.last_error.clone(), summary].into_iter().flatten();
    let notes = notes.chain(questions).chain(text).chain(instruction);
    StoryRow {
        id: id.to_string(),
        title: task.map_or_else(String::new, |task| task.title.to_string()),
        task: task.map(|task| task.id.to_string()),
        current_step: if done { steps.len() } else { at },
        steps: steps.iter().map(ToString::to_string).collect(),
        status_text,
        tone,
        notes: notes.filter(|note| !note.is_empty()).collect(),
        acts,
        reasons: StepFailReason::ALL.map(StepFailReason::as_str).to_vec(),
    }
}
