//! Sends a run's reports as AOF/1 messages.

use adjutant_engine::{EngineAnswer, EngineRequest};
use adjutant_model::AnswerVerdict;
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_query::RunCredentials;
use serde_json::{Value, json};

use super::McpServerSession;
use super::tool::ToolResult;

/// How much of the summary the report itself carries; the summary file has all of it.
const NOTES_CHARS_MAX: usize = 10_000;
/// The path of the summary in the task's folder.
const SUMMARY: &str = "outputs/summary.md";

/// The result of a run's work.
pub(super) struct WorkReport<'a> {
    /// The outcome, as AOF/1 spells it.
    pub(super) outcome: &'a str,
    pub(super) summary: &'a str,
    /// Total, passed and failed.
    pub(super) tests: [u64; 3],
    pub(super) deliverables: &'a [String],
    pub(super) blockers: &'a [String],
}

pub(super) fn report_completion(
    session: &McpServerSession,
    run: &RunCredentials,
    ending: &WorkReport<'_>,
) -> Result<EngineAnswer, ToolResult> {
    let [total, passed, failed] = ending.tests;
    if !ending.summary.trim().is_empty() {
        session.run_access().store_summary(&run.task, ending.summary)?;
    }
    let payload = json!({
        "outcome": ending.outcome,
        "summaryRef": SUMMARY,
        "deliverables": ending.deliverables,
        "tests": {"total": total, "passed": passed, "failed": failed},
        "blockers": ending.blockers,
        "notes": truncate(ending.summary, NOTES_CHARS_MAX),
    });
    send(session, run, "completion.report", &payload)
}

pub(super) fn report_progress(
    session: &McpServerSession,
    run: &RunCredentials,
    fields: &Value,
) -> Result<EngineAnswer, ToolResult> {
    let mut payload = json!({"taskId": run.task.as_str(), "agentId": run.agent.as_str()});
    for (key, value) in fields.as_object().into_iter().flatten() {
        payload[key] = value.clone();
    }
    send(session, run, "status.update", &payload)
}

fn send(
    session: &McpServerSession,
    run: &RunCredentials,
    kind: &str,
    payload: &Value,
) -> Result<EngineAnswer, ToolResult> {
    let message = json!({
        "protocol": "aof",
        "version": 1,
        "type": kind,
        "taskId": run.task.as_str(),
        "fromAgent": run.agent.as_str(),
        "toAgent": "dispatcher",
        "sentAt": SystemClock.now().to_string(),
        "runToken": run.token,
        "payload": payload,
    });
    let message = EngineRequest::message(message.to_string().into_bytes());
    let answered = session.run_access().ask(message)?;
    require_accepted(answered)
}

/// Turns a refusal into text that lists every problem.
pub(super) fn require_accepted(answered: EngineAnswer) -> Result<EngineAnswer, ToolResult> {
    match answered.answer.verdict {
        AnswerVerdict::Applied | AnswerVerdict::Noop | AnswerVerdict::Ignored => Ok(answered),
        AnswerVerdict::Rejected | AnswerVerdict::Unknown => {
            Err(ToolResult::Refused(describe_refusal(&answered)))
        }
    }
}

fn describe_refusal(answered: &EngineAnswer) -> String {
    let answer = &answered.answer;
    let reason = answer
        .reason
        .map_or_else(String::new, |reason| format!(" {reason}: {}", reason.meaning().trim()));
    let problems: Vec<String> = answer.problems.iter().map(|one| format!("\n- {one}")).collect();
    format!("refused; nothing was changed.{reason}{}", problems.concat())
}

/// Cuts a text to at most `chars_max` characters; the last one is then an ellipsis.
fn truncate(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let cut: String = text.chars().take(chars_max - 1).collect();
    cut + "…"
}
