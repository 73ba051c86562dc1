//! Task ids: `TASK-YYYY-MM-DD-NNN`, and the longer forms found in older folders.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::text_value::text_id;
use crate::time::Time;

/// The id of a task: its UTC day, and a number of three or more digits or the eight-character suffix
/// of older folders. Safe as a file name.
#[derive(Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend(
        "maxLength" = ID_CHARS_MAX,
        "pattern" = "^TASK-[0-9]{4}-[0-9]{2}-[0-9]{2}-(?:[0-9]{3,}|[A-Za-z0-9_-]{8})$",
        "examples" = ["TASK-2026-02-09-057"],
    ))
)]
pub struct TaskId(Arc<str>);

/// A text that is not a task id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTaskId;

/// Numbers from here on were not assigned by counting, and new ids do not count on from them.
const NUMBER_MAX: u64 = 1_000_000_000_000;

const ID_CHARS_MAX: usize = 64;

const DAY_END: usize = "TASK-YYYY-MM-DD-".len();

impl TaskId {
    /// Parses an id: three or more digits after the day, or the eight-character suffix.
    pub fn parse(text: &str) -> Result<Self, BadTaskId> {
        let bytes = text.as_bytes();
        if bytes.len() <= DAY_END || bytes.len() > ID_CHARS_MAX || !is_day_prefix(&bytes[..DAY_END])
        {
            return Err(BadTaskId);
        }
        let suffix = &bytes[DAY_END..];
        let counted = suffix.len() >= 3 && suffix.iter().all(u8::is_ascii_digit);
        let random = suffix.len() == 8 && suffix.iter().all(|b| is_suffix_byte(*b));
        if counted || random { Ok(Self(text.into())) } else { Err(BadTaskId) }
    }

    /// Makes the id with this number on the UTC day of `now`.
    pub fn numbered(now: Time, number: u64) -> Self {
        Self(format!("TASK-{}-{number:03}", now.day()).into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the UTC day in the id, as `YYYY-MM-DD`.
    pub fn day(&self) -> &str {
        &self.0[5..DAY_END - 1]
    }

    /// Returns the number in the id; `None` for an id with a random suffix, and for a number so
    /// high that counting on from it would overflow.
    pub fn number(&self) -> Option<u64> {
        self.0[DAY_END..].parse().ok().filter(|number| *number < NUMBER_MAX)
    }
}

fn is_day_prefix(prefix: &[u8]) -> bool {
    prefix.iter().zip(b"TASK-0000-00-00-").all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        form => byte == form,
    })
}

fn is_suffix_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

impl Ord for TaskId {
    /// Orders by day, then by number, so that 1000 comes after 999.
    fn cmp(&self, other: &Self) -> Ordering {
        // This comparison orders the maps of all tasks. Most ids have equal lengths, and the day
        // comes first in the text.
        match self.0.len().cmp(&other.0.len()) {
            Ordering::Equal => self.0.cmp(&other.0),
            by_length => self.day().cmp(other.day()).then(by_length),
        }
    }
}

impl PartialOrd for TaskId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

text_id!(TaskId);

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for BadTaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must match TASK-YYYY-MM-DD-NNN")
    }
}

impl std::error::Error for BadTaskId {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_id_of_every_known_form_is_parsed() {
        for good in ["TASK-2026-02-09-057", "TASK-2026-02-09-1000", "TASK-2026-02-09-aB3_x-9z"] {
            assert_eq!(TaskId::parse(good).map(|id| id.to_string()), Ok(good.to_owned()));
        }
    }

    #[test]
    fn task_id_of_another_form_is_refused() {
        let long = format!("TASK-2026-02-09-{}", "1".repeat(60));
        for bad in [
            "",
            "TASK",
            "TASK-2026-02-09",
            "TASK-2026-02-09-",
            "TASK-2026-02-09-57",
            "task-2026-02-09-057",
            "TASK-2026-2-9-057",
            "TASK-2026-02-09-057-extra",
            "TASK-2026-02-09-05a",
            "TASK-2026-02-09-../../xy",
            "TASK-2026-02-09-057\n",
            " TASK-2026-02-09-057",
            "TASK-2026-02-09-0٣7",
            &long,
        ] {
            assert_eq!(TaskId::parse(bad), Err(BadTaskId), "{bad:?}");
        }
    }

    #[test]
    fn task_ids_sort_by_day_then_number() {
        let id = |text| TaskId::parse(text).expect("a good id");
        assert!(id("TASK-2026-02-09-999") < id("TASK-2026-02-09-1000"));
        assert!(id("TASK-2026-02-09-1000") < id("TASK-2026-02-10-001"));
        assert!(id("TASK-2026-02-09-002") < id("TASK-2026-02-10-001"));
        assert!(id("TASK-2026-02-09-002") > id("TASK-2026-02-09-001"));
    }
}
