//! All state files of a project, from one read.

use adjutant_core::story::{StepRuleTable, StoryState};
use adjutant_model::story::{StepStatus, StoryId};

use super::{StateFile, StateSlot, StoryFolder, StoryFolderError};

/// A state file that could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundStory {
    pub slot: StateSlot,
    pub file: StateFile,
}

/// The stories of a project. An invalid file is not a story and does not affect other stories.
#[derive(Debug, Default)]
pub struct StoryFiles {
    pub found: Vec<FoundStory>,
    pub broken: Vec<(StateSlot, StoryFolderError)>,
}

impl StoryFolder {
    /// Reads every state file. A story whose position skips a step of a person is at that step.
    pub fn read_stories(&self, rules: &StepRuleTable) -> Result<StoryFiles, StoryFolderError> {
        let mut files = StoryFiles::default();
        for slot in self.slots()? {
            match self.state(&slot) {
                Ok(Some(mut file)) => {
                    file.undo_skip(rules);
                    files.found.push(FoundStory { slot, file });
                }
                Ok(None) => {}
                Err(error @ StoryFolderError::BadState { .. }) => files.broken.push((slot, error)),
                Err(error) => return Err(error),
            }
        }
        Ok(files)
    }
}

impl FoundStory {
    pub fn is_of(&self, story: &StoryId) -> bool {
        self.file.state.story.as_ref() == Some(story)
    }

    /// Returns whether an executor works on the story.
    pub fn is_busy(&self) -> bool {
        self.file.state.status == StepStatus::Running && !self.file.state.is_done()
    }
}

impl StoryFiles {
    /// Returns the unfinished stories that a story waits for.
    pub fn open_blockers(&self, state: &StoryState) -> Vec<StoryId> {
        let is_done = |story: &StoryId| {
            let found = self.found.iter().find(|found| found.is_of(story));
            found.is_some_and(|found| found.file.state.is_done())
        };
        state.blocked_by.iter().filter(|story| !is_done(story)).cloned().collect()
    }

    /// Returns the stories through which a story would wait for itself, if it waited for these.
    pub fn circular_blockers(
        &self,
        story: &StoryId,
        blocked_by: &[StoryId],
    ) -> Option<Vec<StoryId>> {
        let mut reached: Vec<(StoryId, Vec<StoryId>)> =
            blocked_by.iter().map(|blocker| (blocker.clone(), vec![blocker.clone()])).collect();
        let mut at = 0;
        while let Some((blocker, path)) = reached.get(at).cloned() {
            if blocker == *story {
                return Some(path);
            }
            let found = self.found.iter().find(|found| found.is_of(&blocker));
            for next in found.iter().flat_map(|found| &found.file.state.blocked_by) {
                if !reached.iter().any(|(seen, _)| seen == next) {
                    let path = path.iter().chain([next]).cloned().collect();
                    reached.push((next.clone(), path));
                }
            }
            at += 1;
        }
        None
    }

    /// Returns whether an executor works on any story but the one in this slot.
    pub fn has_other_busy(&self, slot: &StateSlot) -> bool {
        self.found.iter().any(|found| found.slot != *slot && found.is_busy())
    }

    /// Takes the file in this slot out; an error if it is invalid, `None` if it is missing.
    pub fn take(&mut self, slot: &StateSlot) -> Result<Option<FoundStory>, StoryFolderError> {
        if let Some(at) = self.broken.iter().position(|(broken, _)| broken == slot) {
            return Err(self.broken.swap_remove(at).1);
        }
        let at = self.found.iter().position(|found| found.slot == *slot);
        Ok(at.map(|at| self.found.remove(at)))
    }
}
