//! Moments: `Time` is an instant, `Stamp` an instant with the words somebody wrote it in.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::temporal::DateTimePrinter;

/// An instant, to the millisecond. Prints as RFC 3339 in UTC: `2026-02-09T21:10:00.000Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Since 1970, and within the years that can be printed.
    millis: i64,
}

/// An instant kept in the very words it was given in, so that they can be repeated.
#[derive(Clone, PartialEq, Eq)]
pub struct Stamp {
    text: Arc<str>,
    time: Time,
}

/// A text that is no RFC 3339 date and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTime;

/// The start of the year 0: what comes before cannot be written with four digits.
const MILLIS_FIRST: i64 = -62_167_219_200_000;
/// The last time the calendar knows, on the second last day of the year 9999.
const MILLIS_LAST: i64 = 253_402_207_200_000;

static PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

impl Time {
    /// Parses an RFC 3339 date and time, offset included.
    pub fn parse(text: &str) -> Result<Self, BadTime> {
        if !is_rfc3339(text.as_bytes()) {
            return Err(BadTime);
        }
        let timestamp: Timestamp = text.parse().or_else(|_| beyond(text))?;
        // Towards the past, before 1970 too: a part of a millisecond never makes a time later.
        let millis = timestamp.as_nanosecond().div_euclid(1_000_000);
        let millis = i64::try_from(millis).map_err(|_| BadTime)?;
        if millis < MILLIS_FIRST { Err(BadTime) } else { Ok(Self::from_millis(millis)) }
    }

    /// Makes an instant from milliseconds since 1970, held to the years this can print.
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

impl Stamp {
    /// Parses an RFC 3339 date and time and keeps its text.
    pub fn parse(text: &str) -> Result<Self, BadTime> {
        Ok(Self { time: Time::parse(text)?, text: text.into() })
    }

    /// Returns the words it was given in.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the instant.
    pub fn time(&self) -> Time {
        self.time
    }
}

impl From<Time> for Stamp {
    fn from(time: Time) -> Self {
        Self { text: time.to_string().into(), time }
    }
}

/// The last days of the year 9999, which people write for "never", are the latest time there is.
fn beyond(text: &str) -> Result<Timestamp, BadTime> {
    let date: DateTime = text[..DATE_TIME.len()].parse().map_err(|_| BadTime)?;
    if date.year() == 9999 { Ok(Timestamp::MAX) } else { Err(BadTime) }
}

const DATE_TIME: &str = "0000-00-00T00:00:00";

/// Checks the shape; whether the day exists is left to the calendar.
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
        let timestamp = Timestamp::from_millisecond(self.millis).map_err(|_| fmt::Error)?;
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

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for BadTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be an ISO 8601 datetime (RFC 3339), as 2026-02-09T21:00:00.000Z")
    }
}

impl std::error::Error for BadTime {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_prints_in_utc_with_milliseconds() {
        let check = |given, printed: &str| {
            assert_eq!(Time::parse(given).map(|time| time.to_string()), Ok(printed.to_owned()));
        };
        check("2026-02-09T21:10:00.000Z", "2026-02-09T21:10:00.000Z");
        check("2026-02-09T21:10:00Z", "2026-02-09T21:10:00.000Z");
        check("2026-02-09t23:10:00.5+02:00", "2026-02-09T21:10:00.500Z");
    }

    #[test]
    fn a_stamp_repeats_the_words_it_was_given() {
        let stamp = Stamp::parse("2026-02-09T23:10:00+02:00").expect("a good time");
        assert_eq!(stamp.to_string(), "2026-02-09T23:10:00+02:00");
        assert_eq!(stamp.time().day(), "2026-02-09");
    }

    #[test]
    fn anything_but_rfc_3339_is_refused() {
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
