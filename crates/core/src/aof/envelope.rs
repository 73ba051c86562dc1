//! The envelope: checked whole, so that one answer names everything that is wrong.

use std::fmt;

use serde_json::{Map, Value};

use super::payload::{self, Parsed};
use super::{Envelope, Incoming, Refusal};
use crate::answer::{Problem, Reason};
use crate::completion::RunResult;
use crate::fields::{Fields, ITEM_CHARS_MAX, Need, kind_of};
use crate::id::TaskId;
use crate::name::AgentId;
use crate::time::Stamp;

/// What every message says in `protocol`.
pub const PROTOCOL: &str = "aof";
/// What every message says in `version`.
pub const VERSION: u64 = 1;

/// The types of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An agent says what came of its work.
    CompletionReport,
    /// An agent says how far it is.
    StatusUpdate,
    /// An agent gives work on.
    HandoffRequest,
    /// An agent takes work that was given on.
    HandoffAccepted,
    /// An agent does not take it.
    HandoffRejected,
}

impl Kind {
    /// Every type.
    pub const ALL: [Self; 5] = [
        Self::HandoffRequest,
        Self::HandoffAccepted,
        Self::HandoffRejected,
        Self::StatusUpdate,
        Self::CompletionReport,
    ];

    /// Returns the type as the envelope writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CompletionReport => "completion.report",
            Self::StatusUpdate => "status.update",
            Self::HandoffRequest => "handoff.request",
            Self::HandoffAccepted => "handoff.accepted",
            Self::HandoffRejected => "handoff.rejected",
        }
    }

    /// Parses a type as the envelope writes it.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The head of a message: each field if it could be read.
struct Head<'a> {
    kind: Option<&'a str>,
    task: Option<TaskId>,
    from: Option<AgentId>,
    to: Option<AgentId>,
    sent_at: Option<Stamp>,
    run_token: Option<String>,
    payload: Option<&'a Map<String, Value>>,
}

/// Reads an object that says it is a message.
pub(super) fn parse(mut object: Map<String, Value>) -> Incoming {
    let mut incoming = check(&object);
    // What may be kept of a message is no place for a token.
    object.shift_remove("runToken");
    if let Incoming::Message(envelope) = &mut incoming {
        envelope.object = object;
    }
    incoming
}

fn check(object: &Map<String, Value>) -> Incoming {
    let mut fields = Fields::new(object, "");
    let head = read_head(&mut fields);
    let mut problems = fields.into_problems();
    let (task, from) = (head.task.clone(), head.from.clone());
    let kind = head.kind.map(|text| Kind::parse(text).ok_or(text));
    let parsed = match (kind, head.payload) {
        (Some(Ok(kind)), Some(payload)) => payload::parse(kind, payload, &mut problems),
        _ => None,
    };
    if !problems.is_empty() {
        return refused(Reason::InvalidEnvelope, problems, task, from);
    }
    match (kind, parsed, seal(head)) {
        (Some(Err(kind)), _, Some(sealed)) => {
            Incoming::Unknown { kind: kind.to_owned(), task: sealed.task, from: sealed.from }
        }
        (_, Some(parsed), Some(sealed)) => fit(parsed, sealed),
        _ => refused(Reason::InvalidEnvelope, vec![Problem::new("", "is incomplete")], task, from),
    }
}

fn refused(
    reason: Reason,
    problems: Vec<Problem>,
    task: Option<TaskId>,
    from: Option<AgentId>,
) -> Incoming {
    Incoming::Refused(Refusal { reason, problems, task, from, document: None })
}

fn read_head<'a>(fields: &mut Fields<'a>) -> Head<'a> {
    check_protocol(fields);
    check_version(fields);
    let from = fields.agent("fromAgent");
    if from.as_ref().is_some_and(AgentId::is_reserved) {
        fields.problem("fromAgent", "is a name the record keeps for others than agents");
    }
    let kind = fields.text("type", Need::Required, ITEM_CHARS_MAX);
    if kind.is_some_and(str::is_empty) {
        fields.problem("type", "must not be empty");
    }
    Head {
        kind,
        task: fields.task_id("taskId"),
        from,
        to: fields.agent("toAgent"),
        sent_at: fields.stamp("sentAt"),
        run_token: fields.text("runToken", Need::Optional, ITEM_CHARS_MAX).map(str::to_owned),
        payload: fields.object("payload"),
    }
}

fn check_protocol(fields: &mut Fields<'_>) {
    match fields.value("protocol", Need::Required).map(Value::as_str) {
        None | Some(Some(PROTOCOL)) => {}
        Some(_) => fields.problem("protocol", format!("invalid protocol: must be {PROTOCOL:?}")),
    }
}

fn check_version(fields: &mut Fields<'_>) {
    let Some(version) = fields.value("version", Need::Required) else {
        return;
    };
    if version.as_f64() == Some(1.0) {
        return;
    }
    let message = match version {
        Value::Number(number) => format!("unsupported version {number}: must be {VERSION}"),
        other => format!("unsupported version: must be {VERSION}, not {}", kind_of(other)),
    };
    fields.problem("version", message);
}

struct Sealed {
    task: TaskId,
    from: AgentId,
    to: AgentId,
    sent_at: Stamp,
    run_token: Option<String>,
}

fn seal(head: Head<'_>) -> Option<Sealed> {
    Some(Sealed {
        task: head.task?,
        from: head.from?,
        to: head.to?,
        sent_at: head.sent_at?,
        run_token: head.run_token,
    })
}

/// Checks that envelope and payload speak of the same task and the same sender.
fn fit(parsed: Parsed, sealed: Sealed) -> Incoming {
    let other_task = parsed.task.as_ref().is_some_and(|task| *task != sealed.task);
    let other_agent = parsed.sender.as_ref().is_some_and(|sender| *sender != sealed.from);
    let mismatch = |reason, path, what: &str| {
        let problem = Problem::new(path, format!("must be the {what} of the envelope"));
        refused(reason, vec![problem], Some(sealed.task.clone()), Some(sealed.from.clone()))
    };
    if other_task {
        return mismatch(Reason::TaskIdMismatch, "payload.taskId", "taskId");
    }
    if other_agent {
        return mismatch(Reason::AgentIdMismatch, parsed.sender_path, "fromAgent");
    }
    let Sealed { task, from, to, sent_at, run_token } = sealed;
    let Parsed { message, warnings, .. } = parsed;
    let object = Map::new();
    let envelope = Envelope { task, from, to, sent_at, run_token, message, warnings, object };
    Incoming::Message(Box::new(envelope))
}

/// Checks a `run_result.json` that somebody left: the same fields as a completion, and its head.
pub fn parse_result(task: &TaskId, value: &Value) -> Result<RunResult, Vec<Problem>> {
    let Some(object) = value.as_object() else {
        return Err(vec![Problem::new("", format!("must be an object, not {}", kind_of(value)))]);
    };
    let mut fields = Fields::new(object, "");
    let named = fields.task_id("taskId");
    if named.as_ref().is_some_and(|named| named != task) {
        fields.problem("taskId", format!("must be {task}"));
    }
    let (agent, completed_at) = (fields.agent("agentId"), fields.stamp("completedAt"));
    let completion = payload::completion(&mut fields);
    let problems = fields.into_problems();
    match (agent, completed_at, completion) {
        (Some(agent), Some(completed_at), Some(completion)) if problems.is_empty() => {
            Ok(RunResult { task: task.clone(), agent, completed_at, completion })
        }
        _ => Err(problems),
    }
}
