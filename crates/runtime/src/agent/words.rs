//! Reads the few things that agents say in words only.

use adjutant_core::Time;
use serde_json::Value;

use super::adapter::Until;

/// Returns what is said, or else this.
pub(super) fn or(said: Option<String>, otherwise: &str) -> String {
    said.unwrap_or_else(|| otherwise.to_owned())
}

/// Returns the texts of a message that is made of parts.
pub(super) fn of_content(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten();
    let texts =
        parts.filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Returns dollars as millionths; 0 if they make no sense.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is checked")]
pub(super) fn millionths(dollars: f64) -> u64 {
    let whole = (dollars * 1e6).round();
    if (0.0..9e15).contains(&whole) { whole as u64 } else { 0 }
}

/// Writes millionths of a dollar as an argument has it.
pub(super) fn plain_dollars(millionths: u64) -> String {
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}

/// Writes a path so that whoever splits a command by its words leaves it whole.
pub(super) fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// Returns when a limit ends that somebody told of in words: after a bar as seconds since 1970, or
/// as `again in 3 days 4 hours 9 minutes`.
pub(super) fn reset(said: &str) -> Until {
    let at = said.rsplit_once('|').and_then(|(_, after)| after.trim().parse().ok());
    match at.filter(|seconds: &i64| *seconds > 1_000_000_000) {
        Some(at) => Until::At(at),
        None => after_words(said).map(Until::In).or_else(|| wall(said)).unwrap_or(Until::Unknown),
    }
}

/// Returns when a wait ends that is written as `37s` or `36.4s`.
#[expect(clippy::cast_possible_truncation, reason = "it is checked")]
pub(super) fn after(wait: &str) -> Until {
    let seconds = wait.strip_suffix('s').and_then(|seconds| seconds.parse::<f64>().ok());
    match seconds.map(f64::ceil).filter(|seconds| (0.0..1e9).contains(seconds)) {
        Some(seconds) => Until::In(seconds as i64),
        None => Until::Unknown,
    }
}

/// Reads `again at 8:49 AM` and `again at Nov 18th, 2026 8:49 AM`, as Codex writes them.
fn wall(said: &str) -> Option<Until> {
    let (_, after) = said.split_once("again at ")?;
    let words: Vec<&str> = after.split_whitespace().take(5).collect();
    match words[..] {
        [month, day, year, time, half] if time.contains(':') => {
            let month = MONTHS.iter().position(|name| month.starts_with(name))? + 1;
            let day: String = day.chars().take_while(char::is_ascii_digit).collect();
            let date = format!("{}-{month:02}-{day:0>2}", year.trim_end_matches(','));
            let start = Time::parse(&format!("{date}T00:00:00Z")).ok()?;
            let day = start.as_millis().div_euclid(86_400_000);
            Some(Until::Wall { day: Some(day), minute: minute(time, half)? })
        }
        [time, half, ..] => Some(Until::Wall { day: None, minute: minute(time, half)? }),
        _ => None,
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns the minute of the day of `8:49` and `AM`.
fn minute(time: &str, half: &str) -> Option<i64> {
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

fn after_words(said: &str) -> Option<i64> {
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
    fn a_limit_is_told_in_several_ways() {
        assert_eq!(reset("Claude AI usage limit reached|1769122800"), Until::At(1_769_122_800));
        assert_eq!(reset("a|b"), Until::Unknown);
        let codex = "You've hit your usage limit. Try again in 3 days 4 hours 9 minutes.";
        assert_eq!(reset(codex), Until::In(3 * 86_400 + 4 * 3_600 + 9 * 60));
        assert_eq!(reset("try again in 1 hour."), Until::In(3_600));
        let wall = |day, minute| Until::Wall { day, minute };
        assert_eq!(reset("or try again at 8:49 AM."), wall(None, 8 * 60 + 49));
        assert_eq!(reset("or try again at 12:05 PM."), wall(None, 12 * 60 + 5));
        assert_eq!(reset("try again at Jan 2nd, 1970 12:00 AM."), wall(Some(1), 0));
        assert_eq!(reset("try again at 13:05 PM."), Until::Unknown);
        assert_eq!(reset("try again in a while"), Until::Unknown);
        assert_eq!(reset("try again in 9223372036854775807 days"), Until::In(i64::MAX));
    }

    #[test]
    fn money_and_paths_are_written_as_arguments() {
        assert_eq!(plain_dollars(2_500_000), "2.500000");
        assert_eq!((millionths(0.263_805), millionths(-1.0)), (263_805, 0));
        assert_eq!(quoted("/usr/bin/adjutant"), "/usr/bin/adjutant");
        assert_eq!(quoted("/a b/it's"), r"'/a b/it'\''s'");
    }
}
