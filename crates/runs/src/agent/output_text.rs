//! Extracts facts that agents report only as prose.

use adjutant_model::Time;
use serde_json::Value;

use super::adapter::LimitResetTime;

pub(super) fn text_or(said: Option<String>, otherwise: &str) -> String {
    said.unwrap_or_else(|| otherwise.to_owned())
}

/// Joins the text parts of a message.
pub(super) fn content_text(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten();
    let texts =
        parts.filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Converts dollars to millionths; 0 if the amount is not sensible.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is checked")]
pub(super) fn to_micro_dollars(dollars: f64) -> u64 {
    let whole = (dollars * 1e6).round();
    if (0.0..9e15).contains(&whole) { whole as u64 } else { 0 }
}

/// Formats millionths of a dollar for a command line argument.
pub(super) fn format_dollars(millionths: u64) -> String {
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}

/// Quotes a path for a program that splits its argument at spaces.
pub(super) fn shell_quote(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// Finds when a limit ends, in seconds since 1970 after a `|`, as `again in 3 days 4 hours 9
/// minutes`, or as `again at 8:49 AM`.
pub(super) fn parse_limit_end(said: &str) -> LimitResetTime {
    let at = said.rsplit_once('|').and_then(|(_, after)| after.trim().parse().ok());
    match at.filter(|seconds: &i64| *seconds > 1_000_000_000) {
        Some(at) => LimitResetTime::At(at),
        None => parse_delay_words(said)
            .map(LimitResetTime::After)
            .or_else(|| parse_local_time(said))
            .unwrap_or(LimitResetTime::Unknown),
    }
}

/// Parses a wait such as `37s` or `36.4s`.
#[expect(clippy::cast_possible_truncation, reason = "it is checked")]
pub(super) fn parse_delay(wait: &str) -> LimitResetTime {
    let seconds = wait.strip_suffix('s').and_then(|seconds| seconds.parse::<f64>().ok());
    match seconds.map(f64::ceil).filter(|seconds| (0.0..1e9).contains(seconds)) {
        Some(seconds) => LimitResetTime::After(seconds as i64),
        None => LimitResetTime::Unknown,
    }
}

/// Parses `again at 8:49 AM` and `again at Nov 18th, 2026 8:49 AM`, as Codex writes them.
fn parse_local_time(said: &str) -> Option<LimitResetTime> {
    let (_, after) = said.split_once("again at ")?;
    let words: Vec<&str> = after.split_whitespace().take(5).collect();
    match words[..] {
        [month, day, year, time, half] if time.contains(':') => {
            let month = MONTHS.iter().position(|name| month.starts_with(name))? + 1;
            let day: String = day.chars().take_while(char::is_ascii_digit).collect();
            let date = format!("{}-{month:02}-{day:0>2}", year.trim_end_matches(','));
            let start = Time::parse(&format!("{date}T00:00:00Z")).ok()?;
            let day = start.as_millis().div_euclid(86_400_000);
            Some(LimitResetTime::LocalTime { day: Some(day), minute: parse_minute(time, half)? })
        }
        [time, half, ..] => {
            Some(LimitResetTime::LocalTime { day: None, minute: parse_minute(time, half)? })
        }
        _ => None,
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns the minute of the day for `8:49` and `AM`.
fn parse_minute(time: &str, half: &str) -> Option<i64> {
    let (hour, minute) = time.split_once(':')?;
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    let half = match half.trim_end_matches(['.', ',', ')']) {
        "AM" => 0,
        "PM" => 12,
        _ => return None,
    };
    let fits = (1..=12).contains(&hour) && (0..60).contains(&minute);
    fits.then_some((hour % 12 + half) * 60 + minute)
}

fn parse_delay_words(said: &str) -> Option<i64> {
    let lower = said.to_lowercase();
    let (_, after) = lower.split_once("again in ")?;
    let mut total = 0_i64;
    let mut words = after.split_whitespace();
    while let (Some(count), Some(unit)) = (words.next(), words.next()) {
        let Ok(count) = count.parse::<i64>() else { break };
        let seconds = match unit.trim_end_matches(['.', ',', ')']).trim_end_matches('s') {
            "day" => 86_400,
            "hour" => 3_600,
            "minute" => 60,
            "second" => 1,
            _ => break,
        };
        total = total.saturating_add(count.saturating_mul(seconds));
    }
    (total > 0).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_reset_is_parsed_from_every_known_wording() {
        assert_eq!(
            parse_limit_end("Claude AI usage limit reached|1769122800"),
            LimitResetTime::At(1_769_122_800)
        );
        assert_eq!(parse_limit_end("a|b"), LimitResetTime::Unknown);
        let codex = "You've hit your usage limit. Try again in 3 days 4 hours 9 minutes.";
        assert_eq!(parse_limit_end(codex), LimitResetTime::After(3 * 86_400 + 4 * 3_600 + 9 * 60));
        assert_eq!(parse_limit_end("try again in 1 hour."), LimitResetTime::After(3_600));
        let wall = |day, minute| LimitResetTime::LocalTime { day, minute };
        assert_eq!(parse_limit_end("or try again at 8:49 AM."), wall(None, 8 * 60 + 49));
        assert_eq!(parse_limit_end("or try again at 12:05 PM."), wall(None, 12 * 60 + 5));
        assert_eq!(parse_limit_end("try again at Jan 2nd, 1970 12:00 AM."), wall(Some(1), 0));
        assert_eq!(parse_limit_end("try again at 13:05 PM."), LimitResetTime::Unknown);
        assert_eq!(parse_limit_end("try again in a while"), LimitResetTime::Unknown);
        assert_eq!(
            parse_limit_end("try again in 9223372036854775807 days"),
            LimitResetTime::After(i64::MAX)
        );
    }

    #[test]
    fn arguments_have_plain_dollars_and_quoted_paths() {
        assert_eq!(format_dollars(2_500_000), "2.500000");
        assert_eq!((to_micro_dollars(0.263_805), to_micro_dollars(-1.0)), (263_805, 0));
        assert_eq!(shell_quote("/usr/bin/adjutant"), "/usr/bin/adjutant");
        assert_eq!(shell_quote("/a b/it's"), r"'/a b/it'\''s'");
    }
}
