//! What could not count when it came: put aside, and applied if a person says so.

use serde_json::Value;

use super::Decision;
use super::command::refuse;
use super::draft::Draft;
use crate::answer::{Problem, Reason, Verdict};
use crate::aof::{self, Incoming, Message};
use crate::command::Command;
use crate::completion::RunResult;
use crate::event::{Channel, Event};
use crate::id::TaskId;
use crate::task::Task;

/// The name of the file a result lies in, under its run's folder.
const RESULT_FILE: &str = "run_result.json";

/// Puts a result aside that does not fit its schema.
pub(super) fn put_aside(draft: &mut Draft, problems: &[Problem]) {
    let reason = Reason::InvalidRunResult;
    draft.push(Event::MessageRejected { reason, problems: problems.to_vec() });
    draft.push(Event::RunSalvaged { file: RESULT_FILE.to_owned(), reason, text: None });
}

/// A person lets a report count that came too late, as if it came now.
pub(super) fn apply(
    mut draft: Draft,
    command: &Command,
    task: &Task,
    name: &str,
    text: Option<&str>,
) -> Decision {
    let Some(text) = text else {
        let problem = Problem::new("name", format!("there is no {name:?} in salvage"));
        return refuse(draft, command, Reason::SalvageNotFound, vec![problem]);
    };
    if task.status().is_closed() {
        return refuse(draft, command, Reason::TaskClosed, vec![]);
    }
    match read(&task.id, text) {
        Ok(result) => {
            let completion = result.completion.clone();
            draft
                .push(Event::TaskCompleted { result: Box::new(result), channel: Channel::Message });
            draft.push(Event::SalvageApplied { file: name.to_owned() });
            draft.take_up("a late report is let count");
            draft.complete(task, &completion);
            draft.end(Verdict::Applied, None)
        }
        Err(problems) => refuse(draft, command, Reason::SalvageUnusable, problems),
    }
}

/// Reads a report that came too late: a message, or a result that lay in its file.
fn read(task: &TaskId, text: &str) -> Result<RunResult, Vec<Problem>> {
    match aof::read(text.as_bytes()) {
        Incoming::Message(envelope) => match envelope.message {
            Message::Completion(completion) if envelope.task == *task => Ok(RunResult {
                task: envelope.task,
                agent: envelope.from,
                completed_at: envelope.sent_at,
                completion,
            }),
            other => Err(vec![Problem::new("type", format!("{} is no completion", other.kind()))]),
        },
        Incoming::Refused(refusal) => Err(refusal.problems),
        Incoming::Unknown { .. } | Incoming::Ignored | Incoming::Document(_) => {
            let value: Value = serde_json::from_str(text)
                .map_err(|error| vec![Problem::new("", format!("is not JSON: {error}"))])?;
            aof::parse_result(task, &value)
        }
    }
}
