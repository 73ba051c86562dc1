//! Why a story does not continue by itself, according to its files.

use adjutant_model::story::{StepStatus, StoryId};

use super::answer::StoryCommandAnswer;
use super::project::{StoryError, StoryProject};
use super::story_selection::select_story;
use crate::files::StoryFiles;

/// A reason why a story does not continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryReason {
    /// A stable word for scripts.
    pub code: &'static str,
    /// A sentence for people.
    pub text: String,
}

impl StoryProject<'_> {
    /// Returns the status of a story, and what holds it back.
    pub fn reasons(
        &self,
        story: Option<&StoryId>,
    ) -> Result<(StoryCommandAnswer, Vec<StoryReason>), StoryError> {
        let mut files = self.read_stories()?;
        let file = select_story(&mut files, story)?.file.clone();
        let answer = self.status_answer(&file);
        if answer.state.is_done() {
            return Ok((answer, vec![]));
        }
        let blockers = files.open_blockers(&answer.state);
        let mut reasons: Vec<StoryReason> =
            blockers.iter().map(|blocker| blocker_reason(&files, blocker)).collect();
        match answer.state.status {
            StepStatus::NeedsHuman | StepStatus::Timeout => {
                let code = answer.hold.map_or("timeout", |hold| hold.as_str());
                reasons.push(StoryReason { code, text: answer.caller_instruction() });
            }
            StepStatus::Running => {
                let text = format!("An executor is working on {}.", answer.state.step);
                reasons.push(StoryReason { code: "running", text });
            }
            StepStatus::Pending | StepStatus::Pass | StepStatus::Failing if !answer.auto => {
                let text = "Its steps are started by hand: call `adjutant story next`.".to_owned();
                reasons.push(StoryReason { code: "story_by_hand", text });
            }
            StepStatus::Pending | StepStatus::Pass | StepStatus::Failing => {}
        }
        Ok((answer, reasons))
    }
}

fn blocker_reason(files: &StoryFiles, blocker: &StoryId) -> StoryReason {
    let found = files.found.iter().find(|found| found.is_of(blocker));
    let place = found.map_or_else(
        || "which was not started".to_owned(),
        |found| format!("which is at {}, {}", found.file.state.step, found.file.state.status),
    );
    StoryReason {
        code: "story_waits",
        text: format!("It depends on the story {blocker}, {place}."),
    }
}
