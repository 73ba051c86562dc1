//! The version of the installed git, and the oldest one that works.

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use crate::workspace::InspectionError;
use crate::workspace::git::{GitCommand, GitConfigScope};

/// The oldest version that works and is tested: merges use `git merge-tree --write-tree`, which
/// came with 2.38.
pub const GIT_OLDEST: GitVersion = GitVersion { major: 2, minor: 39 };

/// The first two numbers of a version of git, which decide what it can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    pub major: u32,
    pub minor: u32,
}

impl GitVersion {
    /// Parses the output of `git --version`.
    fn parse(output: &str) -> Option<Self> {
        let mut numbers = version_text(output)?.split('.').map(str::parse);
        Some(Self { major: numbers.next()?.ok()?, minor: numbers.next()?.ok()? })
    }
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Returns the whole version in the output of `git --version`, such as `2.39.5`.
fn version_text(output: &str) -> Option<&str> {
    output.strip_prefix("git version ")?.split_whitespace().next()
}

/// Checks that git is installed and not too old for worktrees and merging. Asks git once a process
/// if the answer is yes, so that a git that is installed later is found.
pub fn require_git() -> Result<(), InspectionError> {
    static IS_NEW_ENOUGH: OnceLock<()> = OnceLock::new();
    if IS_NEW_ENOUGH.get().is_some() {
        return Ok(());
    }
    let call = GitCommand::new(Path::new("/"), GitConfigScope::Isolated, &["--version"]);
    let output = call.output()?;
    check_version(&String::from_utf8_lossy(&output))?;
    // Another thread may have stored it first.
    let _ = IS_NEW_ENOUGH.set(());
    Ok(())
}

fn check_version(output: &str) -> Result<(), InspectionError> {
    match GitVersion::parse(output) {
        Some(version) if version >= GIT_OLDEST => Ok(()),
        Some(_) => {
            let found = version_text(output).unwrap_or_default();
            Err(InspectionError(format!(
                "git {found} is too old: worktrees and merging need git {GIT_OLDEST} or newer"
            )))
        }
        None => Err(InspectionError(format!(
            "`git --version` printed no version, and git {GIT_OLDEST} or newer is needed"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_version_is_parsed_from_every_form() {
        let parsed = |text| GitVersion::parse(text).map(|version| version.to_string());
        assert_eq!(parsed("git version 2.39.5\n").as_deref(), Some("2.39"));
        assert_eq!(parsed("git version 2.39.5 (Apple Git-154)\n").as_deref(), Some("2.39"));
        assert_eq!(parsed("git version 2.47.0.rc1.win\n").as_deref(), Some("2.47"));
        assert_eq!(parsed("hub version 1"), None);
    }

    #[test]
    fn git_older_than_2_39_is_refused_with_its_version() {
        let refused = check_version("git version 2.34.1\n").expect_err("it is too old");
        let why = "git 2.34.1 is too old: worktrees and merging need git 2.39 or newer";
        assert_eq!(refused.0, why);
        assert!(check_version("git version 2.39.5\n").is_ok());
        assert!(check_version("git version 3.0.0\n").is_ok());
        assert!(check_version("").is_err());
    }
}
