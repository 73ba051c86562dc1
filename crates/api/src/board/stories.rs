//! Stories, each as a line of its steps.

use maud::{Markup, html};

use super::form::hidden;

/// The stories there are.
#[derive(Debug, Clone)]
pub struct Page {
    /// Each of them.
    pub stories: Vec<Story>,
    /// Whether there is an agent that could do steps.
    pub has_agents: bool,
}

/// Something a person can do to a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Says yes.
    Approve,
    /// Says no.
    Reject,
    /// Has agents do its steps.
    Auto,
    /// Has its steps started by hand.
    ByHand,
    /// Puts it back to a step.
    Rollback,
    /// Takes it up again when it was done.
    Reopen,
}

impl Act {
    /// Everything a person can do.
    pub const ALL: [Self; 6] =
        [Self::Approve, Self::Reject, Self::Auto, Self::ByHand, Self::Rollback, Self::Reopen];

    /// Returns the word for it in an address.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Auto => "auto",
            Self::ByHand => "by-hand",
            Self::Rollback => "rollback",
            Self::Reopen => "reopen",
        }
    }

    /// Parses the word for it in an address.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.as_str() == text)
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Approve => "Approve",
            Self::Reject => "Reject",
            Self::Auto => "Let agents do it",
            Self::ByHand => "Stop agents after this step",
            Self::Rollback => "Put it back",
            Self::Reopen => "Take it up again",
        }
    }

    const fn class(self) -> &'static str {
        match self {
            Self::Approve => "do",
            Self::Reject => "no",
            Self::Auto | Self::ByHand | Self::Rollback | Self::Reopen => "",
        }
    }
}

/// A story.
#[derive(Debug, Clone)]
pub struct Story {
    /// Its id.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// The task on the board, if there is one.
    pub task: Option<String>,
    /// Its steps, in order.
    pub steps: Vec<String>,
    /// The place of the present one among them; behind the last if it is done.
    pub at: usize,
    /// How the present step stands, in a few words.
    pub standing: String,
    /// The status of the task that has the same tone.
    pub tone: &'static str,
    /// What there is to say about it.
    pub notes: Vec<String>,
    /// What a person can do to it where it stands.
    pub acts: Vec<Act>,
    /// Why a person can say no, beside no reason in particular.
    pub reasons: Vec<&'static str>,
}

impl Page {
    /// Shows the page, with forms that carry what proves that they are ours.
    pub fn shown(&self, csrf: &str) -> Markup {
        html! {
            div.head { h1 { "Stories" } }
            @if self.stories.is_empty() {
                p.blank { strong { "There are no stories." } code { "adjutant story start US-001" } " begins one." }
            }
            div data-live="stories" { @for story in &self.stories { (story.shown(csrf)) } }
            (self.begin(csrf))
        }
    }

    /// The form that begins a story.
    fn begin(&self, csrf: &str) -> Markup {
        html! {
            section.sheet aria-labelledby="begin" {
                h2 #begin { "Begin a story" }
                form.row method="post" action="/stories" {
                    (hidden(csrf, "/stories"))
                    label.unseen for="story" { "The story" }
                    input #story type="text" name="story" placeholder="US-001" required maxlength="64"
                        autocomplete="off";
                    @if self.has_agents {
                        label { input type="checkbox" name="auto" value="yes"; " agents do its steps" }
                    }
                    button { "Begin" }
                }
            }
        }
    }
}

impl Story {
    fn shown(&self, csrf: &str) -> Markup {
        let heading = format!("story-{}", self.id);
        html! {
            article class={ "sheet s-" (self.tone) } aria-labelledby=(heading) data-key=(self.id) {
                div.row {
                    h2 #(heading) {
                        @match &self.task {
                            Some(task) => a.title href={ "/tasks/" (task) } { (self.name()) },
                            None => (self.name())
                        }
                    }
                    span class={ "pill s-" (self.tone) } { (self.standing) }
                }
                ol.steps tabindex="0" aria-label={ "Steps of " (self.id) } {
                    @for (place, step) in self.steps.iter().enumerate() { (self.step(place, step)) }
                }
                @for note in &self.notes { p.small.soft { (super::output::visible(note)) } }
                div.acts { @for act in &self.acts { (self.form(*act, csrf)) } }
            }
        }
    }

    /// Its id, and what it is about where that says more.
    fn name(&self) -> String {
        if self.title == self.id { self.id.clone() } else { format!("{} {}", self.id, self.title) }
    }

    /// The form for one thing to be done.
    fn form(&self, act: Act, csrf: &str) -> Markup {
        let (word, field) = (act.as_str(), format!("{}-{}", act.as_str(), self.id));
        let says = matches!(act, Act::Approve | Act::Reject | Act::Rollback | Act::Reopen);
        let to_step = matches!(act, Act::Rollback | Act::Reopen);
        let likely = self.steps.get(self.at).map_or("impl", String::as_str);
        html! {
            form method="post" action={ "/stories/" (self.id) "/" (word) } data-act=(word) {
                (hidden(csrf, "/stories"))
                @if act == Act::Reject {
                    label.unseen for={ (field) "-reason" } { "Why not" }
                    select id={ (field) "-reason" } name="reason" {
                        option value="default" { "no reason in particular" }
                        @for reason in &self.reasons {
                            option value=(reason) { (reason.replace('_', " ")) }
                        }
                    }
                }
                @if to_step {
                    label.unseen for={ (field) "-step" } { "Which step" }
                    select id={ (field) "-step" } name="step" {
                        @for step in self.steps.iter().filter(|step| *step != "done") {
                            option value=(step) selected[*step == likely] { (step) }
                        }
                    }
                }
                @if says {
                    label.unseen for=(field) { "Note for whoever works on it next" }
                    input type="text" id=(field) name="text" placeholder="Note, if any"
                        maxlength="10000" autocomplete="off";
                }
                button class=(act.class()) { (act.label()) }
            }
        }
    }

    fn step(&self, place: usize, step: &str) -> Markup {
        let (class, said) = match place.cmp(&self.at) {
            std::cmp::Ordering::Less => ("past", ", done"),
            std::cmp::Ordering::Equal => ("now", ", now"),
            std::cmp::Ordering::Greater => ("", ""),
        };
        let current = (place == self.at).then_some("step");
        html! { li class=(class) aria-current=[current] { (step) span.unseen { (said) } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_a_line_of_steps() {
        let story = Story {
            id: "US-005".to_owned(),
            title: "Dates".to_owned(),
            task: None,
            steps: ["bdd", "impl", "done"].map(str::to_owned).to_vec(),
            at: 1,
            standing: "try 2 of 5".to_owned(),
            tone: "in-progress",
            notes: vec![],
            acts: vec![Act::Rollback],
            reasons: vec![],
        };
        let page = Page { stories: vec![story], has_agents: true };
        let shown = page.shown("proof").into_string();
        assert!(shown.contains("<li class=\"past\">bdd"), "{shown}");
        assert!(shown.contains("<li class=\"now\" aria-current=\"step\">impl"), "{shown}");
        assert!(shown.contains("<li class=\"\">done"), "{shown}");
        assert!(shown.contains("action=\"/stories/US-005/rollback\""), "{shown}");
        assert!(!shown.contains("<option value=\"done\""), "no story is put to its end: {shown}");
    }

    #[test]
    fn every_act_has_a_word_of_its_own() {
        for act in Act::ALL {
            assert_eq!(Act::parse(act.as_str()), Some(act));
        }
        assert_eq!(Act::parse("next"), None);
    }
}
