//! The crew.

use adjutant_core::{Status, World};
use axum::extract::State;
use axum::response::Response;
use serde_json::Value;

use super::{Page, Person};
use crate::board::agents::{Agent, Page as Agents};
use crate::board::shell::Tab;
use crate::http::App;
use crate::http::problem::Problem;

pub(super) async fn page(State(app): State<App>, person: Person) -> Result<Response, Problem> {
    let page = app
        .office(|office| {
            let configured = office.agents()?;
            let mut page = Agents { agents: vec![], concurrency: 0 };
            office.look(&mut |world| page = gather(world, &configured))?;
            Ok(page)
        })
        .await?;
    Page::new("Agents", Some(Tab::Agents), page.shown()).send(&app, &person).await
}

fn gather(world: &World, configured: &Value) -> Agents {
    let listed = configured.get("agents").unwrap_or(configured).as_array();
    let agents = listed.into_iter().flatten().map(|value| agent(world, value)).collect();
    Agents { agents, concurrency: world.policy().scheduler.concurrency }
}

fn agent(world: &World, value: &Value) -> Agent {
    let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let name = text("name");
    let works = world
        .with_status(Status::InProgress)
        .filter(|task| task.lease().is_some_and(|lease| lease.agent.as_str() == name));
    let works_on = works.map(|task| (task.id.to_string(), task.title.to_string())).collect();
    let tags = value["tags"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let fits = [text("mode"), text("role"), tags.collect::<Vec<_>>().join(", ")];
    let fits: Vec<String> = fits.into_iter().filter(|text| !text.is_empty()).collect();
    let problems = ["problem", "unusable", "usage"].map(text);
    Agent {
        kind: text("kind"),
        slots: value["slots"].as_u64().and_then(|slots| slots.try_into().ok()).unwrap_or(0),
        works_on,
        fits: fits.join(" · "),
        notes: problems.into_iter().filter(|note| !note.is_empty()).collect(),
        name,
    }
}
