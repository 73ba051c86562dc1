//! Agent Protocol v1: a mission says what to do, a result what came of it. Checked, typed, printed.
//!
//! What a mission or a result does to a task is not known here.

mod id;
mod order;
mod result;

pub(crate) use result::words;

pub use id::{BadId, EpicId, MissionId, PrdId};
pub use order::{Context, INSTRUCTION_CHARS_MAX, Mission};
pub use result::{
    Action, FileModified, Issue, IssueType, LOG_ENTRIES_MIN, Level, LogEntry, ResultDoc,
    ResultStatus,
};

use serde_json::Value;

use crate::answer::Problem;
use crate::fields::{Fields, Need, kind_of};

/// What every mission and every result says in `version`.
pub const VERSION: &str = "1";

/// The most items a list of a mission or a result may have.
pub const ITEMS_MAX: usize = 10_000;

/// The most characters a message or a description may have.
pub const TEXT_CHARS_MAX: usize = 10_000;

/// Checks the version. A number is what YAML makes of a `1` without quotes.
fn check_version(fields: &mut Fields<'_>, warnings: &mut Vec<Problem>) {
    let Some(version) = fields.value("version", Need::Required) else { return };
    match version {
        Value::String(text) if text == VERSION => {}
        Value::Number(number) if number.as_u64() == Some(1) => {
            warnings.push(Problem::new("version", "should be text (\"1\"), not a number"));
        }
        Value::String(text) => {
            let text: String = text.chars().take(32).collect();
            let message = format!("unsupported version {text:?}: must be {VERSION:?}");
            fields.problem("version", message);
        }
        Value::Number(number) => {
            fields.problem("version", format!("unsupported version {number}: must be {VERSION:?}"));
        }
        other => {
            let message =
                format!("unsupported version: must be {VERSION:?}, not {}", kind_of(other));
            fields.problem("version", message);
        }
    }
}
