//! Describes the work on a task: attempts, checks and token usage.

use adjutant_core::schedule::task_notes;
use adjutant_model::evidence::{CheckResult, WorkEvidence};
use adjutant_model::usage::{TokenUsage, dollars};
use adjutant_model::{Status, Task};
use adjutant_query::run::read_current_evidence;

use crate::data::ProjectData;

/// Returns labelled lines about the attempts, checks and usage of a task.
pub(crate) fn lines(data: &ProjectData, task: &Task) -> Vec<(&'static str, String)> {
    let mut lines: Vec<(&str, String)> = Vec::new();
    lines.extend(describe_attempts(task).map(|text| ("attempts", text)));
    if let Some(found) = read_current_evidence(data.folder.root(), &task.id, &data.worktrees()) {
        lines.extend(found.checks.iter().map(|check| ("checked", describe_check(check))));
        let rest = WorkEvidence { checks: vec![], ..found }.in_words();
        lines.extend((!rest.is_empty()).then_some(("work", rest)));
    }
    if task.status() == Status::Done {
        let merged = task.history.work.as_ref().and_then(|work| work.evidence.as_deref());
        lines.extend(merged.map(|merged| ("merged", merged.to_owned())));
    }
    lines.extend(task_notes(task).into_iter().map(|note| ("merge", note)));
    let spent = task.history.account().map(|account| &account.spent[..]).unwrap_or_default();
    lines.extend(spent.iter().map(|spent| {
        ("used", format!("{} by {} on {}", format_usage(spent.usage), spent.agent, spent.day))
    }));
    lines
}

fn describe_attempts(task: &Task) -> Option<String> {
    let lease = task.lease().map(|lease| lease.attempt);
    let count = lease.or(task.last_run.as_ref().map(|run| run.attempt))?;
    let failed: Vec<String> = task
        .history
        .failures
        .iter()
        .map(|failure| format!("; attempt {}: {}", failure.attempt, failure.reason))
        .collect();
    let last = task.history.expired.as_ref().filter(|_| failed.is_empty());
    let last = last.map(|last| format!("; the last failure: {}", last.reason));
    Some(format!("{count}{}{}", failed.concat(), last.unwrap_or_default()))
}

fn describe_check(check: &CheckResult) -> String {
    let brief = CheckResult { tail: String::new(), ..check.clone() };
    let (seconds, tenths) = (check.duration_ms / 1_000, check.duration_ms % 1_000 / 100);
    format!("{}, in {seconds}.{tenths} s", brief.in_words())
}

/// Formats token usage, as far as agents report it.
pub(crate) fn format_usage(usage: TokenUsage) -> String {
    let tokens = format!("{} tokens", usage.tokens());
    if usage.cost == 0 { tokens } else { format!("{tokens}, {}", dollars(usage.cost)) }
}
