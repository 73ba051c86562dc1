//! What was there before a run began, kept with the run so that it survives the daemon.

#[cfg(test)]
mod golden_tests;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::folder::Listing;
use super::name::Name;
use super::repository::{Repository, Standing};
use super::{Changed, Seen, Unseen};
use crate::shim::files::Folder;

/// The name of the file in the folder of an attempt.
pub const FILE: &str = "baseline.json";

/// What our own git folders are called, with a number.
const SHADOW: &str = "baseline";

/// The most repositories in one work tree.
const REPOSITORIES_MAX: usize = 64;

/// What was there before a run began.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    version: u32,
    workspace: Name,
    data: Name,
    state: State,
}

/// What a workspace was like.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum State {
    /// A work tree, and those in it.
    Repositories(Vec<Repository>),
    /// A folder without git.
    Folder(Listing),
    /// It could not be looked at.
    Unseen(String),
}

impl Baseline {
    /// Takes note of where a workspace is, and of nothing in it.
    pub(super) fn of_place(workspace: &Path, data: &Path) -> Self {
        let state = State::Unseen("nothing was to be compared".to_owned());
        Self { version: 1, workspace: real(workspace).into(), data: real(data).into(), state }
    }

    /// Takes note of a workspace.
    pub(super) fn take(attempt: &Path, workspace: &Path, data: &Path) -> Self {
        let (workspace, data) = (real(workspace), real(data));
        let state = look(attempt, &workspace, &data);
        let state = state.unwrap_or_else(|Unseen(why)| State::Unseen(why));
        Self { version: 1, workspace: workspace.into(), data: data.into(), state }
    }

    /// Returns the folder it was taken of.
    pub fn workspace(&self) -> PathBuf {
        self.workspace.to_path()
    }

    pub(super) fn save(&self, attempt: &Path) -> io::Result<()> {
        // A power cut ends the run as well, so that nobody needs it after one.
        Folder::at(attempt).write(FILE, &serde_json::to_vec(self)?)
    }

    /// Reads what was noted for an attempt.
    pub fn load(attempt: &Path) -> Result<Self, Unseen> {
        let bytes = std::fs::read(attempt.join(FILE)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                Unseen("nobody noted what was there before the run".to_owned())
            }
            _ => Unseen(format!("what was there before the run cannot be read: {error}")),
        })?;
        let read: Result<Self, _> = serde_json::from_slice(&bytes);
        read.map_err(|error| {
            Unseen(format!("what was there before the run makes no sense: {error}"))
        })
    }

    /// Says what has changed since.
    pub(super) fn compare(&self, attempt: &Path) -> Result<Seen, Unseen> {
        let data = self.data.path();
        let mut seen = match &self.state {
            State::Unseen(why) => return Err(Unseen(why.clone())),
            State::Folder(listing) => self.compare_folder(listing)?,
            State::Repositories(all) => {
                let mut seen = Seen::default();
                for one in all {
                    let (changed, commits) = one.compare(attempt, data)?;
                    seen.changed.extend(changed);
                    seen.commits = seen.commits.saturating_add(commits);
                }
                seen
            }
        };
        seen.changed.sort_unstable();
        seen.changed.dedup_by(|one: &mut Changed, other| one.path == other.path);
        Ok(seen)
    }

    /// A folder without git may have become a repository: whatever is in it was committed since.
    fn compare_folder(&self, listing: &Listing) -> Result<Seen, Unseen> {
        let (workspace, data) = (self.workspace.path(), self.data.path());
        let changed = listing.compare(workspace, data, &Name::new(b""))?;
        let began = workspace.join(".git").symlink_metadata().is_ok();
        let commits = if began { super::repository::all_commits(workspace)? } else { 0 };
        Ok(Seen { changed, commits })
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn look(attempt: &Path, workspace: &Path, data: &Path) -> Result<State, Unseen> {
    match Standing::of(workspace)? {
        Standing::Alone => Listing::take(workspace, data).map(State::Folder),
        Standing::In(found) => repositories(attempt, found, data).map(State::Repositories),
    }
}

/// Takes note of a work tree and of those in it.
fn repositories(
    attempt: &Path,
    first: super::repository::Found,
    data: &Path,
) -> Result<Vec<Repository>, Unseen> {
    let mut left = vec![(first, Name::new(b""))];
    let mut taken = Vec::new();
    while let Some((found, named)) = left.pop() {
        if taken.len() == REPOSITORIES_MAX {
            return Err(Unseen(format!("more than {REPOSITORIES_MAX} repositories in one")));
        }
        let shadow = format!("{SHADOW}.{}", taken.len());
        let repository = Repository::take(found, named, attempt, shadow, data)?;
        for (path, named) in repository.nested() {
            if let Standing::In(found) = Standing::of(&path)?
                && found.top == path
            {
                left.push((found, named));
            }
        }
        taken.push(repository);
    }
    Ok(taken)
}
