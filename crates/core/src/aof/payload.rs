//! The payload of each type of message.

use serde_json::{Map, Value};

use super::envelope::Kind;
use super::{Message, StatusUpdate};
use crate::answer::Problem;
use crate::completion::{Completion, Outcome, TestReport};
use crate::fields::{Fields, NOTES_CHARS_MAX, Need, PROGRESS_CHARS_MAX, REASON_CHARS_MAX, count};
use crate::handoff::Handoff;
use crate::id::TaskId;
use crate::name::AgentId;
use crate::status::Status;

/// A payload in order, with what must agree with the envelope.
pub(super) struct Parsed {
    pub(super) message: Message,
    pub(super) task: Option<TaskId>,
    pub(super) sender: Option<AgentId>,
    pub(super) sender_path: &'static str,
    pub(super) warnings: Vec<Problem>,
}

/// Reads the payload of a message; what is wrong goes to `problems`.
pub(super) fn parse(
    kind: Kind,
    payload: &Map<String, Value>,
    problems: &mut Vec<Problem>,
) -> Option<Parsed> {
    let mut fields = Fields::new(payload, "payload.");
    let parsed = match kind {
        Kind::CompletionReport => completion_report(&mut fields),
        Kind::StatusUpdate => status_update(&mut fields),
        Kind::HandoffRequest => handoff_request(&mut fields),
        Kind::HandoffAccepted => acknowledgement(&mut fields, true),
        Kind::HandoffRejected => acknowledgement(&mut fields, false),
    };
    problems.extend(fields.into_problems());
    parsed
}

fn completion_report(fields: &mut Fields<'_>) -> Option<Parsed> {
    let task = fields.parsed("taskId", Need::Optional, TaskId::parse);
    let message = Message::Completion(completion(fields)?);
    Some(Parsed { message, task, sender: None, sender_path: "", warnings: vec![] })
}

/// Reads what a completion and a `run_result.json` have in common.
pub(super) fn completion(fields: &mut Fields<'_>) -> Option<Completion> {
    let outcome = fields.parsed("outcome", Need::Required, |text| {
        Outcome::parse(text).ok_or("must be one of: done, blocked, needs_review, partial")
    });
    let summary_ref = fields.path("summaryRef");
    let deliverables = fields.paths("deliverables");
    let tests = tests(fields);
    let blockers = fields.texts("blockers");
    let notes = fields.text("notes", Need::Required, NOTES_CHARS_MAX);
    Some(Completion {
        outcome: outcome?,
        summary_ref: summary_ref?,
        deliverables,
        tests: tests?,
        blockers,
        notes: notes?.to_owned(),
    })
}

fn tests(fields: &mut Fields<'_>) -> Option<TestReport> {
    let report = fields.object("tests")?;
    let mut count = |key: &str| {
        let counted = count(report.get(key));
        counted.map_err(|message| fields.problem(&format!("tests.{key}"), message)).ok()
    };
    let (total, passed, failed) = (count("total"), count("passed"), count("failed"));
    let report = TestReport { total: total?, passed: passed?, failed: failed? };
    if report.passed.checked_add(report.failed).is_none_or(|run| run > report.total) {
        fields.problem("tests", "passed and failed must not be more than total");
    }
    Some(report)
}

fn status_update(fields: &mut Fields<'_>) -> Option<Parsed> {
    let task = fields.task_id("taskId");
    let sender = fields.agent("agentId");
    let status = fields.parsed("status", Need::Optional, |text| {
        Status::parse(text).ok_or_else(|| format!("must be one of: {}", statuses()))
    });
    let given = fields.value("status", Need::Optional).is_some();
    let said = |text: Option<&str>| text.filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let progress = said(fields.text("progress", Need::Optional, PROGRESS_CHARS_MAX));
    let notes = said(fields.text("notes", Need::Optional, NOTES_CHARS_MAX));
    let blockers = fields.texts("blockers");
    let update = StatusUpdate { status, progress, blockers, notes };
    if !given && update.entry_is_empty() {
        fields.problem("", "at least one of status, progress, blockers, notes is required");
    }
    Some(Parsed {
        message: Message::Status(update),
        task: Some(task?),
        sender: Some(sender?),
        sender_path: "payload.agentId",
        warnings: vec![],
    })
}

impl StatusUpdate {
    fn entry_is_empty(&self) -> bool {
        self.progress.is_none() && self.notes.is_none() && self.blockers.is_empty()
    }
}

fn statuses() -> String {
    Status::ALL.map(Status::as_str).join(", ")
}

fn handoff_request(fields: &mut Fields<'_>) -> Option<Parsed> {
    let (task, parent) = (fields.task_id("taskId"), fields.task_id("parentTaskId"));
    if task.is_some() && task == parent {
        fields.problem("parentTaskId", "must be another task than taskId");
    }
    let (from, to) = (fields.agent("fromAgent"), fields.agent("toAgent"));
    let (acceptance_criteria, warnings) = fields.texts_or_warnings("acceptanceCriteria");
    let expected_outputs = fields.paths("expectedOutputs");
    let context_refs = fields.paths("contextRefs");
    let constraints = fields.texts("constraints");
    let due_by = fields.stamp("dueBy");
    let (task, from) = (task?, from?);
    let handoff = Handoff {
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
    Some(Parsed {
        message: Message::HandoffRequest(handoff),
        task: Some(task),
        sender: Some(from),
        sender_path: "payload.fromAgent",
        warnings,
    })
}

fn acknowledgement(fields: &mut Fields<'_>, expected: bool) -> Option<Parsed> {
    let task = fields.task_id("taskId");
    match fields.value("accepted", Need::Optional) {
        None => {}
        Some(Value::Bool(accepted)) if *accepted == expected => {}
        Some(_) => {
            fields.problem("accepted", format!("must be {expected} in this type of message"));
        }
    }
    let reason = fields.text("reason", Need::Optional, REASON_CHARS_MAX).map(str::to_owned);
    let message =
        if expected { Message::HandoffAccepted } else { Message::HandoffRejected(reason) };
    Some(Parsed { message, task: Some(task?), sender: None, sender_path: "", warnings: vec![] })
}
