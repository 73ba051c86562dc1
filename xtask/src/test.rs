//! `cargo xtask test`: everything a change must pass, on a machine that has only Rust.
//!
//! Building takes every core and comes first, while the tools are installed. Then the tests run,
//! and beside them lint, docs, clients and the browser.

mod part;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, thread};

use crate::clients::target;
use crate::step::{Failure, Lane, Steps, cargo, say};
use crate::{browser, clients, tools};

use part::{Part, TestFilter};

/// The environment variable in which nextest looks for the number of tests to run at once.
const TEST_THREADS: &str = "NEXTEST_TEST_THREADS";

/// Runs the whole suite, or the parts named on the command line in their order.
pub(crate) fn run(parts: &[String]) -> Result<(), Failure> {
    let parts: Vec<Part> = parts.iter().map(|part| Part::parse(part)).collect::<Result<_, _>>()?;
    let steps = Steps::new();
    if parts.is_empty() {
        all(&steps)?;
    }
    for part in parts {
        run_part(&steps.foreground(), &part)?;
    }
    steps.finish();
    Ok(())
}

/// Renews the golden files.
pub(crate) fn renew_golden() -> Result<(), Failure> {
    let steps = Steps::new();
    let mut renew = nextest_or_test(&Part::golden_filter());
    steps.foreground().run("golden", renew.env("ADJUTANT_GOLDEN_RENEW", "1"))?;
    say("== golden files renewed: look at them with `git diff golden`");
    Ok(())
}

fn all(steps: &Steps) -> Result<(), Failure> {
    let lane = steps.foreground();
    thread::scope(|scope| {
        let installing = scope.spawn(|| install(&steps.background()));
        format(&lane)?;
        build(&lane)?;
        join(installing)?;
        let checking = scope.spawn(|| check(&steps.background()));
        let tested = test_built(&lane, &[]);
        // Both are worth knowing, and the tests were the longer wait.
        join(checking).and(tested)
    })
}

fn join(lane: thread::ScopedJoinHandle<'_, Result<(), Failure>>) -> Result<(), Failure> {
    lane.join().unwrap_or_else(|_| Err(Failure::new("a lane of steps panicked")))
}

fn install(lane: &Lane<'_>) -> Result<(), Failure> {
    tools_step(lane)?;
    clients::install(lane)?;
    browser::install(lane)
}

/// Runs everything but the tests. The program that the clients call is built with the tests.
fn check(lane: &Lane<'_>) -> Result<(), Failure> {
    lint(lane)?;
    document(lane)?;
    clients::run_all(lane, clients::FUZZ_SHORT)?;
    browser::run_all(lane)
}

fn run_part(lane: &Lane<'_>, part: &Part) -> Result<(), Failure> {
    match part {
        Part::Format => format(lane),
        Part::Lint => lint(lane),
        Part::Docs => document(lane),
        Part::Clients => clients::all(lane, clients::FUZZ_SHORT),
        Part::Browser => browser::all(lane),
        Part::Tests(filter) => {
            tools_step(lane)?;
            test(lane, filter, &[])
        }
    }
}

fn tools_step(lane: &Lane<'_>) -> Result<(), Failure> {
    lane.step("tools", "what the tests need from the machine", || tools::provide_for_tests(lane))
}

fn format(lane: &Lane<'_>) -> Result<(), Failure> {
    if !tools::has_cargo("fmt") {
        return lane.skip("format", "rustfmt is not installed", "`rustup component add rustfmt`");
    }
    let unformatted = |failure: Failure| failure.hint("the same without `--check` formats it");
    lane.run("format", &mut cargo(&["fmt", "--all", "--check"])).map_err(unformatted)?;
    let fuzz = ["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"];
    lane.run("format", &mut cargo(&fuzz)).map_err(unformatted)
}

fn lint(lane: &Lane<'_>) -> Result<(), Failure> {
    if !tools::has_cargo("clippy") {
        return lane.skip("lint", "clippy is not installed", "`rustup component add clippy`");
    }
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    lane.run("lint", &mut cargo(&clippy))
}

fn document(lane: &Lane<'_>) -> Result<(), Failure> {
    let mut doc = cargo(&["doc", "--no-deps", "--workspace"]);
    lane.run("docs", doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    lane.run("doctests", &mut cargo(&["test", "--doc", "--workspace"]))
}

/// Builds every test, and with them the program.
fn build(lane: &Lane<'_>) -> Result<(), Failure> {
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

/// Runs every test that [`build`] has built, without cargo: it would wait for the lint, which holds
/// cargo's lock.
fn test_built(lane: &Lane<'_>, settings: &[(&str, &str)]) -> Result<(), Failure> {
    if !tools::has_cargo("nextest") {
        return test(lane, &TestFilter::everything(), settings);
    }
    let built = BuiltTests::new();
    let mut command = cargo(&["nextest", "run", "--binaries-metadata"]);
    command.arg(&built.binaries).arg("--cargo-metadata").arg(&built.metadata);
    run_tests(lane, &mut command, settings)
}

/// Where nextest is told which tests there are.
struct BuiltTests {
    binaries: PathBuf,
    metadata: PathBuf,
}

impl BuiltTests {
    fn new() -> Self {
        let at = |name: &str| target().join(name);
        Self { binaries: at("test-binaries.json"), metadata: at("test-metadata.json") }
    }
}

fn create(path: &Path) -> Result<File, Failure> {
    File::create(path)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

/// Runs tests with these settings in their environment, then names those that skipped themselves.
pub(crate) fn test(
    lane: &Lane<'_>,
    filter: &TestFilter,
    settings: &[(&str, &str)],
) -> Result<(), Failure> {
    run_tests(lane, &mut nextest_or_test(filter), settings)
}

fn run_tests(
    lane: &Lane<'_>,
    command: &mut Command,
    settings: &[(&str, &str)],
) -> Result<(), Failure> {
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

/// The file in which a test that cannot run on this machine says so: a test runner hides the output
/// of tests that pass.
struct SkipLog {
    path: OsString,
}

impl SkipLog {
    fn new() -> Self {
        let path = target().join("skipped-tests.log");
        let path = std::path::absolute(&path).unwrap_or(path);
        let _ = fs::remove_file(&path);
        Self { path: path.into() }
    }

    fn show(&self) {
        for line in fs::read_to_string(PathBuf::from(&self.path)).unwrap_or_default().lines() {
            say(&format!("== skipped: {line}"));
        }
    }
}

/// Runs the whole suite's tests alone, longer by what `settings` say.
pub(crate) fn soak(lane: &Lane<'_>, settings: &[(&str, &str)]) -> Result<(), Failure> {
    build(lane)?;
    test_built(lane, settings)
}
