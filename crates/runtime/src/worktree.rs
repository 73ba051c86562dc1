//! Work trees of tasks: each a folder and a branch of its own, so that several agents work on one
//! repository at once.
//!
//! What lies uncommitted in one is put where it can be brought back from before anything is done to
//! it, nothing is removed by force, and git runs nothing that the repository or an agent names: see
//! [`crate::workspace`]. Every function can be called again after it was cut off anywhere. Which
//! task has a work tree, and when it is given up, is not known here.

mod bench;
mod copy;
mod diff;
mod land;
mod merge;
mod note;
mod own;
mod place;
mod ports;
mod prepare;
mod repo;
mod save;
mod settle;
mod tidy;
mod undo;

use std::path::{Path, PathBuf};

use adjutant_core::TaskId;

pub use merge::{How, Merge};
pub use place::{FOLDER, branch};
pub use ports::PORTS;
pub use prepare::{Ready, Setup};
pub use save::Saved;
pub use settle::Settled;
pub use undo::{Found, Into};

use crate::workspace::Unseen;
use place::Place;
use repo::Repo;

/// Why something cannot be done, in words for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

impl From<Unseen> for Refused {
    fn from(unseen: Unseen) -> Self {
        Self(unseen.0)
    }
}

/// The work trees of a project.
#[derive(Debug, Clone)]
pub struct Yard {
    /// The data folder.
    data: PathBuf,
    /// The folder that holds it.
    home: PathBuf,
    /// The branch work starts from; none for the one the project is on.
    base: Option<String>,
}

impl Yard {
    /// Names the work trees of a data folder. `home` is the folder that holds it.
    pub fn new(data: &Path, home: &Path, base: Option<String>) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { data: real(data), home: real(home), base }
    }

    /// Finds the repository, and where the work tree of a task lies.
    fn of(&self, task: &TaskId) -> Result<(Repo, Place), Refused> {
        let repo = Repo::find(&self.home)?;
        let place = Place::of(&self.data, &repo.common_dir, task);
        Ok((repo, place))
    }

    /// Returns the tasks that have a work tree which may be taken away when they are over.
    pub fn tasks(&self) -> Vec<TaskId> {
        let folder = self.data.join(FOLDER);
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let id = |entry: std::fs::DirEntry| TaskId::parse(entry.file_name().to_str()?).ok();
        let is_kept = |task: &TaskId| {
            note::Note::read(&folder.join(format!("{task}.json"))).is_some_and(|note| note.kept)
        };
        entries.filter_map(id).filter(|task| !is_kept(task)).collect()
    }

    /// Returns the folder in the work tree of a task that stands for the one that holds the data
    /// folder; none if nobody can tell.
    pub fn workspace(&self, task: &TaskId) -> Option<PathBuf> {
        let repo = Repo::find(&self.home).ok()?;
        let inner = self.home.strip_prefix(&repo.top).unwrap_or(Path::new(""));
        Some(self.tree(task).join(inner))
    }

    /// Brings the work tree of a task to its branch, with nothing beside. All of it was committed.
    pub fn clear_up(&self, task: &TaskId) -> Result<(), Refused> {
        let (repo, place) = self.of(task)?;
        match repo.commit(&place.reference())? {
            Some(commit) => prepare::check_out(&repo, &place, &commit),
            None => Ok(()),
        }
    }

    /// Returns the commit a folder is at, and whether anything lies there that is not in it.
    pub fn standing(&self, folder: &Path) -> Result<(Option<String>, bool), Refused> {
        let repo = Repo::find(folder)?;
        let Some(commit) = repo.commit("HEAD")? else { return Ok((None, true)) };
        let bench = bench::Bench::new(&repo, &repo.top, bench::Bytes::AsWanted)?;
        // Without an index, everything is beside it.
        let _ = crate::workspace::shadow::copy_index(&repo.git_dir, bench.dir());
        bench.call(&["update-index", "-q", "--ignore-missing", "--refresh"]).answer()?;
        let differs = bench.call(&["diff-index", "--quiet", &commit]).answer()?.code != Some(0);
        let others = ["ls-files", "-z", "--others", "--exclude-standard", "--directory"];
        let others = bench.call(&others).output()?;
        let ours = |name: &[u8]| {
            let path = repo.top.join(crate::workspace::name::Name::new(name).path());
            path.starts_with(&self.data) || self.data.starts_with(&path)
        };
        let beside = crate::workspace::git::items(&others).any(|name| !ours(name));
        Ok((Some(commit), differs || beside))
    }

    /// Returns where the work tree of a task is, be it there or not.
    pub fn tree(&self, task: &TaskId) -> PathBuf {
        self.data.join(FOLDER).join(task.as_str())
    }
}
