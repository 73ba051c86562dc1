//! Parses the text output of Python's unittest: the last lines have the counts, and each failure
//! begins with its name.

use super::ParsedTestCounts;

/// Takes the counts from the last lines.
pub fn count(text: &str) -> Option<ParsedTestCounts> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let at = lines.iter().rposition(|line| ran_count(line).is_some())?;
    let ran = ran_count(lines[at])?;
    let (fail, skip) = lines[at + 1..].iter().find_map(|line| last_line(line))?;
    let mut counted = ParsedTestCounts::default();
    counted.tests.fail = fail;
    counted.tests.skip = skip;
    // A test counts once in `Ran`, and each of its failing subtests counts as a failure.
    counted.tests.pass = ran.saturating_sub(fail).saturating_sub(skip);
    for line in &lines[..at] {
        let failed = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "));
        if let Some(name) = failed {
            counted.add_failing_name(name);
        }
    }
    Some(counted)
}

/// Parses `Ran 6 tests in 0.001s`.
fn ran_count(line: &str) -> Option<u64> {
    let (number, rest) = line.strip_prefix("Ran ")?.split_once(' ')?;
    let seconds = rest.strip_prefix("tests in ").or_else(|| rest.strip_prefix("test in "))?;
    seconds.strip_suffix('s')?.parse::<f64>().ok()?;
    number.parse().ok()
}

/// Parses the numbers of failed and skipped tests from the result: `OK`, `OK (skipped=1)`,
/// `NO TESTS RAN` or `FAILED (failures=2, errors=1, skipped=1, expected failures=1)`.
fn last_line(line: &str) -> Option<(u64, u64)> {
    let (word, counts) = line.split_once(" (").unwrap_or((line, ")"));
    if !matches!(word, "OK" | "FAILED" | "NO TESTS RAN") {
        return None;
    }
    let (mut fail, mut skip) = (0, 0);
    for part in counts.strip_suffix(')')?.split(", ").filter(|part| !part.is_empty()) {
        let (name, number) = part.split_once('=')?;
        let number: u64 = number.parse().ok()?;
        match name {
            "failures" | "errors" | "unexpected successes" => fail += number,
            "skipped" | "expected failures" => skip += number,
            _ => return None,
        }
    }
    Some((fail, skip))
}
