//! How long something takes, in the words of the configuration: `30s`, `5m`, `1h30m`.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use adjutant_core::span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

/// How long something may take, if there is an end to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// As long as it likes.
    Off,
    /// So long.
    After(Duration),
}

const EXPECTED: &str = "expected a length of time like \"30s\", \"5m\" or \"1h30m\"";

impl Span {
    /// Makes a span of whole seconds.
    pub const fn secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }

    /// Parses numbers with units, one after the other.
    pub fn parse(text: &str) -> Option<Self> {
        span::parse(text).map(Self)
    }
}

impl Limit {
    /// Returns the time after which it is over.
    pub fn as_duration(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::After(after) => Some(after),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom(format_args!("{EXPECTED}, not {text:?}")))
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        if text == "off" {
            return Ok(Self::Off);
        }
        let span = Span::parse(&text).filter(|span| !span.0.is_zero());
        let span = span.ok_or_else(|| {
            D::Error::custom(format_args!("{EXPECTED}, or \"off\", not {text:?}"))
        })?;
        Ok(Self::After(span.0))
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^([0-9]+(ms|s|m|h|d))+$",
            "description": "A length of time, like 30s, 5m or 1h30m.",
        })
    }
}

impl JsonSchema for Limit {
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(off|([0-9]+(ms|s|m|h|d))+)$",
            "description": "How long something may take, like 30s, 5m or 1h30m, or off.",
        })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        span::write(f, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_printed() {
        for (text, millis) in [
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("2d", 172_800_000),
            ("7ms", 7),
        ] {
            let span = Span(Duration::from_millis(millis));
            assert_eq!((Span::parse(text), &*span.to_string()), (Some(span), text));
        }
        assert_eq!(Span::parse("0s").map(|span| span.to_string()), Some("0s".to_owned()));
    }

    #[test]
    fn anything_else_is_no_span() {
        for bad in ["", "5", "s", "5 m", "-1s", "1.5h", "5x", "m5", "5M", "99999999999999999999s"] {
            assert_eq!(Span::parse(bad), None, "{bad:?}");
        }
        assert_eq!(Span::parse("18446744073709551615d"), None);
    }
}
