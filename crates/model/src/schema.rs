//! Patterns that the JSON Schemas of several types share.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// A pattern without control characters.
pub const NO_CONTROL: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";

/// A pattern for one line without control characters that is not blank.
pub const LINE: &str = concat!(
    r"^[^\u0000-\u001f\u007f-\u009f]*",
    r"[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]",
    r"[^\u0000-\u001f\u007f-\u009f]*$",
);

/// A pattern for one line without control characters and without blanks around it.
pub const TRIMMED_LINE: &str = concat!(
    r"^[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]",
    r"(?:[^\u0000-\u001f\u007f-\u009f]*",
    r"[^\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000])?$",
);

/// A pattern for text that is not blank.
pub const NOT_BLANK: &str =
    r"[^\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";

/// A pattern for text without the NUL character.
pub const NO_NUL: &str = r"^[^\u0000]*$";

/// A pattern for paths that leave the folder: a root, a drive or a home at the start, or `..`.
pub const ESCAPING_PATH: &str = r"^[/\\]|^[A-Za-z]:|^~(?:/|$)|(?:^|[/\\])\.\.(?:[/\\]|$)";

/// An RFC 3339 pattern that knows the number of days in each month.
pub const RFC_3339: &str = concat!(
    r"^(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])",
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))",
    r"|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)",
    r"[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]{1,9})?",
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$",
);

/// The two patterns of a text that is not blank and has no NUL character, for `allOf`.
pub fn nonblank_patterns() -> Value {
    json!([{"pattern": NO_NUL}, {"pattern": NOT_BLANK}])
}

/// The pattern of a date and time.
pub fn date_time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "format": "date-time",
        "pattern": RFC_3339,
        "examples": ["2026-02-09T21:10:00.000Z"],
    })
}
