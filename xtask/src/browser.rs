//! The board in a real browser: what a person does there, and pictures of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clients::{self, target};
use crate::step::{Failure, Steps, cargo, run};
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

/// Drives the board in a browser.
pub(crate) fn test(steps: &mut Steps) -> Result<(), Failure> {
    let mut script = prepared(steps, "board.mjs")?;
    steps.run("board", &mut script)
}

/// Drives the board in a browser, and nothing else.
pub(crate) fn run_alone() -> Result<(), Failure> {
    let mut steps = Steps::new();
    test(&mut steps)?;
    steps.finish();
    Ok(())
}

/// Takes a picture of every page.
pub(crate) fn screenshots() -> Result<(), Failure> {
    let mut steps = Steps::new();
    let mut script = prepared(&mut steps, "screenshots.mjs")?;
    steps.run("pictures", script.arg(target().join("pictures")))?;
    steps.finish();
    Ok(())
}

/// Sees to everything a script needs, and returns how to run it.
fn prepared(steps: &mut Steps, script: &str) -> Result<Command, Failure> {
    let home = target().join("tools/browser");
    steps.step("browser", "Chromium, and what drives it", || provide(&home))?;
    steps.run("build", &mut cargo(&["build", "--package", "adjutant"]))?;
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let mut command = Command::new(clients::node());
    command
        .env("CHROMIUM", tools::path_of("chromium").unwrap_or_default())
        .arg(Path::new(SCRIPTS).join(script))
        .arg(absolute(target().join("debug/adjutant")))
        .arg(absolute(home.join("node_modules")));
    Ok(command)
}

/// Installs what is not there yet; a file says what was, so that the next time costs nothing.
fn provide(home: &Path) -> Result<(), Failure> {
    tools::provide(&FROM_DEBIAN)?;
    let (stamp, wanted) = (home.join("installed"), FROM_NPM.join(" "));
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    let io = |error| Failure::new(format!("cannot write to {}: {error}", home.display()));
    fs::create_dir_all(home).map_err(io)?;
    let npm = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
    run(Command::new("npm").args(npm).arg(home).args(FROM_NPM))?;
    fs::write(stamp, wanted).map_err(io)
}
