//! Formats times and counts for people.

use adjutant_model::Time;
use maud::{Markup, html};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Formats a duration in one or two units.
pub(super) fn format_span(millis: i64) -> String {
    let secs = millis.max(0) / 1000;
    match secs {
        0 if millis > 0 => format!("{millis} ms"),
        ..MINUTE => format!("{secs} s"),
        MINUTE..HOUR => format!("{} min", secs / MINUTE),
        HOUR..DAY => format!("{} h {} min", secs / HOUR, secs % HOUR / MINUTE),
        _ => format!("{} d {} h", secs / DAY, secs % DAY / HOUR),
    }
}

/// Shows the time since `at`. The script keeps it current while the page is open.
pub(super) fn render_age(at: Time, now: Time) -> Markup {
    let passed = format_span(now.as_millis().saturating_sub(at.as_millis()));
    html! { time datetime=(at) title=(at) data-ago { (passed) } }
}

/// Shows a time to the second.
pub(super) fn render_time(at: Time) -> Markup {
    let text = at.to_string();
    let short = text.split('.').next().unwrap_or_default().replace('T', " ");
    html! { time datetime=(text) title=(text) { (short) } }
}

/// Rewrites timestamps in a sentence to the minute, in UTC.
pub(super) fn shorten_timestamps(text: &str) -> String {
    let plain = |word: &str| {
        let bare = word.trim_end_matches(['.', ',', ';', ':']);
        let minute = bare.get(..16).filter(|_| Time::parse(bare).is_ok() && bare.ends_with('Z'))?;
        Some(format!("{} UTC{}", minute.replace('T', " "), &word[bare.len()..]))
    };
    let words = text.split(' ').map(|word| plain(word).unwrap_or_else(|| word.to_owned()));
    words.collect::<Vec<_>>().join(" ")
}

pub(super) fn format_count(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{} {one}s", group_digits(count as u64)) }
}

/// Separates the digits in groups of three.
pub(super) fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_is_formatted_in_readable_units() {
        let said = [5, 1_000, 59_999, 60_000, 3_599_000, 3_660_000, 90_000_000].map(format_span);
        assert_eq!(said, ["5 ms", "1 s", "59 s", "1 min", "59 min", "1 h 1 min", "1 d 1 h"]);
        assert_eq!(format_span(-5), "0 s");
    }

    #[test]
    fn timestamps_in_sentence_are_shortened() {
        let said = shorten_timestamps("It waits until 2026-11-16T06:51:28.664Z, after 1 attempt.");
        assert_eq!(said, "It waits until 2026-11-16 06:51 UTC, after 1 attempt.");
        assert_eq!(shorten_timestamps("No  timestamp: 12Z."), "No  timestamp: 12Z.");
    }

    #[test]
    fn number_is_grouped_by_thousands() {
        let written = [0, 999, 1_000, 91_000, 1_234_567].map(group_digits);
        assert_eq!(written, ["0", "999", "1,000", "91,000", "1,234,567"]);
        assert_eq!(format_count(1, "file"), "1 file");
        assert_eq!(format_count(1200, "file"), "1,200 files");
    }
}
