//! A task as a `handoff.request` of AOF/1.

use serde_json::{Map, Value, json};

use super::Source;
use crate::aof::{Kind, LIST_ITEMS_MAX, PROTOCOL, VERSION};
use crate::constraints::Constraints;
use crate::fields::ITEM_CHARS_MAX;
use crate::foreign::Foreign;
use crate::path::RelPath;
use crate::time::Time;
use crate::worklog::single_line;

/// The parent of a task that is part of no other: the protocol wants one.
pub const NO_PARENT: &str = "TASK-0000-00-00-000";
/// When a task is due that is due at no time: the protocol wants one.
pub const NEVER: &str = "9999-12-30T22:00:00.000Z";
/// Who gives out work.
const DISPATCHER: &str = "dispatcher";
/// Whom work is for that is for nobody in particular.
const ANYBODY: &str = "any";

/// Returns the `handoff.request` for a task. What is to be done stands in its file, which is the
/// first thing to read.
pub fn handoff(source: &Source<'_>, now: Time) -> Map<String, Value> {
    let task = source.task;
    let agent = source.agent.or(task.routing.agent.as_ref());
    let mode = task.routing.mode.as_deref();
    let to = agent.map_or(mode.unwrap_or(ANYBODY), |agent| agent.as_str());
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
        "dueBy": due.as_deref().unwrap_or(NEVER),
    });
    let envelope = json!({
        "protocol": PROTOCOL,
        "version": VERSION,
        "type": Kind::HandoffRequest.as_str(),
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

/// What an item of this dialect may have is cut off: all of it stands in the task's file.
fn items(items: impl IntoIterator<Item = String>) -> Vec<String> {
    let cut = |item: String| item.chars().take(ITEM_CHARS_MAX).collect();
    items.into_iter().map(cut).take(LIST_ITEMS_MAX).collect()
}

fn criteria(source: &Source<'_>) -> Vec<String> {
    let handed = source.handoff.map(|handoff| handoff.acceptance_criteria.clone());
    let foreign = source.task.foreign.as_deref().and_then(Foreign::new_task);
    let sent = foreign.and_then(|task| task.acceptance_criteria.clone());
    items(handed.or(sent).unwrap_or_default())
}

fn outputs(source: &Source<'_>) -> Vec<String> {
    let texts = |paths: &[RelPath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
    let handed = source.handoff.map(|handoff| texts(&handoff.expected_outputs));
    let foreign = source.task.foreign.as_deref();
    let sent = foreign.map(|foreign| {
        foreign.expected_outputs().into_iter().map(str::to_owned).collect::<Vec<_>>()
    });
    items(handed.or(sent).unwrap_or_default())
}

fn refs(source: &Source<'_>) -> Vec<String> {
    let mut refs = vec![source.task_file.to_string()];
    refs.extend(source.memory.map(ToString::to_string));
    let handed = source.handoff.into_iter().flat_map(|handoff| &handoff.context_refs);
    refs.extend(handed.map(ToString::to_string));
    let foreign = source.task.foreign.as_deref();
    if let Some(mission) = foreign.and_then(Foreign::mission) {
        refs.extend(mission.paths().into_iter().map(|(_, path)| path.to_string()));
    }
    if let Some(task) = foreign.and_then(Foreign::new_task) {
        refs.extend(task.inputs.iter().flatten().map(|input| input.path.to_string()));
    }
    items(refs)
}

fn constraints(source: &Source<'_>) -> Vec<String> {
    let handed = source.handoff.map(|handoff| handoff.constraints.clone()).unwrap_or_default();
    let foreign = source.task.foreign.as_deref();
    let words = foreign.and_then(Foreign::constraints).map(Constraints::in_words);
    let rules = foreign.and_then(Foreign::new_task);
    let rules = rules.and_then(|task| task.constraints_and_rules.clone());
    let rules = words.into_iter().chain(rules).flatten();
    items(history(source).into_iter().chain(handed).chain(rules))
}

/// This dialect has no field for what happened before. It comes first, so that it is not cut off.
fn history(source: &Source<'_>) -> Vec<String> {
    let line = |what: &str, said: &str| format!("{what}: {}", single_line(said));
    let answers = source.answered().into_iter().map(|said| line("Answer from a person", said));
    let feedback = source.task.feedback.as_deref();
    let feedback = feedback.map(|said| line("A reviewer sent the last attempt back", said));
    let failures = source.task.trials.failures.iter();
    let failures =
        failures.map(|f| line(&format!("Attempt {} came to nothing", f.attempt), &f.reason));
    answers.chain(feedback).chain(failures).collect()
}
