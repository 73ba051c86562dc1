//! The parts of the suite that can be run alone, by the names people type.

use std::path::Path;

use crate::step::StepFailure;

/// A part that `cargo xtask test PART` runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SuitePart {
    Format,
    Lint,
    Docs,
    Clients,
    Browser,
    Tests(TestFilter),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestFilter {
    package: Option<String>,
    name: Option<TestName>,
}

#[derive(Debug, PartialEq, Eq)]
enum TestName {
    /// Tests whose path has this module or function, or these modules in a row.
    Path(String),
    /// Tests whose path has this text.
    Text(&'static str),
}

impl SuitePart {
    /// Parses `lint`, `core`, `core::pipeline`, `cli::fleet::chaos` and the like.
    pub(super) fn parse(text: &str) -> Result<Self, StepFailure> {
        Ok(match text {
            "format" => Self::Format,
            "lint" => Self::Lint,
            "docs" => Self::Docs,
            "clients" => Self::Clients,
            "browser" => Self::Browser,
            "golden" => Self::Tests(Self::golden_filter()),
            _ => Self::Tests(TestFilter::parse(text)?),
        })
    }

    pub(super) fn golden_filter() -> TestFilter {
        TestFilter { package: None, name: Some(TestName::Text("golden")) }
    }
}

impl TestFilter {
    pub(crate) fn everything() -> Self {
        Self { package: None, name: None }
    }

    fn parse(text: &str) -> Result<Self, StepFailure> {
        let (folder, name) = match text.split_once("::") {
            Some((folder, path)) => (folder, Some(TestName::Path(path.to_owned()))),
            None => (text, None),
        };
        let package = package_in(folder).ok_or_else(|| {
            StepFailure::new(format!("there is no part `{text}`")).with_hint(format!(
                "the parts are format, lint, docs, clients, browser, golden, and the crates: {}; \
                 `core::pipeline` runs the tests in the module `pipeline` of core",
                crate_folders().join(", ")
            ))
        })?;
        Ok(Self { package: Some(package), name })
    }

    pub(super) fn for_nextest(&self) -> Vec<String> {
        let mut args = self.packages();
        let filter = match &self.name {
            Some(TestName::Path(path)) => format!("test(/(^|::){path}(::|$)/)"),
            Some(TestName::Text(text)) => format!("test({text})"),
            None => return args,
        };
        args.extend(["-E".to_owned(), filter]);
        args
    }

    pub(super) fn for_cargo_test(&self) -> Vec<String> {
        let mut args = self.packages();
        let text = match &self.name {
            Some(TestName::Path(path)) => path.as_str(),
            Some(TestName::Text(text)) => text,
            None => return args,
        };
        args.extend(["--".to_owned(), text.to_owned()]);
        args
    }

    fn packages(&self) -> Vec<String> {
        let mut args = match &self.package {
            Some(package) => vec!["--package".to_owned(), package.clone()],
            None => vec!["--workspace".to_owned()],
        };
        // Unit and integration tests. Doc tests belong to the part `docs`: nextest does not run
        // them.
        args.push("--tests".to_owned());
        args
    }
}

/// Returns the package in `crates/FOLDER`, or xtask's own.
fn package_in(folder: &str) -> Option<String> {
    match folder {
        "xtask" => Some("xtask".to_owned()),
        "cli" => Some("adjutant".to_owned()),
        _ => crate_folders().contains(&folder.to_owned()).then(|| format!("adjutant-{folder}")),
    }
}

fn crate_folders() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let folders = std::fs::read_dir(crates).into_iter().flatten().flatten();
    let names = folders.filter_map(|folder| folder.file_name().into_string().ok());
    let mut names: Vec<String> = names.chain(["xtask".to_owned()]).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, nextest: &str, cargo_test: &str) {
        let filter = match SuitePart::parse(text).expect("a part") {
            SuitePart::Tests(filter) => filter,
            other => panic!("{other:?}"),
        };
        assert_eq!(filter.for_nextest().join(" "), nextest);
        assert_eq!(filter.for_cargo_test().join(" "), cargo_test);
    }

    #[test]
    fn part_names_a_crate_and_maybe_a_module() {
        let kinds = "--tests";
        let core = format!("--package adjutant-core {kinds}");
        check("core", &core, &core);
        let pipeline = format!("{core} -E test(/(^|::)pipeline(::|$)/)");
        check("core::pipeline", &pipeline, &format!("{core} -- pipeline"));
        let cli = format!("--package adjutant {kinds}");
        let chaos = format!("{cli} -E test(/(^|::)fleet::chaos(::|$)/)");
        check("cli::fleet::chaos", &chaos, &format!("{cli} -- fleet::chaos"));
        check("xtask", &format!("--package xtask {kinds}"), &format!("--package xtask {kinds}"));
        let all = format!("--workspace {kinds}");
        check("golden", &format!("{all} -E test(golden)"), &format!("{all} -- golden"));
    }

    #[test]
    fn unknown_part_is_refused_with_the_known_ones() {
        let failure = SuitePart::parse("everything").expect_err("no such part").to_string();
        assert!(failure.starts_with("error: there is no part `everything`\nhint: "), "{failure}");
        assert!(failure.contains("golden") && failure.contains("replication"), "{failure}");
    }
}
