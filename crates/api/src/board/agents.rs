//! The crew: who can work, and how much of it is at work.

use maud::{Markup, html};

/// The crew.
#[derive(Debug, Clone)]
pub struct Page {
    /// Each agent of the configuration.
    pub agents: Vec<Agent>,
    /// How many runs there may be at once.
    pub concurrency: u32,
}

/// An agent.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Its name.
    pub name: String,
    /// What sort of agent it is.
    pub kind: String,
    /// How many runs it may have at once.
    pub slots: u32,
    /// The tasks it works on.
    pub works_on: Vec<(String, String)>,
    /// What it is for: mode, role and tags.
    pub fits: String,
    /// What keeps it from working, or what it used, in words.
    pub notes: Vec<String>,
}

impl Page {
    /// Shows the page.
    pub fn shown(&self) -> Markup {
        let runs: usize = self.agents.iter().map(|agent| agent.works_on.len()).sum();
        html! {
            div.head {
                h1 { "Agents" }
                span.soft data-live="runs" { (runs) " of " (self.concurrency) " runs at once" }
            }
            @if self.agents.is_empty() {
                p.blank { strong { "There is no agent yet." } "The configuration, " code { "adjutant.toml" } ", says who can work." }
            }
            div data-live="agents" { @for agent in &self.agents { (agent.shown()) } }
        }
    }
}

impl Agent {
    fn shown(&self) -> Markup {
        let heading = format!("agent-{}", self.name);
        html! {
            article.sheet aria-labelledby=(heading) data-key=(self.name) {
                div.row {
                    h2 #(heading) { (self.name) }
                    span.chip { (self.kind) }
                    span.soft.small { (self.fits) }
                    span.slots.push role="img" aria-label={ (self.works_on.len()) " of " (self.slots) " slots in use" } {
                        @for place in 0..self.slots.min(32) {
                            i.used[(place as usize) < self.works_on.len()] {}
                        }
                    }
                }
                @for note in &self.notes { p.small { (super::output::visible(note)) } }
                @if !self.works_on.is_empty() {
                    ul.plain {
                        @for (id, title) in &self.works_on { li { a href={ "/tasks/" (id) } { (title) } } }
                    }
                }
            }
        }
    }
}
