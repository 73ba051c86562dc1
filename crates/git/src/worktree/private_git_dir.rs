//! A private git folder for the worktree of a sandboxed run.
//!
//! All worktrees of a repository share its objects, references and settings, and git must write to
//! them to commit: a run with that right could destroy the whole history. So a sandboxed run gets a
//! git folder that reads the repository's objects and writes its own. After the run, its branch,
//! its `HEAD` and its index are imported into the repository, with every object hashed again, and
//! the folder is removed. Other branches, tags and stashes of the run are lost with it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use adjutant_model::TaskId;
use adjutant_process::atomic_file::write_atomic;

use super::prepare::{io_error_text, register_worktree};
use super::project_repository::{ProjectRepository, output_text, read_line_file};
use super::remove::remove_folder;
use super::scratch_git_dir::{FileConversion, ScratchGitDir};
use super::worktree_paths::WorktreePaths;
use super::{WorktreeError, Worktrees};
use crate::workspace::git::{GitCommand, GitConfigScope, split_nul};

impl Worktrees {
    /// Creates the private git folder for a task's worktree and returns its path. The worktree must
    /// be prepared, and no process may use it yet.
    pub fn create_private_git_dir(&self, task: &TaskId) -> Result<PathBuf, WorktreeError> {
        let (repo, place) = self.locate(task)?;
        // An unfinished folder holds nothing that the repository lacks.
        remove_folder(&place.private_git_dir)
            .map_err(io_error_text("remove", &place.private_git_dir))?;
        lay_out(&repo, &place).map_err(io_error_text("create", &place.private_git_dir))?;
        settings(&repo, &place)?;
        let refs = repo.call(&["for-each-ref", "--format=%(objectname) %(refname)"]).output()?;
        fs::write(place.private_git_dir.join("packed-refs"), refs)
            .map_err(io_error_text("write", &place.private_git_dir))?;
        point_git_file(&place, &place.private_git_dir)?;
        Ok(place.private_git_dir)
    }
}

