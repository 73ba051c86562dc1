//! Commits the work of a finished run to its branch, so that the checked work is the merged work.

use adjutant_model::TaskId;
use adjutant_model::evidence::DiffStat;
use adjutant_process::atomic_file::write_atomic;

use adjutant_run_files::run_ref::attempt_folder;

use super::diff::{changed_files, diff_stat};
use super::prepare::io_error_text;
use super::project_repository::ProjectRepository;
use super::salvage::{SavedWork, head, read_contents, save};
use super::scratch_git_dir::{CommitAuthor, FileConversion, NewCommit, ScratchGitDir};
use super::{WorktreeError, Worktrees, planted_git, private_git_dir};

/// The work of a finished run, on its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedWork {
    pub branch: String,
    /// The commit the branch points to.
    pub commit: String,
    /// The branch that the work will be merged into.
    pub base: String,
    pub changes: DiffStat,
    /// The files that the branch changes.
    pub files: Vec<String>,
    /// Work that could not be committed to the branch and was saved instead.
    pub saved: Option<SavedWork>,
    /// A problem with the work, in words.
    pub problem: Option<String>,
}

/// Returns a warning if the work sets encodings in a project that has none. They were ignored here,
/// but git follows them in other checkouts, and fails on those that do not fit.
fn new_encoding(repo: &ProjectRepository, commit: &str) -> Result<Option<String>, WorktreeError> {
    let is_new = repo.sets_encodings(commit)? && !repo.sets_encodings("HEAD")?;
    let warning = "its .gitattributes set `working-tree-encoding`, which was ignored; after a \
                   merge, git follows it in your checkout";
    Ok(is_new.then(|| warning.to_owned()))
}

impl Worktrees {
    /// Commits uncommitted work in a task's worktree to its branch, with the agent as author. A
    /// second call does nothing.
    pub fn commit_work(
        &self,
        task: &TaskId,
        title: &str,
        agent: &str,
        attempt: u32,
    ) -> Result<CommittedWork, WorktreeError> {
        let (repo, place) = self.locate(task)?;
        let there = place.tree.symlink_metadata().is_ok_and(|there| there.is_dir());
        if !there {
            return Err(WorktreeError(format!(
                "its work tree {} no longer exists",
                place.tree.display()
            )));
        }
        let untaken = private_git_dir::import_private_git_dir(&repo, &place)?;
        let reference = place.reference();
        let gone = || WorktreeError(format!("its branch {} no longer exists", place.branch));
        let branch = repo.commit(&reference)?.ok_or_else(gone)?;
        let at = head(&repo, &place)?.unwrap_or_else(|| branch.clone());
        let base = self.base_branch(&repo, &place)?;
        let kept = attempt_folder(&self.data, task, attempt);
        let planted = planted_git::move_aside(&repo, &place.tree, &base, kept.path())?;
        // Commits on a detached `HEAD` on top of the branch are taken as commits to the branch.
        if !repo.is_ancestor(&branch, &at)? {
            let saved = save(&repo, &place, attempt)?.saved;
            let flaw = "its work tree is not on its branch; the content was saved";
            let flaw = untaken.or(planted).unwrap_or_else(|| flaw.to_owned());
            let changes = diff_stat(&repo, &base, &branch)?;
            let files = changed_files(&repo, &base, &branch)?;
            let (branch, commit, flaw) = (place.branch, branch, Some(flaw));
            return Ok(CommittedWork {
                branch,
                commit,
                base,
                changes,
                files,
                saved,
                problem: flaw,
            });
        }
        let found = read_contents(&repo, &place, Some(&at), FileConversion::AsConfigured)?;
        let mut commit = at.clone();
        if repo.tree_of(&at)? != found.tree {
            let bench = ScratchGitDir::new(&repo, &place.tree, FileConversion::AsConfigured)?;
            let message = format!("{title}\n\nUncommitted changes of {agent}.\n\nTask: {task}\n");
            let email = format!("{agent}@adjutant.localhost");
            let author = CommitAuthor { name: agent, email: &email, date: None };
            let (tree, parents) = (&*found.tree, [at.as_str()]);
            commit =
                bench.commit(&NewCommit { tree, parents: &parents, author, message: &message })?;
        }
        if commit != branch {
            repo.set_reference(&reference, &commit, Some(&branch))?;
        }
        let line = format!("ref: {reference}\n");
        write_atomic(&place.admin_dir.join("HEAD"), line.as_bytes())
            .map_err(io_error_text("write", &place.admin_dir))?;
        let index = place.admin_dir.join("index");
        let bench = ScratchGitDir::new(&repo, &place.tree, FileConversion::AsConfigured)?;
        bench.call(&["read-tree", &commit]).output()?;
        bench.call(&["update-index", "-q", "--refresh"]).run()?;
        let made = std::fs::read(bench.index()).and_then(|bytes| write_atomic(&index, &bytes));
        made.map_err(io_error_text("write", &index))?;
        let nested = found.first_nested().map(|inner| {
            format!(
                "its work tree contains another repository, which is not on its branch: {inner}"
            )
        });
        let flaw = untaken.or(planted).or(nested).or(new_encoding(&repo, &commit)?);
        let changes = diff_stat(&repo, &base, &commit)?;
        let files = changed_files(&repo, &base, &commit)?;
        Ok(CommittedWork {
            branch: place.branch,
            commit,
            base,
            changes,
            files,
            saved: None,
            problem: flaw,
        })
    }
}
