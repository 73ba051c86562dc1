//! Which story a command is about.

use adjutant_model::story::StoryId;

use super::project::StoryError;
use crate::files::{FoundStory, StateSlot, StoryFiles};

/// Returns the named story, or the only unfinished one; if all are done, the one in the main file.
/// Fails if the story may be in an invalid file.
pub(super) fn select_story<'f>(
    files: &'f mut StoryFiles,
    story: Option<&StoryId>,
) -> Result<&'f FoundStory, StoryError> {
    let is_found = story.is_some_and(|story| files.found.iter().any(|found| found.is_of(story)));
    if !files.broken.is_empty() && !is_found {
        let is_own = |slot: &StateSlot| matches!(slot, StateSlot::Story(own) if Some(own) == story);
        let at = files.broken.iter().position(|(slot, _)| is_own(slot)).unwrap_or(0);
        return Err(files.broken.swap_remove(at).1.into());
    }
    if let Some(story) = story {
        let found = files.found.iter().find(|found| found.is_of(story));
        return found.ok_or_else(|| StoryError::NotFound(story.clone()));
    }
    let is_active =
        |found: &&FoundStory| !found.file.state.is_done() && !found.file.state.is_without_story();
    let active = files.found.iter().filter(is_active);
    // No story can be named for the project's own first step, and it comes before every story.
    if let Some(found) = active.clone().find(|found| found.file.state.story.is_none()) {
        return Ok(found);
    }
    match (active.collect::<Vec<_>>().as_slice(), files.found.as_slice()) {
        ([one], _) => Ok(one),
        ([], [one]) => Ok(one),
        ([], [first, ..]) if first.slot == StateSlot::Main => Ok(first),
        ([], _) => Err(StoryError::NoStory),
        (several, _) => {
            let names = several.iter().filter_map(|found| found.file.state.story.clone());
            Err(StoryError::Several(names.collect()))
        }
    }
}
