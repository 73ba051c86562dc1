//! What a run was not to do, and what it did: constraints are rules here, not advice.
//!
//! What was seen in a workspace comes in from outside; nothing here looks.

use std::fmt;

use serde_json::{Map, Value};

use crate::fields::Fields;

/// What a run is not to do in its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Constraints {
    /// How many files it may change.
    pub max_files: Option<u64>,
    /// Whether it must not commit.
    pub no_git_commit: Option<bool>,
    /// Whether it must not add dependencies.
    pub no_new_deps: Option<bool>,
}

/// What was seen of a run in its workspace, from its start to its report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkspaceFacts {
    /// The files that are not as they were, by their paths from the workspace.
    pub files_changed: Vec<String>,
    /// How many commits were made.
    pub commits: u32,
    /// The dependency manifests and lock files among the files that changed.
    pub manifests_changed: Vec<String>,
    /// The expected outputs that are not there.
    pub outputs_missing: Vec<String>,
    /// Why nobody can say what changed, if that is so.
    pub unchecked: Option<String>,
}

/// Something that was done though it was not to be done, or the other way round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Breach {
    /// More files changed than may.
    TooManyFiles {
        /// How many may.
        max: u64,
        /// Those that did.
        changed: Vec<String>,
    },
    /// Commits were made.
    Committed {
        /// How many.
        commits: u32,
    },
    /// Dependencies changed.
    NewDependencies {
        /// The manifests that say so.
        manifests: Vec<String>,
    },
    /// Something that was to be made is not there.
    OutputMissing {
        /// Where it was to be.
        path: String,
    },
    /// Nobody can say whether it did.
    Unchecked {
        /// Why not.
        why: String,
    },
}

/// The most files a breach names.
const NAMED_MAX: usize = 10;

impl Constraints {
    /// The fields of constraints, in the order they are printed.
    pub const FIELDS: [&'static str; 3] = ["max_files", "no_git_commit", "no_new_deps"];

    pub(crate) fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            max_files: fields.count("max_files"),
            no_git_commit: fields.flag("no_git_commit"),
            no_new_deps: fields.flag("no_new_deps"),
        }
    }

    pub(crate) fn document(&self) -> Map<String, Value> {
        let said = [
            ("max_files", self.max_files.map(Value::from)),
            ("no_git_commit", self.no_git_commit.map(Value::from)),
            ("no_new_deps", self.no_new_deps.map(Value::from)),
        ];
        said.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// Says each constraint in a sentence.
    pub fn in_words(&self) -> Vec<String> {
        let files = self.max_files.map(|max| format!("Change at most {max} files."));
        let commit = (self.no_git_commit == Some(true)).then(|| "Do not commit.".to_owned());
        let deps = (self.no_new_deps == Some(true)).then(|| "Add no dependencies.".to_owned());
        [files, commit, deps].into_iter().flatten().collect()
    }
}

/// Returns everything in which a run did not do as it was told. `expected` are the outputs that
/// were asked for: of what is missing, only these count.
pub fn breaches(
    constraints: &Constraints,
    expected: &[&str],
    seen: &WorkspaceFacts,
) -> Vec<Breach> {
    let mut breaches = Vec::new();
    // What cannot be checked has not been kept to until a person says so.
    let forbids = !constraints.in_words().is_empty();
    let unchecked = seen.unchecked.iter().filter(|_| forbids);
    breaches.extend(unchecked.map(|why| Breach::Unchecked { why: why.clone() }));
    let changed = seen.files_changed.len() as u64;
    if let Some(max) = constraints.max_files.filter(|max| changed > *max) {
        breaches.push(Breach::TooManyFiles { max, changed: seen.files_changed.clone() });
    }
    if constraints.no_git_commit == Some(true) && seen.commits > 0 {
        breaches.push(Breach::Committed { commits: seen.commits });
    }
    if constraints.no_new_deps == Some(true) && !seen.manifests_changed.is_empty() {
        breaches.push(Breach::NewDependencies { manifests: seen.manifests_changed.clone() });
    }
    let missing = seen.outputs_missing.iter().filter(|path| expected.contains(&path.as_str()));
    breaches.extend(missing.map(|path| Breach::OutputMissing { path: path.clone() }));
    breaches
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyFiles { max, changed } => {
                write!(f, "max_files: {} files changed, and {max} may: ", changed.len())?;
                f.write_str(&named(changed))
            }
            Self::Committed { commits: 1 } => f.write_str("no_git_commit: a commit was made"),
            Self::Committed { commits } => {
                write!(f, "no_git_commit: {commits} commits were made")
            }
            Self::NewDependencies { manifests } => {
                write!(f, "no_new_deps: changed {}", named(manifests))
            }
            Self::Unchecked { why } => {
                write!(f, "the constraints could not be checked: {why}")
            }
            Self::OutputMissing { path } => write!(f, "expected output is not there: {path}"),
        }
    }
}

