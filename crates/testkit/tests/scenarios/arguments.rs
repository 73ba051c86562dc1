//! What `cargo test` and `cargo nextest` ask of a test binary: list, filter, run.

/// What was asked for.
#[derive(Default)]
pub(crate) struct Arguments {
    /// Only the names are wanted.
    pub(crate) list: bool,
    ignored_only: bool,
    exact: bool,
    filters: Vec<String>,
    skipped: Vec<String>,
}

/// Flags of libtest that take a value and mean nothing here.
const WITH_VALUE: [&str; 6] =
    ["--format", "--test-threads", "--color", "--logfile", "--shuffle-seed", "-Z"];

impl Arguments {
    /// Reads the command line; flags that mean nothing here are passed over.
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

    /// Says whether a scenario is wanted. None is ever ignored.
    pub(crate) fn choose(&self, name: &str) -> bool {
        let named = |text: &String| if self.exact { name == text } else { name.contains(text) };
        let wanted = self.filters.is_empty() || self.filters.iter().any(named);
        wanted && !self.ignored_only && !self.skipped.iter().any(named)
    }
}
