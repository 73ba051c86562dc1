//! AOF/1: messages in a JSON envelope. Detects them in text, checks them and types them.

mod detect;
mod envelope;
mod payload;

pub(crate) use detect::is_too_deep;
pub use detect::{DEPTH_MAX, MESSAGE_BYTES_MAX, MESSAGE_PREFIX};
pub use envelope::{PROTOCOL, VERSION, parse_run_result};

use adjutant_model::actor::AgentId;
use adjutant_model::answer::{FieldProblem, Reason};
use adjutant_model::completion::{CompletionReport, HANDOFF_REF};
use adjutant_model::document::{DocumentKind, ProtocolDocument};
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::message_type::MessageType;
use adjutant_model::relative_path::RelPath;
use adjutant_model::status::Status;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Timestamp;
use serde_json::{Map, Value};

/// What a text turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncomingText {
    /// Not addressed to Adjutant: no event, no error.
    Ignored,
    Refused(MessageRefusal),
    /// A valid envelope with an unknown message type.
    Unknown {
        kind: String,
        task: TaskId,
        from: AgentId,
    },
    Message(Box<AofEnvelope>),
    Document(Box<ReceivedDocument>),
}

/// A document of another dialect, as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedDocument {
    pub document: ProtocolDocument,
    /// Oddities that do not prevent its acceptance.
    pub warnings: Vec<FieldProblem>,
    pub run_token: Option<String>,
}

/// A message that is invalid in itself, before any task is consulted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRefusal {
    pub reason: Reason,
    pub problems: Vec<FieldProblem>,
    /// `None` if it could not be read.
    pub task: Option<TaskId>,
    /// `None` if it could not be read.
    pub from: Option<AgentId>,
    /// For another dialect: the kind of document, and the task id that it names.
    pub document: Option<(DocumentKind, Option<String>)>,
}

/// A valid message. Only [`read`] creates one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AofEnvelope {
    pub task: TaskId,
    pub from: AgentId,
    pub to: AgentId,
    pub sent_at: Timestamp,
    pub run_token: Option<String>,
    pub message: AofMessage,
    /// Oddities that do not prevent its acceptance.
    pub warnings: Vec<FieldProblem>,
    /// The whole message as sent, with unknown fields but without the run token.
    pub object: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AofMessage {
    Completion(CompletionReport),
    Status(StatusUpdate),
    HandoffRequest(TaskHandoff),
    HandoffAccepted,
    HandoffRejected(Option<String>),
}

/// The payload of a `status.update`; at least one of its fields is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusUpdate {
    /// The status that the sender asks for.
    pub status: Option<Status>,
    pub progress: Option<String>,
    pub blockers: Vec<String>,
    pub notes: Option<String>,
}

/// Reads bytes that may be a message.
pub fn read(raw: &[u8]) -> IncomingText {
    read_unless_other(raw).unwrap_or(IncomingText::Ignored)
}

/// Reads bytes that may be a message. If they are none, returns the JSON object that they are
/// instead, if they are one.
pub(crate) fn read_unless_other(raw: &[u8]) -> Result<IncomingText, Option<Map<String, Value>>> {
    match detect::detect(raw) {
        detect::DetectedText::NotAof(object) => Err(object),
        detect::DetectedText::Broken(reason, problem) => {
            let problems = vec![problem];
            let (task, from, document) = (None, None, None);
            Ok(IncomingText::Refused(MessageRefusal { reason, problems, task, from, document }))
        }
        detect::DetectedText::Object(object) => Ok(envelope::parse(object)),
    }
}

impl AofMessage {
    pub fn kind(&self) -> MessageType {
        match self {
            Self::Completion(_) => MessageType::CompletionReport,
            Self::Status(_) => MessageType::StatusUpdate,
            Self::HandoffRequest(_) => MessageType::HandoffRequest,
            Self::HandoffAccepted => MessageType::HandoffAccepted,
            Self::HandoffRejected(_) => MessageType::HandoffRejected,
        }
    }
}

impl AofEnvelope {
    /// Returns the whole message as indented JSON, in the form that `send` accepts.
    pub fn to_json_text(&self) -> String {
        format!("{:#}\n", Value::Object(self.object.clone()))
    }

    /// Returns every path in the message, each with the name of its field.
    pub fn paths(&self) -> Vec<(String, &RelPath)> {
        match &self.message {
            AofMessage::Completion(completion) => {
                let summary = ("payload.summaryRef".to_owned(), &completion.summary_ref);
                let deliverables =
                    with_field_names("payload.deliverables", &completion.deliverables);
                std::iter::once(summary).chain(deliverables).collect()
            }
            AofMessage::HandoffRequest(handoff) => {
                let outputs =
                    with_field_names("payload.expectedOutputs", &handoff.expected_outputs);
                outputs
                    .chain(with_field_names("payload.contextRefs", &handoff.context_refs))
                    .collect()
            }
            AofMessage::Status(_)
            | AofMessage::HandoffAccepted
            | AofMessage::HandoffRejected(_) => vec![],
        }
    }

    /// Returns the files whose absence causes a warning: the summary and the hand-over.
    pub fn expected_files(&self) -> Option<(&RelPath, &'static str)> {
        match &self.message {
            AofMessage::Completion(completion) => Some((&completion.summary_ref, HANDOFF_REF)),
            _ => None,
        }
    }
}

fn with_field_names<'a>(
    field: &'static str,
    paths: &'a [RelPath],
) -> impl Iterator<Item = (String, &'a RelPath)> {
    paths.iter().enumerate().map(move |(i, path)| (format!("{field}[{i}]"), path))
}
