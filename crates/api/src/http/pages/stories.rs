//! Stories, each as a line of its steps.

use axum::extract::State;
use axum::response::Response;
use serde_json::Value;

use super::{Page, Person};
use crate::board::shell::Tab;
use crate::board::stories::{Page as Stories, Story};
use crate::http::App;
use crate::http::problem::Problem;

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

pub(super) async fn page(State(app): State<App>, person: Person) -> Result<Response, Problem> {
    let (stories, tasks) = app
        .office(|office| {
            let stories = office.stories()?;
            let named = |story: &Value| story["story"].as_str().map(str::to_owned);
            let ids: Vec<String> =
                stories.as_array().into_iter().flatten().filter_map(named).collect();
            let mut tasks = Vec::new();
            office.look(&mut |world| {
                let task =
                    |id: &String| world.resolve(id).filter(|task| world.task(task).is_some());
                let found = ids.iter().map(|id| {
                    let task = task(id)?;
                    Some((task.to_string(), world.task(&task)?.title.to_string()))
                });
                tasks = found.collect();
            })?;
            Ok((stories, tasks))
        })
        .await?;
    let all = stories.as_array().into_iter().flatten().filter(|story| story["story"].is_string());
    let stories = all.zip(tasks).map(|(value, task)| story(value, task)).collect();
    let content = Stories { stories }.shown();
    Page::new("Stories", Some(Tab::Stories), content).send(&app, &person).await
}

fn story(value: &Value, task: Option<(String, String)>) -> Story {
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
    let notes = [text("reason"), text("caller_instruction")];
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
    }
}
