//! A project's `.ai` folder: the files that drive a story, in the format that
//! other programs expect.
//!
//! This module makes no decisions: the core decides where a story moves. It validates what it
//! reads, keeps unknown fields, and writes only whole files, under a lock between processes.

pub mod hand_over;
pub mod rules;
pub mod state;

pub(crate) mod own_fields;

pub mod folder;
pub mod history;
mod step_guard;
mod story_files;
mod story_trust;

pub use folder::{FOLDER, StateSlot, StoryFolder, StoryFolderError, StoryLock};
pub use own_fields::StepRun;
pub use state::StateFile;
pub(crate) use step_guard::{StepGuard, noted_change};
pub use story_files::{FoundStory, StoryFiles};
pub use story_trust::StoryTrust;

#[cfg(test)]
mod tests;
