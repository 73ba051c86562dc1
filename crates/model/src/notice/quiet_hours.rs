//! Quiet hours: the part of the day in which no notices are sent.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Time as Clock;
use jiff::tz::TimeZone;

use crate::time::Time;

/// From one time of day to another; past midnight if `to` is earlier than `from`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuietHours {
    from: Clock,
    to: Clock,
    zone: TimeZone,
}

/// A text that is not a range of two different times of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadQuietHours;

impl QuietHours {
    /// Parses a range such as `22:00-07:00`, in the given time zone.
    pub fn parse(text: &str, zone: TimeZone) -> Result<Self, BadQuietHours> {
        let (from, to) = text.split_once('-').ok_or(BadQuietHours)?;
        let (from, to) = (parse_clock(from)?, parse_clock(to)?);
        if from == to { Err(BadQuietHours) } else { Ok(Self { from, to, zone }) }
    }

    /// Returns the end of the quiet hours that contain `at`; `None` if `at` is outside them.
    pub fn quiet_until(&self, at: Time) -> Option<Time> {
        let here = Timestamp::from_millisecond(at.as_millis()).ok()?.to_zoned(self.zone.clone());
        let (now, today) = (here.time(), here.date());
        let day = match (self.from < self.to, now >= self.from, now < self.to) {
            (true, true, true) | (false, _, true) => today,
            (false, true, false) => today.tomorrow().ok()?,
            (true, _, _) | (false, false, false) => return None,
        };
        let end = day.to_datetime(self.to).to_zoned(self.zone.clone()).ok()?;
        let end = Time::from_millis(end.timestamp().as_millisecond());
        // When clocks are put forward, quiet hours may end before they begin.
        (end > at).then_some(end)
    }
}

fn parse_clock(text: &str) -> Result<Clock, BadQuietHours> {
    let (hour, minute) = text.trim().split_once(':').ok_or(BadQuietHours)?;
    let number = |text: &str| -> Result<i8, BadQuietHours> {
        let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|_| digits).ok_or(BadQuietHours)
    };
    Clock::new(number(hour)?, number(minute)?, 0, 0).map_err(|_| BadQuietHours)
}

impl fmt::Display for BadQuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is not a time range; write two different times, such as \"22:00-07:00\"")
    }
}

impl std::error::Error for BadQuietHours {}
