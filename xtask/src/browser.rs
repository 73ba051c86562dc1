//! The board in a real browser: what a person does there, and pictures of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clients::{self, target};
use crate::step::{Failure, Lane, Steps};
use crate::tools::{self, Tool};

/// What comes from Debian.
const FROM_DEBIAN: [Tool; 4] = [
    Tool { name: "chromium", package: "chromium" },
    Tool { name: "fc-list", package: "fontconfig" },
    Tool { name: "node", package: "nodejs" },
    Tool { name: "npm", package: "npm" },
];

/// What comes from npm: what drives the browser, and what looks for barriers.
const FROM_NPM: [&str; 2] = ["playwright-core@1.65.0", "axe-core@4.14.0"];

/// Where the scripts are that drive it.
const SCRIPTS: &str = "crates/cli/tests/browser";

/// Installs the browser, builds the program and drives the board.
pub(crate) fn all(lane: &Lane<'_>) -> Result<(), Failure> {
    install(lane)?;
    lane.run("build", &mut clients::build_program())?;
    run_all(lane)
}

/// Installs the browser and what drives it.
pub(crate) fn install(lane: &Lane<'_>) -> Result<(), Failure> {
    lane.step("browser", "Chromium, and what drives it", || provide(lane, &home()))
}

/// Drives the board of the program that is built.
pub(crate) fn run_all(lane: &Lane<'_>) -> Result<(), Failure> {
    lane.run("board", &mut script("board.mjs"))
}

/// Drives the board in a browser, and nothing else.
pub(crate) fn run_alone() -> Result<(), Failure> {
    let steps = Steps::new();
    all(&steps.foreground())?;
    steps.finish();
    Ok(())
}

/// Takes a picture of every page.
pub(crate) fn screenshots() -> Result<(), Failure> {
    let steps = Steps::new();
    let lane = steps.foreground();
    install(&lane)?;
    lane.run("build", &mut clients::build_program())?;
    lane.run("pictures", script("screenshots.mjs").arg(target().join("pictures")))?;
    steps.finish();
    Ok(())
}

fn home() -> PathBuf {
    target().join("tools/browser")
}

fn script(name: &str) -> Command {
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let mut command = Command::new(clients::node());
    command
        .env("CHROMIUM", tools::path_of("chromium").unwrap_or_default())
        .arg(Path::new(SCRIPTS).join(name))
        .arg(absolute(target().join("debug/adjutant")))
        .arg(absolute(home().join("node_modules")));
    command
}

/// Installs what is not there yet; a file says what was, so that the next time costs nothing.
fn provide(lane: &Lane<'_>, home: &Path) -> Result<(), Failure> {
    tools::provide(lane, &FROM_DEBIAN)?;
    let (stamp, wanted) = (home.join("installed"), FROM_NPM.join(" "));
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    let io = |error| Failure::new(format!("cannot write to {}: {error}", home.display()));
    fs::create_dir_all(home).map_err(io)?;
    let npm = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
    lane.call(Command::new("npm").args(npm).arg(home).args(FROM_NPM))?;
    fs::write(stamp, wanted).map_err(io)
}
