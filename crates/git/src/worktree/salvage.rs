//! Saves uncommitted work of a worktree as a commit under a reference in `refs/adjutant/salvage`.

use std::fs;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::prepare::io_error_text;
use super::project_repository::{ProjectRepository, output_text, read_line_file};
use super::scratch_git_dir::{CommitAuthor, FileConversion, NewCommit, ScratchGitDir};
use super::worktree_paths::WorktreePaths;
use crate::workspace::git::split_nul;

/// Uncommitted work that was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedWork {
    /// The git reference that holds the work.
    pub reference: String,
    pub commit: String,
    /// Whether this call saved it, not an earlier one.
    pub new: bool,
}

/// The result of saving a worktree.
pub(super) struct SaveResult {
    pub(super) saved: Option<SavedWork>,
    /// Nested repositories, which cannot be saved.
    pub(super) unsaved: Vec<PathBuf>,
}

/// The content of a worktree.
pub(super) struct WorktreeContents {
    /// All files, as a tree.
    pub(super) tree: String,
    /// The index as a tree; `None` if it has conflicts.
    staged: Option<String>,
    nested: Vec<PathBuf>,
}

impl WorktreeContents {
    /// Returns the first nested repository, for display.
    pub(super) fn first_nested(&self) -> Option<String> {
        self.nested.first().map(|path| path.to_string_lossy().into_owned())
    }
}

/// Saves what would be lost with a task's worktree: changed, staged and untracked files that are
/// not ignored, and commits that are not on its branch. Does nothing if there is nothing to save or
/// it was saved before.
pub(super) fn save(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    attempt: u32,
) -> Result<SaveResult, WorktreeError> {
    let branch = repo.commit(&place.reference())?;
    let head = head(repo, place)?;
    let parent = head.clone().or_else(|| branch.clone());
    let before = parent.as_deref().map(|commit| repo.tree_of(commit)).transpose()?;
    // A file that git calls unchanged is unchanged, even with other line endings. If a file cannot
    // be converted, the bytes of all files decide.
    let converted = read_contents(repo, place, parent.as_deref(), FileConversion::AsConfigured);
    let contents = match converted {
        Ok(contents) => contents,
        Err(_) => read_exact_contents(repo, place, parent.as_deref())?,
    };
    let changed = before.as_ref() != Some(&contents.tree);
    let contents =
        if changed { read_exact_contents(repo, place, parent.as_deref())? } else { contents };
    let staged = contents.staged.as_ref();
    let staged = staged.filter(|tree| before.as_ref() != Some(tree) && **tree != contents.tree);
    let away = match (&head, &branch) {
        (Some(head), Some(branch)) => !repo.is_ancestor(head, branch)?,
        (Some(_), None) => true,
        (None, _) => false,
    };
    let saved = if changed || staged.is_some() || away {
        let parents: Vec<String> = parent.into_iter().collect();
        let staged = staged.map(String::as_str);
        Some(commit_salvage(repo, place, attempt, &contents.tree, parents, staged)?)
    } else {
        None
    };
    Ok(SaveResult { saved, unsaved: contents.nested })
}

/// Returns the commit a worktree is at, from the repository and not from the worktree's `.git`.
pub(super) fn head(
    repo: &ProjectRepository,
    place: &WorktreePaths,
) -> Result<Option<String>, WorktreeError> {
    let Some(head) = read_line_file(&place.admin_dir.join("HEAD")) else { return Ok(None) };
    let name = head.strip_prefix("ref: ").unwrap_or(&head);
    let is_name = name.starts_with("refs/") || name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_name { repo.commit(name) } else { Ok(None) }
}

/// Reads all files of a worktree, byte for byte. Files that are marked as unchanged are read too; a
/// nested repository is not.
pub(super) fn read_exact_contents(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    parent: Option<&str>,
) -> Result<WorktreeContents, WorktreeError> {
    read_contents(repo, place, parent, FileConversion::Disabled)
}

