//! The repository of a project: its folders and references.
//!
//! It is only asked for commits and references, which executes nothing that it configures; see
//! [`crate::workspace`] for the reason.

use std::fs;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use crate::git_version::require_git;
use crate::workspace::byte_path::BytePath;
use crate::workspace::git::{GitCommand, GitConfigScope};
use crate::workspace::shadow_repository::{RepositoryFolders, outside_ignore_rules, safe_config};

/// Returns whether git finds a repository around a folder. Every version of git can answer this.
pub(super) fn is_in_repository(folder: &Path) -> bool {
    let call = GitCommand::new(folder, GitConfigScope::Isolated, &["rev-parse", "--git-dir"]);
    call.run().is_ok_and(|answer| answer.code == Some(0))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectRepository {
    pub(super) top: PathBuf,
    /// The git folder of this work tree.
    pub(super) git_dir: PathBuf,
    /// The git folder that all its work trees share.
    pub(super) common_dir: PathBuf,
}

/// A work tree that has a branch checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BranchCheckout {
    pub(super) top: PathBuf,
    pub(super) git_dir: PathBuf,
}

impl ProjectRepository {
    /// Finds the repository around a folder.
    pub(super) fn find(folder: &Path) -> Result<Self, WorktreeError> {
        require_git()?;
        let asked = ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"];
        let answer = GitCommand::new(folder, GitConfigScope::Isolated, &asked).run()?;
        if answer.code != Some(0) {
            let what = format!("{} is not in a git repository", folder.display());
            return Err(WorktreeError(what));
        }
        let [git_dir, common_dir] = path_lines(&answer.output)?;
        let asked = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
        let answer = GitCommand::new(folder, GitConfigScope::Isolated, &asked).run()?;
        if answer.code != Some(0) {
            let what =
                format!("the repository at {} is bare: it has no work tree", git_dir.display());
            return Err(WorktreeError(what));
        }
        let [top] = path_lines(&answer.output)?;
        let repo = Self { top, git_dir, common_dir };
        repo.refuse_reftable()?;
        Ok(repo)
    }

    /// Worktrees are created by writing the files that git reads; reftable has a different format.
    fn refuse_reftable(&self) -> Result<(), WorktreeError> {
        let call = self.call(&["config", "--get", "extensions.refStorage"]).run()?;
        if call.output.starts_with(b"reftable") {
            let what = "the repository keeps its references as reftable, which is not supported";
            return Err(WorktreeError(what.to_owned()));
        }
        Ok(())
    }

    /// Makes a call on the repository itself. Only for commands that execute nothing.
    pub(super) fn call(&self, arguments: &[&str]) -> GitCommand {
        GitCommand::new(&self.top, GitConfigScope::Isolated, arguments)
            .with_env("GIT_DIR", &self.git_dir)
    }

    /// Resolves a name to a commit; `None` if it does not exist.
    pub(super) fn commit(&self, name: &str) -> Result<Option<String>, WorktreeError> {
        let name = format!("{name}^{{commit}}");
        let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
        let answer = self.call(&asked).run()?;
        Ok((answer.code == Some(0)).then(|| output_text(&answer.output)))
    }

    pub(super) fn tree_of(&self, commit: &str) -> Result<String, WorktreeError> {
        let name = format!("{commit}^{{tree}}");
        Ok(output_text(&self.call(&["rev-parse", "--verify", &name]).output()?))
    }

    /// Returns the short name of the branch that is checked out.
    pub(super) fn current_branch(&self) -> Result<Option<String>, WorktreeError> {
        let answer = self.call(&["symbolic-ref", "--quiet", "HEAD"]).run()?;
        let name = output_text(&answer.output);
        Ok(name.strip_prefix("refs/heads/").map(str::to_owned).filter(|_| answer.code == Some(0)))
    }

    /// Points a reference to a commit if it still points to `old`; `None` means that it
    /// must not exist.
    pub(super) fn set_reference(
        &self,
        name: &str,
        new: &str,
        old: Option<&str>,
    ) -> Result<(), WorktreeError> {
        let zero = "0".repeat(new.len());
        let old = old.unwrap_or(&zero);
        let asked = ["update-ref", "-m", "adjutant", "--create-reflog", name, new, old];
        Ok(self.call(&asked).output().map(drop)?)
    }

    /// Deletes a reference if it still points to `old`.
    pub(super) fn delete_reference(&self, name: &str, old: &str) -> Result<(), WorktreeError> {
        Ok(self.call(&["update-ref", "-d", name, old]).output().map(drop)?)
    }

