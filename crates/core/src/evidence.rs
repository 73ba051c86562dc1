//! Evidence: what was found out about finished work. What it changed, and whether its checks pass.

use crate::run::Exit;

/// What was found out about the work of a run after it said that it was over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evidence {
    /// The branch the work is on; none if the run had no branch of its own.
    pub branch: Option<String>,
    /// The branch it is for.
    pub base: Option<String>,
    /// The commit the checks ran on; none where there is none.
    pub commit: Option<String>,
    /// Whether anything lay in the workspace that is not in that commit.
    pub dirty: bool,
    /// How much it changed, where that can be told.
    pub changes: Option<Changes>,
    /// The checks, in the order they ran. After one that fails no other is run.
    pub checks: Vec<Check>,
    /// Why something could not be found out.
    pub flaw: Option<String>,
}

/// How much was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    /// How many files.
    pub files: u64,
    /// How many lines were added.
    pub insertions: u64,
    /// How many lines were taken away.
    pub deletions: u64,
}

/// A command that was run to see whether work is what it is said to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The command, as the configuration or the task has it.
    pub command: String,
    /// How it ended.
    pub exit: Exit,
    /// How long it took.
    pub duration_ms: u64,
    /// The last lines it printed.
    pub tail: String,
    /// The file with all it printed, in the folder of the attempt.
    pub log: String,
}

impl Check {
    /// Says whether it passed.
    pub fn passed(&self) -> bool {
        self.exit == Exit::Code(0)
    }

    /// Says what came of it, in a line and what it printed.
    pub fn in_words(&self) -> String {
        let ended = match &self.exit {
            Exit::Code(0) => "passed".to_owned(),
            exit => exit.in_words(),
        };
        match self.tail.trim() {
            "" => format!("`{}`: {ended}", self.command),
            tail => format!("`{}`: {ended}: {tail}", self.command),
        }
    }
}

impl Evidence {
    /// Returns the check that failed, if one did.
    pub fn failed(&self) -> Option<&Check> {
        self.checks.iter().find(|check| !check.passed())
    }

    /// Says in a line what was found out, for whoever looks at the work.
    pub fn in_words(&self) -> String {
        let mut parts = Vec::new();
        if let Some(Changes { files, insertions, deletions }) = self.changes {
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
            let more = if self.dirty { " and what lies beside it" } else { "" };
            parts.push(format!("commit {short}{on}{more}"));
        }
        parts.extend(self.flaw.clone());
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, exit: Exit) -> Check {
        let (tail, log) = (String::new(), "checks/1.log".to_owned());
        Check { command: command.to_owned(), exit, duration_ms: 1, tail, log }
    }

    #[test]
    fn evidence_is_told_in_a_line() {
        let passed = Evidence {
            branch: Some("adjutant/TASK-2026-02-09-057".to_owned()),
            commit: Some("0123456789abcdef".to_owned()),
            changes: Some(Changes { files: 1, insertions: 3, deletions: 2 }),
            checks: vec![check("make", Exit::Code(0))],
            ..Evidence::default()
        };
        let words = "1 file changed, +3 -2; 1 check passed; \
                     commit 0123456789 on adjutant/TASK-2026-02-09-057";
        assert_eq!(passed.in_words(), words);
        let checks = vec![check("make", Exit::Code(0)), check("make test", Exit::Code(2))];
        let failed = Evidence { checks, ..Evidence::default() };
        assert_eq!(failed.in_words(), "check failed: `make test`");
        assert_eq!(failed.failed().map(Check::in_words), Some("`make test`: exit code 2".into()));
        assert_eq!(Evidence::default().in_words(), "");
    }
}
