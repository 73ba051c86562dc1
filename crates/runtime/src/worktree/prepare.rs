//! Makes the work tree of a task, or makes it ready for the next attempt.
//!
//! A work tree is made by writing the files git reads, each whole or not at all, and none needs to
//! be there before: so it does not matter where an earlier call was cut off.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use adjutant_core::TaskId;

use super::bench::{Bench, Bytes};
use super::note::Note;
use super::place::{FOLDER, Place};
use super::repo::Repo;
use super::save::{Saved, copy_entries, save};
use super::{Refused, Yard, copy, own};
use crate::testrun::run::Terms;
use crate::whole_file::put;

/// What is done in a new work tree before anybody works in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Setup {
    /// The files and folders that are copied in, from the project's folder.
    pub copy: Vec<PathBuf>,
    /// The commands that are run in it.
    pub commands: Vec<String>,
}

/// A work tree that is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The folder to work in.
    pub workspace: PathBuf,
    /// The folder of the whole work tree.
    pub tree: PathBuf,
    /// A folder for what need not be kept.
    pub temporary: PathBuf,
    /// The git folder that is its own, if it has one.
    pub git: Option<PathBuf>,
    /// Its branch.
    pub branch: String,
    /// The branch it is to be merged into.
    pub base: String,
    /// What lay in it uncommitted, and where it is now.
    pub saved: Option<Saved>,
}

impl Yard {
    /// Makes the work tree of a task ready for its next attempt: on its branch, with what was
    /// committed there and nothing else. What lies in it uncommitted was left by `attempt`, and is
    /// saved first. Nobody may work in it meanwhile.
    pub fn prepare(
        &self,
        task: &TaskId,
        attempt: u32,
        setup: &Setup,
        terms: &Terms,
    ) -> Result<Ready, Refused> {
        let (repo, place) = self.of(task)?;
        let base = self.base_of(&repo, &place)?;
        fence_off(&self.data.join(FOLDER))?;
        own::take_in(&repo, &place)?;
        let commit = branch_of(&repo, &place, &base)?;
        let saved = clear(&repo, &place, attempt)?;
        link(&repo, &place)?;
        check_out(&repo, &place, &commit)?;
        let inner = self.home.strip_prefix(&repo.top).unwrap_or(Path::new(""));
        let workspace = place.tree.join(inner);
        fs::create_dir_all(&workspace).map_err(cannot("make", &workspace))?;
        self.set_up(&place, &base, &workspace, setup, terms)?;
        renew(&place.temporary)?;
        let Place { tree, temporary, branch, .. } = place;
        Ok(Ready { workspace, tree, temporary, git: None, branch, base, saved })
    }

    /// Returns the branch the work of a task is for: the one it started from, if it has started.
    pub(super) fn base_of(&self, repo: &Repo, place: &Place) -> Result<String, Refused> {
        if let Some(note) = Note::read(&place.note) {
            return Ok(note.base);
        }
        let current = match &self.base {
            Some(base) => Some(base.clone()),
            None => repo.current()?,
        };
        let none = "the project is on no branch; name one with `base` in [project]";
        let base = current.ok_or_else(|| Refused(none.to_owned()))?;
        if repo.commit(&format!("refs/heads/{base}"))?.is_some() {
            return Ok(base);
        }
        Err(Refused(if self.base.is_some() {
            format!("there is no branch {base:?}, which `base` in [project] names")
        } else {
            format!("the branch {base:?} has no commit yet; commit something first")
        }))
    }

    /// Copies in and runs what belongs into a new work tree.
    fn set_up(
        &self,
        place: &Place,
        base: &str,
        workspace: &Path,
        setup: &Setup,
        terms: &Terms,
    ) -> Result<(), Refused> {
        if let Some(note) = Note::read(&place.note).filter(|note| note.ready) {
            let open = Note { kept: false, ..note.clone() };
            return if note == open { Ok(()) } else { open.write(&place.note) };
        }
        for path in &setup.copy {
            copy::copy(&self.home, workspace, path)?;
        }
        for line in &setup.commands {
            let ran = terms.run(line, workspace);
            let ran = ran.map_err(|error| Refused(format!("`{line}` cannot be run: {error}")))?;
            if !ran.success() {
                let ended = ran.ended_in_words();
                let said = ran.last_words();
                return Err(Refused(format!("its set-up failed: `{line}`: {ended}: {said}")));
            }
        }
        Note { base: base.to_owned(), ready: true, kept: false }.write(&place.note)
    }
}

