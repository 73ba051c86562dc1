//! Stories in a project, on the files of its `.ai` folder alone: no daemon and no data folder is
//! needed. Where there is one, [`keeper`] and [`desk`] keep the two together.
//!
//! Every command is one road: lock, read, ask the core, write once, answer. Where a story goes is
//! decided in the core, what the files look like is the store's.

pub mod answer;
pub mod auto;
pub mod changes;
pub mod desk;
pub mod hook;
pub mod init;
pub mod keeper;
pub mod project;
pub mod prompt;

#[cfg(test)]
mod golden_tests;

pub use answer::Answer;
pub use auto::Drive;
pub use hook::Ask;
pub use project::{Project, StoryError};
