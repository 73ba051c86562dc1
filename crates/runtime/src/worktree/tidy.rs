//! Takes away the work tree of a task that is over: only what is saved, and nothing by force.

use std::fs;
use std::io;
use std::path::Path;

use adjutant_core::TaskId;

use super::place::Place;
use super::prepare::{cannot, remove_if_there};
use super::repo::Repo;
use super::save::{Saved, save};
use super::{Refused, Yard, own};

impl Yard {
    /// Takes away the work tree of a task after what lies in it uncommitted was saved, and its
    /// branch if it has nothing that its base does not have. What cannot be saved stays, and says
    /// why. Nobody may work in it.
    pub fn tidy(&self, task: &TaskId, attempt: u32) -> Result<Option<Saved>, Refused> {
        let (repo, place) = self.of(task)?;
        let base = self.base_of(&repo, &place);
        own::take_in(&repo, &place)?;
        let saved = match place.tree.symlink_metadata() {
            Ok(there) if there.is_dir() => take_away(&repo, &place, attempt)?,
            Ok(_) => {
                let what = "is no folder, and is left as it is";
                return Err(Refused(format!("{} {what}", place.tree.display())));
            }
            Err(_) => None,
        };
        unlink(&place).map_err(cannot("remove", &place.admin))?;
        let folder = &place.temporary;
        remove_folder(folder).map_err(cannot("remove", folder))?;
        if let Ok(base) = base {
            drop_branch(&repo, &place, &base)?;
        }
        Ok(saved)
    }
}

/// Removes a work tree of which everything is saved.
fn take_away(repo: &Repo, place: &Place, attempt: u32) -> Result<Option<Saved>, Refused> {
    let git = place.tree.join(".git");
    if git.symlink_metadata().is_ok_and(|there| there.is_dir()) {
        let what = "has a git folder of its own, and is left as it is";
        return Err(Refused(format!("{} {what}", place.tree.display())));
    }
    let safe = save(repo, place, attempt)?;
    if let Some(inner) = safe.left.first() {
        let what = "a repository lies in it and cannot be saved";
        let (tree, inner) = (place.tree.display(), inner.display());
        return Err(Refused(format!("{tree} is left as it is: {what}: {inner}")));
    }
    remove_folder(&place.tree).map_err(cannot("remove", &place.tree))?;
    Ok(safe.saved)
}

/// Takes the branch away if everything on it is in its base too.
fn drop_branch(repo: &Repo, place: &Place, base: &str) -> Result<(), Refused> {
    let name = place.reference();
    let base = repo.commit(&format!("refs/heads/{base}"))?;
    let (Some(commit), Some(base)) = (repo.commit(&name)?, base) else { return Ok(()) };
    // What was merged in another form is kept by a reference of its own.
    let merged = repo.commit(&place.merged())?.as_ref() == Some(&commit);
    if repo.checked_out(&name).is_empty() && (merged || repo.is_ancestor(&commit, &base)?) {
        repo.unset(&name, &commit)?;
        remove_if_there(&place.note).map_err(cannot("remove", &place.note))?;
    }
    Ok(())
}

/// Makes the repository forget a work tree that is gone.
fn unlink(place: &Place) -> io::Result<()> {
    remove_folder(&place.admin)
}

/// Removes a folder; a link is removed and not followed.
pub(super) fn remove_folder(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(there) if there.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    }
}
