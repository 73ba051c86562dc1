//! Converts `new_task` documents to tasks, and tasks to `new_task` documents.

use std::fmt::Write as _;

use adjutant_model::actor::AgentId;
use adjutant_model::constraints::RunConstraints;
use adjutant_model::delegation::{
    ExpectedOutput, ExternalTaskId, NewTaskDocument, NewTaskPriority, TaskArtifact,
};
use adjutant_model::mission::{INSTRUCTION_CHARS_MAX, MissionOrder};
use adjutant_model::relative_path::RelPath;
use adjutant_model::task::Task;
use adjutant_model::task_origin::TaskOrigin;

use super::{WorkOrderSource, append_list, title_from_text, with_history};

/// The mode of a task that any agent may do.
const ANY_MODE: &str = "any";

/// Returns the body of the task that a `new_task` becomes, with everything the document says.
pub fn body_of_new_task(task: &NewTaskDocument) -> String {
    let mut text = format!("{}\n", task.objective.trim_end());
    if let Some(context) = task.context.as_deref().filter(|context| !context.trim().is_empty()) {
        let _ = write!(text, "\n## Context\n\n{}\n", context.trim());
    }
    let inputs: Vec<String> = task.inputs.iter().flatten().map(input).collect();
    let outputs: Vec<String> = task.expected_outputs.iter().flatten().map(output).collect();
    let texts = |items: &Option<Vec<String>>| items.clone().unwrap_or_default();
    for (heading, items) in [
        ("Inputs", inputs),
        ("Expected outputs", outputs),
        ("Constraints and rules", texts(&task.constraints_and_rules)),
        ("Acceptance criteria", texts(&task.acceptance_criteria)),
    ] {
        append_list(&mut text, heading, items.iter().map(String::as_str).collect());
    }
    if let (Some(hint), None) = (&task.deadline_hint, task.due_by()) {
        let _ = write!(text, "\nDeadline: {}\n", adjutant_model::work_log::single_line(hint));
    }
    text
}

fn input(input: &TaskArtifact) -> String {
    let version = input.version.as_deref().map_or_else(String::new, |v| format!(" ({v})"));
    with_description(&format!("{}{version}", input.path), input.description.as_deref())
}

fn output(output: &ExpectedOutput) -> String {
    with_description(output.path.as_str(), output.description.as_deref())
}

fn with_description(what: &str, description: Option<&str>) -> String {
    description.map_or_else(|| what.to_owned(), |description| format!("{what}: {description}"))
}

/// Returns the `new_task` for a task: the one it was made from with later edits, or one built
/// from the task.
pub fn to_new_task(source: &WorkOrderSource<'_>) -> NewTaskDocument {
    let foreign = source.task.origin.as_deref();
    let mut task = match foreign.and_then(TaskOrigin::new_task) {
        Some(task) => apply_edits(source, task),
        None => build_new_task(source),
    };
    let history = source.history();
    if !history.is_empty() {
        let context = with_history(task.context.as_deref().unwrap_or_default(), &history);
        task.context = Some(context.trim_start().chars().take(INSTRUCTION_CHARS_MAX).collect());
    }
    task
}

/// Applies later edits of the task to the document that was sent.
fn apply_edits(source: &WorkOrderSource<'_>, sent: &NewTaskDocument) -> NewTaskDocument {
    let task = source.task;
    let mut changed = sent.clone();
    if *task.title != *title_from_text(&sent.objective) {
        changed.objective = task.title.to_string();
    }
    if let Some(body) = source.changed_body(&body_of_new_task(sent)) {
        changed.context = Some(body);
    }
    if sent.priority.map(NewTaskPriority::to_priority).unwrap_or_default() != task.priority {
        changed.priority = Some(NewTaskPriority::from_priority(task.priority));
    }
    if sent.due_by() != task.due_by {
        changed.deadline_hint = task.due_by.map(|due| due.to_string());
    }
    let named = sent.parent_task_id.as_ref().map(ExternalTaskId::as_str);
    if !is_parent(source, named) {
        changed.parent_task_id =
            source.parent.and_then(|parent| ExternalTaskId::parse(preferred_id(parent)).ok());
    }
    changed
}

