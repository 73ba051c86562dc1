//! How many tasks a daemon gets through, and how soon it begins. The record tells.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use adjutant_core::Time;
use serde_json::Value;

use crate::commands::adjutant;
use crate::daemon::CREW;
use crate::folder::make_ready;
use crate::opening::ms;
use crate::pairs;
use crate::report::Report;

/// How many runs there may be at once.
const SLOTS: usize = 8;

/// Measures a daemon that works off what is ready among so many tasks. What it takes to open the
/// folder is told apart: it is paid once.
pub(crate) fn measure(report: &mut Report, tasks: usize, ready: usize) {
    let folder = make_ready(tasks.max(ready), ready);
    fs::write(folder.root().join("adjutant.toml"), CREW).expect("a configuration");
    let floor = pairs::rate(report, ready, SLOTS);
    let start = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let mut up = Command::new(adjutant());
    up.arg("--data").arg(folder.root()).args(["up", "--until-idle"]).stdout(Stdio::null());
    assert!(up.status().is_ok_and(|status| status.success()), "the daemon failed");
    let (started, exited) =
        (times(&folder.root(), "run.started"), times(&folder.root(), "run.exited"));
    assert_eq!((started.len(), exited.len()), (ready, ready), "each task is worked on once");
    let first = *started.first().expect("a start");
    let what = format!("daemon started to first run given out, {tasks} tasks");
    report.add(&what, ms(first.saturating_sub(start)), String::new(), String::new(), "");
    let took = exited.last().expect("an end").saturating_sub(first);
    let rate = ready as f64 / took.as_secs_f64();
    let what = format!("tasks through a no-op agent, {SLOTS} slots, {tasks} tasks");
    let floor_text = format!("{floor:.0}/s (pairs of processes)");
    report.add(
        &what,
        format!("{rate:.0}/s"),
        floor_text,
        format!("{:.2}", rate / floor),
        "> 100/s",
    );
    report.keep(folder.into_home());
}

/// Returns when events of a type happened, in order.
pub(crate) fn times(root: &Path, kind: &str) -> Vec<Duration> {
    let files = fs::read_dir(root.join("events")).expect("a record").flatten();
    let texts = files.map(|file| fs::read_to_string(file.path()).expect("a text"));
    let mut times: Vec<Duration> = Vec::new();
    for text in texts {
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        times.extend(events.filter(|event| event["type"] == kind).map(|event| time(&event)));
    }
    times.sort_unstable();
    times
}

fn time(event: &Value) -> Duration {
    let text = event["timestamp"].as_str().expect("a time");
    let time = Time::parse(text).expect("a good time");
    Duration::from_millis(u64::try_from(time.as_millis()).expect("after 1970"))
}
