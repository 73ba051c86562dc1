//! Brings back what lay uncommitted in a work tree, byte for byte.

use std::fs;
use std::path::{Path, PathBuf};

use adjutant_core::TaskId;

use super::bench::{Bench, Bytes};
use super::note::Note;
use super::place::{FOLDER, SAVED};
use super::prepare::{cannot, check_out, link};
use super::repo::Repo;
use super::save::{contents_as, names_between};
use super::{Refused, Yard};
use crate::whole_file::put;
use crate::workspace::name::Name;

/// Something that can be brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The task whose it was.
    pub task: TaskId,
    /// The attempt that left it; followed by `-` and a number if it left something more than once.
    pub attempt: String,
    /// The reference that holds it.
    pub reference: String,
    /// The commit it is.
    pub commit: String,
    /// The files that differ from what was committed, for people to read.
    pub files: Vec<String>,
}

/// Where something is brought back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Into {
    /// The work tree of its task, which is made again if it is gone.
    Worktree,
    /// A folder that is not there yet, or is empty.
    Folder(PathBuf),
}

impl Yard {
    /// Returns what can be brought back: of one task or of all, the last attempt of each last.
    pub fn saved(&self, task: Option<&TaskId>) -> Result<Vec<Found>, Refused> {
        let repo = Repo::find(&self.home)?;
        let prefix = task.map_or_else(|| SAVED.to_owned(), |task| format!("{SAVED}/{task}"));
        let bench = Bench::new(&repo, &repo.top, Bytes::AsTheyAre)?;
        let mut found = Vec::new();
        for (reference, commit) in repo.below(&prefix)? {
            let Some((of, attempt)) = names(&reference) else { continue };
            let files = changed(&repo, &bench, &commit)?;
            let files = files.iter().map(|name| Name::new(name).shown()).collect();
            found.push(Found { task: of, attempt, reference, commit, files });
        }
        found.sort_by_key(|one| (one.task.clone(), order(&one.attempt)));
        Ok(found)
    }

    /// Brings something back, and returns the folder it is in. What is there is not written over.
    pub fn restore(&self, what: &Found, into: &Into) -> Result<PathBuf, Refused> {
        match into {
            Into::Worktree => self.restore_in_place(what),
            Into::Folder(folder) => {
                let repo = Repo::find(&self.home)?;
                let is_there = folder.symlink_metadata().is_ok();
                if is_there && !fs::read_dir(folder).is_ok_and(|mut all| all.next().is_none()) {
                    let what = "is there and is not an empty folder; name another";
                    return Err(Refused(format!("{} {what}", folder.display())));
                }
                fs::create_dir_all(folder).map_err(cannot("make", folder))?;
                write_out(&repo, folder, &what.commit)?;
                Ok(folder.clone())
            }
        }
    }

    fn restore_in_place(&self, what: &Found) -> Result<PathBuf, Refused> {
        let (repo, place) = self.of(&what.task)?;
        if place.own.exists() {
            let why = "a run works there, or nobody has looked into what it did";
            return Err(Refused(format!("{why}; bring it back to a folder with --to DIR")));
        }
        let parent = repo.commit(&format!("{}^1", what.commit))?;
        let elsewhere = "bring it back to a folder of its own with --to DIR";
        let Some(parent) = parent else {
            return Err(Refused(format!("nothing was committed before it; {elsewhere}")));
        };
        let name = place.reference();
        let branch = repo.commit(&name)?;
        if branch.is_none() {
            repo.set(&name, &parent, None)?;
        }
        let branch = branch.unwrap_or_else(|| parent.clone());
        if branch != parent {
            let why = format!("{} is not what it was when this was left", place.branch);
            return Err(Refused(format!("{why}; {elsewhere}")));
        }
        let base = self.base_of(&repo, &place)?;
        if place.tree.symlink_metadata().is_ok() {
            let now = contents_as(&repo, &place, Some(&branch), Bytes::AsWanted)?;
            if repo.tree(&branch)? != now.tree {
                let why = format!("{} has uncommitted work", place.tree.display());
                return Err(Refused(format!("{why}; {elsewhere}")));
            }
        } else {
            let folder = self.data.join(FOLDER);
            fs::create_dir_all(&folder).map_err(cannot("make", &folder))?;
            let ignore = folder.join(".gitignore");
            put(&ignore, b"*\n").map_err(cannot("write", &ignore))?;
            link(&repo, &place)?;
            check_out(&repo, &place, &branch)?;
        }
        // It is nobody's to take away again.
        let ready = Note::read(&place.note).is_some_and(|note| note.ready);
        Note { base, ready, kept: true }.write(&place.note)?;
        bring(&repo, &place.tree, &branch, &what.commit)?;
        Ok(place.tree)
    }
}

/// Brings a work tree from a commit to another without committing it: the index is left alone.
fn bring(repo: &Repo, tree: &Path, from: &str, to: &str) -> Result<(), Refused> {
    let bench = Bench::new(repo, tree, Bytes::AsTheyAre)?;
    bench.call(&["read-tree", from]).output()?;
    bench.call(&["update-index", "-q", "--refresh"]).answer()?;
    bench.call(&["read-tree", "-m", "-u", from, to]).output().map(drop).or_else(|_| {
        // Where git writes other line ends than were committed, all of it looks changed; that
        // nothing of it is uncommitted is known.
        bench.call(&["read-tree", "--reset", "-u", to]).output().map(drop)
    })?;
    // Whatever was not touched may have been written with other line ends.
    Ok(bench.call(&["checkout-index", "--all", "--force"]).output().map(drop)?)
}

/// Writes out all of a commit, byte for byte.
fn write_out(repo: &Repo, folder: &Path, commit: &str) -> Result<(), Refused> {
    let folder = folder.canonicalize().map_err(cannot("find", folder))?;
    let bench = Bench::new(repo, &folder, Bytes::AsTheyAre)?;
    bench.call(&["read-tree", commit]).output()?;
    Ok(bench.call(&["checkout-index", "--all"]).output().map(drop)?)
}

/// Returns the names of the files in which a commit differs from the one before it.
fn changed(repo: &Repo, bench: &Bench, commit: &str) -> Result<Vec<Vec<u8>>, Refused> {
    match repo.commit(&format!("{commit}^1"))? {
        Some(parent) => names_between(bench, &parent, commit),
        None => Ok(vec![]),
    }
}

fn names(reference: &str) -> Option<(TaskId, String)> {
    let rest = reference.strip_prefix(SAVED)?.strip_prefix('/')?;
    let (task, attempt) = rest.split_once('/')?;
    Some((TaskId::parse(task).ok()?, attempt.to_owned()))
}

/// Returns by what attempts are put in order.
fn order(attempt: &str) -> (u32, u32) {
    let (number, again) = attempt.split_once('-').unwrap_or((attempt, "1"));
    (number.parse().unwrap_or(0), again.parse().unwrap_or(0))
}
