//! What changed in a project since a story began, as git tells it.

use std::path::Path;
use std::process::{Command, Stdio};

/// What changed since a story began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The files, from the root of the project; new ones that git does not know yet included.
    pub files: Vec<String>,
    /// How much, in git's words.
    pub stat: String,
}

/// Returns the commit a project is at, if git knows the project.
pub fn head(root: &Path) -> Option<String> {
    let head = git(root, &["rev-parse", "--verify", "-q", "HEAD"])?;
    Some(head.trim().to_owned()).filter(|head| !head.is_empty())
}

/// Returns what changed since a commit, if git knows it.
pub fn since(root: &Path, base: &str) -> Option<Changes> {
    // A base that is no commit could be taken for an option.
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
    Some(Changes { files, stat })
}

fn git(root: &Path, args: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(args).stdin(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
