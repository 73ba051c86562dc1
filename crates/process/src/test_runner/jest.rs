//! Parses the JSON of jest and vitest.

use serde::Deserialize;

use super::ParsedTestCounts;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JestReport {
    num_passed_tests: u64,
    num_failed_tests: u64,
    num_pending_tests: u64,
    #[serde(default)]
    num_todo_tests: u64,
    test_results: Vec<JestSuite>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JestSuite {
    #[serde(default)]
    name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    assertion_results: Vec<JestTest>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JestTest {
    status: String,
    full_name: String,
}

/// Counts the tests of the report; other lines may surround it.
pub fn count(text: &str) -> Option<ParsedTestCounts> {
    let starts = std::iter::once(0).chain(text.match_indices("\n{").map(|(at, _)| at + 1));
    let report = starts.filter(|at| text[*at..].trim_start().starts_with('{')).find_map(|at| {
        let mut documents =
            serde_json::Deserializer::from_str(&text[at..]).into_iter::<JestReport>();
        documents.next()?.ok()
    })?;
    let mut counted = ParsedTestCounts::default();
    counted.tests.pass = report.num_passed_tests;
    counted.tests.fail = report.num_failed_tests;
    counted.tests.skip = report.num_pending_tests + report.num_todo_tests;
    for suite in &report.test_results {
        let failed = |test: &&JestTest| test.status == "failed";
        suite
            .assertion_results
            .iter()
            .filter(failed)
            .for_each(|test| counted.add_failing_name(&test.full_name));
        // A file that could not be loaded has no tests that fail.
        if suite.status == "failed" && !suite.assertion_results.iter().any(|test| failed(&test)) {
            counted.add_failure(&suite.name);
        }
    }
    Some(counted)
}
