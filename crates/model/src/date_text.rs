//! Times as people write them: `tomorrow`, `friday 18:00`, `2026-12-01`, `in 3 days`.
//!
//! The current time and the time zone are arguments, so the same text has the same meaning in tests.

use std::fmt;

use jiff::civil::{Date, Time as Clock, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

use crate::time::Time;

/// What a time is for. It decides what a text leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimePurpose {
    /// Something must be done by then: a day means its end, a time of day the next one, and a day
    /// of the week the next one after today.
    Deadline,
    /// Something is looked at from then on: a day means its start, a time of day that of today,
    /// and a day of the week the last one, which may be today.
    Start,
}

/// A text that is not a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadDateText;

/// Parses an RFC 3339 time or a time as people write it, in the given time zone.
pub fn parse(
    text: &str,
    purpose: TimePurpose,
    now: Time,
    zone: &TimeZone,
) -> Result<Time, BadDateText> {
    if let Ok(time) = Time::parse(text) {
        return Ok(time);
    }
    let now = Timestamp::from_millisecond(now.as_millis()).map_err(|_| BadDateText)?;
    let reader = DateTextReader { now: now.to_zoned(zone.clone()), purpose };
    let text = separate_date(&text.to_lowercase());
    let words: Vec<&str> = text.split_whitespace().collect();
    let meant = reader.read(&words).ok_or(BadDateText)?;
    Ok(Time::from_millis(meant.timestamp().as_millisecond()))
}

/// Writes `2026-12-01t18:00` as two words.
fn separate_date(text: &str) -> String {
    let day = text.get(..10).filter(|day| parse_date(day).is_some());
    match day.and_then(|day| Some((day, text[day.len()..].strip_prefix('t')?))) {
        Some((day, clock)) => format!("{day} {clock}"),
        None => text.to_owned(),
    }
}

struct DateTextReader {
    now: Zoned,
    purpose: TimePurpose,
}

impl DateTextReader {
    fn read(&self, words: &[&str]) -> Option<Zoned> {
        match words {
            [] => None,
            ["now"] => Some(self.now.clone()),
            ["in", span @ ..] => self.now.checked_add(parse_span(span)?).ok(),
            [span @ .., "ago"] => self.now.checked_sub(parse_span(span)?).ok(),
            _ => self.read_day_and_clock(words),
        }
    }

    fn read_day_and_clock(&self, words: &[&str]) -> Option<Zoned> {
        let (day, clock) = split_clock(words);
        match (day, clock) {
            ([], Some(clock)) => self.at_clock(clock),
            ([day], clock) => self.at(self.read_day(day)?, clock),
            _ => None,
        }
    }

    /// Returns a time of day without a day.
    fn at_clock(&self, clock: Clock) -> Option<Zoned> {
        let today = self.now.date();
        let is_over = clock <= self.now.time();
        let day = match self.purpose {
            TimePurpose::Deadline if is_over => today.tomorrow().ok()?,
            TimePurpose::Deadline | TimePurpose::Start => today,
        };
        self.at(day, Some(clock))
    }

    fn at(&self, day: Date, clock: Option<Clock>) -> Option<Zoned> {
        let clock = clock.or_else(|| match self.purpose {
            TimePurpose::Deadline => Clock::new(23, 59, 59, 0).ok(),
            TimePurpose::Start => Some(Clock::midnight()),
        })?;
        day.to_datetime(clock).to_zoned(self.now.time_zone().clone()).ok()
    }

    fn read_day(&self, text: &str) -> Option<Date> {
        let today = self.now.date();
        match text {
            "today" => Some(today),
            "tomorrow" => today.tomorrow().ok(),
            "yesterday" => today.yesterday().ok(),
            _ => parse_weekday(text).map_or_else(|| parse_date(text), |day| self.find(day)),
        }
    }

    fn find(&self, weekday: Weekday) -> Option<Date> {
        let today = self.now.date();
        let own = today.weekday().to_monday_zero_offset();
        let wanted = weekday.to_monday_zero_offset();
        match self.purpose {
            TimePurpose::Deadline => {
                let ahead = (wanted - own).rem_euclid(7);
                let ahead = if ahead == 0 { 7 } else { ahead };
                today.checked_add(Span::new().try_days(i64::from(ahead)).ok()?).ok()
            }
            TimePurpose::Start => {
                let back = (own - wanted).rem_euclid(7);
                today.checked_sub(Span::new().try_days(i64::from(back)).ok()?).ok()
            }
        }
    }
}

