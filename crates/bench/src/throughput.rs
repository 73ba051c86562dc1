//! Measures how many tasks a daemon finishes per second and how soon it begins, from the event log.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use adjutant_model::Time;
use serde_json::Value;

use crate::bench_folder::make_ready_folder;
use crate::commands::adjutant_program;
use crate::daemon::NOOP_AGENTS;
use crate::opening::format_ms;
use crate::process_pairs;
use crate::report::BenchReport;

/// The number of runs allowed at once.
const SLOTS: usize = 8;

/// Measures a daemon that finishes the ready tasks among `tasks`. The time to open the folder is
/// reported separately, because it is paid once.
pub(crate) fn measure(report: &mut BenchReport, tasks: usize, ready: usize) {
    let folder = make_ready_folder(tasks.max(ready), ready);
    fs::write(folder.root().join("adjutant.toml"), NOOP_AGENTS).expect("a configuration");
    let floor = process_pairs::measure_pair_rate(report, ready, SLOTS);
    let start = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let mut up = Command::new(adjutant_program());
    up.arg("--data").arg(folder.root()).args(["up", "--until-idle"]).stdout(Stdio::null());
    assert!(up.status().is_ok_and(|status| status.success()), "the daemon failed");
    let (started, exited) =
        (event_times(&folder.root(), "run.started"), event_times(&folder.root(), "run.exited"));
    assert_eq!((started.len(), exited.len()), (ready, ready), "each task is worked on once");
    let first = *started.first().expect("a start");
    let what = format!("daemon started to first run given out, {tasks} tasks");
    report.add_row(&what, format_ms(first.saturating_sub(start)), String::new(), String::new(), "");
    let took = exited.last().expect("an end").saturating_sub(first);
    let rate = ready as f64 / took.as_secs_f64();
    let what = format!("tasks through a no-op agent, {SLOTS} slots, {tasks} tasks");
    let floor_text = format!("{floor:.0}/s (pairs of processes)");
    report.add_row(
        &what,
        format!("{rate:.0}/s"),
        floor_text,
        format!("{:.2}", rate / floor),
        "> 100/s",
    );
    report.keep_folder(folder.into_home());
}

/// Returns the times of all events of a type, in order.
pub(crate) fn event_times(root: &Path, kind: &str) -> Vec<Duration> {
    let files = fs::read_dir(root.join("events")).expect("a record").flatten();
    let texts = files.map(|file| fs::read_to_string(file.path()).expect("a text"));
    let mut times: Vec<Duration> = Vec::new();
    for text in texts {
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        times.extend(events.filter(|event| event["type"] == kind).map(|event| event_time(&event)));
    }
    times.sort_unstable();
    times
}

fn event_time(event: &Value) -> Duration {
    let text = event["timestamp"].as_str().expect("a time");
    let time = Time::parse(text).expect("a good time");
    Duration::from_millis(u64::try_from(time.as_millis()).expect("after 1970"))
}
