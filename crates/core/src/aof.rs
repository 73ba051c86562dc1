//! AOF/1: messages in a JSON envelope. Told from other text, checked, and typed.

mod detect;
mod envelope;
mod payload;

pub use crate::fields::{LIST_ITEMS_MAX, NOTES_CHARS_MAX, PROGRESS_CHARS_MAX, REASON_CHARS_MAX};
pub(crate) use detect::is_too_deep;
pub use detect::{DEPTH_MAX, MESSAGE_BYTES_MAX};
pub use envelope::{Kind, PROTOCOL, VERSION, parse_result};

use serde_json::{Map, Value};

use crate::answer::{Problem, Reason};
use crate::completion::{Completion, HANDOFF_REF};
use crate::dialect::{Document, DocumentKind};
use crate::handoff::Handoff;
use crate::id::TaskId;
use crate::name::AgentId;
use crate::path::RelPath;
use crate::status::Status;
use crate::time::Stamp;

/// What a text turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// Not a message of ours: no event, no error.
    Ignored,
    /// Meant for us and wrong.
    Refused(Refusal),
    /// A sound envelope around a type nobody here knows.
    Unknown {
        /// The type as it was given.
        kind: String,
        /// The task it names.
        task: TaskId,
        /// Its sender.
        from: AgentId,
    },
    /// A message in order.
    Message(Box<Envelope>),
    /// A document of another dialect, in order.
    Document(Box<Sent>),
}

/// A document of another dialect as it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// What it says.
    pub document: Document,
    /// What is odd about it and does not stop it.
    pub warnings: Vec<Problem>,
    /// The token of the run it was sent from.
    pub run_token: Option<String>,
}

/// A message that is wrong in itself, before any task is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of wrong.
    pub reason: Reason,
    /// Every place that is wrong.
    pub problems: Vec<Problem>,
    /// The task it names, if that much could be read.
    pub task: Option<TaskId>,
    /// Its sender, if that much could be read.
    pub from: Option<AgentId>,
    /// What kind of document it would be, and the id it names, if it is of another dialect.
    pub document: Option<(DocumentKind, Option<String>)>,
}

/// A message in order. Only [`read`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The task it is about.
    pub task: TaskId,
    /// Its sender.
    pub from: AgentId,
    /// Whom it is for.
    pub to: AgentId,
    /// When it was sent.
    pub sent_at: Stamp,
    /// The token of the run it was sent from.
    pub run_token: Option<String>,
    /// What it says.
    pub message: Message,
    /// What is odd about it and does not stop it.
    pub warnings: Vec<Problem>,
    /// The whole of it as it was sent, fields that nobody here knows included.
    pub object: Map<String, Value>,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// `completion.report`
    Completion(Completion),
    /// `status.update`
    Status(StatusUpdate),
    /// `handoff.request`
    HandoffRequest(Handoff),
    /// `handoff.accepted`
    HandoffAccepted,
    /// `handoff.rejected`, with its reason
    HandoffRejected(Option<String>),
}

/// The payload of a `status.update`; at least one of its fields says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusUpdate {
    /// Where the task should go.
    pub status: Option<Status>,
    /// How far the work is.
    pub progress: Option<String>,
    /// What it waits for.
    pub blockers: Vec<String>,
    /// Anything else.
    pub notes: Option<String>,
}

/// Reads bytes that may be a message.
pub fn read(raw: &[u8]) -> Incoming {
    match detect::detect(raw) {
        detect::Detected::NotOurs => Incoming::Ignored,
        detect::Detected::Broken(reason, problem) => {
            let problems = vec![problem];
            let (task, from, document) = (None, None, None);
            Incoming::Refused(Refusal { reason, problems, task, from, document })
        }
        detect::Detected::Object(object) => envelope::parse(object),
    }
}

impl Message {
    /// Returns the type as the envelope writes it.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Completion(_) => Kind::CompletionReport,
            Self::Status(_) => Kind::StatusUpdate,
            Self::HandoffRequest(_) => Kind::HandoffRequest,
            Self::HandoffAccepted => Kind::HandoffAccepted,
            Self::HandoffRejected(_) => Kind::HandoffRejected,
        }
    }
}

impl Envelope {
    /// Returns the whole of it as JSON for people: what `send` takes, should it be sent again.
    pub fn text(&self) -> String {
        format!("{:#}\n", Value::Object(self.object.clone()))
    }

    /// Returns every path the message names, each with where it stands in the message.
    pub fn paths(&self) -> Vec<(String, &RelPath)> {
        match &self.message {
            Message::Completion(completion) => {
                let summary = ("payload.summaryRef".to_owned(), &completion.summary_ref);
                let deliverables = indexed("payload.deliverables", &completion.deliverables);
                std::iter::once(summary).chain(deliverables).collect()
            }
            Message::HandoffRequest(handoff) => {
                let outputs = indexed("payload.expectedOutputs", &handoff.expected_outputs);
                outputs.chain(indexed("payload.contextRefs", &handoff.context_refs)).collect()
            }
            Message::Status(_) | Message::HandoffAccepted | Message::HandoffRejected(_) => vec![],
        }
    }

    /// Returns the files whose absence is worth a warning: the summary and the hand-over.
    pub fn expected_files(&self) -> Option<(&RelPath, &'static str)> {
        match &self.message {
            Message::Completion(completion) => Some((&completion.summary_ref, HANDOFF_REF)),
            _ => None,
        }
    }
}

fn indexed<'a>(
    field: &'static str,
    paths: &'a [RelPath],
) -> impl Iterator<Item = (String, &'a RelPath)> {
    paths.iter().enumerate().map(move |(i, path)| (format!("{field}[{i}]"), path))
}
