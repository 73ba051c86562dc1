//! Agent Protocol v1: missions and the results that report on them, parsed and printed.
//!
//! This module does not know what a mission or a result does to a task.

mod document;
mod id;
mod result;

pub use document::{INSTRUCTION_CHARS_MAX, MissionContext, MissionOrder};
pub use id::{EpicId, MissionId, PrdId, ProtocolIdError};
pub use result::{
    FileAction, IssueType, LOG_ENTRIES_MIN, LogLevel, MissionIssue, MissionLogEntry, MissionResult,
    ModifiedFile, ResultStatus,
};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::answer::FieldProblem;
use crate::encoding::object_of;
use crate::field_reader::{FieldNeed, FieldReader, json_type_name};

/// The `version` of every mission and every result.
pub const VERSION: &str = "1";

/// The most items in a list of a mission or a result.
pub const ITEMS_MAX: usize = 10_000;

/// The most characters in a message or a description.
pub const TEXT_CHARS_MAX: usize = 10_000;

/// Checks the version. YAML reads an unquoted `1` as a number, which only causes a warning.
fn check_version(fields: &mut FieldReader<'_>, warnings: &mut Vec<FieldProblem>) {
    let Some(version) = fields.value("version", FieldNeed::Required) else { return };
    match version {
        Value::String(text) if text == VERSION => {}
        Value::Number(number) if number.as_u64() == Some(1) => {
            warnings.push(FieldProblem::new("version", "should be text (\"1\"), not a number"));
        }
        Value::String(text) => {
            let text: String = text.chars().take(32).collect();
            let message = format!("unsupported version {text:?}: must be {VERSION:?}");
            fields.add_problem("version", message);
        }
        Value::Number(number) => {
            fields.add_problem(
                "version",
                format!("unsupported version {number}: must be {VERSION:?}"),
            );
        }
        other => {
            let message =
                format!("unsupported version: must be {VERSION:?}, not {}", json_type_name(other));
            fields.add_problem("version", message);
        }
    }
}

/// Returns a mission or a result as an object, with its version.
fn versioned_object(document: &impl Serialize) -> Map<String, Value> {
    let version = ("version".to_owned(), Value::from(VERSION));
    std::iter::once(version).chain(object_of(document)).collect()
}

/// Adds the version to the schema of a mission or a result.
#[cfg(feature = "schema")]
fn add_version(schema: &mut schemars::Schema) {
    let version = serde_json::json!({
        "description": "The version of the protocol. A number is accepted, with a warning.",
        "enum": [VERSION, 1],
    });
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        fields.shift_insert(0, "version".into(), version);
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.insert(0, "version".into());
    }
}
