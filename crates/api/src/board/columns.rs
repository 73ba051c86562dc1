//! The first page: tasks in columns, by status.

use adjutant_core::{Priority, Status, Time};
use maud::{Markup, html};

use super::words::{ago, grouped, plain_times};

/// What the first page shows.
#[derive(Debug, Clone)]
pub struct Board {
    /// The columns, from left to right.
    pub columns: Vec<Column>,
    /// What is left out.
    pub filter: Filter,
    /// The agents one may ask for.
    pub agents: Vec<String>,
    /// How the crew is doing, in a line.
    pub glance: String,
    /// When the page was made.
    pub now: Time,
}

/// The tasks of one status.
#[derive(Debug, Clone)]
pub struct Column {
    /// The status.
    pub status: Status,
    /// How many there are, shown or not.
    pub count: usize,
    /// Those that are shown.
    pub cards: Vec<Card>,
}

/// A task, as a card.
#[derive(Debug, Clone)]
pub struct Card {
    /// Its id.
    pub id: String,
    /// What is to be done.
    pub title: String,
    /// How urgent it is.
    pub priority: Priority,
    /// Who works on it, or whom it is for.
    pub agent: Option<String>,
    /// What there is to say about where it stands, in a line.
    pub note: Option<String>,
    /// Since when it stands there.
    pub since: Time,
}

/// What is left out. It is all in the address, so that a view can be kept and handed on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only what this agent has, or is for it.
    pub agent: Option<String>,
    /// Only what is as urgent as this.
    pub priority: Option<Priority>,
    /// Only what says this in its title or id.
    pub text: Option<String>,
    /// Only this status, and more of it.
    pub status: Option<Status>,
    /// After this task.
    pub after: Option<String>,
}

impl Board {
    /// Shows the page.
    pub fn shown(&self) -> Markup {
        html! {
            div.head {
                h1 { "Board" }
                span.soft data-live="glance" { (self.glance) }
                a.button.push href="/tasks/new" { "New task" }
            }
            (self.filters())
            div.columns.alone[self.filter.status.is_some()] data-live="columns" {
                @for column in &self.columns { (column.shown(&self.filter, self.now)) }
            }
        }
    }

    fn filters(&self) -> Markup {
        let filter = &self.filter;
        let chosen = |agent: &String| filter.agent.as_ref() == Some(agent);
        html! {
            form.filters method="get" action="/" {
                label.unseen for="f-agent" { "Agent" }
                select #f-agent name="agent" {
                    option value="" { "any agent" }
                    @for agent in &self.agents {
                        option value=(agent) selected[chosen(agent)] { (agent) }
                    }
                }
                label.unseen for="f-priority" { "Priority" }
                select #f-priority name="priority" {
                    option value="" { "any priority" }
                    @for priority in Priority::ALL {
                        option value=(priority.as_str()) selected[filter.priority == Some(priority)] {
                            (priority.as_str())
                        }
                    }
                }
                label.unseen for="f-text" { "Words" }
                input #f-text type="search" name="q" placeholder="words" value=[filter.text.as_deref()];
                @if let Some(status) = filter.status {
                    input type="hidden" name="status" value=(status.as_str());
                }
                button { "Show" }
                @if *filter != Filter::default() { a href="/" { "Show all" } }
            }
        }
    }
}

impl Column {
    fn shown(&self, filter: &Filter, now: Time) -> Markup {
        let heading = format!("c-{}", self.status);
        html! {
            section class={ "column s-" (self.status.as_str()) } aria-labelledby=(heading) {
                header {
                    h2 #(heading) { a href=(filter.only(self.status).address()) { (self.status.as_str()) } }
                    span.num { (grouped(self.count as u64)) }
                }
                ol { @for card in &self.cards { (card.shown(now)) } }
                @if self.cards.is_empty() { p.none { "Nothing here." } }
                @if let Some(more) = self.more(filter) { p.pages { a href=(more) { "More" } } }
            }
        }
    }

