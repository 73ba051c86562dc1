//! `cargo xtask test`: everything a change must pass, on a machine that has only Rust.
//!
//! The build uses every core and comes first, while the tools are installed. Then the tests run in
//! parallel with lint, docs, clients and the browser.

mod ordinary_user;
mod part;

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, thread};

use part::{SuitePart, TestFilter};

use crate::clients::{self, target_folder};
use crate::step::{StepFailure, StepLane, StepLog, background_cargo, cargo, print_line};
use crate::{browser, tools};

/// The environment variable with nextest's number of parallel tests.
const TEST_THREADS: &str = "NEXTEST_TEST_THREADS";

/// Runs the whole suite, or the parts named on the command line in their order.
pub(crate) fn run(parts: &[String]) -> Result<(), StepFailure> {
    let parts: Vec<SuitePart> =
        parts.iter().map(|part| SuitePart::parse(part)).collect::<Result<_, _>>()?;
    let steps = StepLog::new();
    if parts.is_empty() {
        all(&steps)?;
    }
    for part in parts {
        run_part(&steps.foreground(), &part)?;
    }
    steps.finish();
    Ok(())
}

pub(crate) fn renew_golden() -> Result<(), StepFailure> {
    let steps = StepLog::new();
    tools_step(&steps.foreground())?;
    let mut renew = nextest_or_test(&SuitePart::golden_filter());
    steps.foreground().run("golden", renew.env("ADJUTANT_GOLDEN_RENEW", "1"))?;
    print_line("== golden files renewed: look at them with `git diff golden`");
    Ok(())
}

fn all(steps: &StepLog) -> Result<(), StepFailure> {
    let lane = steps.foreground();
    thread::scope(|scope| {
        let installing = scope.spawn(|| install(&steps.background()));
        format(&lane)?;
        build(&lane)?;
        join(installing)?;
        let checking = scope.spawn(|| check(&steps.background()));
        let tested = test_built(&lane, &[])
            .and_then(|()| test_with_debian_git(&lane))
            .and_then(|()| test_as_ordinary_user(&lane));
        // Wait for both results; a failed check is reported first.
        join(checking).and(tested)
    })
}

fn join(lane: thread::ScopedJoinHandle<'_, Result<(), StepFailure>>) -> Result<(), StepFailure> {
    lane.join().unwrap_or_else(|_| Err(StepFailure::new("a lane of steps panicked")))
}

fn install(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    tools_step(lane)?;
    clients::install(lane)?;
    browser::install(lane)
}

/// Runs everything but the tests. The program that the clients call is built with the tests.
fn check(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    lint(lane)?;
    build_docs(lane)?;
    clients::run_all(lane, clients::FUZZ_SHORT)?;
    browser::run_all(lane)
}

fn run_part(lane: &StepLane<'_>, part: &SuitePart) -> Result<(), StepFailure> {
    match part {
        SuitePart::Format => format(lane),
        SuitePart::Lint => lint(lane),
        SuitePart::Docs => build_docs(lane),
        SuitePart::Clients => clients::all(lane, clients::FUZZ_SHORT),
        SuitePart::Browser => browser::all(lane),
        SuitePart::Tests(filter) => {
            tools_step(lane)?;
            test(lane, filter, &[])
        }
    }
}

fn tools_step(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    lane.step("tools", "what the tests need from the machine", || tools::ensure_test_tools(lane))
}

fn format(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    if !tools::has_cargo("fmt") {
        return lane.skip("format", "rustfmt is not installed", "`rustup component add rustfmt`");
    }
    let unformatted =
        |failure: StepFailure| failure.with_hint("the same without `--check` formats it");
    lane.run("format", &mut cargo(&["fmt", "--all", "--check"])).map_err(unformatted)?;
    let fuzz = ["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"];
    lane.run("format", &mut cargo(&fuzz)).map_err(unformatted)
}

fn lint(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    if !tools::has_cargo("clippy") {
        return lane.skip("lint", "clippy is not installed", "`rustup component add clippy`");
    }
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    lane.run("lint", &mut background_cargo(&clippy))
}

