//! Merges a task's work into its base: creates the new commits, checks them, and only then moves
//! the base. It uses no work tree but the task's own.

use std::fs::File;
use std::path::Path;

use adjutant_model::TaskId;
use adjutant_model::evidence::{DiffStat, WorkEvidence};
use adjutant_model::work::MergeResult;
use adjutant_process::atomic_file::write_atomic;
use rustix::fs::{FlockOperation, flock};

use super::advance_base::{BaseUpdate, advance_base};
use super::diff::{diff_stat, files_between};
use super::prepare::{SetupRunner, WorktreeSetup, check_out, io_error_text, register_worktree};
use super::private_git_dir::missing_commits;
use super::project_repository::{ProjectRepository, output_text};
use super::scratch_git_dir::{CommitAuthor, FileConversion, NewCommit, ScratchGitDir};
use super::worktree_paths::WorktreePaths;
use super::{WorktreeError, Worktrees};
use crate::workspace::byte_path::BytePath;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeMethod {
    /// Fast-forward the base to the branch, if the base has not moved.
    Ff,
    /// Make one commit of the work.
    Squash,
    /// Apply the commits again on top of the base.
    Rebase,
}

/// How often the merge is tried if the base moves meanwhile.
const TRIES_MAX: u32 = 5;

/// The lock that allows one merge in a repository at a time.
const LOCK: &str = "adjutant-merge.lock";

pub struct MergeRequest<'a> {
    pub task: &'a TaskId,
    /// The title is also that of a squashed commit.
    pub title: &'a str,
    pub attempt: u32,
    pub method: MergeMethod,
    /// Used if the worktree must be created again.
    pub setup: &'a WorktreeSetup,
    pub run_setup: &'a SetupRunner<'a>,
    /// Returns why the merge must wait if it would change these files of the base; `None` if it may.
    pub refusal: &'a dyn Fn(&[String]) -> Option<String>,
    /// Checks the result in the given folder; `None` if there are no checks.
    pub check: Option<&'a dyn Fn(&Path) -> WorkEvidence>,
    /// Returns false once the merge is no longer wanted.
    pub is_wanted: &'a dyn Fn() -> bool,
}

/// The result of squashing or rebasing.
enum RewrittenWork {
    /// The new commit; the tip of the base if the base has every change already.
    Commit(String),
    Conflict(Vec<String>),
}

impl Worktrees {
    /// Merges, one task at a time. A call after a crash does not merge twice.
    pub fn merge(&self, merge: &MergeRequest<'_>) -> Result<MergeResult, WorktreeError> {
        let (repo, place) = self.locate(merge.task)?;
        let lock = File::create(repo.common_dir.join(LOCK))
            .map_err(io_error_text("lock", &repo.common_dir))?;
        flock(&lock, FlockOperation::LockExclusive)
            .map_err(|error| io_error_text("lock", &repo.common_dir)(error.into()))?;
        let base = self.base_branch(&repo, &place)?;
        if let Some(reason) = missing_commits(&place) {
            return Ok(MergeResult::Waits { reason });
        }
        if let Some(done) = finished_earlier(&repo, &place, &base)? {
            return Ok(done);
        }
        for _ in 0..TRIES_MAX {
            if let Some(merged) = self.try_once(&repo, &place, &base, merge)? {
                return Ok(merged);
            }
        }
        Ok(MergeResult::Waits { reason: format!("{base} changed during every attempt to merge") })
    }

