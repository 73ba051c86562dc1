//! Obstacles: something on disk that stands in the router's way, and is cleared again.

use std::fs;

use crate::scene::Scene;
use crate::steps::Known;
use crate::words::Words;

pub(crate) const STEPS: &[Known] = &[
    ("a plain file stands where the folder {path} should be", block),
    ("the plain file at {path} is cleared away", clear),
];

/// Where a folder waits while something else has its place.
const ASIDE: &str = "aside";

/// Permissions would not stop root; a file where a folder should be stops everybody.
fn block(scene: &mut Scene, words: &Words) {
    scene.engine();
    let (path, aside) = (scene.project.path(words.at(0)), scene.project.home().join(ASIDE));
    if path.exists() {
        fs::rename(&path, aside).expect("the folder moves aside");
    }
    fs::write(path, "in the way\n").expect("a plain file");
}

fn clear(scene: &mut Scene, words: &Words) {
    let (path, aside) = (scene.project.path(words.at(0)), scene.project.home().join(ASIDE));
    fs::remove_file(&path).expect("the plain file goes");
    if aside.exists() {
        fs::rename(aside, path).expect("the folder comes back");
    }
}