fn lay_out(repo: &ProjectRepository, place: &WorktreePaths) -> io::Result<()> {
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
        fs::create_dir_all(place.private_git_dir.join(folder))?;
    }
    let objects = repo.common_dir.join("objects");
    let objects = [objects.as_os_str().as_encoded_bytes(), b"\n"].concat();
    fs::write(place.private_git_dir.join("objects/info/alternates"), objects)?;
    fs::write(place.private_git_dir.join("HEAD"), format!("ref: {}\n", place.reference()))?;
    let shallow = repo.common_dir.join("shallow");
    if shallow.exists() {
        fs::copy(shallow, place.private_git_dir.join("shallow"))?;
    }
    match fs::copy(place.admin_dir.join("index"), place.private_git_dir.join("index")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes the settings that affect how files are written, and the commit identity.
fn settings(repo: &ProjectRepository, place: &WorktreePaths) -> Result<(), WorktreeError> {
    let write = |name: &str, bytes: &[u8]| {
        fs::write(place.private_git_dir.join(name), bytes)
            .map_err(io_error_text("write", &place.private_git_dir))
    };
    write("info/exclude", &repo.outside_ignore_rules()?)?;
    write("config", repo.safe_config()?.as_bytes())?;
    let file = place.private_git_dir.join("config").to_string_lossy().into_owned();
    for key in ["user.name", "user.email"] {
        let setting = repo.call(&["config", "--get", key]).run()?;
        if setting.code == Some(0) {
            repo.call(&["config", "--file", &file, key, &output_text(&setting.output)]).output()?;
        }
    }
    Ok(())
}

/// Points a worktree to its git folder.
fn point_git_file(place: &WorktreePaths, to: &Path) -> Result<(), WorktreeError> {
    let line = [b"gitdir: ", to.as_os_str().as_encoded_bytes(), b"\n"].concat();
    write_atomic(&place.tree.join(".git"), &line).map_err(io_error_text("write", &place.tree))
}

/// Imports the private git folder of a sandboxed run into the repository. Returns in words what
/// could not be imported; that is kept beside the worktree. No process may use the
/// worktree any more.
pub(super) fn import_private_git_dir(
    repo: &ProjectRepository,
    place: &WorktreePaths,
) -> Result<Option<String>, WorktreeError> {
    let gone = sibling_path(&place.private_git_dir, "gone");
    remove_folder(&gone).map_err(io_error_text("remove", &gone))?;
    if !place.private_git_dir.symlink_metadata().is_ok_and(|there| there.is_dir()) {
        return Ok(None);
    }
    let taken = import_work(repo, place);
    let aside = if taken.is_ok() { gone } else { broken_git_dir(place) };
    // Until here every step can be repeated; after the rename the repository is authoritative.
    fs::rename(&place.private_git_dir, &aside)
        .map_err(io_error_text("move", &place.private_git_dir))?;
    if place.tree.is_dir() {
        point_git_file(place, &place.admin_dir)?;
    }
    match taken {
        Ok(()) => remove_folder(&aside).map_err(io_error_text("remove", &aside)).map(|()| None),
        Err(WorktreeError(why)) => Ok(Some(format!("{}: {why}", unread_commits(place)))),
    }
}

/// Returns where the git folder of a run is kept whose commits could not be read.
fn broken_git_dir(place: &WorktreePaths) -> PathBuf {
    sibling_path(&place.private_git_dir, "broken")
}

fn unread_commits(place: &WorktreePaths) -> String {
    let at = broken_git_dir(place);
    format!("the commits of the run cannot be read and are kept in {}", at.display())
}

/// Returns why work is missing on the branch of a task, until a person has moved the commits away
/// that could not be read.
pub(super) fn missing_commits(place: &WorktreePaths) -> Option<String> {
    let is_kept = broken_git_dir(place).symlink_metadata().is_ok();
    is_kept.then(|| format!("{}; save what you need and remove that folder", unread_commits(place)))
}

/// Gives the commits of an earlier run that could not be read a name of their own, so that those of
/// the next run can be told from them.
pub(super) fn keep_earlier_commits(place: &WorktreePaths) -> Result<(), WorktreeError> {
    let broken = broken_git_dir(place);
    if broken.symlink_metadata().is_err() {
        return Ok(());
    }
    let names = (1_u32..).map(|number| sibling_path(&broken, &number.to_string()));
    let free = names.into_iter().find(|path| path.symlink_metadata().is_err());
    let free = free.unwrap_or_else(|| broken.clone());
    fs::rename(&broken, free).map_err(io_error_text("move", &broken))
}

fn sibling_path(own: &Path, what: &str) -> PathBuf {
    let name = own.file_name().unwrap_or_default().to_string_lossy().into_owned();
    own.with_file_name(format!("{name}.{what}"))
}

/// Imports the branch, the `HEAD` and the index.
fn import_work(repo: &ProjectRepository, place: &WorktreePaths) -> Result<(), WorktreeError> {
    let branch = commit(place, &place.reference())?;
    let head = commit(place, "HEAD")?;
    let bench = ScratchGitDir::new(repo, &place.tree, FileConversion::Disabled)?;
    let mut objects = staged_objects(&bench, place)?;
    let tips: Vec<&str> = branch.iter().chain(&head).map(String::as_str).collect();
    let before = repo.commit(&place.reference())?;
    if !tips.is_empty() {
        let mut asked = vec!["rev-list", "--objects", "--no-object-names"];
        asked.extend(&tips);
        asked.extend(before.iter().flat_map(|before| ["--not", before.as_str()]));
        let listed = call_with_run_objects(&bench, place, &asked).output()?;
        objects.extend(output_text(&listed).lines().map(str::to_owned));
    }
    if !objects.is_empty() {
        let pack = call_with_run_objects(&bench, place, &["pack-objects", "--stdout", "-q"]);
        let pack = pack.with_input(join_lines(&objects)).output()?;
        // Git names each object by the hash of its content, so a forged name has no effect.
        bench.call(&["unpack-objects", "-q"]).with_input(pack).output()?;
    }
    if let Some(branch) = branch.filter(|branch| before.as_ref() != Some(branch)) {
        repo.set_reference(&place.reference(), &branch, before.as_deref())?;
    }
    if !place.tree.is_dir() {
        return Ok(());
    }
    // The worktree uses the repository's git folder again, on its branch.
    register_worktree(repo, place)?;
    let on_branch = read_line_file(&place.private_git_dir.join("HEAD"))
        == Some(format!("ref: {}", place.reference()));
    if let Some(head) = head.filter(|_| !on_branch) {
        let line = format!("{head}\n");
        write_atomic(&place.admin_dir.join("HEAD"), line.as_bytes())
            .map_err(io_error_text("write", &place.admin_dir))?;
    }
    let index = place.private_git_dir.join("index");
    if index.symlink_metadata().is_ok_and(|there| there.is_file()) {
        let copied =
            fs::read(&index).and_then(|bytes| write_atomic(&place.admin_dir.join("index"), &bytes));
        copied.map_err(io_error_text("copy", &index))?;
    }
    Ok(())
}

/// Makes a call that also finds the run's own objects.
fn call_with_run_objects(
    bench: &ScratchGitDir,
    place: &WorktreePaths,
    arguments: &[&str],
) -> GitCommand {
    let objects = place.private_git_dir.join("objects");
    bench.call(arguments).with_env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects)
}

