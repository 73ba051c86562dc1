//! Times and counts, as people say them.

use adjutant_core::Time;
use maud::{Markup, html};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Says how long something took or takes, in one unit or two.
pub(super) fn span(millis: i64) -> String {
    let secs = millis.max(0) / 1000;
    match secs {
        0 if millis > 0 => format!("{millis} ms"),
        ..MINUTE => format!("{secs} s"),
        MINUTE..HOUR => format!("{} min", secs / MINUTE),
        HOUR..DAY => format!("{} h {} min", secs / HOUR, secs % HOUR / MINUTE),
        _ => format!("{} d {} h", secs / DAY, secs % DAY / HOUR),
    }
}

/// Shows how long ago something was. A script keeps it right while the page is looked at.
pub(super) fn ago(at: Time, now: Time) -> Markup {
    let passed = span(now.as_millis().saturating_sub(at.as_millis()));
    html! { time datetime=(at) title=(at) data-ago { (passed) } }
}

/// Shows a moment, to the second.
pub(super) fn moment(at: Time) -> Markup {
    let text = at.to_string();
    let short = text.split('.').next().unwrap_or_default().replace('T', " ");
    html! { time datetime=(text) title=(text) { (short) } }
}

/// Writes the times in a sentence as people do, to the minute.
pub(super) fn plain_times(text: &str) -> String {
    let plain = |word: &str| {
        let bare = word.trim_end_matches(['.', ',', ';', ':']);
        let minute = bare.get(..16).filter(|_| Time::parse(bare).is_ok() && bare.ends_with('Z'))?;
        Some(format!("{} UTC{}", minute.replace('T', " "), &word[bare.len()..]))
    };
    let words = text.split(' ').map(|word| plain(word).unwrap_or_else(|| word.to_owned()));
    words.collect::<Vec<_>>().join(" ")
}

/// Says how many there are of something.
pub(super) fn counted(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{} {one}s", grouped(count as u64)) }
}

/// Writes a number in groups of three digits.
pub(super) fn grouped(number: u64) -> String {
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
    fn a_span_is_said_in_the_units_people_use() {
        let said = [5, 1_000, 59_999, 60_000, 3_599_000, 3_660_000, 90_000_000].map(span);
        assert_eq!(said, ["5 ms", "1 s", "59 s", "1 min", "59 min", "1 h 1 min", "1 d 1 h"]);
        assert_eq!(span(-5), "0 s");
    }

    #[test]
    fn times_in_a_sentence_are_plain() {
        let said = plain_times("It waits until 2026-11-16T06:51:28.664Z, after 1 attempt.");
        assert_eq!(said, "It waits until 2026-11-16 06:51 UTC, after 1 attempt.");
        assert_eq!(plain_times("Nothing  of the kind: 12Z."), "Nothing  of the kind: 12Z.");
    }

    #[test]
    fn a_number_is_written_in_groups() {
        let written = [0, 999, 1_000, 91_000, 1_234_567].map(grouped);
        assert_eq!(written, ["0", "999", "1,000", "91,000", "1,234,567"]);
        assert_eq!(counted(1, "file"), "1 file");
        assert_eq!(counted(1200, "file"), "1,200 files");
    }
}
