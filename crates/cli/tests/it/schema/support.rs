//! Schemas as `adjutant schema` prints them, and validators made from them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use jsonschema::Validator;
use serde_json::Value;

pub(crate) const KINDS: [&str; 14] = [
    "envelope",
    "mission",
    "result",
    "new_task",
    "attempt_completion",
    "task",
    "events",
    "run_result",
    "handoff_json",
    "state",
    "handoff",
    "step-rules",
    "config",
    "answer",
];

/// Runs the binary, and returns its output.
pub(crate) fn adjutant(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_adjutant"))
        .args(args)
        .env_remove("ADJUTANT_DATA")
        .env_remove("ADJUTANT_RUN_TOKEN")
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    String::from_utf8(output.stdout).expect("the command prints UTF-8")
}

pub(crate) fn schema(kind: &str) -> Value {
    serde_json::from_str(&adjutant(&["schema", kind])).expect("a schema is JSON")
}

pub(crate) fn validator(kind: &str) -> Validator {
    jsonschema::draft202012::new(&schema(kind)).expect("a schema that can be used")
}

/// Returns the errors that a validator finds in a document.
pub(crate) fn complaints(validator: &Validator, document: &Value) -> Vec<String> {
    validator.iter_errors(document).map(|error| error.to_string()).collect()
}

/// Returns one of the seven examples of the AOF guide.
pub(crate) fn example(number: usize) -> Value {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/examples/{number}.json"));
    let text = std::fs::read_to_string(path).expect("the example is there");
    serde_json::from_str(&text).expect("the example is JSON")
}
