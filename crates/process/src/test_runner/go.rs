//! Parses `go test -json`: one event a line.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::ParsedTestCounts;

#[derive(Deserialize)]
struct GoTestEvent {
    #[serde(rename = "Action")]
    action: String,
    #[serde(rename = "Package")]
    package: Option<String>,
    #[serde(rename = "Test")]
    test: Option<String>,
}

/// Counts tests without subtests. A package that fails without a failed test counts as one.
pub fn count(text: &str) -> Option<ParsedTestCounts> {
    let mut tests: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut packages = BTreeSet::new();
    let mut seen = false;
    let events = text.lines().filter(|line| line.starts_with('{'));
    for event in events.filter_map(|line| serde_json::from_str::<GoTestEvent>(line).ok()) {
        let Some(package) = event.package else { continue };
        seen = true;
        match (event.test, event.action.as_str()) {
            (Some(name), "run" | "pass" | "fail" | "skip") => {
                tests.insert((package, name), event.action);
            }
            (None, "fail") => drop(packages.insert(package)),
            (Some(_) | None, _) => {}
        }
    }
    seen.then(|| sum(&tests, &packages))
}

fn sum(tests: &BTreeMap<(String, String), String>, failed: &BTreeSet<String>) -> ParsedTestCounts {
    let mut counted = ParsedTestCounts::default();
    let mut explained = BTreeSet::new();
    for ((package, test), action) in tests {
        let inside = format!("{test}/");
        let later = tests.range((package.clone(), inside.clone())..).next();
        if later.is_some_and(|((other, name), _)| other == package && name.starts_with(&inside)) {
            continue;
        }
        match action.as_str() {
            "pass" => counted.tests.pass += 1,
            "skip" => counted.tests.skip += 1,
            // A test that only started was interrupted when its package ended.
            _ => {
                explained.insert(package);
                counted.add_failure(&format!("{package}.{test}"));
            }
        }
    }
    for package in failed.iter().filter(|package| !explained.contains(package)) {
        counted.add_failure(package);
    }
    counted
}
