//! Steps about the event log: its new lines, read from disk.

use serde_json::Value;

use crate::scenario_state::ScenarioState;
use crate::step_arguments::StepArguments;
use crate::steps::StepDefinition;

pub(crate) const STEPS: &[StepDefinition] = &[
    ("the record has no new lines", |scene, _| assert_eq!(scene.new_lines(), Vec::<Value>::new())),
    ("the record has these new lines:", check_columns),
    ("the record has these new lines, whole:", check_whole),
];

/// Compares the table's columns of every new line, in order. An empty cell is an absent field.
fn check_columns(scene: &mut ScenarioState, words: &StepArguments) {
    let (columns, expected) = words.table().split_first().expect("a table has a head");
    let cells = |line: &Value| columns.iter().map(|path| cell(line, path)).collect();
    let lines: Vec<Vec<String>> = scene.new_lines().iter().map(cells).collect();
    assert_eq!(lines, expected);
}

fn cell(line: &Value, path: &str) -> String {
    match path.split('.').fold(line, |value, key| &value[key]) {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Compares every new line completely, except for the hash of the previous line.
fn check_whole(scene: &mut ScenarioState, words: &StepArguments) {
    let without_hash = |mut line: Value| {
        line.as_object_mut().expect("a line is an object").remove("prev");
        line.to_string()
    };
    let lines: Vec<String> = scene.new_lines().into_iter().map(without_hash).collect();
    assert_eq!(lines, words.text().lines().collect::<Vec<_>>());
}