/// Reads all files of a worktree, with or without conversion of line endings.
pub(super) fn read_contents(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    parent: Option<&str>,
    bytes: FileConversion,
) -> Result<WorktreeContents, WorktreeError> {
    let bench = ScratchGitDir::new(repo, &place.tree, bytes)?;
    let nested = nested_repositories(&place.tree).map_err(io_error_text("read", &place.tree))?;
    if copy_entries(&bench, &place.admin_dir.join("index")).is_err()
        && let Some(parent) = parent
    {
        bench.call(&["read-tree", parent]).output()?;
    }
    // An index with conflicts cannot be written as a tree.
    let staged = bench.write_tree().ok();
    let except = nested.iter().map(|path| {
        let mut spec = std::ffi::OsString::from(":(exclude,top,literal)");
        spec.push(path);
        spec
    });
    let add = bench.call(&["add", "--all", "--", ":(top)"]).with_args(except);
    add.output()?;
    Ok(WorktreeContents { tree: bench.write_tree()?, staged, nested })
}

/// Copies the entries of an index, without the flags that make git skip reading a file.
pub(super) fn copy_entries(bench: &ScratchGitDir, index: &Path) -> Result<(), WorktreeError> {
    let is_file = index.symlink_metadata().is_ok_and(|there| there.is_file());
    if !is_file {
        return Err(WorktreeError("there is no index".to_owned()));
    }
    let copied = tempfile::tempdir().map_err(io_error_text("copy", index))?;
    let copy = copied.path().join("index");
    fs::copy(index, &copy).map_err(io_error_text("copy", index))?;
    let listed = bench.with_index(&copy, &["ls-files", "--stage", "-z"]).output()?;
    let taken = bench.call(&["update-index", "-z", "--index-info"]).with_input(listed).output();
    if taken.is_err() {
        bench.call(&["read-tree", "--empty"]).output()?;
    }
    Ok(taken.map(drop)?)
}

/// Commits the content of a worktree under a new reference.
fn commit_salvage(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    attempt: u32,
    tree: &str,
    mut parents: Vec<String>,
    staged: Option<&str>,
) -> Result<SavedWork, WorktreeError> {
    for again in 1.. {
        let reference = place.salvage_reference(attempt, again);
        match repo.commit(&reference)? {
            Some(commit) if holds_same_content(repo, &commit, tree, &parents, staged)? => {
                return Ok(SavedWork { reference, commit, new: false });
            }
            Some(_) => {}
            None => {
                let bench = ScratchGitDir::new(repo, &place.tree, FileConversion::Disabled)?;
                let author = CommitAuthor::ADJUTANT;
                if let Some(staged) = staged {
                    let before: Vec<&str> = parents.iter().map(String::as_str).collect();
                    let message = "Staged changes\n";
                    let new = NewCommit { tree: staged, parents: &before, author, message };
                    parents.push(bench.commit(&new)?);
                }
                let message = format!("Uncommitted work of attempt {attempt}\n\n{reference}\n");
                let before: Vec<&str> = parents.iter().map(String::as_str).collect();
                let new = NewCommit { tree, parents: &before, author, message: &message };
                let commit = bench.commit(&new)?;
                repo.set_reference(&reference, &commit, None)?;
                return Ok(SavedWork { reference, commit, new: true });
            }
        }
    }
    unreachable!("there are more numbers than references")
}

/// Returns whether a commit holds exactly this content.
fn holds_same_content(
    repo: &ProjectRepository,
    commit: &str,
    tree: &str,
    parents: &[String],
    staged: Option<&str>,
) -> Result<bool, WorktreeError> {
    let format = ["show", "-s", "--format=%T %P", commit];
    let shown = output_text(&repo.call(&format).output()?);
    let mut words = shown.split_whitespace();
    if words.next() != Some(tree) {
        return Ok(false);
    }
    let mut found: Vec<&str> = words.collect();
    let marked = if found.len() > parents.len() { found.pop() } else { None };
    let marked = marked.map(|commit| repo.tree_of(commit)).transpose()?;
    Ok(found == parents.iter().collect::<Vec<_>>() && marked.as_deref() == staged)
}

/// Returns the nested repositories, relative to the worktree. Links are not followed.
pub(super) fn nested_repositories(tree: &Path) -> std::io::Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![tree.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                continue;
            }
            let path = entry.path();
            if path.join(".git").symlink_metadata().is_ok() {
                found.extend(path.strip_prefix(tree).map(Path::to_owned));
            } else {
                open.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the files that differ between two trees.
pub(super) fn names_between(
    bench: &ScratchGitDir,
    before: &str,
    after: &str,
) -> Result<Vec<Vec<u8>>, WorktreeError> {
    let asked = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after];
    Ok(split_nul(&bench.call(&asked).output()?).map(<[u8]>::to_vec).collect())
}
