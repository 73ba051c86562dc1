//! Prints the summary of the demo.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use adjutant_model::Status;
use adjutant_store::file::{DataFolder, EventFiles, read_world};
use serde_json::{Value, json};

use super::plan::DemoPlan;
use super::print_text;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, TextColour};

/// Counts from the demo's event log.
#[derive(Default)]
struct DemoCounts {
    events: u64,
    runs: usize,
    failed: usize,
    agents: BTreeSet<String>,
    attempts: BTreeMap<String, u64>,
    status: BTreeMap<String, Status>,
}

pub(super) fn print_summary(
    folder: &DataFolder,
    plan: &DemoPlan,
    took: Duration,
    kept: Option<&Path>,
    out: &CommandOutput,
) -> Result<(), CommandFailure> {
    let seen = count_events(folder)?;
    let counts = counts(&seen);
    if out.is_json() {
        let counts: BTreeMap<&str, usize> =
            counts.iter().map(|(status, count)| (status.as_str(), *count)).collect();
        return out.document(&json!({"summary": {
            "tasks": plan.len(), "counts": counts, "runs": seen.runs, "failed": seen.failed,
            "events": seen.events, "data": kept,
        }}));
    }
    let counts: Vec<String> =
        counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
    let title = format!("Summary, after {:.0} seconds", took.as_secs_f32());
    print_text(out, &format!("\n{}", out.paint(TextColour::Blue, &title)))?;
    let head = [
        format!("{} tasks: {}", plan.len(), counts.join(", ")),
        format!(
            "{} runs by {} agents, {} of them failed; never two at once on one task",
            seen.runs,
            seen.agents.len(),
            seen.failed
        ),
    ];
    let record = format!("{} events in the event log, each chained to the one before", seen.events);
    for line in head.into_iter().chain(task_results(plan, &seen)).chain([record]) {
        print_text(out, &format!("  {line}"))?;
    }
    Ok(())
}

fn task_results(plan: &DemoPlan, seen: &DemoCounts) -> impl Iterator<Item = String> {
    let tale = |key: &str, what: &str| {
        let id = plan.id(key).as_str();
        let status = seen.status.get(id).map_or("gone", |status| status.as_str());
        let attempts = seen.attempts.get(id).copied().unwrap_or(0);
        let end = match (attempts, status) {
            (0 | 1, status) => status.to_owned(),
            (n, "deadletter") => format!("given up after {n} attempts"),
            (n, status) => format!("{status} in attempt {n}"),
        };
        format!("“{}”: {what}; {end}", plan.title(id))
    };
    [
        tale("migrate", "its agent was killed with kill -9"),
        tale("load", "its agent hung, and was stopped by the idle timeout"),
        tale("legacy", "its agent failed every time"),
        tale("retire", "depends on that task, and is held back"),
        tale("build", "was reviewed and approved by a person"),
        tale("tests", "was delegated by one agent to another"),
        tale("licence", "its agent asked a question and got an answer"),
    ]
    .into_iter()
}

fn counts(seen: &DemoCounts) -> Vec<(Status, usize)> {
    let of = |status| seen.status.values().filter(|one| **one == status).count();
    let all = Status::ALL.into_iter().map(|status| (status, of(status)));
    all.filter(|(_, count)| *count > 0).collect()
}

fn count_events(folder: &DataFolder) -> Result<DemoCounts, CommandFailure> {
    let mut seen = DemoCounts::default();
    let mut files = EventFiles::open(folder.root());
    while let Some(line) = files.next_line()? {
        let Ok(event) = serde_json::from_slice::<Value>(&line.bytes) else { continue };
        seen.events += 1;
        match event["type"].as_str() {
            Some("run.started") => {
                seen.runs += 1;
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                seen.agents.insert(text(&event["payload"]["agent"]));
                let attempt = event["payload"]["attempt"].as_u64().unwrap_or(0);
                seen.attempts.insert(text(&event["taskId"]), attempt);
            }
            Some("run.failed") => seen.failed += 1,
            _ => {}
        }
    }
    let world = read_world(folder)?;
    seen.status = world.tasks().map(|task| (task.id.to_string(), task.status())).collect();
    Ok(seen)
}
