//! `cargo xtask fuzz`: every target for its share of the time, as many at once as there are cores.
//!
//! New inputs go to a scratch corpus under the target folder; `fuzz/corpus/` holds inputs that a
//! person chose to keep, and nothing is added to it here.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::{env, io, thread};

use crate::step::{StepFailure, StepLane, StepLog, cargo, print_line};
use crate::tools;

/// Output lines of a fuzzer that are shown when it found something.
const LINES_SHOWN: usize = 40;

/// Fuzzes these targets; all of them if the list is empty.
pub(crate) fn run(targets: Vec<String>, minutes: u64) -> Result<(), StepFailure> {
    let steps = StepLog::new();
    all(&steps.foreground(), targets, minutes)?;
    steps.finish();
    Ok(())
}

/// Fuzzes these targets, or all, as steps of another command.
pub(crate) fn all(
    lane: &StepLane<'_>,
    targets: Vec<String>,
    minutes: u64,
) -> Result<(), StepFailure> {
    let known =
        known_targets().map_err(|error| StepFailure::new(format!("cannot read fuzz/: {error}")))?;
    if let Some(unknown) = targets.iter().find(|target| !known.contains(target)) {
        let failure = StepFailure::new(format!("there is no target `{unknown}`"));
        return Err(failure.with_hint(format!("the targets are: {}", known.join(", "))));
    }
    let targets = if targets.is_empty() { known } else { targets };
    lane.step("tools", "what builds fuzzers", || {
        tools::ensure_installed(lane, &tools::FOR_FUZZING)?;
        tools::provide_cargo_fuzz(lane)
    })?;
    lane.run("fuzzers", &mut cargo_fuzz("build"))?;
    let cores = thread::available_parallelism().map_or(1, usize::from).min(targets.len());
    let secs = (minutes * 60 * cores as u64 / targets.len() as u64).max(1);
    let what = format!("{} targets, {cores} at a time, {secs} s each", targets.len());
    lane.step("fuzz", &what, || fuzz(targets, secs, cores))
}

fn known_targets() -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir("fuzz/fuzz_targets")? {
        let path = entry?.path();
        names.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
    }
    names.sort_unstable();
    Ok(names)
}

/// Lets each core take a target until none is left. A failure does not stop the other targets.
fn fuzz(targets: Vec<String>, secs: u64, cores: usize) -> Result<(), StepFailure> {
    let waiting = Mutex::new(targets);
    let next = || waiting.lock().ok().and_then(|mut waiting| waiting.pop());
    let work = || -> Vec<StepFailure> {
        let mut found = Vec::new();
        while let Some(target) = next() {
            found.extend(fuzz_one(&target, secs).err());
        }
        found
    };
    let found: Vec<StepFailure> = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    found.into_iter().next().map_or(Ok(()), Err)
}

fn fuzz_one(target: &str, secs: u64) -> Result<(), StepFailure> {
    let log = target_subfolder("fuzz-logs").join(format!("{target}.log"));
    let ended = run_fuzzer(target, secs, &log)
        .map_err(|error| StepFailure::new(format!("cannot fuzz {target}: {error}")))?;
    if ended.success() {
        print_line(&format!("   {target}: nothing found"));
        return Ok(());
    }
    let output = fs::read_to_string(&log).unwrap_or_default();
    let lines: Vec<&str> = output.lines().collect();
    print_line(&lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n"));
    let hint = format!(
        "the input is in fuzz/artifacts/{target}/; `cargo fuzz tmin` makes it small, and mended it \
         belongs in fuzz/corpus/{target}/"
    );
    Err(StepFailure::new(format!("the target {target} broke a promise")).with_hint(hint))
}

fn run_fuzzer(target: &str, secs: u64, log: &Path) -> io::Result<std::process::ExitStatus> {
    let scratch = target_subfolder("fuzz-corpus").join(target);
    fs::create_dir_all(&scratch)?;
    fs::create_dir_all(target_subfolder("fuzz-logs"))?;
    let log = File::create(log)?;
    cargo_fuzz("run")
        .arg(target)
        .arg(&scratch)
        .arg(Path::new("fuzz/corpus").join(target))
        .arg("--")
        .arg(format!("-max_total_time={secs}"))
        .args(["-timeout=20", "-print_final_stats=1"])
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .status()
}

/// Makes a call of `cargo fuzz`. No sanitizer, because it would only slow down the fuzzer: our one
/// unsafe call takes a number. The coverage flags are unstable, hence `RUSTC_BOOTSTRAP`.
fn cargo_fuzz(verb: &str) -> Command {
    let mut command = cargo(&["fuzz", verb, "--sanitizer", "none", "--target-dir"]);
    command.arg(target_subfolder("fuzz")).env("RUSTC_BOOTSTRAP", "1");
    command
}

fn target_subfolder(name: &str) -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    // Cargo runs fuzzers from another folder.
    let target = std::path::absolute(&target).unwrap_or(target);
    target.join(name)
}
