//! A task as its file has it.

use std::borrow::Borrow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use adjutant_core::world::file_fault::FileFault;
use adjutant_model::{Answer, Reason, Status, TaskId};
use adjutant_store::document_paths::task_file;
use adjutant_store::file::{DataFolder, read_world};
use adjutant_store::frontmatter::{self, FrontMatterParts};
use adjutant_store::taskfile::body_text;
use rustix::fs::{Mode, OFlags};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::approval::ApprovalOutcome;
use crate::failure::CommandFailure;

pub struct TaskView {
    pub status: Status,
    fields: Map<String, Value>,
    path: String,
    body: String,
}

impl TaskView {
    /// Reads the file of a task with this status; `None` if it is missing or not a task file.
    pub fn read(folder: &DataFolder, id: &TaskId, status: Status) -> Option<Self> {
        let path = task_file(status, id);
        let text = String::from_utf8(read_regular_file(&folder.root().join(&path))?).ok()?;
        let parts = FrontMatterParts::split(&text).ok()?;
        let fields = frontmatter::read(parts.yaml()).ok()?;
        Some(Self { status, fields, path, body: body_text(parts.body()).to_owned() })
    }

    /// Shows a task whose files cannot be changed as blocked, with the reason as `onHold`.
    #[must_use]
    pub fn with_hold(mut self, fault: Option<&FileFault>) -> Self {
        if let Some(fault) = fault {
            self.status = Status::Blocked;
            let text = format!("{fault}; {}", fault.fix);
            self.fields.insert("onHold".to_owned(), text.into());
        }
        self
    }

    /// Finds the file of a task under any status. Tries again if the task may have moved meanwhile.
    pub fn find(folder: &DataFolder, id: &TaskId) -> Option<Self> {
        let look = || Status::ALL.into_iter().find_map(|status| Self::read(folder, id, status));
        (0..3).find_map(|_| look())
    }

    /// Returns the front matter, in the order of the file.
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Returns a text of the front matter.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Value::as_str)
    }

    /// Returns the path of the file in the data folder.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn body(&self) -> &str {
        &self.body
    }

    /// Returns the task without its body, as lists show it.
    pub fn without_body(&self) -> TaskWithoutBody<'_> {
        TaskWithoutBody(self)
    }

    /// Returns the task without its body, with the warnings of the command that changed it.
    pub fn with_warnings<'a>(&'a self, warnings: &'a [String]) -> ChangedTask<'a> {
        ChangedTask { task: self.without_body(), warnings }
    }

    /// Returns the task without its body, with the outcome of its approval.
    pub fn with_outcome<'a>(&'a self, outcome: Option<&'a ApprovalOutcome>) -> DecidedTask<'a> {
        DecidedTask { task: self.without_body(), outcome }
    }

    /// Serializes the front matter, with the status and path where the file is.
    fn serialize_fields<S: Serializer>(
        &self,
        body: Option<&str>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let own =
            [("status", Some(self.status.as_str())), ("path", Some(&self.path)), ("body", body)];
        let own = own.into_iter().filter_map(|(name, text)| Some((name, text?)));
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.fields {
            match own.clone().find(|(own, _)| own == name) {
                Some((_, text)) => map.serialize_entry(name, text)?,
                None => map.serialize_entry(name, value)?,
            }
        }
        for (name, text) in own.filter(|(name, _)| !self.fields.contains_key(*name)) {
            map.serialize_entry(name, text)?;
        }
        map.end()
    }
}

/// A task with its body.
impl Serialize for TaskView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize_fields(Some(&self.body), serializer)
    }
}

/// A task that serializes without its body.
pub struct TaskWithoutBody<'a>(&'a TaskView);

impl Serialize for TaskWithoutBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_fields(None, serializer)
    }
}

/// A task without its body, and the warnings of the command that changed it.
#[derive(serde::Serialize)]
pub struct ChangedTask<'a> {
    #[serde(flatten)]
    task: TaskWithoutBody<'a>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

/// A task without its body, and the outcome of its approval if it was approved.
#[derive(serde::Serialize)]
pub struct DecidedTask<'a> {
    #[serde(flatten)]
    task: TaskWithoutBody<'a>,
    #[serde(flatten)]
    outcome: Option<&'a ApprovalOutcome>,
}

/// Serializes tasks as a list, without their bodies.
pub fn serialize_list<T: Borrow<TaskView>>(tasks: &[T]) -> impl Serialize + use<'_, T> {
    tasks.iter().map(|task| task.borrow().without_body()).collect::<Vec<_>>()
}

/// Reads a regular file. Does not follow links or wait for pipes.
pub fn read_regular_file(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let stat = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::with_capacity(usize::try_from(stat.len()).unwrap_or(0) + 1);
    // `take` avoids a second `fstat`, which `read_to_end` on a file does for its size hint.
    file.take(u64::MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Finds the path where the file of a task is. It need not hold a valid task.
pub fn task_path(folder: &DataFolder, id: &TaskId) -> Option<PathBuf> {
    let mut paths = Status::ALL.into_iter().map(|status| folder.root().join(task_file(status, id)));
    paths.find(|path| path.symlink_metadata().is_ok())
}

/// Returns the id of the task that `text` names: our own id, or an id of its origin. Tasks are read
/// only if `text` is not the id of a task that has a file.
pub fn resolve_task_id(folder: &DataFolder, text: &str) -> Option<TaskId> {
    let own = TaskId::parse(text).ok();
    if let Some(own) = own.as_ref().filter(|own| task_path(folder, own).is_some()) {
        return Some(own.clone());
    }
    read_world(folder).ok().and_then(|world| world.resolve(text)).or(own)
}

/// Reports a text that names no task.
pub fn unknown_task(text: &str) -> CommandFailure {
    let answer = Answer::rejected(Reason::TaskNotFound, None);
    CommandFailure::refused(format!("there is no task {text:?}"), &answer)
}
