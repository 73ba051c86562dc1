//! `new_task` and `attempt_completion`: work given to a mode, and what came of it. Checked, typed,
//! printed.
//!
//! What either does to a task is not known here.

mod artifact;
mod attempt_completion;
mod id;
mod new_task;

pub use artifact::Artifact;
pub use attempt_completion::{
    AttemptCompletion, AttemptResult, IssueEncountered, IssueEncounteredType,
};
pub use id::{BadForeignId, ForeignId};
pub use new_task::{ExpectedOutput, NewTask, TaskPriority};

use serde_json::{Map, Value};

/// The most items a list may have.
pub const ITEMS_MAX: usize = 1_000;

/// The most characters a text may have.
pub const TEXT_CHARS_MAX: usize = 10_000;

/// The most characters a version, a type or a mode may have.
pub const WORD_CHARS_MAX: usize = 256;

/// Puts the fields together that say something.
fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Map<String, Value> {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Makes a value of a text that may not be there.
fn text(text: Option<&str>) -> Option<Value> {
    text.map(Value::from)
}

/// Makes a list that is there if the field was.
fn list<T>(items: Option<&[T]>, document: impl Fn(&T) -> Value) -> Option<Value> {
    items.map(|items| Value::Array(items.iter().map(document).collect()))
}
