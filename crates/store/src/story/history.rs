//! `history.md`: what earlier executors left, one after the other, each once.

use adjutant_core::pipeline::State;

use crate::hash::Hash;

/// Returns what is put at the end of the history for a paper that is about to be overwritten, or
/// nothing if it is there already.
pub fn entry(history: &str, state: &State, name: &str, paper: &str) -> Option<String> {
    let mark = format!("<!-- adjutant {name} {} -->", Hash::of(paper.as_bytes()));
    if paper.trim().is_empty() || history.contains(&mark) {
        return None;
    }
    let story = state.story.as_ref().map_or("bootstrap", |story| story.as_str());
    let when = state.completed_at.map_or(String::new(), |time| format!(" {time}"));
    let gap = match history {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let paper = paper.trim_end();
    let title = format!("## {name}: {story} {} attempt:{}{when}", state.step, state.attempt);
    // The mark comes last: an entry that was cut off has none, and is put there again.
    Some(format!("{gap}{title}\n\n{paper}\n{mark}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjutant_core::pipeline::{Step, StoryId};

    #[test]
    fn a_paper_is_put_there_once() {
        let story = StoryId::parse("US-005").expect("a name");
        let state = State::begin("p", Some(story), Step::Impl);
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
