//! Commands on the stories of a project: start, continue, judge, approve and the rest.
//!
//! A command reads every state file once, under the lock of the folder. It reads a second time only
//! where the first read was without the lock.

mod answer;
mod automation;
mod hook;
mod project;
mod prompt;
mod step_proof;
pub mod story_reasons;
mod story_selection;

pub mod changes;
pub mod init;

pub use answer::{StoryCommandAnswer, StoryCommandResult};
pub use automation::StoryAutomation;
pub use hook::{HookTrigger, StepChecks};
pub use project::{StoryError, StoryProject};
pub use prompt::PromptError;

#[cfg(test)]
mod tests;
