//! `cargo xtask agents`: real agents from their packages, offline, with a scripted model.
//!
//! The tests are in `xtask/agents/run.py`, for the Agent Client Protocol in `xtask/agents/acp.py`,
//! and for the `strict` sandbox in `xtask/agents/strict.py`; they need no model and no account.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{StepFailure, StepLane, StepLog, cargo};
use crate::tools::{self, DebianTool};

/// Programs that install agents and play the model.
const NEEDED: [DebianTool; 5] = [
    DebianTool { name: "bwrap", package: "bubblewrap" },
    DebianTool { name: "curl", package: "curl" },
    DebianTool { name: "npm", package: "npm" },
    DebianTool { name: "python3", package: "python3" },
    DebianTool { name: "git", package: "git" },
];

/// The packages, in the versions the adapters were tested with.
const PACKAGES: [&str; 7] = [
    "@openai/codex@0.166.0",
    "@anthropic-ai/claude-code@2.1.325",
    "@aaif/goose-binary-linux-x64@1.52.0",
    "@agentclientprotocol/claude-agent-acp@0.99.1",
    "@agentclientprotocol/codex-acp@2.6.0",
    "@google/gemini-cli@0.61.0",
    "opencode-ai@1.18.33",
];

const SCRIPTS: [(&str, &str); 3] = [
    ("agents", "xtask/agents/run.py"),
    ("agents over ACP", "xtask/agents/acp.py"),
    ("agents in the strict sandbox", "xtask/agents/strict.py"),
];

/// Installs the agents below `target` and runs all parts, or these, in which they work and fail.
pub(crate) fn run(parts: &[String]) -> Result<(), StepFailure> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let steps = StepLog::new();
    let lane = steps.foreground();
    lane.step("tools", "what the agents need from the machine", || {
        tools::ensure_installed(&lane, &NEEDED)
    })?;
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

fn install(lane: &StepLane<'_>, folder: &Path) -> Result<(), StepFailure> {
    let installed = folder.join("installed");
    let expected = PACKAGES.join("\n");
    if std::fs::read_to_string(&installed).is_ok_and(|before| before == expected) {
        return Ok(());
    }
    let unwritten =
        |error| StepFailure::new(format!("cannot write to {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(unwritten)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-save"]).args(PACKAGES);
    lane.call(npm.arg("--prefix").arg(folder))?;
    // npm does not run install scripts here, and this package needs its own to place its program.
    let place = folder.join("node_modules/@anthropic-ai/claude-code/install.cjs");
    lane.call(Command::new("node").arg(place))?;
    std::fs::write(installed, expected).map_err(unwritten)
}
