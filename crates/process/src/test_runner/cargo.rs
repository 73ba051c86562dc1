//! Parses the output of `cargo test` and of `cargo nextest`.

use adjutant_core::story::TestTotals;

use super::ParsedTestCounts;

/// Counts the tests of either format.
pub fn count(text: &str) -> Option<ParsedTestCounts> {
    nextest(text).or_else(|| libtest(text))
}

/// Parses the last summary. A summary before it may be the output of a test.
fn nextest(text: &str) -> Option<ParsedTestCounts> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_summary = |line: &&str| line.starts_with("Summary [") && line.contains("run: ");
    let at = lines.iter().rposition(is_summary)?;
    let mut counted = ParsedTestCounts::default();
    let counts = lines[at].split_once("run: ")?.1;
    for part in counts.split(", ") {
        let (number, word) = part.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match word.split(' ').next()? {
            "passed" => counted.tests.pass += number,
            "skipped" => counted.tests.skip += number,
            _ => counted.tests.fail += number,
        }
    }
    for line in &lines[at + 1..] {
        let Some((word, rest)) = line.split_once(" [") else { continue };
        let failed = matches!(word, "FAIL" | "TIMEOUT" | "ABORT" | "XFAIL" | "LEAK-FAIL")
            || word.starts_with("SIG");
        if let Some((_, name)) = rest.split_once("] ").filter(|_| failed) {
            counted.add_failing_name(without_number(name));
        }
    }
    Some(counted)
}

/// Removes the counter, as in `(2/3) cart tests::coupon`.
fn without_number(name: &str) -> &str {
    let name = name.trim();
    match name.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((_, name)) => name.trim(),
        None => name,
    }
}

/// Parses the blocks of the test binaries; each begins with its number of tests.
fn libtest(text: &str) -> Option<ParsedTestCounts> {
    let lines: Vec<&str> = text.lines().collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|at| is_start(lines[*at])).collect();
    let mut counted = ParsedTestCounts::default();
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(lines.len());
        add_block(&lines[*start..end], &mut counted);
    }
    (!starts.is_empty()).then_some(counted)
}

fn is_start(line: &str) -> bool {
    let count = line.strip_prefix("running ").and_then(|rest| rest.split_once(' '));
    count.is_some_and(|(count, word)| {
        count.parse::<u64>().is_ok() && matches!(word, "test" | "tests")
    })
}

/// The result line of a block is the last one whose counts add up to the block's number of tests.
/// Other result lines were printed by a test.
fn add_block(lines: &[&str], counted: &mut ParsedTestCounts) {
    let found =
        (0..lines.len()).rev().find_map(|at| Some((at, parse_result(lines[0], lines[at])?)));
    let Some((result, tests)) = found else {
        let last = lines.iter().rev().find_map(|line| line.strip_prefix("test "));
        let name = last.and_then(|line| line.split(" ... ").next());
        return counted.add_failure(name.unwrap_or("a test binary that ended early"));
    };
    counted.tests.pass += tests.pass;
    counted.tests.fail += tests.fail;
    counted.tests.skip += tests.skip;
    let before = &lines[..result];
    let list =
        before.iter().rposition(|line| *line == "failures:").map_or(before.len(), |at| at + 1);
    for name in before[list..].iter().filter_map(|line| line.strip_prefix("    ")) {
        counted.add_failing_name(name);
    }
}

/// Parses `test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; …` after
/// `running 4 tests`.
fn parse_result(start: &str, line: &str) -> Option<TestTotals> {
    let (mut tests, mut all) = (TestTotals::default(), 0);
    for part in line.strip_prefix("test result: ")?.split(['.', ';']).map(str::trim) {
        let Some((number, word)) = part.split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        match word {
            "passed" => tests.pass = number,
            "failed" => tests.fail = number,
            "ignored" => tests.skip = number,
            "measured" => {}
            _ => continue,
        }
        all += number;
    }
    let expected: u64 = start.split(' ').nth(1)?.parse().ok()?;
    (all == expected).then_some(tests)
}
