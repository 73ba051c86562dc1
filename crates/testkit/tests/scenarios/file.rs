//! Steps about files of the data folder, compared as a whole.

use adjutant_store::taskfile;
use serde_json::Value;

use crate::scenario_state::ScenarioState;
use crate::steps::StepDefinition;

pub(crate) const STEPS: &[StepDefinition] = &[
    ("there is a file {path}", |scene, words| {
        assert!(scene.project.path(words.captured(0)).is_file());
    }),
    ("{path} holds:", |scene, words| check_json(scene, words.captured(0), &words.json())),
    ("{path} reads:", |scene, words| {
        assert_eq!(scene.project.read(words.captured(0)), words.text());
    }),
    ("{path} is written again with the same content", |scene, words| {
        let path = words.captured(0);
        assert_eq!(Some(&scene.project.read(path)), scene.files_before().get(path));
    }),
    ("no task and no run has changed", |scene, _| {
        assert_eq!(scene.files(), *scene.files_before());
    }),
    ("no half-written file is left behind", |scene, _| {
        // Old task texts are kept here to be reused, and must be complete.
        let kept = std::fs::read_dir(scene.project.path("journal/tmp")).expect("a folder");
        for kept in kept.map(|kept| kept.expect("a file").path()) {
            let text = std::fs::read_to_string(&kept).expect("a file");
            assert!(taskfile::parse(&text, None, None).is_ok(), "{}: {text}", kept.display());
        }
    }),
];

/// Compares a file with a document: the same fields in the same order, and nothing else.
pub(crate) fn check_json(scene: &ScenarioState, path: &str, expected: &Value) {
    assert_eq!(scene.project.read(path), json_text(expected));
}

/// Formats a document as it is stored on disk.
pub(crate) fn json_text(document: &Value) -> String {
    format!("{document:#}\n")
}
