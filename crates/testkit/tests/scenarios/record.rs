//! The record: the lines that were added to it, read back from disk.

use serde_json::Value;

use crate::scene::Scene;
use crate::steps::Known;
use crate::words::Words;

pub(crate) const STEPS: &[Known] = &[
    ("the record has no new lines", |scene, _| assert_eq!(scene.new_lines(), Vec::<Value>::new())),
    ("the record has these new lines:", check_columns),
    ("the record has these new lines, whole:", check_whole),
];

/// Every new line, in order; of each the columns the table names. An empty cell is an absent field.
fn check_columns(scene: &mut Scene, words: &Words) {
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

/// Every new line as it stands in the file, but for the hash of the line before.
fn check_whole(scene: &mut Scene, words: &Words) {
    let without_hash = |mut line: Value| {
        line.as_object_mut().expect("a line is an object").remove("prev");
        line.to_string()
    };
    let lines: Vec<String> = scene.new_lines().into_iter().map(without_hash).collect();
    assert_eq!(lines, words.text().lines().collect::<Vec<_>>());
}