/// Splits a time of day off the end: `tomorrow at 18:00`, `friday 6 pm`.
fn split_clock<'a, 'w>(words: &'a [&'w str]) -> (&'a [&'w str], Option<Clock>) {
    let (day, clock) = match words {
        [day @ .., hour, half @ ("am" | "pm")] => (day, parse_clock(&format!("{hour}{half}"))),
        [day @ .., last] => (day, parse_clock(last)),
        [] => (words, None),
    };
    match (day, clock) {
        ([day @ .., "at"], Some(clock)) if !day.is_empty() => (day, Some(clock)),
        (day, Some(clock)) => (day, Some(clock)),
        (_, None) => (words, None),
    }
}

/// Parses `18:00`, `9:30`, `6pm` or `6:30pm`.
fn parse_clock(text: &str) -> Option<Clock> {
    let half = text.strip_suffix("am").map(|rest| (rest, 0)).or_else(|| {
        let rest = text.strip_suffix("pm")?;
        Some((rest, 12))
    });
    let (digits, minutes) = match half {
        Some((rest, _)) => rest.split_once(':').unwrap_or((rest, "00")),
        None => text.split_once(':')?,
    };
    let number = |text: &str| -> Option<i8> {
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|_| is_number)
    };
    let hour = match (number(digits)?, half) {
        (hour, None) => hour,
        (hour @ 1..=12, Some((_, offset))) => hour % 12 + offset,
        (_, Some(_)) => return None,
    };
    let minute = number(minutes).filter(|_| minutes.len() == 2)?;
    Clock::new(hour, minute, 0, 0).ok()
}

/// Parses `2026-12-01`.
fn parse_date(text: &str) -> Option<Date> {
    let is_date = text.len() == 10
        && text.bytes().enumerate().all(|(place, byte)| match place {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    text.parse().ok().filter(|_| is_date)
}

fn parse_weekday(text: &str) -> Option<Weekday> {
    const DAYS: [(&str, Weekday); 7] = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    let is = |name: &str| name == text || name[..3] == *text;
    DAYS.into_iter().find(|(name, _)| is(name)).map(|(_, day)| day)
}

/// Parses one or more numbers with units: `3 days`, `90m`, `1 hour 30 minutes`, `a week`.
fn parse_span(words: &[&str]) -> Option<Span> {
    let counts = words.iter().map(|word| match *word {
        "a" | "an" => "1",
        other => other,
    });
    let text: String = counts.collect();
    let (mut months, mut days, mut seconds) = (0_i64, 0_i64, 0_i64);
    let mut rest = &*text;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let letters =
            after.len() - after.trim_start_matches(|c: char| c.is_ascii_lowercase()).len();
        let (unit, after) = after.split_at(letters);
        let number: i64 = number.parse().ok()?;
        let (sum, factor) = match unit {
            "s" | "sec" | "secs" | "second" | "seconds" => (&mut seconds, 1),
            "m" | "min" | "mins" | "minute" | "minutes" => (&mut seconds, 60),
            "h" | "hour" | "hours" => (&mut seconds, 3600),
            "d" | "day" | "days" => (&mut days, 1),
            "w" | "week" | "weeks" => (&mut days, 7),
            "month" | "months" => (&mut months, 1),
            _ => return None,
        };
        *sum = sum.checked_add(number.checked_mul(factor)?)?;
        rest = after;
    }
    if words.is_empty() {
        return None;
    }
    let span = Span::new().try_months(months).ok()?.try_days(days).ok()?;
    span.try_seconds(seconds).ok()
}

impl fmt::Display for BadDateText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "must be a time such as 2026-12-01, '2026-12-01 18:00', tomorrow, friday, 18:00, \
             'in 3 days' or 2026-12-01T18:00:00Z",
        )
    }
}

impl std::error::Error for BadDateText {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Wednesday, 21:10 in UTC and 22:10 in Berlin.
    const NOW: &str = "2026-02-11T21:10:00.000Z";

