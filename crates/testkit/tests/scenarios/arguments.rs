//! The arguments that `cargo test` and `cargo nextest` give a test binary: list, filter, run.

#[derive(Default)]
pub(crate) struct TestArguments {
    pub(crate) list: bool,
    ignored_only: bool,
    exact: bool,
    filters: Vec<String>,
    skipped: Vec<String>,
}

/// Flags of libtest that take a value and are ignored here.
const WITH_VALUE: [&str; 6] =
    ["--format", "--test-threads", "--color", "--logfile", "--shuffle-seed", "-Z"];

impl TestArguments {
    /// Reads the command line and ignores other flags.
    pub(crate) fn parse(given: impl IntoIterator<Item = String>) -> Self {
        let mut arguments = Self::default();
        let mut given = given.into_iter();
        while let Some(argument) = given.next() {
            match argument.as_str() {
                "--list" => arguments.list = true,
                "--ignored" => arguments.ignored_only = true,
                "--exact" => arguments.exact = true,
                "--skip" => arguments.skipped.extend(given.next()),
                flag if WITH_VALUE.contains(&flag) => drop(given.next()),
                flag if flag.starts_with('-') => {}
                filter => arguments.filters.push(filter.to_owned()),
            }
        }
        arguments
    }

    /// Tells whether a scenario is selected. No scenario is ever `#[ignore]`d.
    pub(crate) fn selects(&self, name: &str) -> bool {
        let named = |text: &String| if self.exact { name == text } else { name.contains(text) };
        let is_selected = self.filters.is_empty() || self.filters.iter().any(named);
        is_selected && !self.ignored_only && !self.skipped.iter().any(named)
    }
}
