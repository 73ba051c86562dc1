//! An answer, as every channel gives it.

use adjutant_core::{Answer, EventId, Reason, Status, TaskId, Verdict};
use adjutant_runtime::Answered;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::output::{Colour, Output, clean};

/// Returns the answer as JSON.
pub(crate) fn json(answered: &Answered) -> Value {
    let Answer { verdict, reason, task, status, problems } = &answered.answer;
    let errors: Vec<String> = problems.iter().map(ToString::to_string).collect();
    json!({
        "result": verdict.as_str(),
        "reason": reason.map(Reason::as_str),
        "taskId": task.as_ref().map(TaskId::as_str),
        "events": answered.event_ids().map(|EventId(id)| id).collect::<Vec<u64>>(),
        "status": status.map(Status::as_str),
        "errors": errors,
    })
}

/// Returns the answer in words: one line, and one more for every problem.
pub(crate) fn lines(out: &Output, answered: &Answered) -> Vec<String> {
    let answer = &answered.answer;
    let mut words = vec![out.paint(colour(answer.verdict), answer.verdict.as_str())];
    words.extend(answer.task.as_ref().map(ToString::to_string));
    words.extend(answer.status.map(|status| format!("({status})")));
    words.extend(answer.reason.map(|reason| format!("{reason}: {}", reason.meaning().trim())));
    let problems =
        answer.problems.iter().map(|problem| format!("  {}", clean(&problem.to_string())));
    std::iter::once(words.join(" ")).chain(problems).collect()
}

/// Prints the answer.
pub(crate) fn print(out: &Output, answered: &Answered) -> Result<(), Failure> {
    if out.is_json() {
        return out.document(&json(answered));
    }
    lines(out, answered).iter().try_for_each(|line| out.line(line))
}

/// Says whether a message was refused.
pub(crate) fn is_refused(answered: &Answered) -> bool {
    matches!(answered.answer.verdict, Verdict::Rejected | Verdict::Unknown)
}

fn colour(verdict: Verdict) -> Colour {
    match verdict {
        Verdict::Applied => Colour::Green,
        Verdict::Noop | Verdict::Ignored => Colour::Dim,
        Verdict::Rejected => Colour::Red,
        Verdict::Unknown => Colour::Yellow,
    }
}
