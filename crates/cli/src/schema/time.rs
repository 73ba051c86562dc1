//! Dates and times.

use schemars::json_schema;

use super::described;

/// RFC 3339, with the days each month has.
pub(super) const RFC_3339: &str = concat!(
    r"^(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])",
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))",
    r"|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)",
    r"[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]{1,9})?",
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$",
);

described! {
    /// A date and time as RFC 3339 writes them.
    Timestamp => json_schema!({
        "type": "string",
        "format": "date-time",
        "pattern": RFC_3339,
        "examples": ["2026-02-09T21:10:00.000Z"],
    })
}
