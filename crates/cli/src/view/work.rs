//! What came of the work on a task, in words: attempts, checks, and what was used.

use std::path::Path;

use adjutant_core::account::{Usage, dollars};
use adjutant_core::evidence::{Check, Evidence};
use adjutant_core::{Task, TaskId};
use adjutant_runtime::daemon::EVIDENCE;
use adjutant_store::wire::work::EvidenceWire;
use serde_json::{Value, json};

use super::task::read_plain;

/// Returns what was found when the last report on a task was looked into.
pub(crate) fn evidence(root: &Path, id: &TaskId) -> Option<Evidence> {
    let attempts = root.join("runs").join(id.as_str()).join("attempts");
    let entries = std::fs::read_dir(&attempts).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let read = |number: u32| {
        let text = read_plain(&attempts.join(number.to_string()).join(EVIDENCE))?;
        let wire: EvidenceWire = serde_json::from_slice(&text).ok()?;
        Some((number, Evidence::try_from(wire).ok()?))
    };
    numbers.filter_map(read).max_by_key(|(number, _)| *number).map(|(_, evidence)| evidence)
}

/// Returns what came of the work so far: each line with what it is about.
pub(crate) fn lines(root: &Path, task: &Task) -> Vec<(&'static str, String)> {
    let mut lines: Vec<(&str, String)> = Vec::new();
    lines.extend(attempts(task).map(|text| ("attempts", text)));
    if let Some(found) = evidence(root, &task.id) {
        lines.extend(found.checks.iter().map(|check| ("checked", checked(check))));
        let rest = Evidence { checks: vec![], ..found }.in_words();
        lines.extend((!rest.is_empty()).then_some(("work", rest)));
    }
    let spent = task.trials.account().map(|account| &account.spent[..]).unwrap_or_default();
    lines.extend(spent.iter().map(|spent| {
        ("used", format!("{} by {} on {}", used(spent.usage), spent.agent, spent.day))
    }));
    lines
}

fn attempts(task: &Task) -> Option<String> {
    let lease = task.lease().map(|lease| lease.attempt);
    let count = lease.or(task.last_run.as_ref().map(|run| run.attempt))?;
    let failed: Vec<String> = task
        .trials
        .failures
        .iter()
        .map(|failure| format!("; attempt {}: {}", failure.attempt, failure.reason))
        .collect();
    let last = task.trials.expired.as_ref().filter(|_| failed.is_empty());
    let last = last.map(|last| format!("; the last that came to nothing: {}", last.reason));
    Some(format!("{count}{}{}", failed.concat(), last.unwrap_or_default()))
}

fn checked(check: &Check) -> String {
    let brief = Check { tail: String::new(), ..check.clone() };
    let (seconds, tenths) = (check.duration_ms / 1_000, check.duration_ms % 1_000 / 100);
    format!("{}, in {seconds}.{tenths} s", brief.in_words())
}

/// Says what was used, as far as agents tell.
pub(crate) fn used(usage: Usage) -> String {
    let tokens = format!("{} tokens", usage.tokens());
    if usage.cost == 0 { tokens } else { format!("{tokens}, {}", dollars(usage.cost)) }
}

/// Returns what was used, as JSON.
pub(crate) fn usage(usage: Usage) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "nobody spends so many dollars")]
    let cost = usage.cost as f64 / 1e6;
    json!({
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "cachedTokens": usage.cached,
        "costUsd": cost,
    })
}
