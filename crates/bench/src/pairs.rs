//! The floor of a run: two processes one below the other, a folder, a sync, and no thought.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::report::Report;

/// Returns how many pairs a second this machine starts and ends, so many at once.
pub(crate) fn rate(report: &mut Report, pairs: usize, at_once: usize) -> f64 {
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
                    one(&own, &home.path().join(number.to_string()));
                }
            });
        }
    });
    let took = start.elapsed();
    report.keep(home);
    pairs as f64 / took.as_secs_f64()
}

/// What a daemon must do for a run at the very least: a folder, and a process in it.
fn one(program: &Path, folder: &Path) {
    fs::create_dir(folder).expect("a folder");
    let mut upper = Command::new(program);
    upper.args(["--child", "pair"]).arg(folder);
    assert!(upper.status().is_ok_and(|status| status.success()), "the upper process failed");
}

/// The upper process of a pair: writes down that it has begun and makes that safe, starts the lower
/// one with its pipes, waits for it, and writes down how it ended.
pub(crate) fn child(folder: &str) -> ExitCode {
    let folder = Path::new(folder);
    fs::write(folder.join("begun"), [b'x'; 200]).expect("room");
    File::open(folder).and_then(|file| file.sync_all()).expect("a sync");
    let mut lower = Command::new("true");
    lower.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = lower.output().expect("the lower process");
    fs::write(folder.join("ended"), format!("{:?}", output.status)).expect("room");
    ExitCode::SUCCESS
}