/// Resolves a name to a commit in the private git folder.
fn commit(place: &WorktreePaths, name: &str) -> Result<Option<String>, WorktreeError> {
    let name = format!("{name}^{{commit}}");
    let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
    let call = GitCommand::new(&place.tree, GitConfigScope::Isolated, &asked);
    let answer = call.with_env("GIT_DIR", &place.private_git_dir).run()?;
    Ok((answer.code == Some(0)).then(|| output_text(&answer.output)))
}

/// Returns the staged objects that the repository lacks.
fn staged_objects(
    bench: &ScratchGitDir,
    place: &WorktreePaths,
) -> Result<BTreeSet<String>, WorktreeError> {
    let index = place.private_git_dir.join("index");
    if !index.symlink_metadata().is_ok_and(|there| there.is_file()) {
        return Ok(BTreeSet::new());
    }
    let listed = bench.with_index(&index, &["ls-files", "--stage", "-z"]).output()?;
    let id = |item: &[u8]| {
        let item = String::from_utf8_lossy(item);
        let mut words = item.split_whitespace();
        // The commit of a submodule is not in this repository.
        let mode = words.next().filter(|mode| *mode != "160000");
        mode.and_then(|_| words.next().map(str::to_owned))
    };
    let ids: BTreeSet<String> = split_nul(&listed).filter_map(id).collect();
    let missing = bench.call(&["cat-file", "--batch-check=%(objectname)", "--buffer"]);
    let known = missing.with_input(join_lines(&ids)).output()?;
    let is_missing = |line: &str| line.strip_suffix(" missing").map(str::to_owned);
    let lacking: BTreeSet<String> = output_text(&known).lines().filter_map(is_missing).collect();
    // An object that the run does not have either cannot be imported.
    let there = call_with_run_objects(
        bench,
        place,
        &["cat-file", "--batch-check=%(objectname)", "--buffer"],
    );
    let there = there.with_input(join_lines(&lacking)).output()?;
    Ok(output_text(&there).lines().filter(|line| !line.contains(' ')).map(str::to_owned).collect())
}

fn join_lines(ids: &BTreeSet<String>) -> Vec<u8> {
    ids.iter().flat_map(|id| [id.as_bytes(), b"\n"].concat()).collect()
}