    /// Returns where the cards are that are not shown.
    fn more(&self, filter: &Filter) -> Option<String> {
        let last = self.cards.last().filter(|_| self.count > self.cards.len())?;
        let next = Filter { after: Some(last.id.clone()), ..filter.only(self.status) };
        Some(next.address())
    }
}

impl Card {
    fn shown(&self, now: Time) -> Markup {
        // The year says nothing on a board.
        let short = self.id.get("TASK-2026-".len()..).unwrap_or(&self.id);
        html! {
            li.card data-key=(self.id) {
                div.top {
                    span.mono { (short) }
                    (urgency(self.priority))
                    span.num { (ago(self.since, now)) }
                }
                a.title href={ "/tasks/" (self.id) } { (self.title) }
                @if let Some(note) = &self.note { p.held { (plain_times(note)) } }
                @if let Some(agent) = &self.agent { div.foot { span.chip { (agent) } } }
            }
        }
    }
}

/// Shows a priority where it is one to look at.
pub(super) fn urgency(priority: Priority) -> Markup {
    match priority {
        Priority::Critical => html! { span.prio.prio-critical { "critical" } },
        Priority::High => html! { span.prio.prio-high { "high" } },
        Priority::Normal | Priority::Low => html! {},
    }
}

impl Filter {
    /// Returns the same view of one status alone, from its start.
    fn only(&self, status: Status) -> Self {
        Self { status: Some(status), after: None, ..self.clone() }
    }

    /// Returns where this view is.
    pub fn address(&self) -> String {
        let pairs = [
            ("status", self.status.map(|status| status.as_str().to_owned())),
            ("agent", self.agent.clone()),
            ("priority", self.priority.map(|priority| priority.as_str().to_owned())),
            ("q", self.text.clone()),
            ("after", self.after.clone()),
        ];
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in pairs {
            if let Some(value) = value {
                query.append_pair(name, &value);
            }
        }
        match query.finish() {
            empty if empty.is_empty() => "/".to_owned(),
            query => format!("/?{query}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Time {
        Time::parse(text).expect("a time")
    }

    fn card(id: &str, title: &str) -> Card {
        Card {
            id: id.to_owned(),
            title: title.to_owned(),
            priority: Priority::High,
            agent: Some("claude".to_owned()),
            note: Some("waits for a slot".to_owned()),
            since: time("2026-11-16T08:00:00Z"),
        }
    }

    fn board(cards: Vec<Card>, count: usize) -> Board {
        Board {
            columns: vec![Column { status: Status::Ready, count, cards }],
            filter: Filter::default(),
            agents: vec!["claude".to_owned()],
            glance: String::new(),
            now: time("2026-11-16T08:02:00Z"),
        }
    }

    #[test]
    fn what_others_wrote_stays_text() {
        let evil = "<script>alert(1)</script>";
        let shown = board(vec![card("TASK-2026-11-16-001", evil)], 1).shown().into_string();
        assert!(!shown.contains("<script"), "{shown}");
        assert!(shown.contains("&lt;script&gt;"));
        assert!(shown.contains("2 min"));
    }

    #[test]
    fn a_column_says_how_many_there_are_and_where_the_rest_is() {
        let shown = board(vec![card("TASK-2026-11-16-001", "One")], 1_200).shown().into_string();
        assert!(shown.contains("1,200"));
        assert!(shown.contains("/?status=ready&amp;after=TASK-2026-11-16-001"), "{shown}");
        let all = board(vec![card("TASK-2026-11-16-001", "One")], 1).shown().into_string();
        assert!(!all.contains("after="));
    }

    #[test]
    fn a_view_is_all_in_its_address() {
        let filter = Filter {
            agent: Some("a&b".to_owned()),
            priority: Some(Priority::High),
            text: Some("dates + times".to_owned()),
            ..Filter::default()
        };
        assert_eq!(filter.address(), "/?agent=a%26b&priority=high&q=dates+%2B+times");
        assert_eq!(Filter::default().address(), "/");
    }
}
