//! What a run has to say, as the messages of AOF/1 say it.

use adjutant_core::Verdict;
use adjutant_runtime::{Answered, Request};
use serde_json::{Value, json};

use super::tool::Said;
use super::{Bound, Session};

/// The most words of what an agent says about its work that its report carries; all of it is in its
/// summary.
const NOTES_CHARS_MAX: usize = 10_000;
/// Where the summary of a task lies.
const SUMMARY: &str = "outputs/summary.md";

/// What came of the work.
pub(super) struct Ending<'a> {
    /// The outcome, in the protocol's word.
    pub(super) outcome: &'a str,
    /// What was done.
    pub(super) summary: &'a str,
    /// How many tests there were, passed and failed.
    pub(super) tests: [u64; 3],
    /// The files that were made.
    pub(super) deliverables: &'a [String],
    /// What is in the way.
    pub(super) blockers: &'a [String],
}

/// Reports what came of the work.
pub(super) fn end(session: &Session, run: &Bound, ending: &Ending<'_>) -> Result<Answered, Said> {
    let [total, passed, failed] = ending.tests;
    if !ending.summary.trim().is_empty() {
        session.office.keep_summary(&run.task, ending.summary)?;
    }
    let payload = json!({
        "outcome": ending.outcome,
        "summaryRef": SUMMARY,
        "deliverables": ending.deliverables,
        "tests": {"total": total, "passed": passed, "failed": failed},
        "blockers": ending.blockers,
        "notes": shortened(ending.summary, NOTES_CHARS_MAX),
    });
    send(session, run, "completion.report", &payload)
}

/// Says how far the work is.
pub(super) fn update(session: &Session, run: &Bound, said: &Value) -> Result<Answered, Said> {
    let mut payload = json!({"taskId": run.task.as_str(), "agentId": run.agent.as_str()});
    for (key, value) in said.as_object().into_iter().flatten() {
        payload[key] = value.clone();
    }
    send(session, run, "status.update", &payload)
}

fn send(session: &Session, run: &Bound, kind: &str, payload: &Value) -> Result<Answered, Said> {
    let message = json!({
        "protocol": "aof",
        "version": 1,
        "type": kind,
        "taskId": run.task.as_str(),
        "fromAgent": run.agent.as_str(),
        "toAgent": "dispatcher",
        "sentAt": session.office.now().to_string(),
        "runToken": run.token,
        "payload": payload,
    });
    let answered = session.office.ask(Request::Message(message.to_string().into_bytes()))?;
    accepted(answered)
}

/// Turns a refusal into words, each problem with its place.
pub(super) fn accepted(answered: Answered) -> Result<Answered, Said> {
    match answered.answer.verdict {
        Verdict::Applied | Verdict::Noop | Verdict::Ignored => Ok(answered),
        Verdict::Rejected | Verdict::Unknown => Err(Said::Refused(refusal(&answered))),
    }
}

fn refusal(answered: &Answered) -> String {
    let answer = &answered.answer;
    let reason = answer
        .reason
        .map_or_else(String::new, |reason| format!(" {reason}: {}", reason.meaning().trim()));
    let problems: Vec<String> = answer.problems.iter().map(|one| format!("\n- {one}")).collect();
    format!("refused, and nothing was changed.{reason}{}", problems.concat())
}

/// Cuts a text at so many characters, and says that it goes on.
fn shortened(text: &str, chars_max: usize) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let cut: String = text.chars().take(chars_max - 1).collect();
    cut + "…"
}