/// Returns what the branch of a task points to, and makes it if it is not there.
fn branch_of(repo: &Repo, place: &Place, base: &str) -> Result<String, Refused> {
    let name = place.reference();
    let elsewhere = repo.checked_out(&name).into_iter().find(|at| at.git_dir != place.admin);
    if let Some(at) = elsewhere {
        let what = format!("its branch {} is checked out in {}", place.branch, at.top.display());
        return Err(Refused(what));
    }
    if let Some(commit) = repo.commit(&name)? {
        return Ok(commit);
    }
    let base = format!("refs/heads/{base}");
    let gone = || Refused(format!("there is no branch {base:?} any more"));
    let commit = repo.commit(&base)?.ok_or_else(gone)?;
    repo.set(&name, &commit, None)?;
    Ok(commit)
}

/// Saves what lies in a work tree uncommitted, if there is one.
fn clear(repo: &Repo, place: &Place, attempt: u32) -> Result<Option<Saved>, Refused> {
    match place.tree.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot("look at", &place.tree)(error)),
        Ok(there) if !there.is_dir() => {
            let what = "is no folder; move it away";
            Err(Refused(format!("{} {what}", place.tree.display())))
        }
        Ok(_) => Ok(save(repo, place, attempt)?.saved),
    }
}

/// Makes the folder of all work trees, which no repository around it is to see.
fn fence_off(folder: &Path) -> Result<(), Refused> {
    let made = fs::create_dir_all(folder).and_then(|()| {
        let ignore = folder.join(".gitignore");
        if ignore.exists() { Ok(()) } else { put(&ignore, b"*\n") }
    });
    made.map_err(cannot("make", folder))
}

/// Makes a folder that is empty.
fn renew(folder: &Path) -> Result<(), Refused> {
    let gone = match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        gone => gone,
    };
    gone.and_then(|()| fs::create_dir_all(folder)).map_err(cannot("empty", folder))
}

/// Makes a folder a work tree of the repository, on its branch.
pub(super) fn link(repo: &Repo, place: &Place) -> Result<(), Refused> {
    let inner = || {
        fs::create_dir_all(&place.tree)?;
        fs::create_dir_all(&place.admin)?;
        let line = |path: &Path| [path.as_os_str().as_encoded_bytes(), b"\n"].concat();
        put(&place.admin.join("commondir"), &line(&repo.common_dir))?;
        put(&place.admin.join("gitdir"), &line(&place.tree.join(".git")))?;
        put(&place.admin.join("HEAD"), format!("ref: {}\n", place.reference()).as_bytes())?;
        remove_if_there(&place.admin.join("index.lock"))?;
        let git = place.tree.join(".git");
        if git.symlink_metadata().is_ok_and(|there| there.is_dir()) {
            let what = "it has a git folder of its own in place of the file that links it";
            return Err(io::Error::other(what));
        }
        put(&git, &[b"gitdir: ", &*line(&place.admin)].concat())
    };
    inner().map_err(cannot("make a work tree of", &place.tree))
}

/// Brings a work tree to a commit. What is in it and not committed was saved before; a file that is
/// as it should be is not touched.
pub(super) fn check_out(repo: &Repo, place: &Place, commit: &str) -> Result<(), Refused> {
    let bench = Bench::new(repo, &place.tree, Bytes::AsWanted)?;
    let index = place.admin.join("index");
    // An index that somebody spoilt says nothing: everything is written anew.
    if copy_entries(&bench, &index).is_err() {
        bench.call(&["read-tree", "--empty"]).output()?;
    }
    // It says 1 if anything is changed.
    bench.call(&["update-index", "-q", "--unmerged", "--ignore-missing", "--refresh"]).answer()?;
    bench.call(&["read-tree", "--reset", "-u", commit]).output()?;
    let clean = ["-c", "clean.requireForce=false", "clean", "-d", "-q"];
    bench.call(&clean).output()?;
    let made = fs::read(bench.index()).and_then(|bytes| put(&index, &bytes));
    made.map_err(cannot("write", &index))
}

pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

pub(super) fn cannot<'a>(what: &'a str, path: &'a Path) -> impl Fn(io::Error) -> Refused + 'a {
    move |error| Refused(format!("cannot {what} {}: {error}", path.display()))
}
