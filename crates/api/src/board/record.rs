//! The record: what happened, line by line.

use adjutant_core::Time;
use maud::{Markup, html};

use super::output::visible;
use super::words::moment;

/// A part of the record.
#[derive(Debug, Clone)]
pub struct Page {
    /// The lines, the last first.
    pub lines: Vec<Line>,
    /// What is left out.
    pub filter: Filter,
    /// Where what is older is, if there is more.
    pub older: Option<u64>,
}

/// An event.
#[derive(Debug, Clone)]
pub struct Line {
    /// Its number.
    pub id: u64,
    /// When it was.
    pub at: Option<Time>,
    /// What type of event.
    pub kind: String,
    /// Who caused it.
    pub actor: String,
    /// The task it is about.
    pub task: Option<String>,
    /// What happened, in words.
    pub text: String,
}

/// What is left out of the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only what is about this task.
    pub task: Option<String>,
    /// Only events of this type, or of a type that begins with it.
    pub kind: Option<String>,
    /// Only what this one caused.
    pub actor: Option<String>,
}

impl Page {
    /// Shows the page.
    pub fn shown(&self) -> Markup {
        html! {
            div.head { h1 { "Record" } }
            (self.filters())
            section.sheet aria-label="Events" data-live="lines" {
                (lines(&self.lines, true))
                @if self.lines.is_empty() { p.soft { "Nothing of the kind happened." } }
            }
            @if let Some(older) = self.older {
                p.pages { a href=(self.filter.address(older)) { "Older" } }
            }
        }
    }

    fn filters(&self) -> Markup {
        let filter = &self.filter;
        html! {
            form.filters method="get" action="/record" {
                label.unseen for="r-task" { "Task" }
                input #r-task type="text" name="task" placeholder="task" value=[filter.task.as_deref()];
                label.unseen for="r-kind" { "Type" }
                input #r-kind type="text" name="type" placeholder="type, as run or task.created" value=[filter.kind.as_deref()];
                label.unseen for="r-actor" { "Actor" }
                input #r-actor type="text" name="actor" placeholder="actor" value=[filter.actor.as_deref()];
                button { "Show" }
                @if *filter != Filter::default() { a href="/record" { "Show all" } }
            }
        }
    }
}

impl Filter {
    fn address(&self, before: u64) -> String {
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

/// Shows lines of the record.
pub(super) fn lines(lines: &[Line], with_task: bool) -> Markup {
    html! {
        div.wide {
            table.record {
                thead { tr {
                    th scope="col" .num { "event" } th scope="col" { "when" } th scope="col" { "type" }
                    @if with_task { th scope="col" { "task" } }
                    th scope="col" { "who" } th scope="col" { "what" }
                } }
                tbody { @for line in lines { (line.shown(with_task)) } }
            }
        }
    }
}

impl Line {
    fn shown(&self, with_task: bool) -> Markup {
        html! {
            tr data-key=(self.id) {
                td.num.soft { (self.id) }
                td.soft.when { @if let Some(at) = self.at { (moment(at)) } }
                td.mono { (visible(&self.kind)) }
                @if with_task {
                    td.mono { @if let Some(task) = &self.task { a href={ "/tasks/" (task) } { (task) } } }
                }
                td { (visible(&self.actor)) }
                td { (visible(&self.text)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_is_looked_at_in_the_same_way() {
        let filter = Filter { kind: Some("run.started".to_owned()), ..Filter::default() };
        assert_eq!(filter.address(17), "/record?type=run.started&before=17");
    }
}
