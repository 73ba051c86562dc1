//! Measures what `sandbox = "strict"` adds to the start of a run, and the memory of its proxy.

use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::bench_folder::{BenchFolder, make_ready_folder};
use crate::commands::adjutant_program;
use crate::daemon::{BenchDaemon, status_kilobytes, wait_until};
use crate::opening::format_ms;
use crate::report::BenchReport;

/// Agents that print the time at which they started. Two of them wait to be looked at.
const CLOCKS: &str = r#"
[scheduler]
poll = "30s"
[agents.none]
kind = "command"
sandbox = "none"
command = ["date", "+%s%N"]
on_exit_ok = "done"
[agents.strict]
kind = "command"
sandbox = "strict"
command = ["date", "+%s%N"]
on_exit_ok = "done"
[agents.open]
kind = "command"
sandbox = "strict"
command = ["sh", "-c", "date +%s%N; sleep 1000"]
[agents.hosts]
kind = "command"
sandbox = "strict"
network = ["api.example.com"]
command = ["sh", "-c", "date +%s%N; sleep 1000"]
"#;

pub(crate) fn measure(report: &mut BenchReport, quick: bool) {
    let folder = make_ready_folder(100, 0);
    fs::write(folder.root().join("adjutant.toml"), CLOCKS).expect("a configuration");
    let up = BenchDaemon::start(&folder);
    let rounds = if quick { 5 } else { 31 };
    let (mut none, mut strict) = (vec![], vec![]);
    // In turn, so that both meet the same load.
    for _ in 0..rounds {
        none.push(start_and_finish(&folder, "none"));
        strict.push(start_and_finish(&folder, "strict"));
    }
    let (none, strict) = (middle(none), middle(strict));
    report.add_row(
        "task add to agent started, strict (floor: none)",
        format_ms(strict),
        format_ms(none),
        format!("{:.1}x", strict.as_secs_f64() / none.as_secs_f64()),
        &format!("< {}", format_ms(none + Duration::from_millis(30))),
    );
    let shims = ["open", "hosts"].map(|agent| shim_of(&folder, &start(&folder, agent).0));
    let forwarder = private_memory(find_forwarder(shims[1]));
    let shims = shims.map(private_memory);
    report.add_row(
        "proxy of a run: private memory, in the shim and in the sandbox",
        format!("{} kB + {forwarder} kB", shims[1].saturating_sub(shims[0])),
        format!("{} kB (shim)", shims[0]),
        String::new(),
        "",
    );
    adjutant(&folder, &["down", "--stop"]);
    drop(up);
    report.keep_folder(folder.into_home());
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn adjutant(folder: &BenchFolder, arguments: &[&str]) -> String {
    let mut command = Command::new(adjutant_program());
    command.arg("--data").arg(folder.root()).args(arguments);
    let output = command.output().expect("a command");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Adds a task, and returns its id and the time until its agent ran.
fn start(folder: &BenchFolder, agent: &str) -> (String, Duration) {
    let start = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let add = ["task", "add", "Tell the time", "--agent", agent, "--status", "ready"];
    let text = adjutant(folder, &[&add[..], &["--review", "none"]].concat());
    let id = text.split_whitespace().next().expect("the id of the task").to_owned();
    let log = folder.root().join("runs").join(&id).join("attempts/1/output.log");
    let read = || fs::read_to_string(&log).ok()?.lines().next()?.trim().parse::<u64>().ok();
    wait_until(|| read().is_some());
    (id, Duration::from_nanos(read().expect("a time")).saturating_sub(start))
}

fn start_and_finish(folder: &BenchFolder, agent: &str) -> Duration {
    let (id, took) = start(folder, agent);
    let done = folder.root().join(format!("tasks/done/{id}.md"));
    wait_until(|| done.exists());
    took
}

fn shim_of(folder: &BenchFolder, id: &str) -> u32 {
    let path = folder.root().join("runs").join(id).join("attempts/1/shim.json");
    let text = fs::read_to_string(path).expect("the record of the shim");
    let record: serde_json::Value = serde_json::from_str(&text).expect("valid");
    record["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("its number")
}

/// Returns the process in the sandbox of a shim that leads to the proxy.
fn find_forwarder(shim: u32) -> u32 {
    let entries = fs::read_dir("/proc").expect("a process table").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_forwarder = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"network-forwarder")
    };
    pids.filter(is_forwarder).find(|pid| is_below(*pid, shim)).expect("it runs")
}

fn is_below(pid: u32, above: u32) -> bool {
    let parent = |pid: &u32| {
        let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
    };
    std::iter::successors(Some(pid), parent).any(|pid| pid == above)
}

fn private_memory(pid: u32) -> u64 {
    status_kilobytes(pid, "RssAnon")
}
