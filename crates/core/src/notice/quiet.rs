//! The part of the day in which nobody wants to be told.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Time as Clock;
use jiff::tz::TimeZone;

use crate::time::Time;

/// From one time of the day to another, over midnight if the second is the earlier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quiet {
    from: Clock,
    to: Clock,
    zone: TimeZone,
}

/// A text that is no part of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadQuiet;

impl Quiet {
    /// Parses two times of the day, as `22:00-07:00`, at the clocks of a place.
    pub fn parse(text: &str, zone: TimeZone) -> Result<Self, BadQuiet> {
        let (from, to) = text.split_once('-').ok_or(BadQuiet)?;
        let (from, to) = (clock(from)?, clock(to)?);
        if from == to { Err(BadQuiet) } else { Ok(Self { from, to, zone }) }
    }

    /// Returns when the quiet time is over that an instant lies in; none if it lies in none.
    pub fn end(&self, at: Time) -> Option<Time> {
        let here = Timestamp::from_millisecond(at.as_millis()).ok()?.to_zoned(self.zone.clone());
        let (now, today) = (here.time(), here.date());
        let day = match (self.from < self.to, now >= self.from, now < self.to) {
            (true, true, true) | (false, _, true) => today,
            (false, true, false) => today.tomorrow().ok()?,
            (true, _, _) | (false, false, false) => return None,
        };
        let end = day.to_datetime(self.to).to_zoned(self.zone.clone()).ok()?;
        let end = Time::from_millis(end.timestamp().as_millisecond());
        // Where clocks are put forward, a quiet time may be over before it begins.
        (end > at).then_some(end)
    }
}

fn clock(text: &str) -> Result<Clock, BadQuiet> {
    let (hour, minute) = text.trim().split_once(':').ok_or(BadQuiet)?;
    let number = |text: &str| -> Result<i8, BadQuiet> {
        let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|_| digits).ok_or(BadQuiet)
    };
    Clock::new(number(hour)?, number(minute)?, 0, 0).map_err(|_| BadQuiet)
}

impl fmt::Display for BadQuiet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is no part of a day; write two different times, as \"22:00-07:00\"")
    }
}

impl std::error::Error for BadQuiet {}
