//! Moves a base branch forward, together with the work tree that has it checked out. A person's
//! uncommitted changes there are never touched: then the merge waits.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use adjutant_process::atomic_file::write_atomic;

use super::WorktreeError;
use super::prepare::io_error_text;
use super::project_repository::{BranchCheckout, ProjectRepository};
use super::salvage::names_between;
use super::scratch_git_dir::{FileConversion, ScratchGitDir};
use crate::workspace::git::split_nul;
use crate::workspace::shadow_repository::copy_index;

/// Identifies a lock that a killed Adjutant process left behind.
const LOCK_CONTENT: &[u8] = b"adjutant merge\n";

/// The files that show an operation in progress.
const OPERATIONS_IN_PROGRESS: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BaseUpdate {
    Done,
    /// Another commit moved the base first.
    Moved,
    /// A person must act first; holds the reason.
    Waits(String),
}

/// Moves a base from one commit to a later one.
pub(super) fn advance_base(
    repo: &ProjectRepository,
    base: &str,
    from: &str,
    to: &str,
) -> Result<BaseUpdate, WorktreeError> {
    let name = format!("refs/heads/{base}");
    match &repo.checked_out(&name)[..] {
        [] => move_reference(repo, &name, from, to),
        [one] => move_with_work_tree(repo, one, &name, from, to),
        several => {
            let places: Vec<String> =
                several.iter().map(|one| one.top.display().to_string()).collect();
            let places = places.join(" and ");
            Ok(BaseUpdate::Waits(format!("{base} is checked out more than once, in {places}")))
        }
    }
}

fn move_reference(
    repo: &ProjectRepository,
    name: &str,
    from: &str,
    to: &str,
) -> Result<BaseUpdate, WorktreeError> {
    match repo.set_reference(name, to, Some(from)) {
        Ok(()) => Ok(BaseUpdate::Done),
        Err(_) if repo.commit(name)?.as_deref() != Some(from) => Ok(BaseUpdate::Moved),
        Err(error) => Err(error),
    }
}

/// Moves a base that is checked out: the files first, then the base. The index is locked the way
/// git does it, so that no commit can come in between.
fn move_with_work_tree(
    repo: &ProjectRepository,
    at: &BranchCheckout,
    name: &str,
    from: &str,
    to: &str,
) -> Result<BaseUpdate, WorktreeError> {
    let under_way = OPERATIONS_IN_PROGRESS.iter().find(|(file, _)| at.git_dir.join(file).exists());
    if let Some((_, what)) = under_way {
        return Ok(BaseUpdate::Waits(format!("{what} is in progress in {}", at.top.display())));
    }
    let lock = match IndexLock::take(&at.git_dir) {
        Ok(Some(lock)) => lock,
        Ok(None) => {
            let what = "another git command is running there, or left its index.lock behind";
            return Ok(BaseUpdate::Waits(format!("{}: {what}", at.top.display())));
        }
        Err(error) => return Err(io_error_text("lock the index in", &at.git_dir)(error)),
    };
    if repo.commit(name)?.as_deref() != Some(from) {
        return Ok(BaseUpdate::Moved);
    }
    let bench = ScratchGitDir::new(repo, &at.top, FileConversion::AsConfigured)?;
    let copied = copy_index(&at.git_dir, bench.dir());
    copied.map_err(io_error_text("copy the index of", &at.git_dir))?;
    refresh(&bench)?;
    adopt_written_files(&bench, from, to)?;
    let dry = bench.call(&["read-tree", "-m", "-u", "--dry-run", from, to]).run()?;
    if dry.code != Some(0) {
        let (top, why) = (at.top.display(), dry.stderr);
        let what = "has uncommitted changes in files that the merge changes";
        return Ok(BaseUpdate::Waits(format!("{top} {what} ({why}); commit or stash them")));
    }
    bench.call(&["read-tree", "-m", "-u", from, to]).output()?;
    write_index(&bench, &at.git_dir)?;
    let landed = move_reference(repo, name, from, to)?;
    if landed != BaseUpdate::Done {
        bench.call(&["read-tree", "-m", "-u", to, from]).output()?;
        write_index(&bench, &at.git_dir)?;
    }
    drop(lock);
    Ok(landed)
}

fn refresh(bench: &ScratchGitDir) -> Result<(), WorktreeError> {
    // The exit code is 1 if any file changed.
    bench.call(&["update-index", "-q", "--unmerged", "--ignore-missing", "--refresh"]).run()?;
    Ok(())
}

fn write_index(bench: &ScratchGitDir, git_dir: &Path) -> Result<(), WorktreeError> {
    let index = git_dir.join("index");
    let written = fs::read(bench.index()).and_then(|bytes| write_atomic(&index, &bytes));
    written.map_err(io_error_text("write", &index))
}

/// Takes files that already have their new content into the index: an earlier merge was interrupted
/// after writing them, or a person made the same change.
fn adopt_written_files(bench: &ScratchGitDir, from: &str, to: &str) -> Result<(), WorktreeError> {
    let other = tempfile::tempdir().map_err(|error| WorktreeError(error.to_string()))?;
    let other = other.path().join("index");
    bench.with_index(&other, &["read-tree", to]).output()?;
    bench.with_index(&other, &["update-index", "-q", "--ignore-missing", "--refresh"]).run()?;
    let differ = bench.with_index(&other, &["diff-files", "-z", "--name-only"]).output()?;
    let differ: std::collections::BTreeSet<&[u8]> = split_nul(&differ).collect();
    let listed = bench.with_index(&other, &["ls-files", "--stage", "-z"]).output()?;
    let touched = names_between(bench, from, to)?;
    let touched: std::collections::BTreeSet<&[u8]> = touched.iter().map(Vec::as_slice).collect();
    let mut entries = Vec::new();
    for entry in split_nul(&listed) {
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
        let name = &entry[tab + 1..];
        if touched.contains(name) && !differ.contains(name) {
            entries.extend_from_slice(entry);
            entries.push(0);
        }
    }
    if entries.is_empty() {
        return Ok(());
    }
    bench.call(&["update-index", "-z", "--index-info"]).with_input(entries).output()?;
    refresh(bench)
}

/// The lock of an index, in git's own form.
struct IndexLock(PathBuf);

impl IndexLock {
    /// Takes the lock; `None` if another process holds it.
    fn take(git_dir: &Path) -> io::Result<Option<Self>> {
        let path = git_dir.join("index.lock");
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                let lock = Self(path);
                file.write_all(LOCK_CONTENT)?;
                Ok(Some(lock))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Only one merge runs at a time, so the process that left this lock is gone.
                let ours = fs::read(&path).is_ok_and(|bytes| bytes == LOCK_CONTENT);
                // Constructed only if the lock is ours, because dropping it removes the file.
                Ok(ours.then(|| Self(path)))
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        // If the file stays, the next merge recognizes it by its content.
        let _ = fs::remove_file(&self.0);
    }
}
