//! What changed in a project since a story began, according to git.

use std::path::Path;
use std::process::{Command, Stdio};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectChanges {
    /// Relative to the project's root; untracked files are included.
    pub files: Vec<String>,
    /// The summary line of `git diff --shortstat`.
    pub stat: String,
}

/// Returns the project's current commit; `None` if it is not in git.
pub fn current_commit(root: &Path) -> Option<String> {
    let head = git(root, &["rev-parse", "--verify", "-q", "HEAD"])?;
    Some(head.trim().to_owned()).filter(|head| !head.is_empty())
}

/// Returns what changed since a commit; `None` if git does not know it.
pub fn changes_since(root: &Path, base: &str) -> Option<ProjectChanges> {
    // Git could take a base that is not a commit id for an option.
    if !base.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let changed = git(root, &["diff", "--name-only", "-z", base, "--"])?;
    let new = git(root, &["ls-files", "-z", "--others", "--exclude-standard"])?;
    let names = changed.split('\0').chain(new.split('\0')).filter(|name| !name.is_empty());
    let mut files: Vec<String> = names.map(str::to_owned).collect();
    files.sort();
    files.dedup();
    let stat = git(root, &["diff", "--shortstat", base, "--"])?.trim().to_owned();
    Some(ProjectChanges { files, stat })
}

fn git(root: &Path, args: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(args).stdin(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
