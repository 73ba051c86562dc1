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

/// What is a change of the story: everything but what Adjutant writes itself.
const PATHS: [&str; 9] = [
    ".",
    ":(exclude).adjutant",
    ":(exclude).ai/STATE.json",
    ":(exclude).ai/states",
    ":(exclude).ai/HANDOFF.md",
    ":(exclude).ai/handoffs",
    ":(exclude).ai/executor-result",
    ":(exclude).ai/history.md",
    ":(exclude).ai/*.lock",
];

/// Returns the project's current commit; `None` if it is not in git.
pub fn current_commit(root: &Path) -> Option<String> {
    let head = git(root, &["rev-parse", "--verify", "-q", "HEAD"])?;
    Some(head.trim().to_owned()).filter(|head| !head.is_empty())
}

/// Returns whether a folder is inside the work tree of a git repository.
pub fn is_repository(root: &Path) -> bool {
    git(root, &["rev-parse", "--is-inside-work-tree"]).is_some_and(|text| text.trim() == "true")
}

/// Returns the files that differ between two commits; `None` if git does not know them.
pub fn committed_since(root: &Path, base: &str, head: &str) -> Option<Vec<String>> {
    let is_commit = |id: &str| id.chars().all(|c| c.is_ascii_hexdigit());
    if !is_commit(base) || !is_commit(head) {
        return None;
    }
    let changed = git(root, &["diff", "--name-only", "-z", base, head, "--"])?;
    Some(changed.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Returns what changed since a commit; `None` if git does not know it.
pub fn changes_since(root: &Path, base: &str) -> Option<ProjectChanges> {
    // Git could take a base that is not a commit id for an option.
    if !base.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let changed = [&["diff", "--name-only", "--relative", "-z", base, "--"][..], &PATHS].concat();
    let changed = git(root, &changed)?;
    let new = ["ls-files", "-z", "--others", "--exclude-standard", "--"];
    let new = git(root, &[&new[..], &PATHS].concat())?;
    let names = changed.split('\0').chain(new.split('\0')).filter(|name| !name.is_empty());
    let mut files: Vec<String> = names.map(str::to_owned).collect();
    // The documents to review come first, because a long list is cut off.
    files.sort_by_key(|name| (!name.starts_with("docs/"), name.clone()));
    files.dedup();
    let stat = [&["diff", "--shortstat", "--relative", base, "--"][..], &PATHS].concat();
    let stat = git(root, &stat)?.trim().to_owned();
    Some(ProjectChanges { files, stat })
}

/// Returns what changed since a commit as a patch, without files that git does not track; `None` if
/// git does not know the commit.
pub fn patch_since(root: &Path, base: &str) -> Option<String> {
    if !base.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let show = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--relative", base, "--"];
    git(root, &[&show[..], &PATHS].concat())
}

fn git(root: &Path, args: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(args).stdin(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
