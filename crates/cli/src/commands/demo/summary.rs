//! What happened, in ten lines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use adjutant_core::Status;
use adjutant_store::file::{EventFiles, Folder, read_world};
use serde_json::{Value, json};

use super::plan::Plan;
use super::say;
use crate::error::Failure;
use crate::output::{Colour, Output};

/// What the record has of the demo.
#[derive(Default)]
struct Seen {
    events: u64,
    runs: usize,
    failed: usize,
    agents: BTreeSet<String>,
    attempts: BTreeMap<String, u64>,
    status: BTreeMap<String, Status>,
}

/// Tells what happened.
pub(super) fn tell(
    folder: &Folder,
    plan: &Plan,
    took: Duration,
    kept: Option<&Path>,
    out: &Output,
) -> Result<(), Failure> {
    let seen = look(folder)?;
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
    let title = format!("What happened, in {:.0} seconds", took.as_secs_f32());
    say(out, &format!("\n{}", out.paint(Colour::Blue, &title)))?;
    let head = [
        format!("{} tasks: {}", plan.len(), counts.join(", ")),
        format!(
            "{} runs by {} agents, {} of them without a result; never two at once on one task",
            seen.runs,
            seen.agents.len(),
            seen.failed
        ),
    ];
    let record = format!("{} events in the record, each chained to the one before", seen.events);
    for line in head.into_iter().chain(tales(plan, &seen)).chain([record]) {
        say(out, &format!("  {line}"))?;
    }
    Ok(())
}

fn tales(plan: &Plan, seen: &Seen) -> impl Iterator<Item = String> {
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
        tale("load", "its agent hung, and was stopped for its silence"),
        tale("legacy", "its agent failed every time"),
        tale("retire", "waits for that one, and was held back"),
        tale("build", "was looked at by a person and approved"),
        tale("tests", "was handed on from one agent to another"),
        tale("licence", "its agent asked a question and got an answer"),
    ]
    .into_iter()
}

fn counts(seen: &Seen) -> Vec<(Status, usize)> {
    let of = |status| seen.status.values().filter(|one| **one == status).count();
    let all = Status::ALL.into_iter().map(|status| (status, of(status)));
    all.filter(|(_, count)| *count > 0).collect()
}

fn look(folder: &Folder) -> Result<Seen, Failure> {
    let mut seen = Seen::default();
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