fn named(paths: &[String]) -> String {
    let more = paths.len().saturating_sub(NAMED_MAX);
    let first: Vec<&str> = paths.iter().take(NAMED_MAX).map(String::as_str).collect();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(constraints: &Constraints, seen: &WorkspaceFacts, words: &[&str]) {
        let found = breaches(constraints, &["out/a.md"], seen);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, words);
    }

    fn texts(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn a_breach_says_exactly_what_was_done() {
        let strict =
            Constraints { max_files: Some(1), no_git_commit: Some(true), no_new_deps: Some(true) };
        let seen = WorkspaceFacts {
            files_changed: texts(&["Cargo.lock", "src/a.rs"]),
            commits: 2,
            manifests_changed: texts(&["Cargo.lock"]),
            outputs_missing: texts(&["out/a.md", "out/b.md"]),
            unchecked: None,
        };
        check(
            &strict,
            &seen,
            &[
                "max_files: 2 files changed, and 1 may: Cargo.lock, src/a.rs",
                "no_git_commit: 2 commits were made",
                "no_new_deps: changed Cargo.lock",
                "expected output is not there: out/a.md",
            ],
        );
        check(&Constraints::default(), &seen, &["expected output is not there: out/a.md"]);
    }

    #[test]
    fn what_is_allowed_is_no_breach() {
        let lax = Constraints {
            max_files: Some(2),
            no_git_commit: Some(false),
            no_new_deps: Some(false),
        };
        let seen = WorkspaceFacts {
            files_changed: texts(&["Cargo.lock", "src/a.rs"]),
            commits: 2,
            manifests_changed: texts(&["Cargo.lock"]),
            outputs_missing: vec![],
            unchecked: None,
        };
        check(&lax, &seen, &[]);
        let none = Constraints { max_files: Some(0), ..Constraints::default() };
        check(&none, &WorkspaceFacts::default(), &[]);
    }

    #[test]
    fn what_cannot_be_checked_is_a_breach_where_something_is_forbidden() {
        let why = Some("there is no git".to_owned());
        let seen = WorkspaceFacts { unchecked: why, ..WorkspaceFacts::default() };
        let strict = Constraints { no_git_commit: Some(true), ..Constraints::default() };
        check(&strict, &seen, &["the constraints could not be checked: there is no git"]);
        let lax = Constraints { no_git_commit: Some(false), ..Constraints::default() };
        check(&lax, &seen, &[]);
    }

    #[test]
    fn a_long_list_is_cut() {
        let many: Vec<String> = (0..13).map(|n| format!("f{n}")).collect();
        let seen = WorkspaceFacts { files_changed: many, ..WorkspaceFacts::default() };
        let none = Constraints { max_files: Some(0), ..Constraints::default() };
        check(
            &none,
            &seen,
            &["max_files: 13 files changed, and 0 may: \
               f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 3 more"],
        );
    }
}
