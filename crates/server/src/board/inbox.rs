//! The inbox page: everything that needs a person, and the actions on it.

use std::collections::BTreeMap;

use adjutant_core::schedule::{AttentionKind, InboxAction};
use adjutant_model::Time;
use adjutant_query::inbox::{InboxItem, InboxKind, OfferedAction};
use maud::{Markup, html};

use super::agent_output::sanitize;
use super::form::{TaskAct, TaskForm, TaskFormFacts, render_back_field};
use super::format::{format_count, render_age};

#[derive(Debug, Clone)]
pub struct InboxPage {
    /// The items of this page, in display order.
    pub items: Vec<InboxItem>,
    /// The number of items on all pages.
    pub all: usize,
    /// Counted from 1.
    pub page: usize,
    /// Whether there is a next page.
    pub more: bool,
    /// The tasks of the items.
    pub facts: BTreeMap<String, TaskFormFacts>,
    pub now: Time,
}

impl InboxPage {
    pub fn render(&self) -> Markup {
        html! {
            div.head { h1 { "Inbox" } span.soft data-live="count" { (self.count_text()) } }
            @if self.all == 0 {
                p.blank { strong { "The inbox is empty." } "Everything that needs your decision appears here." }
            }
            (self.render_batch_form())
            div data-live="items" {
                @for (place, item) in self.items.iter().enumerate() { (self.render_item(item, place)) }
            }
            @if self.page > 1 || self.more {
                p.pages data-live="pages" {
                    @if self.page > 1 { a href={ "/inbox?page=" (self.page - 1) } { "Previous page" } }
                    @if self.more { a href={ "/inbox?page=" (self.page + 1) } { "Next page" } }
                }
            }
        }
    }

    fn render_item(&self, item: &InboxItem, place: usize) -> Markup {
        let now = self.now;
        let nothing_known = TaskFormFacts::default();
        let title = format!("item-{place}");
        let task = item.task_id.as_deref().unwrap_or_default();
        let facts = self.facts.get(task).unwrap_or(&nothing_known);
        let (kind, status) = (item.kind.as_str(), status_class(item.kind));
        let subject = item.actions.iter().find_map(|offered| subject(&offered.action));
        let subject = subject.as_deref();
        let forms =
            item.actions.iter().map(|offered| (TaskAct::for_action(&offered.action), offered));
        html! {
            article class={ "item s-" (status) } aria-labelledby=(title) data-key={ (task) (kind) (subject.unwrap_or("")) } {
                @if can_approve(item) {
                    input type="checkbox" form="chosen" name="task" value=(task) aria-labelledby=(title)
                        data-name={ (task) " " (sanitize(&facts.title)) } data-merges[facts.merges];
                } @else { span {} }
                div.what {
                    div.row {
                        span class={ "pill s-" (status) } { (kind.replace('_', " ")) }
                        @if task.is_empty() {
                            span.title.mono #(title) {
                                (subject_of(item.kind))
                            }
                        } @else {
                            a.title.mono #(title) href={ "/tasks/" (task) } { (task) }
                        }
                        @if let Some(since) = item.since { span.soft.small { (render_age(since, now)) } }
                    }
                    p.text { (sanitize(&item.text)) }
                }
                div.acts {
                    @for act in forms.clone().filter_map(|(act, _)| act) {
                        (TaskForm { act, task, facts, back: "/inbox", report: subject }.render())
                    }
                    @for (_, offered) in forms.filter(|(act, _)| act.is_none()) {
                        @if offered.action == InboxAction::ShowDiff {
                            a href={ "/tasks/" (task) "#evidence" } { "Show changes" }
                        } @else {
                            code.soft { "adjutant " (offered.command) }
                        }
                    }
                }
            }
        }
    }

    fn count_text(&self) -> String {
        match self.all {
            0 => String::new(),
            1 => "1 item needs your decision".to_owned(),
            many => format!("{} need your decision", format_count(many, "item")),
        }
    }

    /// The form for all selected items. Its checkboxes are in the items and refer to it by id.
    fn render_batch_form(&self) -> Markup {
        if self.items.iter().filter(|item| can_approve(item)).count() < 2 {
            return html! {};
        }
        html! {
            form #chosen .filters method="post" action="/inbox" {
                (render_back_field("/inbox"))
                // Enter presses the first button of a form. This one does nothing, so that only
                // the visible buttons decide.
                button.unseen name="act" value="none" tabindex="-1" aria-hidden="true" {}
                span.soft.small { "Selected:" }
                button.do name="act" value="approve" data-verb="Approve" { "Approve" }
                label.unseen for="why-all" { "What must change" }
                input #why-all type="text" name="text" placeholder="What must change" maxlength="10000" autocomplete="off";
                button.no name="act" value="reject" data-verb="Reject" { "Reject" }
            }
        }
    }
}

