//! `cargo test`, whose binaries speak for themselves, and `cargo nextest`.

use adjutant_core::pipeline::Tests;

use super::Counted;

/// Counts what either says.
pub fn count(text: &str) -> Option<Counted> {
    nextest(text).or_else(|| libtest(text))
}

/// Reads the last summary; what a test printed before it proves nothing.
fn nextest(text: &str) -> Option<Counted> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_summary = |line: &&str| line.starts_with("Summary [") && line.contains("run: ");
    let at = lines.iter().rposition(is_summary)?;
    let mut counted = Counted::default();
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
            counted.name(without_number(name));
        }
    }
    Some(counted)
}

/// Leaves out which of how many it was: `(2/3) cart tests::coupon`.
fn without_number(name: &str) -> &str {
    let name = name.trim();
    match name.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        Some((_, name)) => name.trim(),
        None => name,
    }
}

/// Reads the blocks of the test binaries: each begins with how many tests there are.
fn libtest(text: &str) -> Option<Counted> {
    let lines: Vec<&str> = text.lines().collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|at| is_start(lines[*at])).collect();
    let mut counted = Counted::default();
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(lines.len());
        block(&lines[*start..end], &mut counted);
    }
    (!starts.is_empty()).then_some(counted)
}

fn is_start(line: &str) -> bool {
    let count = line.strip_prefix("running ").and_then(|rest| rest.split_once(' '));
    count.is_some_and(|(count, word)| {
        count.parse::<u64>().is_ok() && matches!(word, "test" | "tests")
    })
}

/// The result of a block is the last one that is about as many tests as the block has; another was
/// printed by a test.
fn block(lines: &[&str], counted: &mut Counted) {
    let found = (0..lines.len()).rev().find_map(|at| Some((at, outcome(lines[0], lines[at])?)));
    let Some((result, tests)) = found else {
        let last = lines.iter().rev().find_map(|line| line.strip_prefix("test "));
        let name = last.and_then(|line| line.split(" ... ").next());
        return counted.fail(name.unwrap_or("a test binary that ended early"));
    };
    counted.tests.pass += tests.pass;
    counted.tests.fail += tests.fail;
    counted.tests.skip += tests.skip;
    let before = &lines[..result];
    let list =
        before.iter().rposition(|line| *line == "failures:").map_or(before.len(), |at| at + 1);
    for name in before[list..].iter().filter_map(|line| line.strip_prefix("    ")) {
        counted.name(name);
    }
}

/// Reads `test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; …` after `running 4 tests`.
fn outcome(start: &str, line: &str) -> Option<Tests> {
    let (mut tests, mut all) = (Tests::default(), 0);
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
