//! Replaces the values that differ between test runs, so that the rest compares byte for byte.

use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use adjutant_model::Time;
use regex::Regex;

/// The day that every golden test runs on. Times on other days are not replaced.
pub(super) const DAY: &str = "2026-02-09";

/// Patterns and their replacements, applied in this order.
const RULES: &[(&str, &str)] = &[
    (r"2026-02-09T\d\d:\d\d:\d\d(\.\d+)?Z", "<TIME>"),
    (r"2026-02-09 \d\d:\d\d(:\d\d)?( UTC)?", "<TIME>"),
    (r"\b[0-9a-f]{64}\b", "<HEX-64>"),
    (r"\b[0-9a-f]{40}\b", "<COMMIT>"),
    (r"\bcommit [0-9a-f]{10}\b", "commit <COMMIT>"),
    (r"\bmerged as [0-9a-f]{12}\b", "merged as <COMMIT>"),
    (r#"("prev": ?)"[0-9a-f]{16}""#, "$1\"<HASH>\""),
    (r#"("?nonce"?: ?"?)[0-9a-f]{16}\b"#, "$1<NONCE>"),
    (r"\b\d+\.\d s\b", "<SECONDS> s"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<PORT>"),
    (r"login\?code=[0-9a-f]+", "login?code=<CODE>"),
    (r#"("pid": ?|"stopped": ?|process )\d+"#, "$1<PID>"),
    (r#"("(?:durationMs|tookMs)": ?)\d+"#, "$1<MS>"),
    (r"(?m)^ +\d+s  TASK-", "  <SPAN>  TASK-"),
    (r"/assets/([\w-]+)\.[0-9a-f]{16}\.", "/assets/$1.<HASH>."),
    (r"adjutant-[0-9a-f]{8}-\d+", "adjutant-<PROJECT>-<PORT>"),
    (r"adjutant-test-\w+", "adjutant-test-<RANDOM>"),
];

static COMPILED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let compile = |rule: &str| Regex::new(rule).expect("a good expression");
    let rules = RULES.iter().map(|(rule, name)| (compile(rule), *name));
    // Agents do not use the tests' clock: their files contain the real time.
    let real = real_days().map(|day| (compile(&format!("{day}{TIME}")), "<TIME>"));
    rules.chain(real).collect()
});

/// Matches the time of day after a date.
const TIME: &str = r"T\d\d:\d\d:\d\d(\.\d+)?Z";

/// Returns today and tomorrow, because a test may run over midnight.
fn real_days() -> impl Iterator<Item = String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let now = i64::try_from(now.as_millis()).expect("a time");
    [now, now + 86_400_000].into_iter().map(|millis| Time::from_millis(millis).day())
}

/// Replaces times, hashes, commits, ports, sign-in codes and process ids.
pub(super) fn masked(text: &str) -> String {
    let replace =
        |text: String, (rule, name): &(Regex, &str)| rule.replace_all(&text, *name).into_owned();
    COMPILED.iter().fold(text.to_owned(), replace)
}
