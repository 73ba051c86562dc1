//! Constraints on a run, and the breaches found in its workspace. Constraints are
//! rules, not advice.
//!
//! The facts about a workspace come from outside; this module inspects nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::field_reader::FieldReader;

/// The limits of a run in its workspace. A breach turns success into work that needs a review.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunConstraints {
    /// How many files a run may change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(max = u64::MAX)))]
    pub max_files: Option<u64>,
    /// Whether a run must not commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_git_commit: Option<bool>,
    /// Whether a run must not add dependencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_new_deps: Option<bool>,
}

/// What the inspection of a workspace found, from the start of a run to its report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceFacts {
    /// Paths relative to the workspace.
    pub files_changed: Vec<String>,
    pub commits: u32,
    /// The dependency manifests and lock files among the changed files.
    pub manifests_changed: Vec<String>,
    pub outputs_missing: Vec<String>,
    /// Why the changes could not be determined; `None` if they could.
    pub unverified_reason: Option<String>,
}

/// A constraint that a run did not keep, or an expected output that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConstraintBreach {
    TooManyFiles { max: u64, changed: Vec<String> },
    Committed { commits: u32 },
    NewDependencies { manifests: Vec<String> },
    OutputMissing { path: String },
    Unverified { why: String },
}

/// A breach lists at most this many files.
const NAMED_MAX: usize = 10;

impl RunConstraints {
    /// The field names, in the order they are printed.
    pub const FIELDS: [&'static str; 3] = ["max_files", "no_git_commit", "no_new_deps"];

    pub fn read(fields: &mut FieldReader<'_>) -> Self {
        Self {
            max_files: fields.parse_count("max_files"),
            no_git_commit: fields.flag("no_git_commit"),
            no_new_deps: fields.flag("no_new_deps"),
        }
    }

    /// Returns each constraint as a sentence.
    pub fn to_sentences(&self) -> Vec<String> {
        let files = self.max_files.map(|max| format!("Change at most {max} files."));
        let commit = (self.no_git_commit == Some(true)).then(|| "Do not commit.".to_owned());
        let deps = (self.no_new_deps == Some(true)).then(|| "Add no dependencies.".to_owned());
        [files, commit, deps].into_iter().flatten().collect()
    }
}

/// Returns every breach of a run. Of the missing outputs, only those in `expected` count.
pub fn find_breaches(
    constraints: &RunConstraints,
    expected: &[&str],
    seen: &WorkspaceFacts,
) -> Vec<ConstraintBreach> {
    let mut breaches = Vec::new();
    // A constraint that cannot be verified counts as breached until a person decides.
    let forbids = !constraints.to_sentences().is_empty();
    let unchecked = seen.unverified_reason.iter().filter(|_| forbids);
    breaches.extend(unchecked.map(|why| ConstraintBreach::Unverified { why: why.clone() }));
    let changed = seen.files_changed.len() as u64;
    if let Some(max) = constraints.max_files.filter(|max| changed > *max) {
        breaches.push(ConstraintBreach::TooManyFiles { max, changed: seen.files_changed.clone() });
    }
    if constraints.no_git_commit == Some(true) && seen.commits > 0 {
        breaches.push(ConstraintBreach::Committed { commits: seen.commits });
    }
    if constraints.no_new_deps == Some(true) && !seen.manifests_changed.is_empty() {
        breaches
            .push(ConstraintBreach::NewDependencies { manifests: seen.manifests_changed.clone() });
    }
    let missing = seen.outputs_missing.iter().filter(|path| expected.contains(&path.as_str()));
    breaches.extend(missing.map(|path| ConstraintBreach::OutputMissing { path: path.clone() }));
    breaches
}

impl fmt::Display for ConstraintBreach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyFiles { max, changed } => {
                let files = changed.len();
                write!(f, "max_files: {files} files changed, and at most {max} are allowed: ")?;
                f.write_str(&join_paths(changed))
            }
            Self::Committed { commits: 1 } => f.write_str("no_git_commit: a commit was made"),
            Self::Committed { commits } => {
                write!(f, "no_git_commit: {commits} commits were made")
            }
            Self::NewDependencies { manifests } => {
                write!(f, "no_new_deps: changed {}", join_paths(manifests))
            }
            Self::Unverified { why } => {
                write!(f, "the constraints could not be checked: {why}")
            }
            Self::OutputMissing { path } => write!(f, "expected output is missing: {path}"),
        }
    }
}

fn join_paths(paths: &[String]) -> String {
    let more = paths.len().saturating_sub(NAMED_MAX);
    let first: Vec<&str> = paths.iter().take(NAMED_MAX).map(String::as_str).collect();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(constraints: &RunConstraints, seen: &WorkspaceFacts, words: &[&str]) {
        let found = find_breaches(constraints, &["out/a.md"], seen);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, words);
    }

    fn texts(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn breach_message_names_what_was_done() {
        let strict = RunConstraints {
            max_files: Some(1),
            no_git_commit: Some(true),
            no_new_deps: Some(true),
        };
        let seen = WorkspaceFacts {
            files_changed: texts(&["Cargo.lock", "src/a.rs"]),
            commits: 2,
            manifests_changed: texts(&["Cargo.lock"]),
            outputs_missing: texts(&["out/a.md", "out/b.md"]),
            unverified_reason: None,
        };
        check(
            &strict,
            &seen,
            &[
                "max_files: 2 files changed, and at most 1 are allowed: Cargo.lock, src/a.rs",
                "no_git_commit: 2 commits were made",
                "no_new_deps: changed Cargo.lock",
                "expected output is missing: out/a.md",
            ],
        );
        check(&RunConstraints::default(), &seen, &["expected output is missing: out/a.md"]);
    }

    #[test]
    fn constraints_allowed_changes_are_no_breach() {
        let lax = RunConstraints {
            max_files: Some(2),
            no_git_commit: Some(false),
            no_new_deps: Some(false),
        };
        let seen = WorkspaceFacts {
            files_changed: texts(&["Cargo.lock", "src/a.rs"]),
            commits: 2,
            manifests_changed: texts(&["Cargo.lock"]),
            outputs_missing: vec![],
            unverified_reason: None,
        };
        check(&lax, &seen, &[]);
        let none = RunConstraints { max_files: Some(0), ..RunConstraints::default() };
        check(&none, &WorkspaceFacts::default(), &[]);
    }

    #[test]
    fn constraint_that_cannot_be_checked_is_a_breach() {
        let why = Some("there is no git".to_owned());
        let seen = WorkspaceFacts { unverified_reason: why, ..WorkspaceFacts::default() };
        let strict = RunConstraints { no_git_commit: Some(true), ..RunConstraints::default() };
        check(&strict, &seen, &["the constraints could not be checked: there is no git"]);
        let lax = RunConstraints { no_git_commit: Some(false), ..RunConstraints::default() };
        check(&lax, &seen, &[]);
    }

    #[test]
    fn breach_message_truncates_long_file_list() {
        let many: Vec<String> = (0..13).map(|n| format!("f{n}")).collect();
        let seen = WorkspaceFacts { files_changed: many, ..WorkspaceFacts::default() };
        let none = RunConstraints { max_files: Some(0), ..RunConstraints::default() };
        check(
            &none,
            &seen,
            &["max_files: 13 files changed, and at most 0 are allowed: \
               f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 and 3 more"],
        );
    }
}
