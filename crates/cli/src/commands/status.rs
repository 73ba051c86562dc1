//! `adjutant status`: whether a daemon runs, and what there is.

use std::process::ExitCode;
use std::time::Duration;

use adjutant_core::schedule::spent_on;
use adjutant_core::{Status as Stand, Task, World};
use adjutant_runtime::daemon::{Holder, Place};
use adjutant_runtime::{Clock, SystemClock};
use serde_json::{Map, Value, json};

use crate::data::Data;
use crate::error::Failure;
use crate::output::{Colour, Output, clean};
use crate::view::glance::span;
use crate::view::work;

/// Say whether a daemon is running, what runs, and how much there is of everything
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code: 0 if a daemon is running, 1 if not.")]
pub(crate) struct Status {}

impl Status {
    #[expect(clippy::unused_self, reason = "it is called like every other command")]
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        let holder = Holder::of(data.folder.root());
        let place = holder.as_ref().and_then(|holder| Place::of(data.folder.root(), holder.pid));
        let world = data.world(out)?;
        if out.is_json() {
            out.document(&document(holder.as_ref(), place.as_ref(), &world))?;
        } else {
            out.line(&daemon(holder.as_ref(), out))?;
            if let Some(place) = place {
                out.line(&format!("it listens at {}", clean(&place.url)))?;
            }
            for task in running(&world) {
                out.line(&line(task))?;
            }
            out.line(&counts(&world))?;
            for (agent, usage) in spent_on(&world, SystemClock.now()) {
                out.line(&format!("{agent} used {} today", work::used(usage)))?;
            }
        }
        Ok(ExitCode::from(u8::from(holder.is_none())))
    }
}

/// Returns the tasks somebody has a lease on.
fn running(world: &World) -> impl Iterator<Item = &Task> {
    world.with_status(Stand::InProgress).filter(|task| task.lease().is_some())
}

/// Returns how things stand, as JSON.
pub(crate) fn document(holder: Option<&Holder>, place: Option<&Place>, world: &World) -> Value {
    let run = |task: &Task| {
        let lease = task.lease()?;
        Some(json!({
            "taskId": task.id.as_str(),
            "title": &*task.title,
            "agent": lease.agent.as_str(),
            "attempt": lease.attempt,
            "since": lease.acquired_at.to_string(),
            "checking": task.trials.claim().is_some(),
        }))
    };
    let counts: Map<String, Value> = Stand::ALL
        .into_iter()
        .map(|status| (status.as_str().to_owned(), world.count(status).into()))
        .collect();
    let today: Map<String, Value> = spent_on(world, SystemClock.now())
        .into_iter()
        .map(|(agent, usage)| (agent.to_string(), work::usage(usage)))
        .collect();
    json!({
        "running": holder.is_some(),
        "pid": holder.map(|holder| holder.pid),
        "since": holder.map(|holder| &holder.since),
        "version": holder.map(|holder| &holder.version),
        "url": place.map(|place| &place.url),
        "runs": running(world).filter_map(run).collect::<Vec<_>>(),
        "counts": counts,
        "today": today,
    })
}

fn daemon(holder: Option<&Holder>, out: &Output) -> String {
    match holder {
        Some(Holder { pid, since, version, .. }) => {
            let since = clean(since);
            let text = format!("a daemon is running: process {pid}, since {since}, {version}");
            out.paint(Colour::Green, &text)
        }
        None => out.paint(Colour::Yellow, "no daemon is running; `adjutant up` starts one"),
    }
}

fn line(task: &Task) -> String {
    let Some(lease) = task.lease() else { return String::new() };
    let millis = SystemClock.now().as_millis().saturating_sub(lease.acquired_at.as_millis());
    let since = span(Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
    let title = clean(&task.title);
    let now = if task.trials.claim().is_some() { " (being checked)" } else { "" };
    let (id, agent, attempt) = (&task.id, &lease.agent, lease.attempt);
    format!("  {since:>6}  {id}  {agent}, attempt {attempt}: {title}{now}")
}

fn counts(world: &World) -> String {
    let all = Stand::ALL.into_iter().map(|status| (status, world.count(status)));
    let some: Vec<String> = all
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| format!("{count} {status}"))
        .collect();
    if some.is_empty() { "there are no tasks".to_owned() } else { some.join(", ") }
}
