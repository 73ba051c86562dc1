//! Stories in a project, on the files of its `.ai` folder alone: no daemon, no data folder.
//!
//! Every command is one road: lock, read, ask the core, write once, answer. Where a story goes is
//! decided in the core, what the files look like is the store's.

pub mod answer;
pub mod changes;
pub mod hook;
pub mod init;
pub mod poller;
pub mod project;
pub mod prompt;

pub use answer::Answer;
pub use hook::Ask;
pub use poller::Poller;
pub use project::{Project, StoryError};
