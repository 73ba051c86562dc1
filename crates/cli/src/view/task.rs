//! Renders tasks as text.

use adjutant_model::{Status, TaskId};
use adjutant_query::task::TaskView;
use adjutant_store::file::DataFolder;
use serde_json::Value;

use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour, clean};

/// Returns the fields as text, in the order of the file.
pub(crate) fn lines(view: &TaskView, out: &CommandOutput) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, value) in view.fields() {
        let shown = match (name.as_str(), value) {
            ("schemaVersion", _) | (_, Value::Null) => continue,
            ("status", _) => out.paint(colour(view.status), view.status.as_str()),
            (_, Value::String(text)) => clean(text),
            (_, other) => clean(&other.to_string()),
        };
        let name = format!("{:<17}", clean(name));
        lines.push(format!("{} {shown}", out.paint(TextColour::Dim, &name)));
    }
    lines.push(format!(
        "{} {}",
        out.paint(TextColour::Dim, &format!("{:<17}", "path")),
        view.path()
    ));
    lines
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
