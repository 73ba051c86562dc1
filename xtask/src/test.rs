//! `cargo xtask test`: everything a change must pass, on a machine that has only Rust.
//!
//! The tests come last, so that the last thing a runner says is how many of them passed.

use crate::step::{Failure, Steps, cargo};
use crate::{browser, clients, tools};

/// Runs every check, and stops at the first that fails.
pub(crate) fn run() -> Result<(), Failure> {
    let mut steps = Steps::new();
    steps.step("tools", "what the tests need from the machine", tools::provide_for_tests)?;
    format(&mut steps)?;
    lint(&mut steps)?;
    document(&mut steps)?;
    clients::all(&mut steps, clients::FUZZ_SHORT)?;
    browser::test(&mut steps)?;
    test(&mut steps, &[])?;
    steps.finish();
    Ok(())
}

fn format(steps: &mut Steps) -> Result<(), Failure> {
    if !tools::has_cargo("fmt") {
        steps.skip("format", "rustfmt is not here");
        return Ok(());
    }
    let unformatted = |failure: Failure| failure.hint("the same without `--check` formats it");
    steps.run("format", &mut cargo(&["fmt", "--all", "--check"])).map_err(unformatted)?;
    let fuzz = ["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"];
    steps.run("format", &mut cargo(&fuzz)).map_err(unformatted)
}

fn lint(steps: &mut Steps) -> Result<(), Failure> {
    if !tools::has_cargo("clippy") {
        steps.skip("lint", "clippy is not here");
        return Ok(());
    }
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    steps.run("lint", &mut cargo(&clippy))
}

fn document(steps: &mut Steps) -> Result<(), Failure> {
    let mut doc = cargo(&["doc", "--no-deps", "--workspace"]);
    steps.run("docs", doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Builds and runs every test, with these settings in its environment.
pub(crate) fn test(steps: &mut Steps, settings: &[(&str, &str)]) -> Result<(), Failure> {
    let runner: &[&str] = if tools::has_cargo("nextest") {
        &["nextest", "run", "--workspace"]
    } else {
        &["test", "--no-fail-fast", "--workspace"]
    };
    // Doctests apart: one runner leaves them out, and the other would end with them.
    let kinds = ["--lib", "--bins", "--tests"];
    steps.run("build", cargo(runner).args(kinds).arg("--no-run"))?;
    steps.run("doctests", &mut cargo(&["test", "--doc", "--workspace"]))?;
    steps.run("tests", cargo(runner).args(kinds).envs(settings.iter().copied()))
}
