//! Paths in messages.

use adjutant_core::path::PATH_CHARS_MAX;
use schemars::json_schema;

use super::described;
use super::text::NO_CONTROL;

/// A root, a drive or a home at the start, or `..` anywhere.
const LEAVES: &str = r"^[/\\]|^[A-Za-z]:|^~(?:/|$)|(?:^|[/\\])\.\.(?:[/\\]|$)";

described! {
    /// A relative path that stays inside its folder. A link that leads outside is refused as well.
    RelPath => json_schema!({
        "type": "string",
        "minLength": 1,
        "maxLength": PATH_CHARS_MAX,
        "pattern": NO_CONTROL,
        "not": {"pattern": LEAVES},
        "examples": ["outputs/summary.md"],
    })
}
