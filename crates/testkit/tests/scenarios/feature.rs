//! Feature files: parsed, compared with the list of titles, and each line bound to its step.

use std::collections::BTreeSet;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use gherkin::{Feature, GherkinEnv};

use crate::scenario_state::ScenarioState;
use crate::steps::{self, BoundStep};
use crate::{outline, titles};

pub(crate) struct BoundScenario {
    /// The name of its file and its title.
    pub(crate) name: String,
    cases: Vec<Vec<BoundStep>>,
}

/// Reads every feature file, or returns all problems.
pub(crate) fn load() -> Result<Vec<BoundScenario>, Vec<String>> {
    let files = titles::FEATURES.iter().map(|(file, titles)| read(file, titles));
    let scenarios: Vec<BoundScenario> = collect_results(files)?.into_iter().flatten().collect();
    let problems = [find_unlisted_files(), find_unused_steps(&scenarios)].concat();
    if problems.is_empty() { Ok(scenarios) } else { Err(problems) }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("features")
}

/// A file that is not in the list would never be run.
fn find_unlisted_files() -> Vec<String> {
    let listed =
        |name: &str| titles::FEATURES.iter().any(|(file, _)| format!("{file}.feature") == name);
    let entries = std::fs::read_dir(folder()).expect("the folder of feature files");
    let names =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| !listed(name)).map(|name| format!("{name} is not in the list")).collect()
}

/// A step that no scenario uses tests nothing.
fn find_unused_steps(scenarios: &[BoundScenario]) -> Vec<String> {
    let bound = scenarios.iter().flat_map(|scenario| scenario.cases.iter().flatten());
    let used: BTreeSet<&str> = bound.map(|bound| bound.pattern).collect();
    let unused = steps::all().filter(|(pattern, _)| !used.contains(pattern));
    unused.map(|(pattern, _)| format!("no scenario uses: {pattern}")).collect()
}

fn read(file: &str, expected: &[&str]) -> Result<Vec<BoundScenario>, Vec<String>> {
    let path = folder().join(format!("{file}.feature"));
    let feature = Feature::parse_path(path, GherkinEnv::default()).map_err(|error| {
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        vec![format!("{file}: {error}: {cause}")]
    })?;
    let titles: Vec<&str> = feature.scenarios.iter().map(|one| one.name.as_str()).collect();
    if titles != expected || !feature.rules.is_empty() {
        return Err(vec![format!("{file} has {titles:?}, not {expected:?}")]);
    }
    collect_results(feature.scenarios.iter().map(|scenario| bind(file, &feature, scenario)))
}

fn bind(
    file: &str,
    feature: &Feature,
    scenario: &gherkin::Scenario,
) -> Result<BoundScenario, Vec<String>> {
    let name = format!("{file}::{}", scenario.name);
    let before = feature.background.iter().flat_map(|background| &background.steps);
    let cases = collect_results(outline::cases(scenario).iter().map(|case| {
        let bound = before.clone().chain(case).map(steps::bind);
        collect_results(
            bound.map(|bound| bound.map_err(|problem| vec![format!("{name}: {problem}")])),
        )
    }))?;
    if cases.is_empty() || scenario.steps.is_empty() {
        return Err(vec![format!("{name}: nothing happens in it")]);
    }
    Ok(BoundScenario { name, cases })
}

/// Returns all values, or all problems.
fn collect_results<T>(
    results: impl Iterator<Item = Result<T, Vec<String>>>,
) -> Result<Vec<T>, Vec<String>> {
    let (mut good, mut bad) = (vec![], vec![]);
    for result in results {
        match result {
            Ok(one) => good.push(one),
            Err(problems) => bad.extend(problems),
        }
    }
    if bad.is_empty() { Ok(good) } else { Err(bad) }
}

impl BoundScenario {
    /// Runs every case in its own folder, or returns the line that failed.
    pub(crate) fn run(&self) -> Result<(), String> {
        self.cases.iter().try_for_each(|steps| run_case(steps))
    }
}

fn run_case(steps: &[BoundStep]) -> Result<(), String> {
    let mut scene = ScenarioState::new();
    for bound in steps {
        catch_failure(&bound.line, || (bound.act)(&mut scene, &bound.words))?;
    }
    catch_failure("the look at the folder afterwards", || scene.check_soundness())
}

/// The panic's message is on stderr already; this adds the line of the feature file.
fn catch_failure(line: &str, act: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|_| line.to_owned())
}
