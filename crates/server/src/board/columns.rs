//! The front page: tasks in columns, by status.

use adjutant_model::{Priority, Status, Time};
use maud::{Markup, html};

use super::agent_output::sanitize;
use super::format::{group_digits, render_age, shorten_timestamps};

#[derive(Debug, Clone)]
pub struct FrontPage {
    /// From left to right.
    pub columns: Vec<StatusColumn>,
    pub filter: BoardFilter,
    /// The agents offered in the filter.
    pub agents: Vec<String>,
    /// One line about the state of all agents.
    pub summary: String,
    pub now: Time,
}

#[derive(Debug, Clone)]
pub struct StatusColumn {
    pub status: Status,
    /// All matching tasks, shown or not.
    pub count: usize,
    /// The tasks shown on this page.
    pub cards: Vec<TaskCard>,
}

#[derive(Debug, Clone)]
pub struct TaskCard {
    pub id: String,
    pub title: String,
    pub priority: Priority,
    /// The agent that works on the task, or that it is assigned to.
    pub agent: Option<String>,
    /// One line about the task's status.
    pub note: Option<String>,
    /// When the task got its current status.
    pub since: Time,
}

/// Which tasks to show. All of it is in the URL, so that a view can be bookmarked and shared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoardFilter {
    /// Only tasks of this agent: running on it or assigned to it.
    pub agent: Option<String>,
    pub priority: Option<Priority>,
    /// Only tasks whose title or id contains this text.
    pub text: Option<String>,
    /// Only this status, with more tasks on the page.
    pub status: Option<Status>,
    /// Only tasks after this id: the paging cursor.
    pub after: Option<String>,
}

impl FrontPage {
    pub fn render(&self) -> Markup {
        html! {
            div.head {
                h1 { "Board" }
                span.soft data-live="glance" { (self.summary) }
                a.button.push href="/tasks/new" { "New task" }
            }
            (self.render_filters())
            div.columns.alone[self.filter.status.is_some()] data-live="columns" {
                @for column in &self.columns { (column.render(&self.filter, self.now)) }
            }
        }
    }

    fn render_filters(&self) -> Markup {
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
                label.unseen for="f-text" { "Title, tag or id" }
                input #f-text type="search" name="q" placeholder="title, tag or id" value=[filter.text.as_deref()];
                @if let Some(status) = filter.status {
                    input type="hidden" name="status" value=(status.as_str());
                }
                button { "Filter" }
                @if *filter != BoardFilter::default() { a href="/" { "Clear filters" } }
            }
        }
    }
}

impl StatusColumn {
    fn render(&self, filter: &BoardFilter, now: Time) -> Markup {
        let heading = format!("c-{}", self.status);
        html! {
            section class={ "column s-" (self.status.as_str()) } aria-labelledby=(heading) {
                header {
                    h2 #(heading) { a href=(filter.for_status(self.status).to_url()) { (self.status.as_str()) } }
                    span.num { (group_digits(self.count as u64)) }
                }
                ol { @for card in &self.cards { (card.render(now)) } }
                @if self.cards.is_empty() { p.none { "No tasks." } }
                @if let Some(more) = self.next_page_url(filter) { p.pages { a href=(more) { "More tasks" } } }
            }
        }
    }

    /// Returns the URL of the next page of this column, if there is one.
    fn next_page_url(&self, filter: &BoardFilter) -> Option<String> {
        let last = self.cards.last().filter(|_| self.count > self.cards.len())?;
        let next = BoardFilter { after: Some(last.id.clone()), ..filter.for_status(self.status) };
        Some(next.to_url())
    }
}

impl TaskCard {
    fn render(&self, now: Time) -> Markup {
        // The card leaves out the year of the id.
        let short = self.id.get("TASK-2026-".len()..).unwrap_or(&self.id);
        html! {
            li.card data-key=(self.id) {
                div.top {
                    span.mono { (short) }
                    (render_priority(self.priority))
                    span.num { (render_age(self.since, now)) }
                }
                a.title href={ "/tasks/" (self.id) } { (sanitize(&self.title)) }
                @if let Some(note) = &self.note { p.held { (shorten_timestamps(&sanitize(note))) } }
                @if let Some(agent) = &self.agent { div.foot { span.chip { (agent) } } }
            }
        }
    }
}

/// Shows the priority if it is high or critical.
pub(super) fn render_priority(priority: Priority) -> Markup {
    match priority {
        Priority::Critical => html! { span.prio.prio-critical { "critical" } },
        Priority::High => html! { span.prio.prio-high { "high" } },
        Priority::Normal | Priority::Low => html! {},
    }
}

impl BoardFilter {
    /// Returns this filter for one status alone, from its first page.
    fn for_status(&self, status: Status) -> Self {
        Self { status: Some(status), after: None, ..self.clone() }
    }

    /// Returns the URL of this view.
    pub fn to_url(&self) -> String {
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

    fn card(id: &str, title: &str) -> TaskCard {
        TaskCard {
            id: id.to_owned(),
            title: title.to_owned(),
            priority: Priority::High,
            agent: Some("claude".to_owned()),
            note: Some("waits for a slot".to_owned()),
            since: time("2026-11-16T08:00:00Z"),
        }
    }

    fn board(cards: Vec<TaskCard>, count: usize) -> FrontPage {
        FrontPage {
            columns: vec![StatusColumn { status: Status::Ready, count, cards }],
            filter: BoardFilter::default(),
            agents: vec!["claude".to_owned()],
            summary: String::new(),
            now: time("2026-11-16T08:02:00Z"),
        }
    }

    #[test]
    fn board_escapes_task_titles() {
        let evil = "<script>alert(1)</script>";
        let shown = board(vec![card("TASK-2026-11-16-001", evil)], 1).render().into_string();
        assert!(!shown.contains("<script"), "{shown}");
        assert!(shown.contains("&lt;script&gt;"));
        assert!(shown.contains("2 min"));
    }

    #[test]
    fn board_column_shows_count_and_links_next_page() {
        let shown = board(vec![card("TASK-2026-11-16-001", "One")], 1_200).render().into_string();
        assert!(shown.contains("1,200"));
        assert!(shown.contains("/?status=ready&amp;after=TASK-2026-11-16-001"), "{shown}");
        let all = board(vec![card("TASK-2026-11-16-001", "One")], 1).render().into_string();
        assert!(!all.contains("after="));
    }

    #[test]
    fn board_filter_is_encoded_in_url() {
        let filter = BoardFilter {
            agent: Some("a&b".to_owned()),
            priority: Some(Priority::High),
            text: Some("dates + times".to_owned()),
            ..BoardFilter::default()
        };
        assert_eq!(filter.to_url(), "/?agent=a%26b&priority=high&q=dates+%2B+times");
        assert_eq!(BoardFilter::default().to_url(), "/");
    }
}