    /// Tries once; `None` if the base moved meanwhile.
    fn try_once(
        &self,
        repo: &ProjectRepository,
        place: &WorktreePaths,
        base: &str,
        merge: &MergeRequest<'_>,
    ) -> Result<Option<MergeResult>, WorktreeError> {
        let gone = |what: &str| WorktreeError(format!("the branch {what:?} no longer exists"));
        let onto = repo.commit(&format!("refs/heads/{base}"))?.ok_or_else(|| gone(base))?;
        let branch = repo.commit(&place.reference())?.ok_or_else(|| gone(&place.branch))?;
        if repo.is_ancestor(&branch, &onto)? {
            return finish_unchanged(repo, place, base, (&onto, &branch)).map(Some);
        }
        let result = match rewrite_onto_base(repo, place, merge, (base, &onto), &branch)? {
            Ok(RewrittenWork::Commit(result)) if result == onto => {
                return finish_unchanged(repo, place, base, (&onto, &branch)).map(Some);
            }
            Ok(RewrittenWork::Commit(result)) => result,
            Ok(RewrittenWork::Conflict(files)) => return Ok(Some(conflict(base, files))),
            Err(reason) => return Ok(Some(MergeResult::Refused { reason, files: vec![] })),
        };
        // Asked before the checks, which execute what the branch has.
        if let Some(reason) = (merge.refusal)(&files_between(repo, &onto, &result)?) {
            return Ok(Some(MergeResult::Waits { reason }));
        }
        let mut evidence = WorkEvidence::default();
        if let Some(check) = merge.check {
            let workspace = self.check_out_result(repo, place, merge, &result)?;
            evidence = check(&workspace);
            restore_branch(repo, place, &branch)?;
            if let Some(failed) = evidence.failed() {
                let what = failed.in_words();
                let reason =
                    format!("a check fails on the result of the merge into {base}: {what}");
                return Ok(Some(MergeResult::Refused { reason, files: vec![] }));
            }
        }
        evidence.changes = Some(diff_stat(repo, base, &result)?);
        if !(merge.is_wanted)() {
            let reason = "the merge is no longer wanted".to_owned();
            return Ok(Some(MergeResult::Waits { reason }));
        }
        repo.set_reference(&place.merging_reference(), &result, None)?;
        let landed = advance_base(repo, base, &onto, &result)?;
        if !matches!(landed, BaseUpdate::Done) {
            repo.delete_reference(&place.merging_reference(), &result)?;
        }
        match landed {
            BaseUpdate::Done => {
                finish(repo, place, Some(&branch))?;
                Ok(Some(merged_result(place, base, &result, evidence)))
            }
            BaseUpdate::Moved => Ok(None),
            BaseUpdate::Waits(reason) => Ok(Some(MergeResult::Waits { reason })),
        }
    }

    /// Checks out a commit in the task's worktree with a detached `HEAD`, and returns the
    /// folder to check.
    fn check_out_result(
        &self,
        repo: &ProjectRepository,
        place: &WorktreePaths,
        merge: &MergeRequest<'_>,
        commit: &str,
    ) -> Result<std::path::PathBuf, WorktreeError> {
        let ready = self.prepare(merge.task, merge.attempt, merge.setup, merge.run_setup)?;
        let head = place.admin_dir.join("HEAD");
        write_atomic(&head, format!("{commit}\n").as_bytes())
            .map_err(io_error_text("write", &head))?;
        check_out(repo, place, commit)?;
        Ok(ready.workspace)
    }
}

/// Returns the result of an earlier call that merged but crashed before it could report.
fn finished_earlier(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    base: &str,
) -> Result<Option<MergeResult>, WorktreeError> {
    let tip = repo.commit(&format!("refs/heads/{base}"))?;
    let (branch, merged) =
        (repo.commit(&place.reference())?, repo.commit(&place.merged_reference())?);
    let Some(tip) = tip else {
        return Err(WorktreeError(format!("the branch {base:?} no longer exists")));
    };
    let begun = repo.commit(&place.merging_reference())?;
    if merged.is_some() && (branch.is_none() || branch == merged) {
        return Ok(Some(merged_result(
            place,
            base,
            &begun.unwrap_or(tip),
            WorkEvidence::default(),
        )));
    }
    let Some(begun) = begun else { return Ok(None) };
    if repo.is_ancestor(&begun, &tip)? {
        finish(repo, place, branch.as_deref())?;
        return Ok(Some(merged_result(place, base, &begun, WorkEvidence::default())));
    }
    repo.delete_reference(&place.merging_reference(), &begun)?;
    Ok(None)
}

