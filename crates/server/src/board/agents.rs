//! The agents page: which agents are configured, and how many of their slots are in use.

use adjutant_query::agents::AgentView;
use maud::{Markup, html};

#[derive(Debug, Clone)]
pub struct AgentsPage {
    pub agents: Vec<AgentSummary>,
    /// The limit on runs of all agents together.
    pub concurrency: u32,
}

#[derive(Debug, Clone)]
pub struct AgentSummary {
    pub agent: AgentView,
    /// Id and title of each task the agent works on.
    pub works_on: Vec<(String, String)>,
}

impl AgentsPage {
    pub fn render(&self) -> Markup {
        let runs: usize = self.agents.iter().map(|agent| agent.works_on.len()).sum();
        html! {
            div.head {
                h1 { "Agents" }
                span.soft data-live="runs" { (runs) " in progress, concurrency limit " (self.concurrency) }
            }
            @if self.agents.is_empty() {
                p.blank { strong { "No agents are configured." } "Add an " code { "[agents.NAME]" } " table to " code { "adjutant.toml" } "; " code { "adjutant agents" } " lists the agents installed on this machine." }
            }
            div data-live="agents" { @for agent in &self.agents { (agent.render()) } }
        }
    }
}

impl AgentSummary {
    fn render(&self) -> Markup {
        let heading = format!("agent-{}", self.agent.name);
        html! {
            article.sheet aria-labelledby=(heading) data-key=(self.agent.name) {
                div.row {
                    h2 #(heading) { (self.agent.name) }
                    span.chip { (self.agent.kind) }
                    @if !self.agent.sandbox.is_none() { span.chip { "sandbox " (self.agent.sandbox.as_str()) } }
                    span.soft.small {}
                    span.slots.push role="img" aria-label={ (self.works_on.len()) " of " (self.agent.slots) " slots in use" } {
                        @for place in 0..self.agent.slots.min(32) {
                            i.used[(place as usize) < self.works_on.len()] {}
                        }
                    }
                }
                @if let Some(problem) = &self.agent.problem { p.small { (super::agent_output::sanitize(problem)) } }
                @if !self.works_on.is_empty() {
                    ul.plain {
                        @for (id, title) in &self.works_on { li { a href={ "/tasks/" (id) } { (super::agent_output::sanitize(title)) } } }
                    }
                }
            }
        }
    }
}
