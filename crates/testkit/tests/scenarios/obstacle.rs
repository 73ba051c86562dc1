//! Steps about obstacles: a file in the router's way, and its removal.

use std::fs;

use crate::scenario_state::ScenarioState;
use crate::step_arguments::StepArguments;
use crate::steps::StepDefinition;

pub(crate) const STEPS: &[StepDefinition] = &[
    ("a plain file stands where the folder {path} should be", block),
    ("the plain file at {path} is cleared away", clear),
];

/// The place of a folder while an obstacle replaces it.
const ASIDE: &str = "aside";

/// Permissions would not stop root; a file in place of a folder does.
fn block(scene: &mut ScenarioState, words: &StepArguments) {
    scene.engine();
    let (path, aside) = (scene.project.path(words.captured(0)), scene.project.home().join(ASIDE));
    if path.exists() {
        fs::rename(&path, aside).expect("the folder moves aside");
    }
    fs::write(path, "in the way\n").expect("a plain file");
}

fn clear(scene: &mut ScenarioState, words: &StepArguments) {
    let (path, aside) = (scene.project.path(words.captured(0)), scene.project.home().join(ASIDE));
    fs::remove_file(&path).expect("the plain file goes");
    if aside.exists() {
        fs::rename(aside, path).expect("the folder comes back");
    }
}
