//! Points in time: `Time` is an instant, `Timestamp` an instant that keeps its original text.

use std::fmt;
use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::fmt::temporal::DateTimePrinter;

use crate::text_value::{serde_as_text, text_id};

/// A date and time to the millisecond, as RFC 3339 in UTC: `2026-02-09T21:10:00.000Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::date_time"))]
pub struct Time {
    /// Since 1970-01-01 UTC, and within the years that can be printed.
    millis: i64,
}

/// An RFC 3339 date and time that keeps its original text, so that it can be repeated unchanged.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::date_time"))]
pub struct Timestamp {
    text: Arc<str>,
    time: Time,
}

/// A text that is not an RFC 3339 date and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTime;

/// The start of the year 0: earlier times cannot be written with four digits.
const MILLIS_FIRST: i64 = -62_167_219_200_000;
/// The last time that the calendar supports, on the second last day of the year 9999.
const MILLIS_LAST: i64 = 253_402_207_200_000;

static PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

impl Time {
    /// Parses an RFC 3339 date and time with its offset.
    pub fn parse(text: &str) -> Result<Self, BadTime> {
        if !is_rfc3339(text.as_bytes()) {
            return Err(BadTime);
        }
        let timestamp: jiff::Timestamp = text.parse().or_else(|_| beyond(text))?;
        // Rounds towards the past, also before 1970: a fraction of a millisecond never
        // makes a time later.
        let millis = timestamp.as_nanosecond().div_euclid(1_000_000);
        let millis = i64::try_from(millis).map_err(|_| BadTime)?;
        if millis < MILLIS_FIRST { Err(BadTime) } else { Ok(Self::from_millis(millis)) }
    }

    /// Makes an instant from milliseconds since 1970, clamped to the years that can be printed.
    pub fn from_millis(millis: i64) -> Self {
        Self { millis: millis.clamp(MILLIS_FIRST, MILLIS_LAST) }
    }

    /// Returns the milliseconds since 1970.
    pub fn as_millis(self) -> i64 {
        self.millis
    }

    /// Returns the UTC day, as `YYYY-MM-DD`.
    pub fn day(self) -> String {
        let mut text = self.to_string();
        text.truncate(text.find('T').unwrap_or(text.len()));
        text
    }
}

impl Timestamp {
    /// Parses an RFC 3339 date and time and keeps its text.
    pub fn parse(text: &str) -> Result<Self, BadTime> {
        Ok(Self { time: Time::parse(text)?, text: text.into() })
    }

    /// Returns the original text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn time(&self) -> Time {
        self.time
    }
}

impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        Self { text: time.to_string().into(), time }
    }
}

/// Maps the last days of the year 9999, which people write for "never", to the latest time.
fn beyond(text: &str) -> Result<jiff::Timestamp, BadTime> {
    let date: DateTime = text[..DATE_TIME.len()].parse().map_err(|_| BadTime)?;
    if date.year() == 9999 { Ok(jiff::Timestamp::MAX) } else { Err(BadTime) }
}

const DATE_TIME: &str = "0000-00-00T00:00:00";

/// Checks the form only; the calendar checks whether the day exists.
fn is_rfc3339(text: &[u8]) -> bool {
    let Some((head, mut tail)) = text.split_at_checked(DATE_TIME.len()) else {
        return false;
    };
    let shaped = |byte: &u8, form: &u8| match form {
        b'0' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't'),
        form => byte == form,
    };
    if !head.iter().zip(DATE_TIME.as_bytes()).all(|(byte, form)| shaped(byte, form)) {
        return false;
    }
    if let [b'.', fraction @ ..] = tail {
        let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return false;
        }
        tail = &fraction[digits..];
    }
    match tail {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', offset @ ..] => {
            let form = b"00:00";
            let shaped = offset.iter().zip(form).all(|(byte, form)| shaped(byte, form));
            offset.len() == form.len() && shaped && offset < b"24:00" && offset[3] < b'6'
        }
        _ => false,
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timestamp = jiff::Timestamp::from_millisecond(self.millis).map_err(|_| fmt::Error)?;
        let mut text = String::with_capacity(24);
        PRINTER.print_timestamp(&timestamp, &mut text).map_err(|_| fmt::Error)?;
        f.pad(&text)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

text_id!(Timestamp);

serde_as_text!(Time, Time::parse);

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for BadTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be an ISO 8601 datetime (RFC 3339), such as 2026-02-09T21:00:00.000Z")
    }
}

impl std::error::Error for BadTime {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_prints_in_utc_with_milliseconds() {
        let check = |given, printed: &str| {
            assert_eq!(Time::parse(given).map(|time| time.to_string()), Ok(printed.to_owned()));
        };
        check("2026-02-09T21:10:00.000Z", "2026-02-09T21:10:00.000Z");
        check("2026-02-09T21:10:00Z", "2026-02-09T21:10:00.000Z");
        check("2026-02-09t23:10:00.5+02:00", "2026-02-09T21:10:00.500Z");
    }

    #[test]
    fn timestamp_keeps_its_original_text() {
        let stamp = Timestamp::parse("2026-02-09T23:10:00+02:00").expect("a good time");
        assert_eq!(stamp.to_string(), "2026-02-09T23:10:00+02:00");
        assert_eq!(stamp.time().day(), "2026-02-09");
    }

    #[test]
    fn time_must_be_rfc_3339() {
        for bad in [
            "",
            "tomorrow",
            "not-a-timestamp",
            "2026-02-09",
            "2026-02-09T21:10:00",
            "2026-02-09 21:10:00Z",
            "2026-02-30T00:00:00Z",
            "2026-02-09T25:00:00Z",
            "2026-02-09T21:10Z",
            "20260209T211000Z",
            "2026-02-09T21:10:00.Z",
            "2026-02-09T21:10:00+02",
            "2026-02-09T21:10:00Z[UTC]",
            "+002026-02-09T21:10:00Z",
            "2026-02-09T21:10:00.000Z\n",
            "2026-02-09T21:10:00,5Z",
        ] {
            assert_eq!(Time::parse(bad), Err(BadTime), "{bad:?}");
        }
    }
}