fn can_approve(item: &InboxItem) -> bool {
    let act = |offered: &OfferedAction| TaskAct::for_action(&offered.action);
    item.actions.iter().any(|offered| act(offered) == Some(TaskAct::Approve))
}

/// Returns the report or the number of the permission request that an action is about, if any.
fn subject(action: &InboxAction) -> Option<String> {
    match action {
        InboxAction::ApplySalvage { name } => Some(name.clone()),
        InboxAction::ApproveProtected { files } => Some(files.join(", ")),
        InboxAction::AcceptChecks { checks } => Some(checks_field(checks.as_deref())),
        InboxAction::Allow { request }
        | InboxAction::Deny { request }
        | InboxAction::Choose { request, .. } => Some(request.to_string()),
        _ => None,
    }
}

/// Returns the checks that a person sees, as a field of a form has them.
pub fn checks_field(checks: Option<&[String]>) -> String {
    serde_json::to_string(&checks).unwrap_or_default()
}

/// Returns the file or folder that an item without a task is about.
fn subject_of(kind: InboxKind) -> &'static str {
    match kind {
        InboxKind::StoryConfig => ".ai",
        InboxKind::LostFile => "lost+found",
        InboxKind::Config | InboxKind::Story | InboxKind::Task(_) => "adjutant.toml",
    }
}

fn status_class(kind: InboxKind) -> &'static str {
    match kind {
        InboxKind::Story | InboxKind::Task(AttentionKind::Review) => "review",
        InboxKind::Config
        | InboxKind::StoryConfig
        | InboxKind::Task(AttentionKind::Deadletter | AttentionKind::Unreadable) => "deadletter",
        InboxKind::LostFile | InboxKind::Task(_) => "blocked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(kind: AttentionKind, actions: Vec<InboxAction>) -> InboxItem {
        let task = "TASK-2026-11-16-001";
        let offer = |action| OfferedAction::new(action, task);
        InboxItem {
            kind: InboxKind::Task(kind),
            task_id: Some(task.to_owned()),
            since: None,
            text: "Say: \u{1b}[2J<b>yes</b>?".to_owned(),
            actions: actions.into_iter().map(offer).collect(),
            story: None,
        }
    }

    fn page(items: Vec<InboxItem>) -> String {
        let now = Time::parse("2026-11-16T08:02:00Z").expect("a time");
        let (all, facts) = (items.len(), BTreeMap::new());
        InboxPage { all, items, page: 1, more: false, facts, now }.render().into_string()
    }

    #[test]
    fn inbox_links_other_pages() {
        let now = Time::parse("2026-11-16T08:02:00Z").expect("a time");
        let page =
            InboxPage { items: vec![], all: 120, page: 2, more: true, facts: BTreeMap::new(), now };
        let page = page.render();
        let shown = page.into_string();
        assert!(shown.contains("120 items need your decision"), "{shown}");
        assert!(shown.contains("/inbox?page=1") && shown.contains("/inbox?page=3"), "{shown}");
    }

    #[test]
    fn inbox_without_items_says_so() {
        assert!(page(vec![]).contains("The inbox is empty."));
    }

    #[test]
    fn inbox_with_several_reviews_offers_batch_form() {
        let review =
            || item(AttentionKind::Review, vec![InboxAction::Approve, InboxAction::Reject]);
        let two = page(vec![review(), review()]);
        assert!(two.contains("id=\"chosen\"") && two.contains("form=\"chosen\""));
        assert!(!page(vec![review()]).contains("id=\"chosen\""));
    }

    #[test]
    fn inbox_links_changes_of_work_in_review() {
        let shown = page(vec![item(AttentionKind::Review, vec![InboxAction::ShowDiff])]);
        let link = "<a href=\"/tasks/TASK-2026-11-16-001#evidence\">Show changes</a>";
        assert!(shown.contains(link), "{shown}");
    }

    #[test]
    fn inbox_escapes_item_text() {
        let shown = page(vec![item(AttentionKind::HeldBack, vec![InboxAction::Answer])]);
        assert!(shown.contains("Say: &lt;b&gt;yes&lt;/b&gt;?"), "{shown}");
        assert!(shown.contains("held back"));
    }
}
