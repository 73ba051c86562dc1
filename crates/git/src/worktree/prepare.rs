//! Creates the worktree of a task, or prepares it for the next attempt.
//!
//! The worktree is created by writing the files that git reads, each one atomically, and none of
//! them has to exist before. So an earlier call may have been interrupted at any point.

use std::path::{Path, PathBuf};
use std::{fs, io};

use adjutant_model::TaskId;
use adjutant_process::atomic_file::write_atomic;
use adjutant_process::test_runner::limited_command::CommandResult;

use super::project_repository::ProjectRepository;
use super::salvage::{SavedWork, copy_entries, save};
use super::scratch_git_dir::{FileConversion, ScratchGitDir};
use super::worktree_note::WorktreeNote;
use super::worktree_paths::{FOLDER, WorktreePaths};
use super::{WorktreeError, Worktrees, copy, private_git_dir};

/// What is done in a new worktree before an agent works in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorktreeSetup {
    /// The files and folders to copy in, relative to the project's folder.
    pub copy: Vec<PathBuf>,
    /// The shell commands to run in it.
    pub commands: Vec<String>,
}

/// Runs a shell command of the setup in a folder of a worktree, which may contain programs that an
/// agent wrote. The arguments are the command, the folder, and the worktree around it.
pub type SetupRunner<'a> = dyn Fn(&str, &Path, &Path) -> io::Result<CommandResult> + 'a;

/// A worktree that is ready for an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedWorktree {
    /// The folder to work in: the project's folder inside the worktree.
    pub workspace: PathBuf,
    pub tree: PathBuf,
    /// The folder for temporary files.
    pub temporary: PathBuf,
    /// The run's own git folder, if it has one.
    pub git: Option<PathBuf>,
    pub branch: String,
    /// The branch that the work will be merged into.
    pub base: String,
    /// The uncommitted work that was found in the worktree and saved.
    pub saved: Option<SavedWork>,
}

impl Worktrees {
    /// Prepares a task's worktree for its next attempt: on its branch, with the committed files and
    /// nothing else. Uncommitted work was left by `attempt` and is saved first. No process may use
    /// the worktree meanwhile.
    pub fn prepare(
        &self,
        task: &TaskId,
        attempt: u32,
        setup: &WorktreeSetup,
        run: &SetupRunner<'_>,
    ) -> Result<PreparedWorktree, WorktreeError> {
        let (repo, place) = self.locate(task)?;
        let base = self.base_branch(&repo, &place)?;
        create_ignored_folder(&self.data.join(FOLDER))?;
        private_git_dir::import_private_git_dir(&repo, &place)?;
        private_git_dir::keep_earlier_commits(&place)?;
        let commit = ensure_branch(&repo, &place, &base)?;
        let saved = save_if_exists(&repo, &place, attempt)?;
        register_worktree(&repo, &place)?;
        check_out(&repo, &place, &commit)?;
        let inner = self.home.strip_prefix(&repo.top).unwrap_or(Path::new(""));
        let workspace = place.tree.join(inner);
        fs::create_dir_all(&workspace).map_err(io_error_text("create", &workspace))?;
        self.set_up(&place, &base, &workspace, setup, run)?;
        recreate_folder(&place.temporary)?;
        let WorktreePaths { tree, temporary, branch, .. } = place;
        Ok(PreparedWorktree { workspace, tree, temporary, git: None, branch, base, saved })
    }

    /// Returns the branch that a task's work is for: the recorded one if the work has started.
    pub(super) fn base_branch(
        &self,
        repo: &ProjectRepository,
        place: &WorktreePaths,
    ) -> Result<String, WorktreeError> {
        if let Some(note) = WorktreeNote::read(&place.note) {
            return Ok(note.base);
        }
        let current = match &self.base {
            Some(base) => Some(base.clone()),
            None => repo.current_branch()?,
        };
        let none = "no branch is checked out in the project; name one with `base` in [project]";
        let base = current.ok_or_else(|| WorktreeError(none.to_owned()))?;
        if repo.commit(&format!("refs/heads/{base}"))?.is_some() {
            return Ok(base);
        }
        Err(WorktreeError(if self.base.is_some() {
            format!("there is no branch {base:?}, which `base` in [project] names")
        } else {
            format!("the branch {base:?} has no commit yet; commit something first")
        }))
    }

    /// Copies files into a new worktree and runs the setup commands.
    fn set_up(
        &self,
        place: &WorktreePaths,
        base: &str,
        workspace: &Path,
        setup: &WorktreeSetup,
        run: &SetupRunner<'_>,
    ) -> Result<(), WorktreeError> {
        if let Some(note) = WorktreeNote::read(&place.note).filter(|note| note.ready) {
            let open = WorktreeNote { kept: false, ..note.clone() };
            return if note == open { Ok(()) } else { open.write(&place.note) };
        }
        for path in &setup.copy {
            copy::copy(&self.home, workspace, path)?;
        }
        for line in &setup.commands {
            let ran = run(line, workspace, &place.tree);
            let ran =
                ran.map_err(|error| WorktreeError(format!("`{line}` cannot be run: {error}")))?;
            if !ran.is_success() {
                let ended = ran.exit_text();
                let output = ran.last_lines();
                return Err(WorktreeError(format!(
                    "its setup failed: `{line}`: {ended}: {output}"
                )));
            }
        }
        WorktreeNote { base: base.to_owned(), ready: true, kept: false }.write(&place.note)
    }
}

