//! Tests of the board in a real browser, and screenshots of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clients::{self, target_folder};
use crate::step::{StepFailure, StepLane, StepLog};
use crate::tools::{self, DebianTool};

const FROM_DEBIAN: [DebianTool; 4] = [
    DebianTool { name: "chromium", package: "chromium" },
    DebianTool { name: "fc-list", package: "fontconfig" },
    DebianTool { name: "node", package: "nodejs" },
    DebianTool { name: "npm", package: "npm" },
];

/// npm packages: one drives the browser, one checks accessibility.
const FROM_NPM: [&str; 2] = ["playwright-core@1.65.0", "axe-core@4.14.0"];

/// The folder of the scripts that drive the browser.
const SCRIPTS: &str = "crates/cli/tests/browser";

pub(crate) fn all(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    install(lane)?;
    lane.run("build", &mut clients::build_program())?;
    run_all(lane)
}

pub(crate) fn install(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    lane.step("browser", "Chromium, and what drives it", || provide(lane, &tools_folder()))
}

pub(crate) fn run_all(lane: &StepLane<'_>) -> Result<(), StepFailure> {
    lane.run("board", &mut script_command("board.mjs"))?;
    lane.run("review", &mut script_command("review.mjs"))
}

/// Tests the board in a browser, and nothing else.
pub(crate) fn run_alone() -> Result<(), StepFailure> {
    let steps = StepLog::new();
    all(&steps.foreground())?;
    steps.finish();
    Ok(())
}

/// Takes a screenshot of every page.
pub(crate) fn screenshots() -> Result<(), StepFailure> {
    let steps = StepLog::new();
    let lane = steps.foreground();
    install(&lane)?;
    lane.run("build", &mut clients::build_program())?;
    lane.run("pictures", script_command("screenshots.mjs").arg(target_folder().join("pictures")))?;
    steps.finish();
    Ok(())
}

fn tools_folder() -> PathBuf {
    target_folder().join("tools/browser")
}

fn script_command(name: &str) -> Command {
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let mut command = Command::new(clients::node_program());
    command
        .env("CHROMIUM", tools::find_program("chromium").unwrap_or_default())
        .arg(Path::new(SCRIPTS).join(name))
        .arg(absolute(target_folder().join("debug/adjutant")))
        .arg(absolute(tools_folder().join("node_modules")));
    command
}

/// Installs what is missing; a stamp file records the versions, so that the next call is free.
fn provide(lane: &StepLane<'_>, home: &Path) -> Result<(), StepFailure> {
    tools::ensure_installed(lane, &FROM_DEBIAN)?;
    let (stamp, expected) = (home.join("installed"), FROM_NPM.join(" "));
    if fs::read_to_string(&stamp).is_ok_and(|there| there == expected) {
        return Ok(());
    }
    let io = |error| StepFailure::new(format!("cannot write to {}: {error}", home.display()));
    fs::create_dir_all(home).map_err(io)?;
    let npm = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
    lane.call(Command::new("npm").args(npm).arg(home).args(FROM_NPM))?;
    fs::write(stamp, expected).map_err(io)
}