fn build_docs(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    let mut doc = background_cargo(&["doc", "--no-deps", "--workspace"]);
    lane.run("docs", doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    lane.run("doctests", &mut background_cargo(&["test", "--doc", "--workspace"]))
}

/// Builds every test, and with them the program.
fn build(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    let everything = TestFilter::everything();
    if !tools::has_cargo("nextest") {
        return lane.run("build", nextest_or_test(&everything).arg("--no-run"));
    }
    let built = BuiltTests::new();
    let mut list = cargo(&["nextest", "list", "--list-type", "binaries-only"]);
    list.args(["--message-format", "json"]).args(everything.for_nextest());
    list.stdout(create(&built.binaries)?);
    lane.run("build", &mut list)?;
    let mut metadata = cargo(&["metadata", "--format-version", "1"]);
    lane.call(metadata.stdout(create(&built.metadata)?))
}

/// Runs every test that [`build`] has built, without cargo, which would wait for the lint: that
/// holds cargo's lock.
fn test_built(lane: &StepLane<'_>, settings: &[(&str, &str)]) -> Result<(), StepFailure> {
    if !tools::has_cargo("nextest") {
        return test(lane, &TestFilter::everything(), settings);
    }
    run_tests(lane, &mut nextest_of_built(&[]), settings)
}

/// Returns nextest for the tests that [`build`] has built.
fn nextest_of_built(filter: &[&str]) -> Command {
    let built = BuiltTests::new();
    let mut command = cargo(&["nextest", "run"]);
    command.args(filter).arg("--binaries-metadata").arg(&built.binaries);
    command.arg("--cargo-metadata").arg(&built.metadata);
    command
}

/// Runs the tests that use git once more with the git of the distribution, if another one comes
/// first in `PATH`. Users have the older one.
fn test_with_debian_git(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    let debian = Path::new(DEBIAN_GIT);
    let first = tools::find_program("git").and_then(|path| path.canonicalize().ok());
    if first.is_none() || first == debian.canonicalize().ok() || !debian.exists() {
        return Ok(());
    }
    let folder = target_folder().join("debian-git");
    let link = folder.join("git");
    let linked = fs::create_dir_all(&folder).and_then(|()| {
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(debian, &link)
    });
    linked.map_err(|error| StepFailure::new(format!("cannot make {}: {error}", link.display())))?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let others = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([folder].into_iter().chain(env::split_paths(&others)));
    let path = path.map_err(|error| StepFailure::new(format!("PATH: {error}")))?;
    let mut command = if tools::has_cargo("nextest") {
        nextest_of_built(&["-E", GIT_TESTS])
    } else {
        cargo(&["test", "--no-fail-fast", "--package", "adjutant-git"])
    };
    run_tests(lane, command.env("PATH", path), &[])
}

/// Runs the tests whose result could depend on it as an ordinary user, if all others ran as root.
fn test_as_ordinary_user(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    let mut command = nextest_of_built(&["-E", ordinary_user::TESTS]);
    if tools::has_cargo("nextest") && ordinary_user::use_ordinary_user(lane, &mut command)? {
        run_tests(lane, &mut command, &[])?;
    }
    Ok(())
}

/// The git that Debian installs.
const DEBIAN_GIT: &str = "/usr/bin/git";

/// The tests that depend on git, as nextest selects them.
const GIT_TESTS: &str = "package(adjutant-git) or test(/^up::(worktrees|constraints)::/) \
                         or test(/^docs::.*_commands_print/)";

/// Files that tell nextest which tests exist.
struct BuiltTests {
    binaries: PathBuf,
    metadata: PathBuf,
}

impl BuiltTests {
    fn new() -> Self {
        let at = |name: &str| target_folder().join(name);
        Self { binaries: at("test-binaries.json"), metadata: at("test-metadata.json") }
    }
}

fn create(path: &Path) -> Result<File, StepFailure> {
    File::create(path)
        .map_err(|error| StepFailure::new(format!("cannot write {}: {error}", path.display())))
}

/// Runs tests with these environment variables, then lists those that skipped themselves.
pub(crate) fn test(
    lane: &StepLane<'_>,
    filter: &TestFilter,
    settings: &[(&str, &str)],
) -> Result<(), StepFailure> {
    run_tests(lane, &mut nextest_or_test(filter), settings)
}

fn run_tests(
    lane: &StepLane<'_>,
    command: &mut Command,
    settings: &[(&str, &str)],
) -> Result<(), StepFailure> {
    let skipped = SkipLog::new();
    command.env("ADJUTANT_SKIP_LOG", &skipped.path).envs(settings.iter().copied());
    if env::var_os(TEST_THREADS).is_none() {
        command.env(TEST_THREADS, test_threads().to_string());
    }
    let tested = lane.run("tests", command);
    skipped.show();
    tested
}

/// Most tests wait for processes and timers: three a core keep the cores busy.
fn test_threads() -> usize {
    3 * thread::available_parallelism().map_or(1, usize::from)
}

fn nextest_or_test(filter: &TestFilter) -> Command {
    if tools::has_cargo("nextest") {
        let mut command = cargo(&["nextest", "run"]);
        command.args(filter.for_nextest());
        command
    } else {
        let mut command = cargo(&["test", "--no-fail-fast"]);
        command.args(filter.for_cargo_test());
        command
    }
}

/// The file in which tests record that they cannot run on this machine. A file, because test
/// runners hide the output of tests that pass.
struct SkipLog {
    path: OsString,
}

impl SkipLog {
    fn new() -> Self {
        let path = target_folder().join("skipped-tests.log");
        let path = std::path::absolute(&path).unwrap_or(path);
        let _ = fs::remove_file(&path);
        Self { path: path.into() }
    }

    fn show(&self) {
        for line in fs::read_to_string(PathBuf::from(&self.path)).unwrap_or_default().lines() {
            print_line(&format!("== skipped: {line}"));
        }
    }
}

/// Runs all tests alone, with the longer `settings`.
pub(crate) fn soak(lane: &StepLane<'_>, settings: &[(&str, &str)]) -> Result<(), StepFailure> {
    build(lane)?;
    test_built(lane, settings)
}
