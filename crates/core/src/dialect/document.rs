//! A document of one of the dialects beside AOF/1, in order.

use std::fmt;

use serde_json::{Map, Value};

use super::Dialect;
use crate::answer::Problem;
use crate::delegation::{AttemptCompletion, NewTask};
use crate::mission::{Mission, ResultDoc};
use crate::path::RelPath;

/// A document in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Document {
    /// What an agent must accomplish.
    Mission(Mission),
    /// What came of a mission.
    Result(ResultDoc),
    /// Work given to a mode.
    NewTask(NewTask),
    /// What came of it.
    AttemptCompletion(AttemptCompletion),
}

/// What kind of document it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DocumentKind {
    /// See [`Document::Mission`].
    Mission,
    /// See [`Document::Result`].
    Result,
    /// See [`Document::NewTask`].
    NewTask,
    /// See [`Document::AttemptCompletion`].
    AttemptCompletion,
}

/// The most bytes a mission or a `new_task` may have as JSON. It is kept in the front matter of its
/// task, where odd characters take six times the room and there is room for 1 MiB.
pub const ORDER_BYTES_MAX: usize = 128 << 10;

/// A document, with what is odd about it.
type Parsed = Result<(Document, Vec<Problem>), Vec<Problem>>;

impl DocumentKind {
    /// Every kind.
    pub const ALL: [Self; 4] =
        [Self::Mission, Self::Result, Self::NewTask, Self::AttemptCompletion];

    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mission => "mission",
            Self::Result => "result",
            Self::NewTask => "new_task",
            Self::AttemptCompletion => "attempt_completion",
        }
    }

    /// Parses the word for it.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// Returns the dialect it belongs to.
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::Mission | Self::Result => Dialect::Mission,
            Self::NewTask | Self::AttemptCompletion => Dialect::NewTask,
        }
    }

    /// Returns the keys it is known by.
    pub const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Mission => &["version", "task_id", "instruction"],
            Self::Result => &["version", "task_id", "status"],
            Self::NewTask => &["taskId", "delegatedToMode"],
            Self::AttemptCompletion => &["taskId", "result"],
        }
    }

    /// Tells what kind of document an object is, by its keys.
    pub fn of(object: &Map<String, Value>) -> Option<Self> {
        let known = |kind: &Self| kind.keys().iter().all(|key| object.contains_key(*key));
        Self::ALL.into_iter().find(known)
    }

    /// Says whether it may be written in YAML.
    pub const fn speaks_yaml(self) -> bool {
        matches!(self.dialect(), Dialect::Mission)
    }

    /// Checks an object that is meant to be of this kind.
    pub fn parse_object(self, object: &Map<String, Value>) -> Parsed {
        let (document, warnings) = self.parse_fields(object)?;
        let kept = matches!(self, Self::Mission | Self::NewTask);
        let bytes = if kept { Value::Object(document.object()).to_string().len() } else { 0 };
        if bytes > ORDER_BYTES_MAX {
            let message = format!("must have at most {ORDER_BYTES_MAX} bytes, not {bytes}");
            return Err(vec![Problem::new("", message)]);
        }
        Ok((document, warnings))
    }

    fn parse_fields(self, object: &Map<String, Value>) -> Parsed {
        Ok(match self {
            Self::Mission => {
                let (mission, warnings) = Mission::parse(object)?;
                (Document::Mission(mission), warnings)
            }
            Self::Result => {
                let (result, warnings) = ResultDoc::parse(object)?;
                (Document::Result(result), warnings)
            }
            Self::NewTask => {
                let (task, warnings) = NewTask::parse(object)?;
                (Document::NewTask(task), warnings)
            }
            Self::AttemptCompletion => {
                let (completion, warnings) = AttemptCompletion::parse(object)?;
                (Document::AttemptCompletion(completion), warnings)
            }
        })
    }
}

impl Document {
    /// Returns what kind of document it is.
    pub const fn kind(&self) -> DocumentKind {
        match self {
            Self::Mission(_) => DocumentKind::Mission,
            Self::Result(_) => DocumentKind::Result,
            Self::NewTask(_) => DocumentKind::NewTask,
            Self::AttemptCompletion(_) => DocumentKind::AttemptCompletion,
        }
    }

    /// Returns the id of the task it is about, as its dialect has it.
    pub fn foreign_id(&self) -> &str {
        match self {
            Self::Mission(mission) => mission.task_id.as_str(),
            Self::Result(result) => result.task_id.as_str(),
            Self::NewTask(task) => task.task_id.as_str(),
            Self::AttemptCompletion(completion) => completion.task_id.as_str(),
        }
    }

    /// Returns the document, its fields in the order of its protocol.
    pub fn object(&self) -> Map<String, Value> {
        match self {
            Self::Mission(mission) => mission.document(),
            Self::Result(result) => result.document(),
            Self::NewTask(task) => task.document(),
            Self::AttemptCompletion(completion) => completion.document(),
        }
    }

    /// Returns every path it names, each with where it stands.
    pub fn paths(&self) -> Vec<(String, &RelPath)> {
        match self {
            Self::Mission(mission) => mission.paths(),
            Self::Result(result) => result.paths(),
            Self::NewTask(task) => task.paths(),
            Self::AttemptCompletion(completion) => completion.paths(),
        }
    }
}

impl fmt::Display for DocumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
