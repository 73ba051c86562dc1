//! The task file: YAML front matter and a Markdown body, which people write too.

mod fields;
mod limits;
mod parse;
mod patch;
mod trials;

pub use limits::{Limit, Limits};
pub use parse::{Parsed, parse};
pub use patch::{BodyChange, Patch};

use adjutant_core::Task;

use crate::frontmatter;

/// What every new file says in `schemaVersion`.
pub const SCHEMA_VERSION: u64 = 1;

/// The size beyond which a file is not taken for a task.
pub const BYTES_MAX: u64 = 16 << 20;

/// Writes the file of a new task.
pub fn render(task: &Task, body: &str) -> String {
    let yaml = frontmatter::write(&fields::all(task), "\n");
    let body = body.trim_end_matches(['\n', '\r']);
    if body.is_empty() {
        format!("---\n{yaml}---\n")
    } else {
        format!("---\n{yaml}---\n\n{body}\n")
    }
}

/// Returns the body as a person means it: without the blank line after the front matter.
pub fn body_text(body: &str) -> &str {
    let rest = body.strip_prefix("\r\n").or_else(|| body.strip_prefix('\n'));
    rest.unwrap_or(body)
}