/// Returns the commit of a task's branch, and creates the branch if it is missing.
fn ensure_branch(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    base: &str,
) -> Result<String, WorktreeError> {
    let name = place.reference();
    let elsewhere = repo.checked_out(&name).into_iter().find(|at| at.git_dir != place.admin_dir);
    if let Some(at) = elsewhere {
        let what = format!("its branch {} is checked out in {}", place.branch, at.top.display());
        return Err(WorktreeError(what));
    }
    if let Some(commit) = repo.commit(&name)? {
        return Ok(commit);
    }
    let base = format!("refs/heads/{base}");
    let gone = || WorktreeError(format!("the branch {base:?} no longer exists"));
    let commit = repo.commit(&base)?.ok_or_else(gone)?;
    repo.set_reference(&name, &commit, None)?;
    Ok(commit)
}

/// Saves uncommitted work if the worktree exists.
fn save_if_exists(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    attempt: u32,
) -> Result<Option<SavedWork>, WorktreeError> {
    match place.tree.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error_text("examine", &place.tree)(error)),
        Ok(there) if !there.is_dir() => {
            let what = "is not a folder; move it away";
            Err(WorktreeError(format!("{} {what}", place.tree.display())))
        }
        Ok(_) => Ok(save(repo, place, attempt)?.saved),
    }
}

/// Creates the folder of all worktrees, hidden from the repository around it.
fn create_ignored_folder(folder: &Path) -> Result<(), WorktreeError> {
    let made = fs::create_dir_all(folder).and_then(|()| {
        let ignore = folder.join(".gitignore");
        if ignore.exists() { Ok(()) } else { write_atomic(&ignore, b"*\n") }
    });
    made.map_err(io_error_text("create", folder))
}

fn recreate_folder(folder: &Path) -> Result<(), WorktreeError> {
    let gone = match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        gone => gone,
    };
    gone.and_then(|()| fs::create_dir_all(folder)).map_err(io_error_text("empty", folder))
}

/// Registers a folder as a worktree of the repository, on its branch.
pub(super) fn register_worktree(
    repo: &ProjectRepository,
    place: &WorktreePaths,
) -> Result<(), WorktreeError> {
    let inner = || {
        fs::create_dir_all(&place.tree)?;
        fs::create_dir_all(&place.admin_dir)?;
        let line = |path: &Path| [path.as_os_str().as_encoded_bytes(), b"\n"].concat();
        write_atomic(&place.admin_dir.join("commondir"), &line(&repo.common_dir))?;
        write_atomic(&place.admin_dir.join("gitdir"), &line(&place.tree.join(".git")))?;
        write_atomic(
            &place.admin_dir.join("HEAD"),
            format!("ref: {}\n", place.reference()).as_bytes(),
        )?;
        remove_if_there(&place.admin_dir.join("index.lock"))?;
        let git = place.tree.join(".git");
        if git.symlink_metadata().is_ok_and(|there| there.is_dir()) {
            let what = "its `.git` is a folder instead of the file that links it to the repository";
            return Err(io::Error::other(what));
        }
        write_atomic(&git, &[b"gitdir: ", &*line(&place.admin_dir)].concat())
    };
    inner().map_err(io_error_text("create the work tree", &place.tree))
}

/// Resets a worktree to a commit. Uncommitted work was saved before; unchanged files
/// are not touched.
pub(super) fn check_out(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    commit: &str,
) -> Result<(), WorktreeError> {
    let bench = ScratchGitDir::new(repo, &place.tree, FileConversion::AsConfigured)?;
    let index = place.admin_dir.join("index");
    // If the index is damaged, every file is written again.
    if copy_entries(&bench, &index).is_err() {
        bench.call(&["read-tree", "--empty"]).output()?;
    }
    // The exit code is 1 if any file changed.
    bench.call(&["update-index", "-q", "--unmerged", "--ignore-missing", "--refresh"]).run()?;
    bench.call(&["read-tree", "--reset", "-u", commit]).output()?;
    let clean = ["-c", "clean.requireForce=false", "clean", "-d", "-q"];
    bench.call(&clean).output()?;
    let made = fs::read(bench.index()).and_then(|bytes| write_atomic(&index, &bytes));
    made.map_err(io_error_text("write", &index))
}

pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

pub(super) fn io_error_text<'a>(
    what: &'a str,
    path: &'a Path,
) -> impl Fn(io::Error) -> WorktreeError + 'a {
    move |error| WorktreeError(format!("cannot {what} {}: {error}", path.display()))
}