/// Returns whether an id names the task's parent. An id of an unknown parent stays as it is.
fn is_parent(source: &WorkOrderSource<'_>, named: Option<&str>) -> bool {
    match (source.parent, named) {
        (None, None) => true,
        (None, Some(_)) => source.task.parent.is_some(),
        (Some(_), None) => false,
        (Some(parent), Some(named)) => {
            let mut ids = parent.origin.iter().flat_map(|foreign| foreign.ids());
            named == parent.id.as_str() || ids.any(|id| id == named)
        }
    }
}

/// Returns the id that other systems use for a task, or else its own.
fn preferred_id(task: &Task) -> &str {
    let foreign = task.origin.as_deref().and_then(|foreign| foreign.ids().next());
    foreign.unwrap_or(task.id.as_str())
}

fn build_new_task(source: &WorkOrderSource<'_>) -> NewTaskDocument {
    let task = source.task;
    let mission = task.origin.as_deref().and_then(TaskOrigin::mission);
    let handoff = source.handoff;
    let rules =
        mission.and_then(|mission| mission.constraints.as_ref()).map(RunConstraints::to_sentences);
    let rules: Vec<String> = rules
        .into_iter()
        .flatten()
        .chain(handoff.into_iter().flat_map(|h| h.constraints.clone()))
        .collect();
    let criteria = handoff.map(|handoff| handoff.acceptance_criteria.clone()).unwrap_or_default();
    let words = source.body_text();
    NewTaskDocument {
        task_id: ExternalTaskId::parse(preferred_id(task)).expect("an id without blanks around it"),
        parent_task_id: source
            .parent
            .and_then(|parent| ExternalTaskId::parse(preferred_id(parent)).ok()),
        delegated_to_mode: mode(source),
        objective: task.title.to_string(),
        context: (!words.is_empty()).then(|| words.to_owned()),
        inputs: non_empty(inputs(source, mission)),
        expected_outputs: non_empty(outputs(source)),
        constraints_and_rules: non_empty(rules),
        acceptance_criteria: non_empty(criteria),
        priority: Some(NewTaskPriority::from_priority(task.priority)),
        deadline_hint: task.due_by.map(|due| due.to_string()),
    }
}

fn non_empty<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

fn mode(source: &WorkOrderSource<'_>) -> AgentId {
    let routing = &source.task.routing;
    let mode = routing.mode.as_deref().and_then(|mode| AgentId::parse(mode).ok());
    let agent = source.agent.or(routing.agent.as_ref()).cloned();
    mode.or(agent).unwrap_or_else(|| AgentId::parse(ANY_MODE).expect("a good name"))
}

fn inputs(source: &WorkOrderSource<'_>, mission: Option<&MissionOrder>) -> Vec<TaskArtifact> {
    let named = mission.map(MissionOrder::paths).unwrap_or_default();
    let refs = source.handoff.map(|handoff| &handoff.context_refs[..]).unwrap_or_default();
    let paths: Vec<&RelPath> = named.into_iter().map(|(_, path)| path).chain(refs).collect();
    let input = |path: &&RelPath| TaskArtifact {
        kind: Some("document".to_owned()),
        path: (*path).clone(),
        version: None,
        description: None,
    };
    paths.iter().map(input).collect()
}

fn outputs(source: &WorkOrderSource<'_>) -> Vec<ExpectedOutput> {
    let expected = source.handoff.map(|handoff| &handoff.expected_outputs[..]).unwrap_or_default();
    let output =
        |path: &RelPath| ExpectedOutput { kind: None, path: path.clone(), description: None };
    expected.iter().map(output).collect()
}
