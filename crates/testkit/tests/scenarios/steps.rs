//! Every step there is, and the one that fits a line of a feature file.

use gherkin::Step;

use crate::scene::Scene;
use crate::words::Words;
use crate::{answer, file, message, obstacle, pattern, record, run, task, tick};

/// What a step does: it sets something up, sends something, or panics if something is not so.
pub(crate) type Act = fn(&mut Scene, &Words);

/// A pattern and what it does. A pattern that ends in `:` has a text or a table below it.
pub(crate) type Known = (&'static str, Act);

/// A line of a feature file with the step that fits it.
pub(crate) struct Bound {
    /// The line.
    pub(crate) line: String,
    /// The pattern that fits.
    pub(crate) pattern: &'static str,
    /// What it does.
    pub(crate) act: Act,
    /// With which words.
    pub(crate) words: Words,
}

/// Returns every step there is.
pub(crate) fn all() -> impl Iterator<Item = Known> {
    let nouns = [
        answer::STEPS,
        file::STEPS,
        message::STEPS,
        obstacle::STEPS,
        record::STEPS,
        run::STEPS,
        task::STEPS,
        tick::STEPS,
    ];
    nouns.into_iter().flatten().copied()
}

/// Finds the one step that fits a line.
pub(crate) fn bind(step: &Step) -> Result<Bound, String> {
    let line = format!("{} {}", step.keyword.trim(), step.value);
    let below = step.docstring.is_some() || step.table.is_some();
    let fits = |(pattern, act): Known| {
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
    Ok(Bound { line, pattern, act, words: Words::new(captured, step) })
}
