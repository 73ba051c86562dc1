//! All steps, and the search for the one that matches a line of a feature file.

use gherkin::Step;

use crate::scenario_state::ScenarioState;
use crate::step_arguments::StepArguments;
use crate::{answer, event_log, file, message, obstacle, pattern, run, task, tick};

/// The code of a step: it prepares, sends, or panics if a check fails.
pub(crate) type StepAction = fn(&mut ScenarioState, &StepArguments);

/// A pattern and its code. A pattern that ends in `:` has a text or a table below it.
pub(crate) type StepDefinition = (&'static str, StepAction);

/// A line of a feature file with its matching step.
pub(crate) struct BoundStep {
    pub(crate) line: String,
    pub(crate) pattern: &'static str,
    pub(crate) act: StepAction,
    pub(crate) words: StepArguments,
}

pub(crate) fn all() -> impl Iterator<Item = StepDefinition> {
    let nouns = [
        answer::STEPS,
        file::STEPS,
        message::STEPS,
        obstacle::STEPS,
        event_log::STEPS,
        run::STEPS,
        task::STEPS,
        tick::STEPS,
    ];
    nouns.into_iter().flatten().copied()
}

/// Finds the one step that matches a line.
pub(crate) fn bind(step: &Step) -> Result<BoundStep, String> {
    let line = format!("{} {}", step.keyword.trim(), step.value);
    let below = step.docstring.is_some() || step.table.is_some();
    let fits = |(pattern, act): StepDefinition| {
        let captured = pattern::captures(pattern, &step.value)?;
        (pattern.ends_with(':') == below).then_some((pattern, act, captured))
    };
    let mut fitting = all().filter_map(fits);
    let Some((pattern, act, captured)) = fitting.next() else {
        return Err(format!("no step fits: {line}"));
    };
    if let Some((other, ..)) = fitting.next() {
        return Err(format!("two steps fit, {pattern:?} and {other:?}: {line}"));
    }
    if step.value.contains('<') {
        return Err(format!("no example fills: {line}"));
    }
    Ok(BoundStep { line, pattern, act, words: StepArguments::new(captured, step) })
}
