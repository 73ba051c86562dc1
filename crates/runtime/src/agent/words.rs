//! Reads the few things that agents say in words only.

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
        None => after_words(said).map_or(Until::Unknown, Until::In),
    }
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
