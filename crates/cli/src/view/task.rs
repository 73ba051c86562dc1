//! A task, as its file has it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use adjutant_core::{Status, Task, TaskId};
use adjutant_store::document::task_file;
use adjutant_store::file::Folder;
use adjutant_store::frontmatter::{self, Parts};
use adjutant_store::taskfile::body_text;
use rustix::fs::{Mode, OFlags};
use serde_json::{Map, Value};

use crate::error::Failure;
use crate::output::{Colour, Output, clean};

/// A task file that was read.
pub(crate) struct TaskView {
    pub(crate) status: Status,
    fields: Map<String, Value>,
    path: String,
    body: String,
}

impl TaskView {
    /// Reads the file of a task that lies in a folder; none if it is not there or is none.
    pub(crate) fn read(folder: &Folder, id: &TaskId, status: Status) -> Option<Self> {
        let path = task_file(status, id);
        let text = String::from_utf8(read_plain(&folder.root().join(&path))?).ok()?;
        let parts = Parts::split(&text).ok()?;
        let fields = frontmatter::read(parts.yaml()).ok()?;
        Some(Self { status, fields, path, body: body_text(parts.body()).to_owned() })
    }

    /// Finds the file of a task in whatever folder it lies. A task that is moved while this
    /// looks is looked for again.
    pub(crate) fn find(folder: &Folder, id: &TaskId) -> Option<Self> {
        let look = || Status::ALL.into_iter().find_map(|status| Self::read(folder, id, status));
        (0..3).find_map(|_| look())
    }

    /// Returns the front matter as it is in the file, with where the file lies.
    pub(crate) fn json(&self, with: Body) -> Value {
        let mut object = self.fields.clone();
        object.insert("status".into(), self.status.as_str().into());
        object.insert("path".into(), self.path.as_str().into());
        if with == Body::Shown {
            object.insert("body".into(), self.body.as_str().into());
        }
        Value::Object(object)
    }

    /// Returns the fields in words, in the order of the file.
    pub(crate) fn lines(&self, out: &Output) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, value) in &self.fields {
            let shown = match (name.as_str(), value) {
                ("schemaVersion", _) | (_, Value::Null) => continue,
                ("status", _) => out.paint(colour(self.status), self.status.as_str()),
                (_, Value::String(text)) => clean(text),
                (_, other) => clean(&other.to_string()),
            };
            let name = format!("{:<17}", clean(name));
            lines.push(format!("{} {shown}", out.paint(Colour::Dim, &name)));
        }
        lines.push(format!("{} {}", out.paint(Colour::Dim, &format!("{:<17}", "path")), self.path));
        lines
    }

    pub(crate) fn body(&self) -> &str {
        &self.body
    }
}

/// Reads a plain file. A link is not followed, and a pipe is not waited for.
pub(crate) fn read_plain(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let stat = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::with_capacity(usize::try_from(stat.len()).unwrap_or(0) + 1);
    // To take is to read without asking the file how long it is once more.
    file.take(u64::MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Whether the body goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    Shown,
    Left,
}

/// Reads a task that was just changed, or says that it cannot be read back.
pub(crate) fn changed(folder: &Folder, id: &TaskId) -> Result<TaskView, Failure> {
    TaskView::find(folder, id)
        .ok_or_else(|| Failure::gone(format!("{id} was changed, and somebody took its file away")))
}

/// Returns the colour of a status.
pub(crate) fn colour(status: Status) -> Colour {
    match status {
        Status::Backlog | Status::Cancelled => Colour::Dim,
        Status::Ready => Colour::Plain,
        Status::InProgress => Colour::Blue,
        Status::Review => Colour::Yellow,
        Status::Done => Colour::Green,
        Status::Blocked | Status::Deadletter => Colour::Red,
    }
}

/// Orders tasks as a list shows them: by status, then by urgency, then by age.
pub(crate) fn in_order(task: &Task) -> (Status, adjutant_core::Priority, &TaskId) {
    (task.status(), task.priority, &task.id)
}
