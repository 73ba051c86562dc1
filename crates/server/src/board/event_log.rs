//! The event log page: events as a timeline.

use adjutant_model::Time;
use maud::{Markup, html};

use super::agent_output::sanitize;
use super::format::render_time;

#[derive(Debug, Clone)]
pub struct EventLogPage {
    /// The newest event comes first.
    pub lines: Vec<EventRow>,
    pub filter: EventLogFilter,
    /// The event id before which the next page continues, if there is one.
    pub older: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct EventRow {
    pub id: u64,
    pub at: Option<Time>,
    pub kind: String,
    pub actor: String,
    pub task: Option<String>,
    pub text: String,
    /// Whether it is shown less prominently than the others.
    pub is_routine: bool,
}

/// Which events to show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventLogFilter {
    pub task: Option<String>,
    /// Only events whose type begins with this.
    pub kind: Option<String>,
    pub actor: Option<String>,
}

impl EventLogPage {
    pub fn render(&self) -> Markup {
        html! {
            div.head { h1 { "Event log" } }
            (self.render_filters())
            section.sheet aria-label="Events" data-live="lines" {
                (render_events(&self.lines, true))
                @if self.lines.is_empty() { p.soft { "No matching events." } }
            }
            @if let Some(older) = self.older {
                p.pages { a href=(self.filter.to_url(older)) { "Older events" } }
            }
        }
    }

    fn render_filters(&self) -> Markup {
        let filter = &self.filter;
        html! {
            form.filters method="get" action="/record" {
                label.unseen for="r-task" { "Task" }
                input #r-task type="text" name="task" placeholder="task id" value=[filter.task.as_deref()];
                label.unseen for="r-kind" { "Type" }
                input #r-kind type="text" name="type" placeholder="type: run or task.created" value=[filter.kind.as_deref()];
                label.unseen for="r-actor" { "Actor" }
                input #r-actor type="text" name="actor" placeholder="actor: human:alice" value=[filter.actor.as_deref()];
                button { "Filter" }
                @if *filter != EventLogFilter::default() { a href="/record" { "Clear filters" } }
            }
        }
    }
}

impl EventLogFilter {
    fn to_url(&self, before: u64) -> String {
        let before = Some(before.to_string());
        let pairs = [
            ("task", &self.task),
            ("type", &self.kind),
            ("actor", &self.actor),
            ("before", &before),
        ];
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in pairs {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        format!("/record?{}", query.finish())
    }
}

/// Renders events as a timeline.
pub(super) fn render_events(lines: &[EventRow], with_task: bool) -> Markup {
    html! {
        ol.timeline { @for line in lines { (line.render(with_task)) } }
    }
}

impl EventRow {
    fn render(&self, with_task: bool) -> Markup {
        html! {
            li.event.soft[self.is_routine] data-key=(self.id) {
                p.text { strong { (describe_kind(&self.kind)) } " " (sanitize(&self.text)) }
                p.facts.small.soft {
                    @if let Some(at) = self.at { span { (render_time(at)) } }
                    @if with_task && let Some(task) = &self.task {
                        a.mono href={ "/tasks/" (task) } { (task) }
                    }
                    span { (sanitize(&self.actor)) }
                    span.mono { (sanitize(&self.kind)) " " (self.id) }
                }
            }
        }
    }
}

/// Returns the type of an event in words: `run.started` becomes `Run started`.
fn describe_kind(kind: &str) -> String {
    let words = match kind {
        "task.transitioned" => "task moved".to_owned(),
        "protocol.message.received" => "message received".to_owned(),
        "protocol.message.rejected" => "message refused".to_owned(),
        "protocol.message.warning" => "message with a warning".to_owned(),
        "protocol.message.unknown" => "unknown message".to_owned(),
        "task.asked" => "question asked".to_owned(),
        "run.asked" => "permission asked for".to_owned(),
        "run.answered" => "permission answered".to_owned(),
        "merge.waiting" => "merge waits".to_owned(),
        _ => sanitize(&kind.replace(['.', '_'], " ")),
    };
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_type_is_shown_in_words() {
        let shown = ["run.started", "task.transitioned", ""].map(describe_kind);
        assert_eq!(shown, ["Run started", "Task moved", ""]);
    }

    #[test]
    fn event_filter_is_kept_in_link_to_older_events() {
        let filter =
            EventLogFilter { kind: Some("run.started".to_owned()), ..EventLogFilter::default() };
        assert_eq!(filter.to_url(17), "/record?type=run.started&before=17");
    }
}
