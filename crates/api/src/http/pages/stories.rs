//! Stories, each as a line of its steps.

use adjutant_core::pipeline::{Reason, StoryId};
use adjutant_runtime::story::Drive;
use axum::Form;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use super::act::{did, not_done, went};
use super::{Page, Person};
use crate::board::shell::Tab;
use crate::board::stories::{Act, Page as Stories, Story};
use crate::http::App;
use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::http::routes::stories::{followed, reason, step};
use crate::office::{Kind, StoryDeed};

/// Where a person goes back to.
const BACK: &str = "/stories";

/// The steps from the first to the last.
const STEPS: [&str; 10] = [
    "bdd",
    "sdd-delta",
    "contract",
    "review",
    "scaffold",
    "impl",
    "verify",
    "commit",
    "update-memory",
    "done",
];

/// What the form that begins a story carries.
#[derive(Deserialize)]
pub(super) struct New {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    story: String,
    #[serde(default)]
    auto: String,
}

/// What the form of a deed carries.
#[derive(Deserialize)]
pub(super) struct Fields {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    step: String,
}

pub(super) async fn page(
    State(app): State<App>,
    person: Person,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let params = Params::read(query.as_deref(), &["did"]);
    let said = params.text("did").and_then(|word| did(&word));
    params.check()?;
    let (stories, tasks, has_agents) = app
        .office(|office| {
            let stories = office.stories()?;
            let named = |story: &Value| story["story"].as_str().map(str::to_owned);
            let ids: Vec<String> =
                stories.as_array().into_iter().flatten().filter_map(named).collect();
            let (mut tasks, mut has_agents) = (Vec::new(), false);
            office.look(&mut |world| {
                let task =
                    |id: &String| world.resolve(id).filter(|task| world.task(task).is_some());
                let found = ids.iter().map(|id| {
                    let task = task(id)?;
                    Some((task.to_string(), world.task(&task)?.title.to_string()))
                });
                tasks = found.collect();
                has_agents = !world.policy().agents.is_empty();
            })?;
            Ok((stories, tasks, has_agents))
        })
        .await?;
    let all = stories.as_array().into_iter().flatten().filter(|story| story["story"].is_string());
    let stories = all.zip(tasks).map(|(value, task)| story(value, task, has_agents)).collect();
    let content = Stories { stories, has_agents }.shown(&person.proof);
    Page::new("Stories", Some(Tab::Stories), content).saying(said).send(&app, &person).await
}

/// Begins a story.
pub(super) async fn begin(
    State(app): State<App>,
    person: Person,
    Form(new): Form<New>,
) -> Result<Response, Problem> {
    person.check(&app, &new.csrf)?;
    let deed = StoryDeed::Start { blocked_by: vec![], auto: !new.auto.is_empty(), force: false };
    tell(&app, &person, new.story.trim(), deed, "begin").await
}

/// Does something to a story.
pub(super) async fn act(
    State(app): State<App>,
    person: Person,
    Path((id, word)): Path<(String, String)>,
    Form(fields): Form<Fields>,
) -> Result<Response, Problem> {
    person.check(&app, &fields.csrf)?;
    let nothing = || Problem::not_found("there is nothing at this path");
    let act = Act::parse(&word).ok_or_else(nothing)?;
    match deed(act, &fields) {
        Ok(deed) => tell(&app, &person, &id, deed, act.as_str()).await,
        Err(wrong) => not_done(&app, &person, BACK, &format!("The form {wrong}.")).await,
    }
}

/// Returns what a form stands for.
fn deed(act: Act, fields: &Fields) -> Result<StoryDeed, String> {
    let said = fields.text.trim().replace("\r\n", "\n");
    let note = (!said.is_empty()).then_some(said);
    Ok(match act {
        Act::Approve => StoryDeed::Approve { note },
        Act::Reject => StoryDeed::Reject { reason: reason(&fields.reason)?, note },
        Act::Auto => StoryDeed::Drive(Drive::Agents(None)),
        Act::ByHand => StoryDeed::Drive(Drive::ByHand),
        Act::Rollback => StoryDeed::Rollback { step: step(&fields.step)?, note },
        Act::Reopen => StoryDeed::Reopen { step: step(&fields.step)?, note },
    })
}

/// Does something to a story, has the board follow, and goes back.
async fn tell(
    app: &App,
    person: &Person,
    id: &str,
    deed: StoryDeed,
    word: &'static str,
) -> Result<Response, Problem> {
    let Ok(story) = StoryId::parse(id) else {
        return not_done(app, person, BACK, "A story is called like US-001.").await;
    };
    let request = followed(&person.by);
    let office = std::sync::Arc::clone(&app.office);
    let told = tokio::task::spawn_blocking(move || {
        office.tell_story(&story, &deed, None)?;
        office.ask(request)
    });
    match told.await.map_err(|_| Problem::bug())? {
        Ok(_) => Ok(went(BACK, word)),
        Err(trouble) if trouble.kind == Kind::Broken => Err(trouble.into()),
        Err(trouble) => {
            let why = std::iter::once(trouble.message).chain(trouble.causes);
            not_done(app, person, BACK, &format!("{}.", why.collect::<Vec<_>>().join(": "))).await
        }
    }
}

/// Says what a person can do to a story where it stands.
fn acts(step: &str, status: &str, auto: bool, has_agents: bool) -> Vec<Act> {
    if step == "done" {
        return vec![Act::Reopen];
    }
    let mut acts = Vec::new();
    if matches!(status, "needs_human" | "timeout") {
        acts.extend([Act::Approve, Act::Reject]);
    }
    if auto {
        acts.push(Act::ByHand);
    } else if has_agents {
        acts.push(Act::Auto);
    }
    if status != "running" {
        acts.push(Act::Rollback);
    }
    acts
}

fn story(value: &Value, task: Option<(String, String)>, has_agents: bool) -> Story {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let (step, status) = (text("step"), text("status"));
    let mut steps: Vec<String> = STEPS.map(str::to_owned).to_vec();
    if !steps.contains(&step) {
        // Others have further steps, each before what comes after it here.
        steps.insert(if step == "bootstrap" { 0 } else { 7 }, step.clone());
    }
    let at = steps.iter().position(|one| *one == step).unwrap_or(0);
    let done = step == "done";
    let tone = match status.as_str() {
        _ if done => "done",
        "running" => "in-progress",
        "needs_human" => "review",
        "timeout" | "failing" => "deadletter",
        _ => "ready",
    };
    let standing = if done {
        "done".to_owned()
    } else {
        format!(
            "{step}: {}, try {} of {}",
            status.replace('_', " "),
            value["attempt"],
            value["max_attempts"]
        )
    };
    let acts = acts(&step, &status, value["auto"] == true, has_agents);
    // What is asked of a person is asked by the forms.
    let waits = acts.contains(&Act::Approve);
    let instruction = if waits { String::new() } else { text("caller_instruction") };
    let notes = [text("reason"), text("last_error"), instruction.replace('`', "")];
    let (task, title) = task.unzip();
    Story {
        id: text("story"),
        title: title.unwrap_or_default(),
        task,
        at: if done { steps.len() } else { at },
        steps,
        standing,
        tone,
        notes: notes.into_iter().filter(|note| !note.is_empty()).collect(),
        acts,
        reasons: Reason::ALL.map(Reason::as_str).to_vec(),
    }
}
