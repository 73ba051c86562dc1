//! The floor of a run: a parent and a child process, a folder and a sync, without decisions.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::report::BenchReport;

/// Returns how many pairs per second this machine starts and ends, with `at_once` at a time.
pub(crate) fn measure_pair_rate(report: &mut BenchReport, pairs: usize, at_once: usize) -> f64 {
    let home = tempfile::Builder::new().prefix("adjutant-pairs-").tempdir().expect("a folder");
    let own = std::env::current_exe().expect("this program has a path");
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= pairs {
                        return;
                    }
                    run_pair(&own, &home.path().join(number.to_string()));
                }
            });
        }
    });
    let took = start.elapsed();
    report.keep_folder(home);
    pairs as f64 / took.as_secs_f64()
}

/// Does the least a daemon must do for a run: makes a folder and runs a process in it.
fn run_pair(program: &Path, folder: &Path) {
    fs::create_dir(folder).expect("a folder");
    let mut upper = Command::new(program);
    upper.args(["--child", "pair"]).arg(folder);
    assert!(upper.status().is_ok_and(|status| status.success()), "the upper process failed");
}

/// The parent of a pair: records its start and syncs that, starts the child with its pipes, waits
/// for it, and records its exit status.
pub(crate) fn run_pair_parent(folder: &str) -> ExitCode {
    let folder = Path::new(folder);
    fs::write(folder.join("begun"), [b'x'; 200]).expect("room");
    File::open(folder).and_then(|file| file.sync_all()).expect("a sync");
    let mut lower = Command::new("true");
    lower.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = lower.output().expect("the lower process");
    fs::write(folder.join("ended"), format!("{:?}", output.status)).expect("room");
    ExitCode::SUCCESS
}
