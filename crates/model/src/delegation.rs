//! `new_task` and `attempt_completion`: work delegated to a mode and the report on it,
//! parsed and printed.
//!
//! This module does not know what either does to a task.

mod artifact;
mod attempt_completion;
mod id;
mod new_task;

pub use artifact::TaskArtifact;
pub use attempt_completion::{
    AttemptCompletion, AttemptResult, IssueEncountered, IssueEncounteredType,
};
pub use id::{ExternalTaskId, ExternalTaskIdError};
pub use new_task::{ExpectedOutput, NewTaskDocument, NewTaskPriority};

pub const ITEMS_MAX: usize = 1_000;

pub const TEXT_CHARS_MAX: usize = 10_000;

/// The most characters in a version or a type.
pub const WORD_CHARS_MAX: usize = 256;
