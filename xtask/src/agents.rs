//! `cargo xtask agents`: real agents from their packages, offline, with a scripted model.
//!
//! What is done with them is in `xtask/agents/run.py`, and over the Agent Client Protocol in
//! `xtask/agents/acp.py`; no model and no account is needed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Failure, Lane, Steps, cargo};
use crate::tools::{self, Tool};

/// What installs agents and plays the model.
const NEEDED: [Tool; 3] = [
    Tool { name: "npm", package: "npm" },
    Tool { name: "python3", package: "python3" },
    Tool { name: "git", package: "git" },
];

/// The packages, in the versions the adapters were tried with.
const PACKAGES: [&str; 7] = [
    "@openai/codex@0.166.0",
    "@anthropic-ai/claude-code@2.1.325",
    "@aaif/goose-binary-linux-x64@1.52.0",
    "@agentclientprotocol/claude-agent-acp@0.99.1",
    "@agentclientprotocol/codex-acp@2.6.0",
    "@google/gemini-cli@0.61.0",
    "opencode-ai@1.18.33",
];

/// What is done with the agents.
const SCRIPTS: [(&str, &str); 2] =
    [("agents", "xtask/agents/run.py"), ("agents over ACP", "xtask/agents/acp.py")];

/// Installs the agents below `target`, and has them work and fail: all parts, or these.
pub(crate) fn run(parts: &[String]) -> Result<(), Failure> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let steps = Steps::new();
    let lane = steps.foreground();
    lane.step("tools", "what the agents need from the machine", || tools::provide(&lane, &NEEDED))?;
    lane.step("install", &PACKAGES.join(" "), || install(&lane, &target.join("agents")))?;
    lane.run("build", &mut cargo(&["build", "--package", "adjutant"]))?;
    for (name, script) in SCRIPTS {
        let mut played = Command::new("python3");
        played.arg(script).arg(target.join("debug/adjutant"));
        played.arg(target.join("agents/node_modules")).args(parts);
        lane.run(name, &mut played)?;
    }
    steps.finish();
    Ok(())
}

fn install(lane: &Lane<'_>, folder: &Path) -> Result<(), Failure> {
    let installed = folder.join("installed");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&installed).is_ok_and(|before| before == wanted) {
        return Ok(());
    }
    let unwritten = |error| Failure::new(format!("cannot write to {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(unwritten)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-save"]).args(PACKAGES);
    lane.call(npm.arg("--prefix").arg(folder))?;
    // npm does not run what packages want run; this one puts its program in its place.
    let place = folder.join("node_modules/@anthropic-ai/claude-code/install.cjs");
    lane.call(Command::new("node").arg(place))?;
    std::fs::write(installed, wanted).map_err(unwritten)
}
