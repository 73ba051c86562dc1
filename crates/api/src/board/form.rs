//! What a person can do, as forms that work without script.

use maud::{Markup, html};

/// Something a person can do to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Accepts work in review.
    Approve,
    /// Sends work back.
    Reject,
    /// Answers a question.
    Answer,
    /// Allows what a run wants to do.
    Allow,
    /// Does not allow what a run wants to do.
    Deny,
    /// Lets a task be tried again.
    Retry,
    /// Gives a task up.
    Cancel,
    /// Lets a report count that came too late.
    Apply,
    /// Puts a task from the backlog among those that are given out.
    Ready,
}

impl Act {
    /// Everything a person can do.
    pub const ALL: [Self; 9] = [
        Self::Approve,
        Self::Reject,
        Self::Answer,
        Self::Allow,
        Self::Deny,
        Self::Retry,
        Self::Cancel,
        Self::Apply,
        Self::Ready,
    ];

    /// Returns the word for it in an address.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Answer => "answer",
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Apply => "apply",
            Self::Ready => "ready",
        }
    }

    /// Parses the word for it in an address.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.as_str() == text)
    }

    /// Finds what a command of the inbox stands for here; none if it is not for this page.
    pub fn of_command(command: &str) -> Option<Self> {
        let mut words = command.split(' ');
        let (first, second, third) = (words.next()?, words.next(), words.next());
        match (first, second) {
            ("answer", _) if third.is_some_and(|text| text.ends_with(":allow")) => {
                Some(Self::Allow)
            }
            ("answer", _) if third.is_some_and(|text| text.ends_with(":deny")) => Some(Self::Deny),
            // A choice beside these is made by the command.
            ("answer", _) if third.is_some_and(|text| text.contains(':')) => None,
            ("approve", _) => Some(Self::Approve),
            ("reject", _) => Some(Self::Reject),
            ("answer", _) => Some(Self::Answer),
            ("task", Some("retry")) => Some(Self::Retry),
            ("task", Some("cancel")) => Some(Self::Cancel),
            ("inbox", Some("apply")) => Some(Self::Apply),
            _ => None,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Approve => "Approve",
            Self::Reject => "Reject",
            Self::Answer => "Answer",
            Self::Allow => "Allow",
            Self::Deny => "Deny",
            Self::Retry => "Try again",
            Self::Cancel => "Cancel task",
            Self::Apply => "Let it count",
            Self::Ready => "Move to ready",
        }
    }

    /// Says what has to be said with it, if anything.
    fn asks(self) -> Option<Ask> {
        match self {
            Self::Reject => Some(Ask { label: "What must change", must: true }),
            Self::Answer => Some(Ask { label: "Your answer", must: true }),
            Self::Approve => Some(Ask { label: "Note, if any", must: false }),
            Self::Allow | Self::Deny | Self::Retry | Self::Cancel | Self::Apply | Self::Ready => {
                None
            }
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Approve | Self::Answer | Self::Allow => "do",
            Self::Reject | Self::Deny | Self::Cancel => "no",
            Self::Retry | Self::Apply | Self::Ready => "",
        }
    }
}

struct Ask {
    label: &'static str,
    must: bool,
}

/// A form for one thing to be done.
#[derive(Debug, Clone, Copy)]
pub struct Form<'a> {
    /// What is done.
    pub act: Act,
    /// To which task.
    pub task: &'a str,
    /// What proves that the form came from a page of ours.
    pub csrf: &'a str,
    /// Where to go then.
    pub back: &'a str,
    /// The report that is meant, or the number of the question, where there is one.
    pub report: Option<&'a str>,
}

impl Form<'_> {
    /// Shows the form.
    pub fn shown(&self) -> Markup {
        let field = format!("{}-{}", self.act.as_str(), self.task);
        html! {
            form method="post" action={ "/tasks/" (self.task) "/" (self.act.as_str()) } data-act=(self.act.as_str()) {
                (hidden(self.csrf, self.back))
                @if let Some(report) = self.report {
                    input type="hidden" name="report" value=(report);
                }
                @if let Some(ask) = self.act.asks() {
                    label.unseen for=(field) { (ask.label) }
                    input type="text" id=(field) name="text" placeholder=(ask.label)
                        required[ask.must] maxlength="10000" autocomplete="off";
                }
                button class=(self.act.class()) { (self.act.label()) }
            }
        }
    }
}

/// What every form carries unseen.
pub fn hidden(csrf: &str, back: &str) -> Markup {
    html! {
        input type="hidden" name="csrf" value=(csrf);
        input type="hidden" name="back" value=(back);
    }
}

/// The form for a new task.
pub fn new_task(csrf: &str, agents: &[String]) -> Markup {
    html! {
        div.head { h1 { "New task" } }
        form.sheet.tall method="post" action="/tasks" {
            (hidden(csrf, "/"))
            label for="title" { "What is to be done, in a line" }
            input #title type="text" name="title" required maxlength="512" autocomplete="off" autofocus;
            label for="body" { "Everything else, in Markdown" }
            textarea #body name="body" rows="10" maxlength="200000" {}
            label for="checks" { "Checks: commands that must pass, one a line, in place of the project's" }
            textarea #checks name="checks" rows="2" maxlength="20000" spellcheck="false" {}
            div.row {
                label for="priority" { "Priority" }
                select #priority name="priority" {
                    @for word in ["critical", "high", "normal", "low"] {
                        option value=(word) selected[word == "normal"] { (word) }
                    }
                }
                label for="agent" { "Agent" }
                select #agent name="agent" {
                    option value="" { "any" }
                    @for agent in agents { option value=(agent) { (agent) } }
                }
                label for="status" { "Begins" }
                select #status name="status" {
                    option value="ready" { "ready" }
                    option value="backlog" { "backlog" }
                }
            }
            div.row { button.do { "Add the task" } a href="/" { "Never mind" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_act_has_a_word_of_its_own() {
        for act in Act::ALL {
            assert_eq!(Act::parse(act.as_str()), Some(act));
        }
        assert_eq!(Act::parse("delete"), None);
    }

    #[test]
    fn what_the_inbox_says_becomes_a_form() {
        let acts =
            ["approve T", "reject T --reason TEXT", "task retry T", "inbox apply T x", "doctor"];
        assert_eq!(
            acts.map(Act::of_command),
            [Some(Act::Approve), Some(Act::Reject), Some(Act::Retry), Some(Act::Apply), None]
        );
    }

    #[test]
    fn what_a_run_waits_for_becomes_two_buttons() {
        let acts = ["answer T 3:allow", "answer T 3:deny", "answer T 3:always", "answer T TEXT"];
        assert_eq!(
            acts.map(Act::of_command),
            [Some(Act::Allow), Some(Act::Deny), None, Some(Act::Answer)]
        );
    }

    #[test]
    fn what_others_wrote_stays_text() {
        let form = Form {
            act: Act::Apply,
            task: "TASK-2026-11-16-001",
            csrf: "c",
            back: "/inbox",
            report: Some("\"><script>alert(1)</script>"),
        };
        let text = form.shown().into_string();
        assert!(!text.contains("<script"), "{text}");
    }
}
