//! Parses pytest's text output: the last line has the counts, and a summary lists the failures.

use super::ParsedTestCounts;

/// Takes the counts from the last line.
pub fn count(text: &str) -> Option<ParsedTestCounts> {
    let lines: Vec<&str> = text.lines().collect();
    let (at, mut counted) =
        lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, last_line(line)?)))?;
    let is_list = |line: &&str| line.contains(" short test summary info ");
    if let Some(list) = lines[..at].iter().rposition(is_list) {
        for line in &lines[list + 1..at] {
            let failed = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "));
            if let Some(name) = failed {
                counted.add_failing_name(name.split(" - ").next().unwrap_or(name));
            }
        }
    }
    Some(counted)
}

/// Parses `= 2 failed, 2 passed, 1 skipped, 1 xfailed, 1 error in 0.08s =`, with or
/// without the `=`.
fn last_line(line: &str) -> Option<ParsedTestCounts> {
    let (counts, rest) = line.trim_matches(['=', ' ']).rsplit_once(" in ")?;
    let seconds = rest.split(' ').next()?.strip_suffix('s')?;
    seconds.parse::<f64>().ok()?;
    let mut counted = ParsedTestCounts::default();
    if counts == "no tests ran" {
        return Some(counted);
    }
    for part in counts.split(", ") {
        let (number, word) = part.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match word {
            "passed" | "xpassed" => counted.tests.pass += number,
            "failed" | "error" | "errors" => counted.tests.fail += number,
            "skipped" | "xfailed" => counted.tests.skip += number,
            "deselected" | "warning" | "warnings" | "rerun" => {}
            word if word.starts_with("subtests ") => {}
            _ => return None,
        }
    }
    Some(counted)
}
