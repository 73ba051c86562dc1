//! Measures how soon the daemon starts an agent and what an idle daemon costs.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::bench_folder::{BenchFolder, make_ready_folder};
use crate::commands::adjutant_program;
use crate::opening::{format_ms, median};
use crate::report::BenchReport;
use crate::throughput;

/// Agents that do nothing, and one that writes the time at which it started.
pub(crate) const NOOP_AGENTS: &str = r#"
[scheduler]
concurrency = 8
poll = "30s"
[agents.swe-backend]
kind = "command"
sandbox = "none"
command = ["true"]
slots = 8
on_exit_ok = "done"
[agents.clock]
kind = "command"
sandbox = "none"
command = ["sh", "-c", "date +%s%N > \"$ADJUTANT_RUN_DIR/began\""]
on_exit_ok = "done"
"#;

pub(crate) fn measure(report: &mut BenchReport, tasks: usize, quick: bool) {
    measure_idle(report, tasks, quick);
    throughput::measure(report, tasks, if quick { 50 } else { 400 });
}

/// A running daemon; dropping this value ends it.
pub(crate) struct BenchDaemon(pub(crate) Child);

impl BenchDaemon {
    pub(crate) fn start(folder: &BenchFolder) -> Self {
        let mut command = Command::new(adjutant_program());
        command.arg("--data").arg(folder.root()).arg("up").stdout(Stdio::null());
        let up = Self(command.spawn().expect("a daemon"));
        let door = folder.root().join("journal/door");
        wait_until(|| door.exists());
        up
    }

    /// Reads a field of `/proc/PID/status`, in kB.
    pub(crate) fn status_kilobytes(&self, field: &str) -> u64 {
        status_kilobytes(self.0.id(), field)
    }

    /// Returns the processor time the daemon has used, in ticks of 10 ms.
    fn cpu_ticks(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("it runs");
        let rest = text.rsplit(')').next().expect("fields");
        let number = |n: usize| rest.split_whitespace().nth(n).and_then(|word| word.parse().ok());
        number(11).unwrap_or(0_u64) + number(12).unwrap_or(0_u64)
    }
}

/// Reads a field of `/proc/PID/status`, in kB.
pub(crate) fn status_kilobytes(pid: u32, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = text.lines().find(|line| line.starts_with(field)).expect("a field");
    line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number")
}

impl Drop for BenchDaemon {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.0.wait();
    }
}

fn measure_idle(report: &mut BenchReport, tasks: usize, quick: bool) {
    let folder = make_ready_folder(tasks, 0);
    fs::write(folder.root().join("adjutant.toml"), NOOP_AGENTS).expect("a configuration");
    let up = BenchDaemon::start(&folder);
    let floor = median(31, time_bare_agent);
    let rounds = if quick { 5 } else { 21 };
    let mut number = 0;
    let began = median(rounds, || {
        number += 1;
        time_to_start(&folder, number)
    });
    let ratio = format!("{:.1}x", began.as_secs_f64() / floor.as_secs_f64());
    let what = format!("task add to agent started, {tasks} tasks");
    report.add_row(
        &what,
        format_ms(began),
        format!("{} (sh and date)", format_ms(floor)),
        ratio,
        "< 50 ms",
    );
    let (before, start) = (up.cpu_ticks(), Instant::now());
    std::thread::sleep(Duration::from_secs(if quick { 2 } else { 20 }));
    let used = (up.cpu_ticks() - before) as f64 / 100.0 / start.elapsed().as_secs_f64() * 100.0;
    let what = format!("daemon idle, {tasks} tasks: processor");
    report.add_row(&what, format!("{used:.2} %"), String::new(), String::new(), "< 0.5 %");
    let memory = up.status_kilobytes("VmRSS") / 1024;
    let what = format!("daemon idle, {tasks} tasks: memory");
    report.add_row(&what, format!("{memory} MB"), String::new(), String::new(), "< 150 MB");
    drop(up);
    report.keep_folder(folder.into_home());
}

/// Adds a task and returns the time until its agent runs.
fn time_to_start(folder: &BenchFolder, number: usize) -> Duration {
    let start = SystemTime::now();
    let mut add = Command::new(adjutant_program());
    add.arg("--data").arg(folder.root());
    add.args(["task", "add", &format!("Look at the clock {number}"), "--agent", "clock"]);
    add.args(["--status", "ready", "--review", "none"]);
    let output = add.output().expect("a command");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let id = text.split_whitespace().next().expect("the id of the task").to_owned();
    let began = folder.root().join("runs").join(&id).join("began");
    let read = || fs::read_to_string(&began).ok()?.trim().parse::<u64>().ok();
    wait_until(|| read().is_some());
    let done = folder.root().join(format!("tasks/done/{id}.md"));
    wait_until(|| done.exists());
    let start = start.duration_since(UNIX_EPOCH).expect("after 1970");
    Duration::from_nanos(read().expect("a time")).saturating_sub(start)
}

/// Runs the agent's command without the daemon: the floor.
fn time_bare_agent() -> Duration {
    let start = Instant::now();
    let mut command = Command::new("sh");
    command.args(["-c", "date +%s%N"]).stdout(Stdio::null());
    assert!(command.status().is_ok_and(|status| status.success()), "there is no shell");
    start.elapsed()
}

pub(crate) fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::sleep(Duration::from_millis(1));
    }
}
