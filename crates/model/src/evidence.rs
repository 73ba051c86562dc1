//! Evidence about finished work: the changes, and the results of the checks.

use serde::{Deserialize, Serialize};

use crate::run::RunExit;

/// The evidence about the work of a run, collected after its report.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkEvidence {
    /// The branch with the work; absent if the run had no branch of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The branch that the work is merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The commit that the checks ran on; absent if there is no commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether the workspace had changes that are not in that commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    /// Absent if the changes could not be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<DiffStat>,
    /// The changed files that say what Adjutant runs: approving them needs explicit consent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// The results in the order of the checks. After a failed check, no other check runs.
    #[serde(default)]
    pub checks: Vec<CheckResult>,
    /// Why the evidence is incomplete; absent if it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaw: Option<String>,
    /// Whether the work could not be committed to its branch. It then cannot be approved or merged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsettled: bool,
}

/// The size of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiffStat {
    /// The number of changed files.
    pub files: u64,
    /// The number of added lines.
    pub insertions: u64,
    /// The number of removed lines.
    pub deletions: u64,
}

/// The result of one check: a command that verifies work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckResult {
    /// The command, as the configuration or the task has it.
    pub command: String,
    #[cfg_attr(feature = "schema", schemars(extend("pattern" = CHECK_EXIT_PATTERN)))]
    pub exit: RunExit,
    /// How long the command took.
    pub duration_ms: u64,
    /// The last lines of output.
    pub tail: String,
    /// The file with the whole output, in the folder of the attempt.
    pub log: String,
}

#[cfg(feature = "schema")]
const CHECK_EXIT_PATTERN: &str = "^(code:-?[0-9]+|signal:-?[0-9]+|timed_out|not_started:.*)$";

impl CheckResult {
    pub fn passed(&self) -> bool {
        self.exit == RunExit::Code(0)
    }

    /// Describes the command and how it ended, followed by its last lines of output.
    pub fn in_words(&self) -> String {
        let ended = match &self.exit {
            RunExit::Code(0) => "passed".to_owned(),
            exit => exit.in_words(),
        };
        match self.tail.trim() {
            "" => format!("`{}`: {ended}", self.command),
            tail => format!("`{}`: {ended}: {tail}", self.command),
        }
    }
}

impl WorkEvidence {
    /// Returns why the work is not on its branch; `None` if it is, or has no branch.
    pub fn unsettled_reason(&self) -> Option<&str> {
        self.flaw.as_deref().filter(|_| self.unsettled)
    }

    pub fn failed(&self) -> Option<&CheckResult> {
        self.checks.iter().find(|check| !check.passed())
    }

    /// Summarizes the evidence in one line for reviewers.
    pub fn in_words(&self) -> String {
        let mut parts = Vec::new();
        if let Some(DiffStat { files, insertions, deletions }) = self.changes {
            let noun = if files == 1 { "file" } else { "files" };
            parts.push(format!("{files} {noun} changed, +{insertions} -{deletions}"));
        }
        match (self.checks.len(), self.failed()) {
            (0, _) => {}
            (_, Some(failed)) => parts.push(format!("check failed: `{}`", failed.command)),
            (1, None) => parts.push("1 check passed".to_owned()),
            (all, None) => parts.push(format!("{all} checks passed")),
        }
        if let Some(commit) = &self.commit {
            let short: String = commit.chars().take(10).collect();
            let on =
                self.branch.as_ref().map_or_else(String::new, |branch| format!(" on {branch}"));
            let more = if self.dirty { " and uncommitted changes" } else { "" };
            parts.push(format!("commit {short}{on}{more}"));
        }
        parts.extend(self.flaw.clone());
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, exit: RunExit) -> CheckResult {
        let (tail, log) = (String::new(), "checks/1.log".to_owned());
        CheckResult { command: command.to_owned(), exit, duration_ms: 1, tail, log }
    }

    #[test]
    fn evidence_is_summarized_in_one_line() {
        let passed = WorkEvidence {
            branch: Some("adjutant/TASK-2026-02-09-057".to_owned()),
            commit: Some("0123456789abcdef".to_owned()),
            changes: Some(DiffStat { files: 1, insertions: 3, deletions: 2 }),
            checks: vec![check("make", RunExit::Code(0))],
            ..WorkEvidence::default()
        };
        let words = "1 file changed, +3 -2; 1 check passed; \
                     commit 0123456789 on adjutant/TASK-2026-02-09-057";
        assert_eq!(passed.in_words(), words);
        let checks = vec![check("make", RunExit::Code(0)), check("make test", RunExit::Code(2))];
        let failed = WorkEvidence { checks, ..WorkEvidence::default() };
        assert_eq!(failed.in_words(), "check failed: `make test`");
        assert_eq!(
            failed.failed().map(CheckResult::in_words),
            Some("`make test`: exit code 2".into())
        );
        assert_eq!(WorkEvidence::default().in_words(), "");
    }
}
