//! Applies a person's decision about a story's task to the story's files.

use std::path::Path;

use adjutant_engine::story_requests::StoryTask;
use adjutant_model::story::StepFailReason;
use adjutant_model::{Command, Status};
use adjutant_process::clock::SystemClock;

use crate::driver::{StoryError, StoryProject};

/// Returns whether the story accepted the decision.
pub(super) fn apply_decision(
    home: &Path,
    task: &StoryTask,
    command: &Command,
) -> Result<bool, StoryError> {
    let project = StoryProject::at(home, &SystemClock)?;
    let story = Some(&task.story);
    let text = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let answer = match command {
        Command::Approve { note, .. } | Command::ApproveProtected { note, .. } => {
            project.approve(story, text(note))
        }
        Command::Reject { reason, .. } => {
            let (reason, note) = split_reason(reason);
            project.reject(story, reason, note)
        }
        Command::Answer { text: answer, .. } if task.status == Status::Blocked => {
            project.approve(story, text(answer))
        }
        Command::Retry { .. } if task.status == Status::Blocked => project.approve(story, None),
        _ => return Ok(false),
    };
    Ok(answer?.refusal().is_none())
}

/// Splits a pipeline reason from the note after it; without a known reason all of it is the note.
fn split_reason(text: &str) -> (Option<StepFailReason>, Option<String>) {
    let text = text.trim();
    let (first, rest) = text.split_once([':', ' ']).unwrap_or((text, ""));
    let (reason, note) = match StepFailReason::parse(first) {
        Some(reason) => (Some(reason), rest.trim()),
        None => (None, text),
    };
    (reason, Some(note.to_owned()).filter(|note| !note.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reject_reason_is_split_from_its_note() {
        let read = |text: &str| {
            let (reason, note) = split_reason(text);
            (reason.map(StepFailReason::as_str), note.unwrap_or_default())
        };
        assert_eq!(read("scope_warning"), (Some("scope_warning"), String::new()));
        assert_eq!(read("scope_warning: too much"), (Some("scope_warning"), "too much".into()));
        assert_eq!(read("no way"), (None, "no way".into()));
        assert_eq!(read(" "), (None, String::new()));
    }
}