    fn berlin() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a time zone")
    }

    #[track_caller]
    fn check(purpose: TimePurpose, text: &str, expected: &str) {
        let now = Time::parse(NOW).expect("a time");
        let parsed = parse(text, purpose, now, &berlin()).map(|time| time.to_string());
        assert_eq!(parsed, Ok(expected.to_owned()), "{text:?}");
    }

    #[test]
    fn deadline_without_a_time_is_the_end_of_the_day() {
        let check = |text, expected| check(TimePurpose::Deadline, text, expected);
        check("2026-12-01", "2026-12-01T22:59:59.000Z");
        check("2026-07-01", "2026-07-01T21:59:59.000Z");
        check("today", "2026-02-11T22:59:59.000Z");
        check("Tomorrow", "2026-02-12T22:59:59.000Z");
        check("friday", "2026-02-13T22:59:59.000Z");
        check("wed", "2026-02-18T22:59:59.000Z");
    }

    #[test]
    fn start_without_a_time_is_the_start_of_the_day() {
        let check = |text, expected| check(TimePurpose::Start, text, expected);
        check("2026-12-01", "2026-11-30T23:00:00.000Z");
        check("yesterday", "2026-02-09T23:00:00.000Z");
        check("wednesday", "2026-02-10T23:00:00.000Z");
        check("thu", "2026-02-04T23:00:00.000Z");
    }

    #[test]
    fn time_of_day_is_the_next_one_for_a_deadline() {
        check(TimePurpose::Deadline, "23:00", "2026-02-11T22:00:00.000Z");
        check(TimePurpose::Deadline, "18:00", "2026-02-12T17:00:00.000Z");
        check(TimePurpose::Start, "18:00", "2026-02-11T17:00:00.000Z");
        check(TimePurpose::Deadline, "6pm", "2026-02-12T17:00:00.000Z");
        check(TimePurpose::Deadline, "12 am", "2026-02-11T23:00:00.000Z");
    }

    #[test]
    fn day_may_have_a_time() {
        let check = |text, expected| check(TimePurpose::Deadline, text, expected);
        check("tomorrow 9:30", "2026-02-12T08:30:00.000Z");
        check("tomorrow at 6:30 pm", "2026-02-12T17:30:00.000Z");
        check("2026-12-01 18:00", "2026-12-01T17:00:00.000Z");
        check("2026-12-01T18:00", "2026-12-01T17:00:00.000Z");
        check("  fri   18:00 ", "2026-02-13T17:00:00.000Z");
    }

    #[test]
    fn span_is_counted_from_now() {
        let check = |text, expected| check(TimePurpose::Deadline, text, expected);
        check("now", NOW);
        check("in 3 days", "2026-02-14T21:10:00.000Z");
        check("in 90m", "2026-02-11T22:40:00.000Z");
        check("in 1 hour 30 minutes", "2026-02-11T22:40:00.000Z");
        check("in a week", "2026-02-18T21:10:00.000Z");
        // The clocks go forward in between: a day stays a day.
        check("in 2 months", "2026-04-11T20:10:00.000Z");
        check("2 hours ago", "2026-02-11T19:10:00.000Z");
    }

    #[test]
    fn rfc_3339_time_needs_no_zone() {
        let time = "2026-02-10T12:00:00+02:00";
        check(TimePurpose::Deadline, time, "2026-02-10T10:00:00.000Z");
    }

    #[test]
    fn text_that_is_no_time_is_refused() {
        let now = Time::parse(NOW).expect("a time");
        for bad in [
            "",
            " ",
            "soon",
            "next friday",
            "in",
            "ago",
            "in days",
            "in 3",
            "in 3 moons",
            "in 99999999999 days",
            "in 9223372036854775807 weeks",
            "25:00",
            "18:0",
            "13pm",
            "0am",
            "2026-02-30",
            "20261201",
            "2026-12-01 at",
            "at 18:00",
            "tomorrow tomorrow",
            "-1 days ago",
            "12/01/2026",
        ] {
            let parsed = parse(bad, TimePurpose::Deadline, now, &berlin());
            assert_eq!(parsed, Err(BadDateText), "{bad:?}");
        }
    }
}
