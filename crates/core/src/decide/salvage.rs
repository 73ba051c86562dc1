//! Salvage: keeps reports that do not count, and applies one when an operator asks for it.

use adjutant_model::answer::{AnswerVerdict, FieldProblem, Reason};
use adjutant_model::command::Command;
use adjutant_model::completion::RunResult;
use adjutant_model::event::{Event, ReportChannel};
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use serde_json::Value;

use super::command::refuse;
use super::draft::DecisionDraft;
use crate::decision::Decision;
use crate::protocols::aof::{self, AofMessage, IncomingText};

/// The file name of a result in its run's folder.
const RESULT_FILE: &str = "run_result.json";

/// Salvages a result that does not match its schema.
pub(super) fn salvage_result(draft: &mut DecisionDraft, problems: &[FieldProblem]) {
    let reason = Reason::InvalidRunResult;
    draft.push(Event::MessageRejected { reason, problems: problems.to_vec() });
    draft.push(Event::RunSalvaged { file: RESULT_FILE.to_owned(), reason, text: None });
}

/// Applies a salvaged report at an operator's request, as if it had just arrived.
pub(super) fn apply_salvaged(
    mut draft: DecisionDraft,
    command: &Command,
    task: &Task,
    name: &str,
    text: Option<&str>,
) -> Decision {
    let Some(text) = text else {
        let problem = FieldProblem::new("name", format!("there is no report {name:?} in salvage"));
        return refuse(draft, command, Reason::SalvageNotFound, vec![problem]);
    };
    if task.status().is_closed() {
        return refuse(draft, command, Reason::TaskClosed, vec![]);
    }
    match parse_salvaged(&task.id, text) {
        Ok(result) => {
            let completion = result.completion.clone();
            draft.push(Event::TaskCompleted {
                result: Box::new(result),
                channel: ReportChannel::Message,
            });
            draft.push(Event::SalvageApplied { file: name.to_owned() });
            draft.reopen_task("a salvaged report was applied");
            draft.complete(task, &completion);
            draft.finish(AnswerVerdict::Applied, None)
        }
        Err(problems) => refuse(draft, command, Reason::SalvageUnusable, problems),
    }
}

/// Parses a salvaged report: an AOF/1 message, or the content of `run_result.json`.
fn parse_salvaged(task: &TaskId, text: &str) -> Result<RunResult, Vec<FieldProblem>> {
    match aof::read(text.as_bytes()) {
        IncomingText::Message(envelope) => match envelope.message {
            AofMessage::Completion(completion) if envelope.task == *task => Ok(RunResult {
                task: envelope.task,
                agent: envelope.from,
                completed_at: envelope.sent_at,
                completion,
            }),
            _ => {
                let what = format!("must be a completion.report about {task}");
                Err(vec![FieldProblem::new("type", what)])
            }
        },
        IncomingText::Refused(refusal) => Err(refusal.problems),
        IncomingText::Unknown { .. } | IncomingText::Ignored | IncomingText::Document(_) => {
            let value: Value = serde_json::from_str(text)
                .map_err(|error| vec![FieldProblem::new("", format!("is not JSON: {error}"))])?;
            aof::parse_run_result(task, &value)
        }
    }
}
