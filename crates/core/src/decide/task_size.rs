//! Refuses a task that is too large for its file: what was written could not be read back.

use adjutant_model::answer::FieldProblem;
use adjutant_model::command::Command;
use adjutant_model::event::Event;
use adjutant_model::task::{
    FRONT_MATTER_BYTES_MAX, FRONT_MATTER_VALUES_MAX, TASK_FILE_BYTES_MAX, Task,
};
use serde_json::Value;

use crate::decision::Decision;
use crate::world::World;

/// A request may use a quarter of what a file can hold. The rest is for the characters that YAML
/// adds, and for what runs and reviews record later.
const SIZE_MAX: ValueSize =
    ValueSize { values: FRONT_MATTER_VALUES_MAX / 4, bytes: FRONT_MATTER_BYTES_MAX / 4 };

/// The most bytes of a body. The work log is appended to it.
const BODY_BYTES_MAX: usize = TASK_FILE_BYTES_MAX / 2;

/// The most bytes of a reason, a note or an answer. A task keeps the last one of each.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// The bytes that a value costs beside its text: indentation, dash, quotes and line end.
const VALUE_BYTES: usize = 8;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ValueSize {
    values: usize,
    bytes: usize,
}

impl ValueSize {
    fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::scalar(text.len()),
            Value::Array(items) => items.iter().map(Self::of).fold(Self::scalar(0), Self::plus),
            Value::Object(fields) => fields
                .iter()
                .map(|(key, value)| Self::scalar(key.len()).plus(Self::of(value)))
                .fold(Self::scalar(0), Self::plus),
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::scalar(VALUE_BYTES),
        }
    }

    fn scalar(text_bytes: usize) -> Self {
        Self { values: 1, bytes: text_bytes + VALUE_BYTES }
    }

    fn plus(self, other: Self) -> Self {
        Self { values: self.values + other.values, bytes: self.bytes + other.bytes }
    }

    fn is_over(self, other: Self) -> bool {
        self.values > other.values || self.bytes > other.bytes
    }
}

/// Returns what is too long in the text of a command.
pub(super) fn oversized_text(command: &Command) -> Option<FieldProblem> {
    let (field, text) = match command {
        Command::Move { reason, .. }
        | Command::Reject { reason, .. }
        | Command::Cancel { reason, .. }
        | Command::Reopen { reason, .. } => ("reason", reason),
        Command::Approve { note, .. } | Command::ApproveProtected { note, .. } => ("note", note),
        Command::Answer { text, .. } => ("text", text),
        Command::Add(_)
        | Command::Import(_)
        | Command::Edit { .. }
        | Command::Copy { .. }
        | Command::Retry { .. }
        | Command::Chore(_)
        | Command::Take { .. }
        | Command::Free { .. }
        | Command::AcceptChecks { .. }
        | Command::ApplySalvage { .. } => return None,
    };
    (text.len() > TEXT_BYTES_MAX).then(|| {
        let message = format!("must have at most {TEXT_BYTES_MAX} bytes, not {}", text.len());
        FieldProblem::new(field, message)
    })
}

/// Returns the first problem of a task that a decision creates or edits. A task that was too large
/// before may be edited, if that does not make it larger.
pub(super) fn oversized_task(world: &World, decision: &Decision) -> Option<FieldProblem> {
    decision.events.iter().find_map(|new| {
        let (Event::TaskCreated { task, body, .. } | Event::TaskEdited { task, body, .. }) =
            &new.event
        else {
            return None;
        };
        let body = body.as_ref().map_or(0, String::len);
        if body > BODY_BYTES_MAX {
            let message = format!("must have at most {BODY_BYTES_MAX} bytes, not {body}");
            return Some(FieldProblem::new("body", message));
        }
        let (size, largest) = measure(task);
        let before = world.task(&task.id).map_or(SIZE_MAX, |before| measure(before).0);
        (size.is_over(SIZE_MAX) && size.is_over(before)).then(|| {
            let ValueSize { values, bytes } = SIZE_MAX;
            let message = format!(
                "is too large for a task file: a task may have {values} values and {bytes} bytes, \
                 and this one has {} and {}",
                size.values, size.bytes
            );
            FieldProblem::new(largest, message)
        })
    })
}

/// Returns the size of a task's front matter, and the name of its largest field.
fn measure(task: &Task) -> (ValueSize, String) {
    let fields = serde_json::to_value(task).unwrap_or_default();
    let mut named = Vec::new();
    for (key, value) in fields.as_object().into_iter().flatten() {
        match value {
            Value::Object(nested) => named.extend(nested.iter()),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => named.push((key, value)),
        }
    }
    // A copy of `checks`, which a person cannot change.
    named.retain(|(key, _)| *key != "acceptedChecks");
    let largest = named.into_iter().max_by_key(|(_, value)| ValueSize::of(value).bytes);
    (ValueSize::of(&fields), largest.map_or_else(String::new, |(key, _)| key.clone()))
}
