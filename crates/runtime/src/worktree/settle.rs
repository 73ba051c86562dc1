//! Brings the work of a run that is over onto its branch, so that what is checked is what is merged.

use adjutant_core::TaskId;
use adjutant_core::evidence::Changes;

use super::bench::{Author, Bench, Bytes, NewCommit};
use super::diff::changes;
use super::prepare::cannot;
use super::save::{Saved, contents_as, head, save};
use super::{Refused, Yard, own};
use crate::whole_file::put;

/// The work of a run that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// Its branch.
    pub branch: String,
    /// What the branch points to.
    pub commit: String,
    /// The branch it is for.
    pub base: String,
    /// How much it changed.
    pub changes: Changes,
    /// What could not be brought onto the branch, and where it is now.
    pub saved: Option<Saved>,
    /// What is odd about it, in words.
    pub flaw: Option<String>,
}

impl Yard {
    /// Commits what lies uncommitted in the work tree of a task onto its branch, in the name of its
    /// agent. Called again, it does nothing more.
    pub fn settle(
        &self,
        task: &TaskId,
        title: &str,
        agent: &str,
        attempt: u32,
    ) -> Result<Settled, Refused> {
        let (repo, place) = self.of(task)?;
        let there = place.tree.symlink_metadata().is_ok_and(|there| there.is_dir());
        if !there {
            return Err(Refused(format!("its work tree {} is gone", place.tree.display())));
        }
        let untaken = own::take_in(&repo, &place)?;
        let reference = place.reference();
        let gone = || Refused(format!("its branch {} is gone", place.branch));
        let branch = repo.commit(&reference)?.ok_or_else(gone)?;
        let at = head(&repo, &place)?.unwrap_or_else(|| branch.clone());
        let base = self.base_of(&repo, &place)?;
        // Who committed beside the branch, and on top of it, meant the branch.
        if !repo.is_ancestor(&branch, &at)? {
            let saved = save(&repo, &place, attempt)?.saved;
            let flaw = "its work tree is not on its branch: what lies there was saved";
            let flaw = untaken.unwrap_or_else(|| flaw.to_owned());
            let changes = changes(&repo, &base, &branch)?;
            let (branch, commit, flaw) = (place.branch, branch, Some(flaw));
            return Ok(Settled { branch, commit, base, changes, saved, flaw });
        }
        let found = contents_as(&repo, &place, Some(&at), Bytes::AsWanted)?;
        let mut commit = at.clone();
        if repo.tree(&at)? != found.tree {
            let bench = Bench::new(&repo, &place.tree, Bytes::AsWanted)?;
            let message = format!("{title}\n\nWhat {agent} left uncommitted.\n\nTask: {task}\n");
            let email = format!("{agent}@adjutant.localhost");
            let author = Author { name: agent, email: &email, date: None };
            let (tree, parents) = (&*found.tree, [at.as_str()]);
            commit =
                bench.commit(&NewCommit { tree, parents: &parents, author, message: &message })?;
        }
        if commit != branch {
            repo.set(&reference, &commit, Some(&branch))?;
        }
        let line = format!("ref: {reference}\n");
        put(&place.admin.join("HEAD"), line.as_bytes()).map_err(cannot("write", &place.admin))?;
        let index = place.admin.join("index");
        let bench = Bench::new(&repo, &place.tree, Bytes::AsWanted)?;
        bench.call(&["read-tree", &commit]).output()?;
        bench.call(&["update-index", "-q", "--refresh"]).answer()?;
        let made = std::fs::read(bench.index()).and_then(|bytes| put(&index, &bytes));
        made.map_err(cannot("write", &index))?;
        let flaw = found.nested().map(|inner| {
            format!("a repository lies in its work tree and is not on its branch: {inner}")
        });
        let flaw = untaken.or(flaw);
        let changes = changes(&repo, &base, &commit)?;
        Ok(Settled { branch: place.branch, commit, base, changes, saved: None, flaw })
    }
}
