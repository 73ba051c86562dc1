//! The time limits that a task sets for its runs, as people write them: `"1h30m"` or `"off"`.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::duration_text;
use crate::text_value::serde_as_text;

/// The time limits a task sets for its runs. The agent's limits apply where the task sets none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TaskTimeLimits {
    /// The longest duration of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<DurationLimit>,
    /// The longest time a run may print and report nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<DurationLimit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurationLimit {
    Off,
    After(Duration),
}

/// A text that is not a time limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadDurationLimit;

impl TaskTimeLimits {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns each limit with the name of its field in the metadata of a task file.
    pub fn fields(&self) -> [(&'static str, Option<DurationLimit>); 2] {
        [("timeout", self.timeout), ("idleTimeout", self.idle_timeout)]
    }
}

impl DurationLimit {
    /// Parses a duration with units, or `off`. A limit of no time at all is refused.
    pub fn parse(text: &str) -> Result<Self, BadDurationLimit> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let after = duration_text::parse(text).filter(|after| !after.is_zero());
        after.map(Self::After).ok_or(BadDurationLimit)
    }

    /// Reads a limit of a task file, which may also be a whole number of seconds.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text).ok(),
            other => {
                let seconds = other.as_u64().filter(|seconds| *seconds > 0)?;
                Some(Self::After(Duration::from_secs(seconds)))
            }
        }
    }

    /// Returns the duration; `None` means no limit.
    pub fn as_duration(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::After(after) => Some(after),
        }
    }
}

impl fmt::Display for DurationLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::After(after) => duration_text::write(f, *after),
        }
    }
}

serde_as_text!(DurationLimit, DurationLimit::parse);

impl fmt::Display for BadDurationLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be a length of time such as 30s, 5m or 1h30m, or off")
    }
}

impl std::error::Error for BadDurationLimit {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_limit_round_trips_as_text() {
        for text in ["off", "30s", "1h30m"] {
            let limit = DurationLimit::parse(text).expect("a good limit");
            assert_eq!(limit.to_string(), text);
        }
        for bad in ["", "0s", "90", "soon", "Off"] {
            assert_eq!(DurationLimit::parse(bad), Err(BadDurationLimit), "{bad:?}");
        }
    }
}
