//! The JSON that jest and vitest write.

use serde::Deserialize;

use super::Counted;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    num_passed_tests: u64,
    num_failed_tests: u64,
    num_pending_tests: u64,
    #[serde(default)]
    num_todo_tests: u64,
    test_results: Vec<Suite>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Suite {
    #[serde(default)]
    name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    assertion_results: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    status: String,
    full_name: String,
}

/// Counts what the report says; other lines may stand around it.
pub fn count(text: &str) -> Option<Counted> {
    let starts = std::iter::once(0).chain(text.match_indices("\n{").map(|(at, _)| at + 1));
    let report = starts.filter(|at| text[*at..].trim_start().starts_with('{')).find_map(|at| {
        let mut documents = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Report>();
        documents.next()?.ok()
    })?;
    let mut counted = Counted::default();
    counted.tests.pass = report.num_passed_tests;
    counted.tests.fail = report.num_failed_tests;
    counted.tests.skip = report.num_pending_tests + report.num_todo_tests;
    for suite in &report.test_results {
        let failed = |test: &&Test| test.status == "failed";
        suite
            .assertion_results
            .iter()
            .filter(failed)
            .for_each(|test| counted.name(&test.full_name));
        // A file that could not even be loaded has no tests to fail.
        if suite.status == "failed" && !suite.assertion_results.iter().any(|test| failed(&test)) {
            counted.fail(&suite.name);
        }
    }
    Some(counted)
}
