//! Converts a task to a `handoff.request` of AOF/1.

use adjutant_model::constraints::RunConstraints;
use adjutant_model::field_reader::{ITEM_CHARS_MAX, LIST_ITEMS_MAX};
use adjutant_model::message_type::MessageType;
use adjutant_model::relative_path::RelPath;
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::time::Time;
use adjutant_model::work_log::single_line;
use serde_json::{Map, Value, json};

use super::WorkOrderSource;
use crate::protocols::aof::{PROTOCOL, VERSION};

/// Stands for a missing parent: the protocol requires one.
pub const NO_PARENT: &str = "TASK-0000-00-00-000";
/// Stands for a missing due date: the protocol requires one.
pub const NO_DUE_DATE: &str = "9999-12-30T22:00:00.000Z";
/// The sender of work orders.
const DISPATCHER: &str = "dispatcher";
/// Tells a run how its reports on standard output count.
const TOKEN_RULE: &str =
    "Messages on standard output carry the value of ADJUTANT_RUN_TOKEN in runToken";
/// The recipient of work that any agent may do.
const ANY_AGENT: &str = "any";

/// Returns the `handoff.request` for a task. The instructions are in the task's file, which is
/// the first reference.
pub fn to_handoff_request(source: &WorkOrderSource<'_>, now: Time) -> Map<String, Value> {
    let task = source.task;
    let agent = source.agent.or(task.routing.agent.as_ref());
    let mode = task.routing.mode.as_deref();
    let to = agent.map_or(mode.unwrap_or(ANY_AGENT), |agent| agent.as_str());
    let due = source.handoff.map(|handoff| handoff.due_by.to_string());
    let due = due.or(task.due_by.map(|due| due.to_string()));
    let payload = json!({
        "taskId": task.id.as_str(),
        "parentTaskId": task.parent.as_ref().map_or(NO_PARENT, |parent| parent.as_str()),
        "fromAgent": DISPATCHER,
        "toAgent": to,
        "acceptanceCriteria": criteria(source),
        "expectedOutputs": outputs(source),
        "contextRefs": refs(source),
        "constraints": constraints(source),
        "dueBy": due.as_deref().unwrap_or(NO_DUE_DATE),
    });
    let envelope = json!({
        "protocol": PROTOCOL,
        "version": VERSION,
        "type": MessageType::HandoffRequest.as_str(),
        "taskId": task.id.as_str(),
        "fromAgent": DISPATCHER,
        "toAgent": to,
        "sentAt": now.to_string(),
        "payload": payload,
    });
    match envelope {
        Value::Object(envelope) => envelope,
        _ => Map::new(),
    }
}

/// Truncates items to the limits of this dialect. The task's file has the full text.
fn truncate_items(items: impl IntoIterator<Item = String>) -> Vec<String> {
    let cut = |item: String| item.chars().take(ITEM_CHARS_MAX).collect();
    items.into_iter().map(cut).take(LIST_ITEMS_MAX).collect()
}

fn criteria(source: &WorkOrderSource<'_>) -> Vec<String> {
    let handed = source.handoff.map(|handoff| handoff.acceptance_criteria.clone());
    let foreign = source.task.origin.as_deref().and_then(TaskOrigin::new_task);
    let sent = foreign.and_then(|task| task.acceptance_criteria.clone());
    truncate_items(handed.or(sent).unwrap_or_default())
}

fn outputs(source: &WorkOrderSource<'_>) -> Vec<String> {
    let texts = |paths: &[RelPath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
    let handed = source.handoff.map(|handoff| texts(&handoff.expected_outputs));
    let foreign = source.task.origin.as_deref();
    let sent = foreign.map(|foreign| {
        foreign.expected_outputs().into_iter().map(str::to_owned).collect::<Vec<_>>()
    });
    truncate_items(handed.or(sent).unwrap_or_default())
}

fn refs(source: &WorkOrderSource<'_>) -> Vec<String> {
    let mut refs = vec![source.task_file.to_string()];
    refs.extend(source.memory.map(ToString::to_string));
    let handed = source.handoff.into_iter().flat_map(|handoff| &handoff.context_refs);
    refs.extend(handed.map(ToString::to_string));
    let foreign = source.task.origin.as_deref();
    if let Some(mission) = foreign.and_then(TaskOrigin::mission) {
        refs.extend(mission.paths().into_iter().map(|(_, path)| path.to_string()));
    }
    if let Some(task) = foreign.and_then(TaskOrigin::new_task) {
        refs.extend(task.inputs.iter().flatten().map(|input| input.path.to_string()));
    }
    truncate_items(refs)
}

fn constraints(source: &WorkOrderSource<'_>) -> Vec<String> {
    let handed = source.handoff.map(|handoff| handoff.constraints.clone()).unwrap_or_default();
    let foreign = source.task.origin.as_deref();
    let words = foreign.and_then(TaskOrigin::constraints).map(RunConstraints::to_sentences);
    let rules = foreign.and_then(TaskOrigin::new_task);
    let rules = rules.and_then(|task| task.constraints_and_rules.clone());
    let rules = words.into_iter().chain(rules).flatten();
    let token = source.agent.map(|_| TOKEN_RULE.to_owned());
    truncate_items(history(source).into_iter().chain(token).chain(handed).chain(rules))
}

/// This dialect has no field for earlier attempts. They come first, so that they are not cut off.
fn history(source: &WorkOrderSource<'_>) -> Vec<String> {
    let line = |what: &str, said: &str| format!("{what}: {}", single_line(said));
    let answers = source.all_answers().into_iter().map(|said| line("Answer from a person", said));
    let feedback = source.task.feedback.as_deref();
    let feedback = feedback.map(|said| line("Why the last attempt was sent back", said));
    let failures = source.task.history.failures.iter();
    let failures = failures.map(|f| line(&format!("Attempt {} failed", f.attempt), &f.reason));
    answers.chain(feedback).chain(failures).collect()
}
