//! Renders tasks as text.

use adjutant_model::{Status, TaskId};
use adjutant_query::task::TaskView;
use adjutant_store::file::DataFolder;
use serde_json::Value;

use super::task_metadata;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour, clean};

/// Returns the fields as text, in the order of the file.
pub(crate) fn lines(view: &TaskView, out: &CommandOutput) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, value) in view.fields() {
        match (name.as_str(), value) {
            ("schemaVersion", _) | (_, Value::Null) => {}
            ("status", _) => {
                let status = out.paint(colour(view.status), view.status.as_str());
                lines.push(labelled(out, name, &status));
            }
            ("metadata", Value::Object(metadata)) => {
                let fields = task_metadata::lines(metadata).into_iter();
                lines.extend(fields.map(|(label, text)| labelled(out, &label, &clean(&text))));
            }
            (_, value) => {
                let text = task_metadata::describe_part(name, value)
                    .unwrap_or_else(|| task_metadata::plain_value(value));
                lines.push(labelled(out, name, &clean(&text)));
            }
        }
    }
    lines.push(labelled(out, "path", view.path()));
    lines
}

/// Returns a line of a task: a label and a text that can be shown.
pub(crate) fn labelled(out: &CommandOutput, label: &str, text: &str) -> String {
    format!("{} {text}", out.paint(TextColour::Dim, &format!("{:<17}", clean(label))))
}

/// Reads a task that was just changed; fails if its file has disappeared.
pub(crate) fn read_changed_task(
    folder: &DataFolder,
    id: &TaskId,
) -> Result<TaskView, CommandFailure> {
    TaskView::find(folder, id).ok_or_else(|| {
        CommandFailure::gone(format!("{id} was changed, but its file has been removed since"))
    })
}

pub(crate) fn colour(status: Status) -> TextColour {
    match status {
        Status::Backlog | Status::Cancelled => TextColour::Dim,
        Status::Ready => TextColour::Plain,
        Status::InProgress => TextColour::Blue,
        Status::Review => TextColour::Yellow,
        Status::Done => TextColour::Green,
        Status::Blocked | Status::Deadletter => TextColour::Red,
    }
}
