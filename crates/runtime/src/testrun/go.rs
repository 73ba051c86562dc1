//! `go test -json`: one event a line.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::Counted;

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "Action")]
    action: String,
    #[serde(rename = "Package")]
    package: Option<String>,
    #[serde(rename = "Test")]
    test: Option<String>,
}

/// Counts tests that have no tests inside them; a package that fails without one counts as one.
pub fn count(text: &str) -> Option<Counted> {
    let mut tests: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut packages = BTreeSet::new();
    let mut seen = false;
    let events = text.lines().filter(|line| line.starts_with('{'));
    for event in events.filter_map(|line| serde_json::from_str::<Event>(line).ok()) {
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

fn sum(tests: &BTreeMap<(String, String), String>, failed: &BTreeSet<String>) -> Counted {
    let mut counted = Counted::default();
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
            // One that only began was cut off by whatever ended its package.
            _ => {
                explained.insert(package);
                counted.fail(&format!("{package}.{test}"));
            }
        }
    }
    for package in failed.iter().filter(|package| !explained.contains(package)) {
        counted.fail(package);
    }
    counted
}
