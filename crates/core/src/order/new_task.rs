//! A task as a `new_task`, and a `new_task` as a task.

use std::fmt::Write as _;

use super::{Source, followed_by, list, title_of};
use crate::constraints::Constraints;
use crate::delegation::{Artifact, ExpectedOutput, ForeignId, NewTask, TaskPriority};
use crate::foreign::Foreign;
use crate::mission::{INSTRUCTION_CHARS_MAX, Mission};
use crate::name::AgentId;
use crate::path::RelPath;
use crate::task::Task;

/// The mode of a task that is for nobody in particular.
const ANYBODY: &str = "any";

/// Returns the body of the task a `new_task` becomes: everything it says, for whoever reads it.
pub fn body_of_new_task(task: &NewTask) -> String {
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
        list(&mut text, heading, items.iter().map(String::as_str).collect());
    }
    if let (Some(hint), None) = (&task.deadline_hint, task.due_by()) {
        let _ = write!(text, "\nDeadline: {}\n", crate::worklog::single_line(hint));
    }
    text
}

fn input(input: &Artifact) -> String {
    let version = input.version.as_deref().map_or_else(String::new, |v| format!(" ({v})"));
    described(&format!("{}{version}", input.path), input.description.as_deref())
}

fn output(output: &ExpectedOutput) -> String {
    described(output.path.as_str(), output.description.as_deref())
}

fn described(what: &str, description: Option<&str>) -> String {
    description.map_or_else(|| what.to_owned(), |description| format!("{what}: {description}"))
}

/// Returns the `new_task` a task is: the one it was made from with what was changed since, or one
/// made up of what the task says.
pub fn new_task(source: &Source<'_>) -> NewTask {
    let foreign = source.task.foreign.as_deref();
    let mut task = match foreign.and_then(Foreign::new_task) {
        Some(task) => changed(source, task),
        None => made_up(source),
    };
    let history = source.history();
    if !history.is_empty() {
        let context = followed_by(task.context.as_deref().unwrap_or_default(), &history);
        task.context = Some(context.trim_start().chars().take(INSTRUCTION_CHARS_MAX).collect());
    }
    task
}

/// What was changed since in the task wins over what was sent.
fn changed(source: &Source<'_>, sent: &NewTask) -> NewTask {
    let task = source.task;
    let mut changed = sent.clone();
    if *task.title != *title_of(&sent.objective) {
        changed.objective = task.title.to_string();
    }
    if let Some(body) = source.rewritten(&body_of_new_task(sent)) {
        changed.context = Some(body);
    }
    if sent.priority.map(TaskPriority::of_task).unwrap_or_default() != task.priority {
        changed.priority = Some(TaskPriority::near(task.priority));
    }
    if sent.due_by() != task.due_by {
        changed.deadline_hint = task.due_by.map(|due| due.to_string());
    }
    let named = sent.parent_task_id.as_ref().map(ForeignId::as_str);
    if !is_parent(source, named) {
        changed.parent_task_id =
            source.parent.and_then(|parent| ForeignId::parse(name(parent)).ok());
    }
    changed
}

/// Says whether an id names the task this one is a part of. One that is not known stays as it is.
fn is_parent(source: &Source<'_>, named: Option<&str>) -> bool {
    match (source.parent, named) {
        (None, None) => true,
        (None, Some(_)) => source.task.parent.is_some(),
        (Some(_), None) => false,
        (Some(parent), Some(named)) => {
            let mut ids = parent.foreign.iter().flat_map(|foreign| foreign.ids());
            named == parent.id.as_str() || ids.any(|id| id == named)
        }
    }
}

/// Returns the id others know a task by, or else its own.
fn name(task: &Task) -> &str {
    let foreign = task.foreign.as_deref().and_then(|foreign| foreign.ids().next());
    foreign.unwrap_or(task.id.as_str())
}

fn made_up(source: &Source<'_>) -> NewTask {
    let task = source.task;
    let mission = task.foreign.as_deref().and_then(Foreign::mission);
    let handoff = source.handoff;
    let rules = mission.and_then(|mission| mission.constraints.as_ref()).map(Constraints::in_words);
    let rules: Vec<String> = rules
        .into_iter()
        .flatten()
        .chain(handoff.into_iter().flat_map(|h| h.constraints.clone()))
        .collect();
    let criteria = handoff.map(|handoff| handoff.acceptance_criteria.clone()).unwrap_or_default();
    let words = source.words();
    NewTask {
        task_id: ForeignId::parse(name(task)).expect("an id without blanks around it"),
        parent_task_id: source.parent.and_then(|parent| ForeignId::parse(name(parent)).ok()),
        delegated_to_mode: mode(source),
        objective: task.title.to_string(),
        context: (!words.is_empty()).then(|| words.to_owned()),
        inputs: some(inputs(source, mission)),
        expected_outputs: some(outputs(source)),
        constraints_and_rules: some(rules),
        acceptance_criteria: some(criteria),
        priority: Some(TaskPriority::near(task.priority)),
        deadline_hint: task.due_by.map(|due| due.to_string()),
    }
}

fn some<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

fn mode(source: &Source<'_>) -> AgentId {
    let routing = &source.task.routing;
    let mode = routing.mode.as_deref().and_then(|mode| AgentId::parse(mode).ok());
    let agent = source.agent.or(routing.agent.as_ref()).cloned();
    mode.or(agent).unwrap_or_else(|| AgentId::parse(ANYBODY).expect("a good name"))
}

fn inputs(source: &Source<'_>, mission: Option<&Mission>) -> Vec<Artifact> {
    let named = mission.map(Mission::paths).unwrap_or_default();
    let refs = source.handoff.map(|handoff| &handoff.context_refs[..]).unwrap_or_default();
    let paths: Vec<&RelPath> = named.into_iter().map(|(_, path)| path).chain(refs).collect();
    let input = |path: &&RelPath| Artifact {
        kind: Some("document".to_owned()),
        path: (*path).clone(),
        version: None,
        description: None,
    };
    paths.iter().map(input).collect()
}

fn outputs(source: &Source<'_>) -> Vec<ExpectedOutput> {
    let expected = source.handoff.map(|handoff| &handoff.expected_outputs[..]).unwrap_or_default();
    let output =
        |path: &RelPath| ExpectedOutput { kind: None, path: path.clone(), description: None };
    expected.iter().map(output).collect()
}