/// Finishes a merge that changes nothing, because the base has the change already.
fn finish_unchanged(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    base: &str,
    (onto, branch): (&str, &str),
) -> Result<MergeResult, WorktreeError> {
    finish(repo, place, Some(branch))?;
    let changes = Some(DiffStat::default());
    let evidence = WorkEvidence { changes, ..WorkEvidence::default() };
    Ok(merged_result(place, base, onto, evidence))
}

/// Resets the task's worktree to its branch. Files that checks left there are discarded.
fn restore_branch(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    branch: &str,
) -> Result<(), WorktreeError> {
    register_worktree(repo, place)?;
    check_out(repo, place, branch)
}

fn merged_result(
    place: &WorktreePaths,
    base: &str,
    commit: &str,
    evidence: WorkEvidence,
) -> MergeResult {
    let evidence = WorkEvidence {
        branch: Some(place.branch.clone()),
        base: Some(base.to_owned()),
        commit: Some(commit.to_owned()),
        ..evidence
    };
    MergeResult::Done { base: base.to_owned(), commit: commit.to_owned(), evidence }
}

fn conflict(base: &str, files: Vec<String>) -> MergeResult {
    let names = files.join(", ");
    let reason = format!(
        "merge conflict with {base} in: {names}. Rebase the branch onto {base} (`git rebase \
         {base}`), resolve the conflicts, and report again."
    );
    MergeResult::Refused { reason, files }
}

/// Records that the work is in its base, and keeps the original commits by a reference.
fn finish(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    branch: Option<&str>,
) -> Result<(), WorktreeError> {
    if let Some(branch) = branch {
        let before = repo.commit(&place.merged_reference())?;
        if before.as_deref() != Some(branch) {
            repo.set_reference(&place.merged_reference(), branch, before.as_deref())?;
        }
    }
    match repo.commit(&place.merging_reference())? {
        Some(begun) => repo.delete_reference(&place.merging_reference(), &begun),
        None => Ok(()),
    }
}

/// Makes the commits on top of the base, or returns why they may not be made.
fn rewrite_onto_base(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    merge: &MergeRequest<'_>,
    (base, onto): (&str, &str),
    branch: &str,
) -> Result<Result<RewrittenWork, String>, WorktreeError> {
    let straight = repo.is_ancestor(onto, branch)?;
    let Some(fork) = repo.merge_base(onto, branch)? else {
        return Ok(Err(format!("its branch has no common ancestor with {base}")));
    };
    let bench = ScratchGitDir::new(repo, &repo.top, FileConversion::AsConfigured)?;
    Ok(match merge.method {
        MergeMethod::Ff if straight => Ok(RewrittenWork::Commit(branch.to_owned())),
        MergeMethod::Ff => Err(format!(
            "{base} has new commits, and only a fast-forward is allowed. Rebase the branch onto \
             {base} (`git rebase {base}`) and report again."
        )),
        MergeMethod::Squash => Ok(squash(repo, &bench, merge, (&fork, onto, branch))?),
        MergeMethod::Rebase if straight && has_no_merges(repo, onto, branch)? => {
            Ok(RewrittenWork::Commit(branch.to_owned()))
        }
        MergeMethod::Rebase => Ok(rebase(repo, &bench, place, (&fork, onto, branch))?),
    })
}

fn has_no_merges(repo: &ProjectRepository, after: &str, to: &str) -> Result<bool, WorktreeError> {
    let range = format!("{after}..{to}");
    let asked = ["rev-list", "--merges", "--max-count=1", &range];
    Ok(repo.call(&asked).output()?.is_empty())
}

