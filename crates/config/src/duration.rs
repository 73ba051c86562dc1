//! Durations as the configuration writes them: `30s`, `5m`, `1h30m`.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use adjutant_model::duration_text;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigDuration(pub Duration);

/// A time limit, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLimit {
    Off,
    After(Duration),
}

const EXPECTED: &str = "expected a duration like \"30s\", \"5m\" or \"1h30m\"";

impl ConfigDuration {
    pub const fn secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }

    /// Parses numbers with units, such as `1h30m`.
    pub fn parse(text: &str) -> Option<Self> {
        duration_text::parse(text).map(Self)
    }
}

impl TimeLimit {
    /// Returns the limit; `None` if it is off.
    pub fn as_duration(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::After(after) => Some(after),
        }
    }
}

impl Serialize for ConfigDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ConfigDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom(format_args!("{EXPECTED}, not {text:?}")))
    }
}

impl<'de> Deserialize<'de> for TimeLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        if text == "off" {
            return Ok(Self::Off);
        }
        let span = ConfigDuration::parse(&text).filter(|span| !span.0.is_zero());
        let span = span.ok_or_else(|| {
            D::Error::custom(format_args!("{EXPECTED}, or \"off\", not {text:?}"))
        })?;
        Ok(Self::After(span.0))
    }
}

impl JsonSchema for ConfigDuration {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^([0-9]+(ms|s|m|h|d))+$",
            "description": "A duration like 30s, 5m or 1h30m.",
        })
    }
}

impl JsonSchema for TimeLimit {
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(off|([0-9]+(ms|s|m|h|d))+)$",
            "description": "A time limit like 30s, 5m or 1h30m, or `off`.",
        })
    }
}

impl fmt::Display for ConfigDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        duration_text::write(f, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_round_trips_through_text() {
        for (text, millis) in [
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
            ("7ms", 7),
        ] {
            let span = ConfigDuration(Duration::from_millis(millis));
            assert_eq!((ConfigDuration::parse(text), &*span.to_string()), (Some(span), text));
        }
        assert_eq!(ConfigDuration::parse("0s").map(|span| span.to_string()), Some("0s".to_owned()));
    }

    #[test]
    fn span_without_number_and_unit_is_refused() {
        for bad in ["", "5", "s", "5 m", "-1s", "1.5h", "5x", "m5", "5M", "99999999999999999999s"] {
            assert_eq!(ConfigDuration::parse(bad), None, "{bad:?}");
        }
        assert_eq!(ConfigDuration::parse("18446744073709551615d"), None);
    }
}
