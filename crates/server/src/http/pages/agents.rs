//! Serves the agents page.

use adjutant_core::World;
use adjutant_model::Status;
use adjutant_query::agents::{AgentView, AgentsView};
use axum::extract::State;
use axum::response::Response;

use super::{BoardPage, BoardUser};
use crate::board::agents::{AgentSummary, AgentsPage};
use crate::board::page_frame::BoardTab;
use crate::http::SharedState;
use crate::http::problem::ApiProblem;

pub(super) async fn page(
    State(app): State<SharedState>,
    person: BoardUser,
) -> Result<Response, ApiProblem> {
    let page = app
        .with_project(|project| {
            let configured = project.queries.agents()?;
            project.queries.with_world(|world| gather(world, configured))
        })
        .await?;
    BoardPage::new("Agents", Some(BoardTab::Agents), page.render()).send(&app, &person).await
}

fn gather(world: &World, configured: AgentsView) -> AgentsPage {
    let agents = configured.agents.into_iter().map(|agent| summarize(world, agent)).collect();
    AgentsPage { agents, concurrency: world.policy().scheduler.concurrency }
}

fn summarize(world: &World, agent: AgentView) -> AgentSummary {
    let of_agent = world
        .with_status(Status::InProgress)
        .filter(|task| task.lease().is_some_and(|lease| lease.agent.as_str() == agent.name));
    AgentSummary {
        works_on: of_agent.map(|task| (task.id.to_string(), task.title.to_string())).collect(),
        agent,
    }
}
