//! Parses the envelope of a message. Checks all of it, so that one answer names every problem.

use adjutant_model::actor::AgentId;
use adjutant_model::answer::{FieldProblem, Reason};
use adjutant_model::completion::RunResult;
use adjutant_model::field_reader::{FieldNeed, FieldReader, ITEM_CHARS_MAX, json_type_name};
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Timestamp;
use serde_json::{Map, Value};

use super::payload::{self, ParsedPayload};
use super::{AofEnvelope, IncomingText, MessageRefusal, MessageType};

/// The `protocol` of every message.
pub const PROTOCOL: &str = "aof";
/// The `version` of every message.
pub const VERSION: u64 = 1;

/// The head of a message: each field if it could be read.
struct EnvelopeHead<'a> {
    kind: Option<&'a str>,
    task: Option<TaskId>,
    from: Option<AgentId>,
    to: Option<AgentId>,
    sent_at: Option<Timestamp>,
    run_token: Option<String>,
    payload: Option<&'a Map<String, Value>>,
}

/// Parses an object that claims to be a message.
pub(super) fn parse(mut object: Map<String, Value>) -> IncomingText {
    let mut incoming = check_envelope(&object);
    // The kept copy of a message must not contain a token.
    object.shift_remove("runToken");
    if let IncomingText::Message(envelope) = &mut incoming {
        envelope.object = object;
    }
    incoming
}

fn check_envelope(object: &Map<String, Value>) -> IncomingText {
    let mut fields = FieldReader::new(object, "");
    let head = read_head(&mut fields);
    let mut problems = fields.into_problems();
    let (task, from) = (head.task.clone(), head.from.clone());
    let kind = head.kind.map(|text| MessageType::parse(text).ok_or(text));
    let parsed = match (kind, head.payload) {
        (Some(Ok(kind)), Some(payload)) => payload::parse(kind, payload, &mut problems),
        _ => None,
    };
    if !problems.is_empty() {
        return refusal(Reason::InvalidEnvelope, problems, task, from);
    }
    match (kind, parsed, complete_head(head)) {
        (Some(Err(kind)), _, Some(sealed)) => {
            IncomingText::Unknown { kind: kind.to_owned(), task: sealed.task, from: sealed.from }
        }
        (_, Some(parsed), Some(sealed)) => match_payload(parsed, sealed),
        _ => refusal(
            Reason::InvalidEnvelope,
            vec![FieldProblem::new("", "is incomplete")],
            task,
            from,
        ),
    }
}

fn refusal(
    reason: Reason,
    problems: Vec<FieldProblem>,
    task: Option<TaskId>,
    from: Option<AgentId>,
) -> IncomingText {
    IncomingText::Refused(MessageRefusal { reason, problems, task, from, document: None })
}

fn read_head<'a>(fields: &mut FieldReader<'a>) -> EnvelopeHead<'a> {
    check_protocol(fields);
    check_version(fields);
    let from = fields.agent("fromAgent");
    if from.as_ref().is_some_and(AgentId::is_reserved) {
        fields.add_problem("fromAgent", "is a reserved name that no agent may have");
    }
    let kind = fields.text("type", FieldNeed::Required, ITEM_CHARS_MAX);
    if kind.is_some_and(str::is_empty) {
        fields.add_problem("type", "must not be empty");
    }
    EnvelopeHead {
        kind,
        task: fields.task_id("taskId"),
        from,
        to: fields.agent("toAgent"),
        sent_at: fields.timestamp("sentAt"),
        run_token: fields.text("runToken", FieldNeed::Optional, ITEM_CHARS_MAX).map(str::to_owned),
        payload: fields.object("payload"),
    }
}

fn check_protocol(fields: &mut FieldReader<'_>) {
    match fields.value("protocol", FieldNeed::Required).map(Value::as_str) {
        None | Some(Some(PROTOCOL)) => {}
        Some(_) => {
            fields.add_problem("protocol", format!("invalid protocol: must be {PROTOCOL:?}"));
        }
    }
}

fn check_version(fields: &mut FieldReader<'_>) {
    let Some(version) = fields.value("version", FieldNeed::Required) else {
        return;
    };
    if version.as_f64() == Some(1.0) {
        return;
    }
    let message = match version {
        Value::Number(number) => format!("unsupported version {number}: must be {VERSION}"),
        other => format!("unsupported version: must be {VERSION}, not {}", json_type_name(other)),
    };
    fields.add_problem("version", message);
}

struct CompleteHead {
    task: TaskId,
    from: AgentId,
    to: AgentId,
    sent_at: Timestamp,
    run_token: Option<String>,
}

fn complete_head(head: EnvelopeHead<'_>) -> Option<CompleteHead> {
    Some(CompleteHead {
        task: head.task?,
        from: head.from?,
        to: head.to?,
        sent_at: head.sent_at?,
        run_token: head.run_token,
    })
}

/// Checks that the envelope and the payload name the same task and sender.
fn match_payload(parsed: ParsedPayload, sealed: CompleteHead) -> IncomingText {
    let other_task = parsed.task.as_ref().is_some_and(|task| *task != sealed.task);
    let other_agent = parsed.sender.as_ref().is_some_and(|sender| *sender != sealed.from);
    let mismatch = |reason, path, what: &str| {
        let problem = FieldProblem::new(path, format!("must equal the {what} of the envelope"));
        refusal(reason, vec![problem], Some(sealed.task.clone()), Some(sealed.from.clone()))
    };
    if other_task {
        return mismatch(Reason::TaskIdMismatch, "payload.taskId", "taskId");
    }
    if other_agent {
        return mismatch(Reason::AgentIdMismatch, parsed.sender_path, "fromAgent");
    }
    let CompleteHead { task, from, to, sent_at, run_token } = sealed;
    let ParsedPayload { message, warnings, .. } = parsed;
    let object = Map::new();
    let envelope = AofEnvelope { task, from, to, sent_at, run_token, message, warnings, object };
    IncomingText::Message(Box::new(envelope))
}

/// Parses a `run_result.json`: the fields of a completion, and its head.
pub fn parse_run_result(task: &TaskId, value: &Value) -> Result<RunResult, Vec<FieldProblem>> {
    let Some(object) = value.as_object() else {
        return Err(vec![FieldProblem::new(
            "",
            format!("must be an object, not {}", json_type_name(value)),
        )]);
    };
    let mut fields = FieldReader::new(object, "");
    let named = fields.task_id("taskId");
    if named.as_ref().is_some_and(|named| named != task) {
        fields.add_problem("taskId", format!("must be {task}"));
    }
    let (agent, completed_at) = (fields.agent("agentId"), fields.timestamp("completedAt"));
    let completion = payload::completion(&mut fields);
    let problems = fields.into_problems();
    match (agent, completed_at, completion) {
        (Some(agent), Some(completed_at), Some(completion)) if problems.is_empty() => {
            Ok(RunResult { task: task.clone(), agent, completed_at, completion })
        }
        _ => Err(problems),
    }
}
