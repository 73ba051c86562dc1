//! What waits for a person, and what can be done about it.

use adjutant_core::Time;
use maud::{Markup, html};

use super::form::{Act, Form, hidden};
use super::words::{ago, counted};

/// What waits for a person.
#[derive(Debug, Clone)]
pub struct Page {
    /// Each thing on the page, as it is to be looked at.
    pub items: Vec<Item>,
    /// How much waits in all.
    pub all: usize,
    /// The number of the page.
    pub page: usize,
    /// Whether there is another.
    pub more: bool,
    /// When the page was made.
    pub now: Time,
}

/// Something that waits for a person.
#[derive(Debug, Clone)]
pub struct Item {
    /// What kind of thing, in a word.
    pub kind: String,
    /// The task it is about.
    pub task: String,
    /// Since when; none where nobody can tell.
    pub since: Option<Time>,
    /// What it is about.
    pub text: String,
    /// What can be done about it here.
    pub acts: Vec<Act>,
    /// What can be done about it elsewhere: commands.
    pub commands: Vec<String>,
    /// The report it is about, or the number of the question, where it is about one.
    pub report: Option<String>,
}

impl Page {
    /// Shows the page.
    pub fn shown(&self, csrf: &str) -> Markup {
        html! {
            div.head { h1 { "Inbox" } span.soft data-live="count" { (self.count()) } }
            @if self.all == 0 {
                p.blank { strong { "Nothing waits for you." } "What needs a person comes here." }
            }
            (self.batch(csrf))
            div data-live="items" {
                @for (place, item) in self.items.iter().enumerate() { (item.shown(place, csrf, self.now)) }
            }
            @if self.page > 1 || self.more {
                p.pages data-live="pages" {
                    @if self.page > 1 { a href={ "/inbox?page=" (self.page - 1) } { "Before" } }
                    @if self.more { a href={ "/inbox?page=" (self.page + 1) } { "More" } }
                }
            }
        }
    }

    fn count(&self) -> String {
        match self.all {
            0 => String::new(),
            1 => "1 thing waits for you".to_owned(),
            many => format!("{} wait for you", counted(many, "thing")),
        }
    }

    /// What is done to all that are chosen. The boxes are in the items, and belong to this form.
    fn batch(&self, csrf: &str) -> Markup {
        let reviews = self.items.iter().filter(|item| item.acts.contains(&Act::Approve)).count();
        if reviews < 2 {
            return html! {};
        }
        html! {
            form #chosen .filters method="post" action="/inbox" {
                (hidden(csrf, "/inbox"))
                span.soft.small { "Those that are ticked:" }
                button.do name="act" value="approve" { "Approve" }
                label.unseen for="why-all" { "What must change" }
                input #why-all type="text" name="text" placeholder="What must change" maxlength="10000" autocomplete="off";
                button.no name="act" value="reject" { "Reject" }
            }
        }
    }
}

impl Item {
    fn shown(&self, place: usize, csrf: &str, now: Time) -> Markup {
        let title = format!("item-{place}");
        html! {
            article class={ "item s-" (self.tone()) } aria-labelledby=(title) data-key={ (self.task) (self.kind) (self.report.as_deref().unwrap_or("")) } {
                @if self.acts.contains(&Act::Approve) {
                    input type="checkbox" form="chosen" name="task" value=(self.task) aria-labelledby=(title);
                } @else { span {} }
                div.what {
                    div.row {
                        span class={ "pill s-" (self.tone()) } { (self.kind.replace('_', " ")) }
                        a.title.mono #(title) href={ "/tasks/" (self.task) } { (self.task) }
                        @if let Some(since) = self.since { span.soft.small { (ago(since, now)) } }
                    }
                    p.text { (super::output::visible(&self.text)) }
                }
                div.acts {
                    @for act in &self.acts { (self.form(*act, csrf).shown()) }
                    @for command in &self.commands { code.soft { "adjutant " (command) } }
                }
            }
        }
    }

    fn form<'a>(&'a self, act: Act, csrf: &'a str) -> Form<'a> {
        Form { act, task: &self.task, csrf, back: "/inbox", report: self.report.as_deref() }
    }

    fn tone(&self) -> &'static str {
        match self.kind.as_str() {
            "review" | "story" => "review",
            "deadletter" | "unreadable" => "deadletter",
            _ => "blocked",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(kind: &str, acts: Vec<Act>) -> Item {
        Item {
            kind: kind.to_owned(),
            task: "TASK-2026-11-16-001".to_owned(),
            since: None,
            text: "Say: \u{1b}[2J<b>yes</b>?".to_owned(),
            acts,
            commands: vec![],
            report: None,
        }
    }

    fn page(items: Vec<Item>) -> String {
        let now = Time::parse("2026-11-16T08:02:00Z").expect("a time");
        Page { all: items.len(), items, page: 1, more: false, now }.shown("c").into_string()
    }

    #[test]
    fn what_is_on_other_pages_is_led_to() {
        let now = Time::parse("2026-11-16T08:02:00Z").expect("a time");
        let page = Page { items: vec![], all: 120, page: 2, more: true, now }.shown("c");
        let shown = page.into_string();
        assert!(shown.contains("120 things wait for you"), "{shown}");
        assert!(shown.contains("/inbox?page=1") && shown.contains("/inbox?page=3"), "{shown}");
    }

    #[test]
    fn an_empty_inbox_says_so() {
        assert!(page(vec![]).contains("Nothing waits for you."));
    }

    #[test]
    fn several_reviews_can_be_settled_at_once() {
        let review = || item("review", vec![Act::Approve, Act::Reject]);
        let two = page(vec![review(), review()]);
        assert!(two.contains("id=\"chosen\"") && two.contains("form=\"chosen\""));
        assert!(!page(vec![review()]).contains("id=\"chosen\""));
    }

    #[test]
    fn what_others_wrote_stays_text() {
        let shown = page(vec![item("held_back", vec![Act::Answer])]);
        assert!(shown.contains("Say: &lt;b&gt;yes&lt;/b&gt;?"), "{shown}");
        assert!(shown.contains("held back"));
    }
}
