//! Valid documents of the dialects other than AOF/1.

use serde_json::{Map, Value};

use crate::answer::FieldProblem;
use crate::delegation::{AttemptCompletion, NewTaskDocument};
use crate::dialect::ProtocolDialect;
use crate::mission::{MissionOrder, MissionResult};
use crate::relative_path::RelPath;
use crate::text_value::word_enum;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtocolDocument {
    Mission(MissionOrder),
    Result(MissionResult),
    /// Work for any agent with a given mode.
    NewTask(NewTaskDocument),
    AttemptCompletion(AttemptCompletion),
}

word_enum! {
    /// The kind of a document.
    #[strum(serialize_all = "snake_case")]
    pub enum DocumentKind {
        Mission,
        Result,
        NewTask,
        AttemptCompletion,
    }
}

/// The most bytes of a mission or a `new_task` as JSON. The document is stored in the front matter
/// of its task, which holds at most 1 MiB, and escaped characters take up to six times the space.
pub const ORDER_BYTES_MAX: usize = 128 << 10;

/// A document and its warnings, or every problem.
type ParsedDocument = Result<(ProtocolDocument, Vec<FieldProblem>), Vec<FieldProblem>>;

impl DocumentKind {
    pub const fn dialect(self) -> ProtocolDialect {
        match self {
            Self::Mission | Self::Result => ProtocolDialect::Mission,
            Self::NewTask | Self::AttemptCompletion => ProtocolDialect::NewTask,
        }
    }

    /// Returns the keys that identify this kind.
    pub const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Mission => &["version", "task_id", "instruction"],
            Self::Result => &["version", "task_id", "status"],
            Self::NewTask => &["taskId", "delegatedToMode"],
            Self::AttemptCompletion => &["taskId", "result"],
        }
    }

    /// Returns the kind that the keys of an object identify.
    pub fn from_keys(object: &Map<String, Value>) -> Option<Self> {
        let known = |kind: &Self| kind.keys().iter().all(|key| object.contains_key(*key));
        Self::ALL.iter().copied().find(known)
    }

    /// Returns whether this kind may be written in YAML.
    pub const fn can_be_yaml(self) -> bool {
        matches!(self.dialect(), ProtocolDialect::Mission)
    }

    /// Parses an object that must be a document of this kind.
    pub fn parse_object(self, object: &Map<String, Value>) -> ParsedDocument {
        let (document, warnings) = self.parse_fields(object)?;
        let kept = matches!(self, Self::Mission | Self::NewTask);
        let bytes = if kept { Value::Object(document.to_map()).to_string().len() } else { 0 };
        if bytes > ORDER_BYTES_MAX {
            let message = format!("must have at most {ORDER_BYTES_MAX} bytes, not {bytes}");
            return Err(vec![FieldProblem::new("", message)]);
        }
        Ok((document, warnings))
    }

    fn parse_fields(self, object: &Map<String, Value>) -> ParsedDocument {
        Ok(match self {
            Self::Mission => {
                let (mission, warnings) = MissionOrder::parse(object)?;
                (ProtocolDocument::Mission(mission), warnings)
            }
            Self::Result => {
                let (result, warnings) = MissionResult::parse(object)?;
                (ProtocolDocument::Result(result), warnings)
            }
            Self::NewTask => {
                let (task, warnings) = NewTaskDocument::parse(object)?;
                (ProtocolDocument::NewTask(task), warnings)
            }
            Self::AttemptCompletion => {
                let (completion, warnings) = AttemptCompletion::parse(object)?;
                (ProtocolDocument::AttemptCompletion(completion), warnings)
            }
        })
    }
}

impl ProtocolDocument {
    pub const fn kind(&self) -> DocumentKind {
        match self {
            Self::Mission(_) => DocumentKind::Mission,
            Self::Result(_) => DocumentKind::Result,
            Self::NewTask(_) => DocumentKind::NewTask,
            Self::AttemptCompletion(_) => DocumentKind::AttemptCompletion,
        }
    }

    /// Returns the id of the task, as the dialect writes it.
    pub fn external_task_id(&self) -> &str {
        match self {
            Self::Mission(mission) => mission.task_id.as_str(),
            Self::Result(result) => result.task_id.as_str(),
            Self::NewTask(task) => task.task_id.as_str(),
            Self::AttemptCompletion(completion) => completion.task_id.as_str(),
        }
    }

    /// Returns the document, with its fields in the order of the protocol.
    pub fn to_map(&self) -> Map<String, Value> {
        match self {
            Self::Mission(mission) => mission.to_map(),
            Self::Result(result) => result.to_map(),
            Self::NewTask(task) => task.to_map(),
            Self::AttemptCompletion(completion) => completion.to_map(),
        }
    }

    /// Returns every path in the document, each with the name of its field.
    pub fn paths(&self) -> Vec<(String, &RelPath)> {
        match self {
            Self::Mission(mission) => mission.paths(),
            Self::Result(result) => result.paths(),
            Self::NewTask(task) => task.paths(),
            Self::AttemptCompletion(completion) => completion.paths(),
        }
    }
}
