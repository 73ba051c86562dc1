//! Parses the payload of each message type.

use adjutant_model::actor::AgentId;
use adjutant_model::answer::FieldProblem;
use adjutant_model::completion::{CompletionReport, HandoffRef, TestReport, WorkOutcome};
use adjutant_model::field_reader::{
    FieldNeed, FieldReader, NOTES_CHARS_MAX, PROGRESS_CHARS_MAX, REASON_CHARS_MAX, parse_count,
};
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::message_type::MessageType;
use adjutant_model::status::Status;
use adjutant_model::task_id::TaskId;
use serde_json::{Map, Value};

use super::{AofMessage, StatusUpdate};

/// A valid payload, with the fields that must agree with the envelope.
pub(super) struct ParsedPayload {
    pub(super) message: AofMessage,
    pub(super) task: Option<TaskId>,
    pub(super) sender: Option<AgentId>,
    pub(super) sender_path: &'static str,
    pub(super) warnings: Vec<FieldProblem>,
}

/// Parses the payload of a message, and adds its problems to `problems`.
pub(super) fn parse(
    kind: MessageType,
    payload: &Map<String, Value>,
    problems: &mut Vec<FieldProblem>,
) -> Option<ParsedPayload> {
    let mut fields = FieldReader::new(payload, "payload.");
    let parsed = match kind {
        MessageType::CompletionReport => completion_report(&mut fields),
        MessageType::StatusUpdate => status_update(&mut fields),
        MessageType::HandoffRequest => handoff_request(&mut fields),
        MessageType::HandoffAccepted => handoff_reply(&mut fields, true),
        MessageType::HandoffRejected => handoff_reply(&mut fields, false),
    };
    problems.extend(fields.into_problems());
    parsed
}

fn completion_report(fields: &mut FieldReader<'_>) -> Option<ParsedPayload> {
    let task = fields.parsed("taskId", FieldNeed::Optional, TaskId::parse);
    let message = AofMessage::Completion(completion(fields)?);
    Some(ParsedPayload { message, task, sender: None, sender_path: "", warnings: vec![] })
}

/// Reads the fields that a completion and a `run_result.json` have in common.
pub(super) fn completion(fields: &mut FieldReader<'_>) -> Option<CompletionReport> {
    let outcome = fields.parsed("outcome", FieldNeed::Required, |text| {
        WorkOutcome::parse(text).ok_or("must be one of: done, blocked, needs_review, partial")
    });
    let summary_ref = fields.path("summaryRef");
    let deliverables = fields.paths("deliverables");
    let tests = tests(fields);
    let blockers = fields.texts("blockers");
    let notes = fields.text("notes", FieldNeed::Required, NOTES_CHARS_MAX);
    Some(CompletionReport {
        outcome: outcome?,
        summary_ref: summary_ref?,
        handoff_ref: HandoffRef,
        deliverables,
        tests: tests?,
        blockers,
        notes: notes?.to_owned(),
    })
}

fn tests(fields: &mut FieldReader<'_>) -> Option<TestReport> {
    let report = fields.object("tests")?;
    let mut count = |key: &str| {
        let counted = parse_count(report.get(key));
        counted.map_err(|message| fields.add_problem(&format!("tests.{key}"), message)).ok()
    };
    let (total, passed, failed) = (count("total"), count("passed"), count("failed"));
    let report = TestReport { total: total?, passed: passed?, failed: failed? };
    if report.passed.checked_add(report.failed).is_none_or(|run| run > report.total) {
        fields.add_problem("tests", "passed and failed together must not exceed total");
    }
    Some(report)
}

fn status_update(fields: &mut FieldReader<'_>) -> Option<ParsedPayload> {
    let task = fields.task_id("taskId");
    let sender = fields.agent("agentId");
    let status = fields.parsed("status", FieldNeed::Optional, |text| {
        Status::parse(text).ok_or_else(|| format!("must be one of: {}", list_statuses()))
    });
    let given = fields.value("status", FieldNeed::Optional).is_some();
    let said = |text: Option<&str>| text.filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let progress = said(fields.text("progress", FieldNeed::Optional, PROGRESS_CHARS_MAX));
    let notes = said(fields.text("notes", FieldNeed::Optional, NOTES_CHARS_MAX));
    let blockers = fields.texts("blockers");
    let update = StatusUpdate { status, progress, blockers, notes };
    if !given && update.has_no_entry() {
        fields.add_problem("", "at least one of status, progress, blockers, notes is required");
    }
    Some(ParsedPayload {
        message: AofMessage::Status(update),
        task: Some(task?),
        sender: Some(sender?),
        sender_path: "payload.agentId",
        warnings: vec![],
    })
}

impl StatusUpdate {
    fn has_no_entry(&self) -> bool {
        self.progress.is_none() && self.notes.is_none() && self.blockers.is_empty()
    }
}

fn list_statuses() -> String {
    Status::ALL.map(Status::as_str).join(", ")
}

fn handoff_request(fields: &mut FieldReader<'_>) -> Option<ParsedPayload> {
    let (task, parent) = (fields.task_id("taskId"), fields.task_id("parentTaskId"));
    if task.is_some() && task == parent {
        fields.add_problem("parentTaskId", "must not be the same task as taskId");
    }
    let (from, to) = (fields.agent("fromAgent"), fields.agent("toAgent"));
    if to.as_ref().is_some_and(AgentId::is_reserved) {
        fields.add_problem("toAgent", "is a reserved name that no agent may have");
    }
    let (acceptance_criteria, warnings) = fields.texts_or_warnings("acceptanceCriteria");
    let expected_outputs = fields.paths("expectedOutputs");
    let context_refs = fields.paths("contextRefs");
    let constraints = fields.texts("constraints");
    let due_by = fields.timestamp("dueBy");
    let (task, from) = (task?, from?);
    let handoff = TaskHandoff {
        task: task.clone(),
        parent: parent?,
        from: from.clone(),
        to: to?,
        acceptance_criteria,
        expected_outputs,
        context_refs,
        constraints,
        due_by: due_by?,
    };
    Some(ParsedPayload {
        message: AofMessage::HandoffRequest(handoff),
        task: Some(task),
        sender: Some(from),
        sender_path: "payload.fromAgent",
        warnings,
    })
}

fn handoff_reply(fields: &mut FieldReader<'_>, expected: bool) -> Option<ParsedPayload> {
    let task = fields.task_id("taskId");
    match fields.value("accepted", FieldNeed::Optional) {
        None => {}
        Some(Value::Bool(accepted)) if *accepted == expected => {}
        Some(_) => {
            fields.add_problem("accepted", format!("must be {expected} in this type of message"));
        }
    }
    let reason = fields.text("reason", FieldNeed::Optional, REASON_CHARS_MAX).map(str::to_owned);
    let message =
        if expected { AofMessage::HandoffAccepted } else { AofMessage::HandoffRejected(reason) };
    Some(ParsedPayload {
        message,
        task: Some(task?),
        sender: None,
        sender_path: "",
        warnings: vec![],
    })
}
