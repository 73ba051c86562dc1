//! Measures opening a folder, without the index and with it.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use adjutant_engine::Engine;
use adjutant_model::{Policy, Status};
use adjutant_process::clock::SystemClock;
use adjutant_store::FileStore;
use adjutant_store::file::DataFolder;

use crate::bench_folder::BenchFolder;
use crate::report::BenchReport;

/// Measures opening in a process of its own, so that its memory can be measured.
pub(crate) fn measure(report: &mut BenchReport, sized: &BenchFolder) {
    let floor = median(5, || stat_every_file(&sized.root()));
    let tasks = sized.tasks;
    let (cold, cold_mb) = open_in_child(&sized.root());
    let warm: Vec<(Duration, f64)> = (0..5).map(|_| open_in_child(&sized.root())).collect();
    let best = warm.iter().map(|(time, _)| *time).min().unwrap_or_default();
    let mb = warm.iter().map(|(_, mb)| *mb).fold(0.0, f64::max);
    let ratio = |time: Duration| format!("{:.1}x", time.as_secs_f64() / floor.as_secs_f64());
    let floor_text = format!("{} (stat of every file)", format_ms(floor));
    let what = format!("open, no index, {tasks} tasks");
    report.add_row(
        &what,
        format!("{}, {cold_mb:.0} MB", format_ms(cold)),
        floor_text.clone(),
        ratio(cold),
        "",
    );
    let what = format!("open, with index, {tasks} tasks");
    let target = if tasks >= 100_000 { "< 1000 ms, < 150 MB" } else { "" };
    report.add_row(
        &what,
        format!("{}, {mb:.0} MB", format_ms(best)),
        floor_text,
        ratio(best),
        target,
    );
}

/// Opens a folder and prints the duration in microseconds and the memory in kB.
pub(crate) fn run_child(path: &str) -> ExitCode {
    let folder = DataFolder::at(Path::new(path)).expect("a data folder");
    let start = Instant::now();
    let (store, loaded) = FileStore::open(&folder).expect("it opens");
    let started = Engine::start(store, loaded, Box::new(SystemClock), Policy::default());
    let mut engine = started.expect("it starts");
    let took = start.elapsed();
    engine.rest().expect("at rest");
    println!("{} {}", took.as_micros(), memory_kb());
    ExitCode::SUCCESS
}

fn open_in_child(root: &Path) -> (Duration, f64) {
    let own = std::env::current_exe().expect("this program has a path");
    let output = Command::new(own).args(["--child", "open"]).arg(root).output().expect("a child");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace().map(|word| word.parse::<u64>().unwrap_or(0));
    let (micros, kb) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
    (Duration::from_micros(micros), kb as f64 / 1024.0)
}

/// Returns the peak memory of this process.
fn memory_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0)
}

fn stat_every_file(root: &Path) -> Duration {
    let start = Instant::now();
    for status in Status::ALL {
        for entry in
            std::fs::read_dir(root.join("tasks").join(status.as_str())).into_iter().flatten()
        {
            let entry = entry.expect("an entry");
            std::hint::black_box(entry.metadata().expect("its look"));
        }
    }
    start.elapsed()
}

pub(crate) fn median(times: usize, run: impl FnMut() -> Duration) -> Duration {
    let mut all: Vec<Duration> = std::iter::repeat_with(run).take(times).collect();
    all.sort_unstable();
    all[all.len() / 2]
}

pub(crate) fn format_ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}
