//! `history.md`: the hand-overs of earlier executors, in order, each once.

use adjutant_core::story::StoryState;
use adjutant_core::story::claim::{FoundHandOver, HandOverContent};
use adjutant_store::hash::ShortHash;

use super::hand_over::parse_handoff;

/// Returns the history entry for a hand-over that is about to be overwritten, or `None` if the
/// history has it already.
pub fn entry(history: &str, state: &StoryState, name: &str, hand_over: &str) -> Option<String> {
    let mark = format!("<!-- adjutant {name} {} -->", ShortHash::digest(hand_over.as_bytes()));
    if hand_over.trim().is_empty() || history.contains(&mark) {
        return None;
    }
    // The story may have moved on since the hand-over was written.
    let named = match parse_handoff(hand_over.as_bytes()) {
        FoundHandOver::Content(content) => content,
        FoundHandOver::Missing | FoundHandOver::Unchanged | FoundHandOver::Invalid(_) => {
            HandOverContent::default()
        }
    };
    let own = state.story.as_ref().map_or("bootstrap", |story| story.as_str());
    let story = named.story.as_deref().map_or(own, single_word);
    let step = named.step.as_deref().map_or(state.step.as_str(), single_word);
    let attempt =
        named.attempt.map_or_else(|| state.attempt.to_string(), |it| single_word(&it).to_owned());
    let when = state.completed_at.map_or(String::new(), |time| format!(" {time}"));
    let gap = match history {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let hand_over = hand_over.trim_end();
    let title = format!("## {name}: {story} {step} attempt:{attempt}{when}");
    // The mark comes last: an entry that was cut off has no mark, and is added again.
    Some(format!("{gap}{title}\n\n{hand_over}\n{mark}\n"))
}

/// Returns the first word of a text that an executor wrote.
fn single_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use adjutant_model::story::{Step, StoryId};

    use super::*;

    #[test]
    fn history_heading_names_the_step_of_the_hand_over() {
        let story = StoryId::parse("US-005").expect("a name");
        let state = StoryState::new("p", Some(story), Step::Review);
        let hand_over = "---\nstory: US-005\nstep: contract\nattempt: 2\n---\n";
        let entry = entry("", &state, "HANDOFF.md", hand_over).expect("it is new");
        assert!(entry.starts_with("## HANDOFF.md: US-005 contract attempt:2\n"), "{entry}");
    }

    #[test]
    fn history_entry_is_added_once() {
        let story = StoryId::parse("US-005").expect("a name");
        let state = StoryState::new("p", Some(story), Step::Impl);
        let mut history = "# History".to_owned();
        history += &entry(&history, &state, "HANDOFF.md", "done\n").expect("it is new");
        assert_eq!(entry(&history, &state, "HANDOFF.md", "done\n"), None);
        assert_eq!(entry(&history, &state, "HANDOFF.md", " \n"), None);
        history += &entry(&history, &state, "HANDOFF.md", "more\n").expect("it is new");
        let lines: Vec<&str> = history.lines().filter(|line| !line.starts_with("<!--")).collect();
        let title = "## HANDOFF.md: US-005 impl attempt:1";
        assert_eq!(lines, ["# History", "", title, "", "done", "", title, "", "more"]);
    }
}