    /// Returns every reference below a prefix, as (name, commit).
    pub(super) fn references_below(
        &self,
        prefix: &str,
    ) -> Result<Vec<(String, String)>, WorktreeError> {
        let format = "--format=%(objectname) %(refname)";
        let output = self.call(&["for-each-ref", format, prefix]).output()?;
        let output = String::from_utf8_lossy(&output).into_owned();
        let pair =
            |line: &str| line.split_once(' ').map(|(id, name)| (name.to_owned(), id.to_owned()));
        Ok(output.lines().filter_map(pair).collect())
    }

    /// Returns whether `one` is `other` or one of its ancestors.
    pub(super) fn is_ancestor(&self, one: &str, other: &str) -> Result<bool, WorktreeError> {
        let answer = self.call(&["merge-base", "--is-ancestor", one, other]).run()?;
        match answer.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(answer.to_error().into()),
        }
    }

    /// Returns the merge base of two commits.
    pub(super) fn merge_base(
        &self,
        one: &str,
        other: &str,
    ) -> Result<Option<String>, WorktreeError> {
        let answer = self.call(&["merge-base", one, other]).run()?;
        match answer.code {
            Some(0) => Ok(Some(output_text(&answer.output))),
            Some(1) => Ok(None),
            _ => Err(answer.to_error().into()),
        }
    }

    /// Returns whether the attributes in a commit name an encoding for any file.
    pub(super) fn sets_encodings(&self, commit: &str) -> Result<bool, WorktreeError> {
        let files = ":(top,glob)**/.gitattributes";
        let asked = ["grep", "-q", "-F", "-e", "working-tree-encoding", commit, "--", files];
        let answer = self.call(&asked).run()?;
        match answer.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            // There is no commit yet.
            _ if self.commit(commit)?.is_none() => Ok(false),
            _ => Err(answer.to_error().into()),
        }
    }

    /// Returns the commits after one up to another, oldest first, without merges.
    pub(super) fn commits(&self, after: &str, to: &str) -> Result<Vec<String>, WorktreeError> {
        let range = format!("{after}..{to}");
        let asked = ["rev-list", "--reverse", "--topo-order", "--no-merges", &range];
        let output = self.call(&asked).output()?;
        Ok(String::from_utf8_lossy(&output).lines().map(str::to_owned).collect())
    }

    /// Returns the work trees that have a branch checked out.
    pub(super) fn checked_out(&self, branch: &str) -> Vec<BranchCheckout> {
        let expected = format!("ref: {branch}");
        let has = |git_dir: &Path| {
            read_line_file(&git_dir.join("HEAD")).is_some_and(|head| head == expected)
        };
        let first = self.common_dir.clone();
        let linked = fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten();
        let linked = linked.flatten().map(|entry| entry.path());
        let of = |git_dir: PathBuf| {
            let top = match read_line_file(&git_dir.join("gitdir")) {
                Some(file) => PathBuf::from(file).parent()?.to_owned(),
                None => self.main_work_tree()?,
            };
            Some(BranchCheckout { top, git_dir })
        };
        [first].into_iter().chain(linked).filter(|dir| has(dir)).filter_map(of).collect()
    }

    /// Returns the folder of the repository's main work tree.
    fn main_work_tree(&self) -> Option<PathBuf> {
        if self.git_dir == self.common_dir {
            return Some(self.top.clone());
        }
        let asked = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
        let home = self.common_dir.parent()?;
        let output = GitCommand::new(home, GitConfigScope::Isolated, &asked).output().ok()?;
        path_lines::<1>(&output).ok().map(|[top]| top)
    }

    /// Returns a configuration with only the settings that affect how files are written.
    pub(super) fn safe_config(&self) -> Result<String, WorktreeError> {
        Ok(safe_config(&self.top)?)
    }

    /// Returns the ignore rules from outside the work tree.
    pub(super) fn outside_ignore_rules(&self) -> Result<Vec<u8>, WorktreeError> {
        let (top, git_dir, common_dir) = (&*self.top, &*self.git_dir, &*self.common_dir);
        Ok(outside_ignore_rules(&RepositoryFolders { top, git_dir, common_dir })?)
    }
}

/// Reads a small file of one line. A link is not followed: only an agent would put one there.
pub(super) fn read_line_file(path: &Path) -> Option<String> {
    path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    Some(fs::read_to_string(path).ok()?.trim_end_matches('\n').to_owned())
}

pub(super) fn output_text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim_end().to_owned()
}

fn path_lines<const N: usize>(output: &[u8]) -> Result<[PathBuf; N], WorktreeError> {
    let all: Vec<&[u8]> = output.split(|byte| *byte == b'\n').collect();
    let paths: Vec<PathBuf> =
        all.iter().take(all.len() - 1).map(|line| BytePath::new(line).to_path()).collect();
    paths
        .try_into()
        .map_err(|_| WorktreeError("the path of the repository has a line break in it".to_owned()))
}
