//! Stories, each as a line of its steps.

use maud::{Markup, html};

/// The stories there are.
#[derive(Debug, Clone)]
pub struct Page {
    /// Each of them.
    pub stories: Vec<Story>,
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
}

impl Page {
    /// Shows the page.
    pub fn shown(&self) -> Markup {
        html! {
            div.head { h1 { "Stories" } }
            @if self.stories.is_empty() {
                p.blank { strong { "There are no stories." } code { "adjutant story start US-001" } " begins one." }
            }
            div data-live="stories" { @for story in &self.stories { (story.shown()) } }
        }
    }
}

impl Story {
    fn shown(&self) -> Markup {
        let heading = format!("story-{}", self.id);
        html! {
            article class={ "sheet s-" (self.tone) } aria-labelledby=(heading) data-key=(self.id) {
                div.row {
                    h2 #(heading) {
                        @match &self.task {
                            Some(task) => a.title href={ "/tasks/" (task) } { (self.id) " " (self.title) },
                            None => { (self.id) " " (self.title) }
                        }
                    }
                    span class={ "pill s-" (self.tone) } { (self.standing) }
                }
                ol.steps tabindex="0" aria-label={ "Steps of " (self.id) } {
                    @for (place, step) in self.steps.iter().enumerate() { (self.step(place, step)) }
                }
                @for note in &self.notes { p.small.soft { (super::output::visible(note)) } }
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
        };
        let shown = Page { stories: vec![story] }.shown().into_string();
        assert!(shown.contains("<li class=\"past\">bdd"), "{shown}");
        assert!(shown.contains("<li class=\"now\" aria-current=\"step\">impl"), "{shown}");
        assert!(shown.contains("<li class=\"\">done"), "{shown}");
    }
}
