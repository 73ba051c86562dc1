//! What the work on a task changed, against what it started from.

use adjutant_core::TaskId;
use adjutant_core::evidence::Changes;

use super::bench::{Bench, Bytes};
use super::repo::Repo;
use super::{Refused, Yard};
use crate::workspace::git::items;

impl Yard {
    /// Returns what the work on a task changed since it left its base: the names of the files, and
    /// the difference as git shows it. What lies uncommitted in its work tree is not in it.
    pub fn diff(&self, task: &TaskId) -> Result<Vec<u8>, Refused> {
        let (repo, place) = self.of(task)?;
        let merged = || repo.commit(&place.merged());
        let commit = match repo.commit(&place.reference())? {
            Some(commit) => Some(commit),
            None => merged()?,
        };
        let gone = || Refused(format!("there is no branch {}", place.branch));
        let commit = commit.ok_or_else(gone)?;
        let base = self.base_of(&repo, &place)?;
        let fork = fork(&repo, &base, &commit)?;
        let bench = Bench::new(&repo, &repo.top, Bytes::AsTheyAre)?;
        let asked =
            ["diff-tree", "-r", "-p", "--stat", "--no-ext-diff", "--no-textconv", "--no-color"];
        Ok(bench.call(&asked).arguments([&fork, &commit]).output()?)
    }
}

/// Counts what a commit changed since it left its base.
pub(super) fn changes(repo: &Repo, base: &str, commit: &str) -> Result<Changes, Refused> {
    let fork = fork(repo, base, commit)?;
    let bench = Bench::new(repo, &repo.top, Bytes::AsTheyAre)?;
    let asked = ["diff-tree", "-r", "-z", "--numstat", "--no-renames", &fork, commit];
    let output = bench.call(&asked).output()?;
    let mut changes = Changes::default();
    for item in items(&output) {
        let item = String::from_utf8_lossy(item);
        let mut words = item.splitn(3, '\t');
        // Of what is no text, git says `-`.
        let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0_u64);
        changes.insertions += number();
        changes.deletions += number();
        changes.files += 1;
    }
    Ok(changes)
}

/// Returns where a commit left its base.
fn fork(repo: &Repo, base: &str, commit: &str) -> Result<String, Refused> {
    let name = format!("refs/heads/{base}");
    let gone = || Refused(format!("there is no branch {base:?} any more"));
    let base = repo.commit(&name)?.ok_or_else(gone)?;
    let unrelated = || Refused("its branch has nothing in common with its base".to_owned());
    repo.fork(&base, commit)?.ok_or_else(unrelated)
}
