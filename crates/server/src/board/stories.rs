//! The stories page: each story as a row of its steps.

use maud::{Markup, html};

use super::form::render_back_field;

#[derive(Debug, Clone)]
pub struct StoriesPage {
    pub stories: Vec<StoryRow>,
    /// Whether an agent is configured that can perform steps.
    pub has_agents: bool,
}

/// What a person can do to a story on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoryAct {
    Approve,
    Reject,
    /// Lets agents perform the steps.
    Auto,
    /// Has people start the steps.
    ByHand,
    /// Moves the story back to an earlier step.
    Rollback,
    /// Reopens a story that was done.
    Reopen,
}

impl StoryAct {
    pub const ALL: [Self; 6] =
        [Self::Approve, Self::Reject, Self::Auto, Self::ByHand, Self::Rollback, Self::Reopen];

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

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|act| act.as_str() == text)
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Approve => "Approve",
            Self::Reject => "Reject",
            Self::Auto => "Let agents perform the steps",
            Self::ByHand => "Stop agents after this step",
            Self::Rollback => "Roll back",
            Self::Reopen => "Reopen",
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

#[derive(Debug, Clone)]
pub struct StoryRow {
    pub id: String,
    pub title: String,
    pub task: Option<String>,
    pub steps: Vec<String>,
    /// The index of the current step in `steps`; their count if the story is done.
    pub current_step: usize,
    /// The status of the current step, in a few words.
    pub status_text: String,
    /// The task status whose colour the story gets.
    pub tone: &'static str,
    pub notes: Vec<String>,
    /// The actions possible in the current state.
    pub acts: Vec<StoryAct>,
    /// The reasons a person can give for rejecting the step.
    pub reasons: Vec<&'static str>,
}

impl StoriesPage {
    pub fn render(&self) -> Markup {
        html! {
            div.head { h1 { "Stories" } }
            @if self.stories.is_empty() {
                p.blank { strong { "No stories yet." } "Start one below, or with " code { "adjutant story start US-001" } "." }
            }
            div data-live="stories" { @for story in &self.stories { (story.render()) } }
            (self.render_start_form())
        }
    }

    fn render_start_form(&self) -> Markup {
        html! {
            section.sheet aria-labelledby="begin" {
                h2 #begin { "Start a story" }
                form.row method="post" action="/stories" {
                    (render_back_field("/stories"))
                    label.unseen for="story" { "Story id" }
                    input #story type="text" name="story" placeholder="US-001" required maxlength="64"
                        autocomplete="off";
                    @if self.has_agents {
                        label { input type="checkbox" name="auto" value="yes"; " let agents perform the steps" }
                    }
                    button { "Start" }
                }
            }
        }
    }
}

impl StoryRow {
    fn render(&self) -> Markup {
        let heading = format!("story-{}", self.id);
        html! {
            article class={ "sheet s-" (self.tone) } aria-labelledby=(heading) data-key=(self.id) {
                div.row {
                    h2 #(heading) {
                        @match &self.task {
                            Some(task) => a.title href={ "/tasks/" (task) } { (super::agent_output::sanitize(&self.heading())) },
                            None => (super::agent_output::sanitize(&self.heading()))
                        }
                    }
                    span class={ "pill s-" (self.tone) } { (self.status_text) }
                }
                ol.steps tabindex="0" aria-label={ "Steps of " (self.id) } {
                    @for (place, step) in self.steps.iter().enumerate() { (self.render_step(place, step)) }
                }
                @for note in &self.notes { p.small.soft { (super::agent_output::sanitize(note)) } }
                div.acts { @for act in &self.acts { (self.render_form(*act)) } }
            }
        }
    }

    /// The id, followed by the title if that differs.
    fn heading(&self) -> String {
        if self.title == self.id { self.id.clone() } else { format!("{} {}", self.id, self.title) }
    }

    fn render_form(&self, act: StoryAct) -> Markup {
        let (word, field) = (act.as_str(), format!("{}-{}", act.as_str(), self.id));
        let says = matches!(
            act,
            StoryAct::Approve | StoryAct::Reject | StoryAct::Rollback | StoryAct::Reopen
        );
        let to_step = matches!(act, StoryAct::Rollback | StoryAct::Reopen);
        let likely = self.steps.get(self.current_step).map_or("impl", String::as_str);
        html! {
            form method="post" action={ "/stories/" (self.id) "/" (word) } data-act=(word) {
                (render_back_field("/stories"))
                @if act == StoryAct::Reject {
                    label.unseen for={ (field) "-reason" } { "Reason" }
                    select id={ (field) "-reason" } name="reason" {
                        option value="default" { "no particular reason" }
                        @for reason in &self.reasons {
                            option value=(reason) { (reason.replace('_', " ")) }
                        }
                    }
                }
                @if to_step {
                    label.unseen for={ (field) "-step" } { "Step" }
                    select id={ (field) "-step" } name="step" {
                        @for step in self.steps.iter().filter(|step| *step != "done") {
                            option value=(step) selected[*step == likely] { (step) }
                        }
                    }
                }
                @if says {
                    label.unseen for=(field) { "Note for the next executor" }
                    input type="text" id=(field) name="text" placeholder="Note (optional)"
                        maxlength="10000" autocomplete="off";
                }
                button class=(act.class()) { (act.label()) }
            }
        }
    }

    fn render_step(&self, place: usize, step: &str) -> Markup {
        let (class, said) = match place.cmp(&self.current_step) {
            std::cmp::Ordering::Less => ("past", ", done"),
            std::cmp::Ordering::Equal => ("now", ", current"),
            std::cmp::Ordering::Greater => ("", ""),
        };
        let current = (place == self.current_step).then_some("step");
        html! { li class=(class) aria-current=[current] { (step) span.unseen { (said) } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn story_is_rendered_as_row_of_steps() {
        let story = StoryRow {
            id: "US-005".to_owned(),
            title: "Dates".to_owned(),
            task: None,
            steps: ["bdd", "impl", "done"].map(str::to_owned).to_vec(),
            current_step: 1,
            status_text: "attempt 2 of 5".to_owned(),
            tone: "in-progress",
            notes: vec![],
            acts: vec![StoryAct::Rollback],
            reasons: vec![],
        };
        let page = StoriesPage { stories: vec![story], has_agents: true };
        let shown = page.render().into_string();
        assert!(shown.contains("<li class=\"past\">bdd"), "{shown}");
        assert!(shown.contains("<li class=\"now\" aria-current=\"step\">impl"), "{shown}");
        assert!(shown.contains("<li class=\"\">done"), "{shown}");
        assert!(shown.contains("action=\"/stories/US-005/rollback\""), "{shown}");
        assert!(
            !shown.contains("<option value=\"done\""),
            "a story cannot be moved to its end: {shown}"
        );
    }

    #[test]
    fn story_act_word_parses_back() {
        for act in StoryAct::ALL {
            assert_eq!(StoryAct::parse(act.as_str()), Some(act));
        }
        assert_eq!(StoryAct::parse("next"), None);
    }
}