fn squash(
    repo: &ProjectRepository,
    bench: &ScratchGitDir,
    merge: &MergeRequest<'_>,
    (fork, onto, branch): (&str, &str, &str),
) -> Result<RewrittenWork, WorktreeError> {
    let tree = match merge_trees(repo, bench, fork, [onto, branch])? {
        Ok(tree) => tree,
        Err(files) => return Ok(RewrittenWork::Conflict(files)),
    };
    // The base already has the change, and an empty commit would say nothing.
    if tree == repo.tree_of(onto)? {
        return Ok(RewrittenWork::Commit(onto.to_owned()));
    }
    let info = CommitInfo::read(repo, branch)?;
    let message = format!("{}\n\nTask: {}\n", merge.title, merge.task);
    let new = NewCommit { tree: &tree, parents: &[onto], author: info.author(), message: &message };
    bench.commit(&new).map(RewrittenWork::Commit)
}

fn rebase(
    repo: &ProjectRepository,
    bench: &ScratchGitDir,
    place: &WorktreePaths,
    (fork, onto, branch): (&str, &str, &str),
) -> Result<RewrittenWork, WorktreeError> {
    let mut top = onto.to_owned();
    for commit in repo.commits(fork, branch)? {
        let gone = || WorktreeError(format!("a commit of {} no longer exists", place.branch));
        let parent = repo.commit(&format!("{commit}^1"))?.ok_or_else(gone)?;
        let tree = match merge_trees(repo, bench, &parent, [&top, &commit])? {
            Ok(tree) => tree,
            Err(files) => return Ok(RewrittenWork::Conflict(files)),
        };
        // The base already has this change.
        if tree == repo.tree_of(&top)? {
            continue;
        }
        let info = CommitInfo::read(repo, &commit)?;
        let (parents, message) = ([top.as_str()], &*info.message);
        let new = NewCommit { tree: &tree, parents: &parents, author: info.author(), message };
        top = bench.commit(&new)?;
    }
    Ok(RewrittenWork::Commit(top))
}

/// Merges two commits in memory, as changes since `base`. Returns the tree, or the files
/// with a merge conflict.
///
/// Git 2.39 cannot be told the merge base. So each side is committed anew as a child of `base`,
/// which makes that commit the only merge base there is.
fn merge_trees(
    repo: &ProjectRepository,
    bench: &ScratchGitDir,
    base: &str,
    sides: [&str; 2],
) -> Result<Result<String, Vec<String>>, WorktreeError> {
    let child_of_base = |side: &str| {
        let (tree, author) = (&repo.tree_of(side)?, CommitAuthor::ADJUTANT);
        bench.commit(&NewCommit { tree, parents: &[base], author, message: "a side of a merge\n" })
    };
    let [ours, theirs] = [child_of_base(sides[0])?, child_of_base(sides[1])?];
    let asked = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"];
    let answer = bench.call(&asked).with_args([ours, theirs]).run()?;
    let mut parts = answer.output.split(|byte| *byte == 0);
    let tree = output_text(parts.next().unwrap_or_default());
    match answer.code {
        Some(0) => Ok(Ok(tree)),
        Some(1) => {
            let names = parts.take_while(|name| !name.is_empty());
            Ok(Err(names.map(|name| one_line_name(&BytePath::new(name).to_display())).collect()))
        }
        _ => Err(answer.to_error().into()),
    }
}

/// Replaces control characters, so that the name fits on one line.
fn one_line_name(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// The author, date and message of a commit.
struct CommitInfo {
    name: String,
    email: String,
    date: String,
    message: String,
}

impl CommitInfo {
    fn read(repo: &ProjectRepository, commit: &str) -> Result<Self, WorktreeError> {
        let format = "--format=%an%x00%ae%x00%ad%x00%B";
        let output = repo.call(&["show", "-s", "--date=raw", format, commit]).output()?;
        let output = String::from_utf8_lossy(&output).into_owned();
        let mut parts = output.splitn(4, '\0').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        let (name, email, date, message) = (next(), next(), next(), next());
        Ok(Self { name, email, date, message: format!("{}\n", message.trim_end()) })
    }

    fn author(&self) -> CommitAuthor<'_> {
        // A commit may have an empty author name.
        let name = if self.name.trim().is_empty() { "unknown" } else { &self.name };
        CommitAuthor { name, email: &self.email, date: Some(&self.date) }
    }
}
