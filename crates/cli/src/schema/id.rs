//! Task ids.

use schemars::json_schema;

use super::described;

described! {
    /// The id of a task: its UTC day, and a number of three or more digits or the eight-character
    /// suffix of older folders.
    TaskId => json_schema!({
        "type": "string",
        "maxLength": 64,
        "pattern": "^TASK-[0-9]{4}-[0-9]{2}-[0-9]{2}-(?:[0-9]{3,}|[A-Za-z0-9_-]{8})$",
        "examples": ["TASK-2026-02-09-057"],
    })
}
