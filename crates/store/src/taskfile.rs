//! The task file: YAML front matter and a Markdown body, which people also edit.

mod fields;
mod limits;
mod parse;
mod patch;

pub use limits::{DurationLimit, TaskTimeLimits};
pub use parse::{ParsedTask, parse};
pub use patch::{BodyChange, TaskFilePatch};

use adjutant_model::Task;

use crate::frontmatter;

/// The `schemaVersion` of every new file.
pub const SCHEMA_VERSION: u64 = 1;

/// Writes the file of a new task.
pub fn render(task: &Task, body: &str) -> String {
    let yaml = frontmatter::write(&fields::front_matter(task), "\n");
    let body = body.trim_end_matches(['\n', '\r']);
    if body.is_empty() {
        format!("---\n{yaml}---\n")
    } else {
        format!("---\n{yaml}---\n\n{body}\n")
    }
}

/// Returns the body without the blank line after the front matter.
pub fn body_text(body: &str) -> &str {
    let rest = body.strip_prefix("\r\n").or_else(|| body.strip_prefix('\n'));
    rest.unwrap_or(body)
}
