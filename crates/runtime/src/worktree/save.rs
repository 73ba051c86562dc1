//! Saves what lies in a work tree uncommitted: as a commit that a reference of ours holds.

use std::fs;
use std::path::{Path, PathBuf};

use super::Refused;
use super::bench::{Author, Bench, Bytes, NewCommit};
use super::place::Place;
use super::prepare::cannot;
use super::repo::{Repo, read, text};
use crate::workspace::git::items;

/// What lay uncommitted in a work tree, and where it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The reference that holds it.
    pub reference: String,
    /// The commit it is.
    pub commit: String,
    /// Whether it was saved by this call, and not before.
    pub new: bool,
}

/// What was found when a work tree was saved.
pub(super) struct Safe {
    pub(super) saved: Option<Saved>,
    /// What could not be saved: repositories within the work tree.
    pub(super) left: Vec<PathBuf>,
}

/// What lies in a work tree.
pub(super) struct Contents {
    /// All of it, as a tree.
    pub(super) tree: String,
    /// What was marked to be committed, as a tree; none if it is not to be told.
    staged: Option<String>,
    nested: Vec<PathBuf>,
}

impl Contents {
    /// Returns a repository that lies in it, for people to read.
    pub(super) fn nested(&self) -> Option<String> {
        self.nested.first().map(|path| path.to_string_lossy().into_owned())
    }
}

/// Saves what lies in the work tree of a task uncommitted: what is changed, what is marked to be
/// committed, and what git does not know and does not ignore; and what is committed but is not
/// on its branch. Does nothing where there is nothing to save, or it was saved before.
pub(super) fn save(repo: &Repo, place: &Place, attempt: u32) -> Result<Safe, Refused> {
    let branch = repo.commit(&place.reference())?;
    let head = head(repo, place)?;
    let parent = head.clone().or_else(|| branch.clone());
    let before = parent.as_deref().map(|commit| repo.tree(commit)).transpose()?;
    // What git calls unchanged is, be it written with other line ends.
    let wanted = contents_as(repo, place, parent.as_deref(), Bytes::AsWanted)?;
    let changed = before.as_ref() != Some(&wanted.tree);
    let contents = if changed { contents(repo, place, parent.as_deref())? } else { wanted };
    let staged = contents.staged.as_ref();
    let staged = staged.filter(|tree| before.as_ref() != Some(tree) && **tree != contents.tree);
    let away = match (&head, &branch) {
        (Some(head), Some(branch)) => !repo.is_ancestor(head, branch)?,
        (Some(_), None) => true,
        (None, _) => false,
    };
    let saved = if changed || staged.is_some() || away {
        let parents: Vec<String> = parent.into_iter().collect();
        let staged = staged.map(String::as_str);
        Some(keep(repo, place, attempt, &contents.tree, parents, staged)?)
    } else {
        None
    };
    Ok(Safe { saved, left: contents.nested })
}

/// Returns the commit a work tree is at, whatever its own `.git` says.
pub(super) fn head(repo: &Repo, place: &Place) -> Result<Option<String>, Refused> {
    let Some(head) = read(&place.admin.join("HEAD")) else { return Ok(None) };
    let name = head.strip_prefix("ref: ").unwrap_or(&head);
    let is_name = name.starts_with("refs/") || name.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_name { repo.commit(name) } else { Ok(None) }
}

/// Reads all that lies in a work tree, byte for byte. Files that were marked as unchanged are read
/// all the same; a repository within it is not.
pub(super) fn contents(
    repo: &Repo,
    place: &Place,
    parent: Option<&str>,
) -> Result<Contents, Refused> {
    contents_as(repo, place, parent, Bytes::AsTheyAre)
}

/// Reads all that lies in a work tree, with its bytes as they are or as git wants them.
pub(super) fn contents_as(
    repo: &Repo,
    place: &Place,
    parent: Option<&str>,
    bytes: Bytes,
) -> Result<Contents, Refused> {
    let bench = Bench::new(repo, &place.tree, bytes)?;
    let nested = nested(&place.tree).map_err(cannot("read", &place.tree))?;
    if copy_entries(&bench, &place.admin.join("index")).is_err()
        && let Some(parent) = parent
    {
        bench.call(&["read-tree", parent]).output()?;
    }
    // With a conflict in it, it is no tree.
    let staged = bench.write_tree().ok();
    let except = nested.iter().map(|path| {
        let mut spec = std::ffi::OsString::from(":(exclude,top,literal)");
        spec.push(path);
        spec
    });
    let add = bench.call(&["add", "--all", "--", ":(top)"]).arguments(except);
    add.output()?;
    Ok(Contents { tree: bench.write_tree()?, staged, nested })
}

/// Takes over what an index lists, and none of the marks that make git believe it unseen.
pub(super) fn copy_entries(bench: &Bench, index: &Path) -> Result<(), Refused> {
    let is_file = index.symlink_metadata().is_ok_and(|there| there.is_file());
    if !is_file {
        return Err(Refused("there is no index".to_owned()));
    }
    let copied = tempfile::tempdir().map_err(cannot("copy", index))?;
    let copy = copied.path().join("index");
    fs::copy(index, &copy).map_err(cannot("copy", index))?;
    let listed = bench.with_index(&copy, &["ls-files", "--stage", "-z"]).output()?;
    let taken = bench.call(&["update-index", "-z", "--index-info"]).input(listed).output();
    if taken.is_err() {
        bench.call(&["read-tree", "--empty"]).output()?;
    }
    Ok(taken.map(drop)?)
}

/// Makes a commit of what lay in a work tree, and a reference to it that was not there.
fn keep(
    repo: &Repo,
    place: &Place,
    attempt: u32,
    tree: &str,
    mut parents: Vec<String>,
    staged: Option<&str>,
) -> Result<Saved, Refused> {
    for again in 1.. {
        let reference = place.saved(attempt, again);
        match repo.commit(&reference)? {
            Some(commit) if is_same(repo, &commit, tree, &parents, staged)? => {
                return Ok(Saved { reference, commit, new: false });
            }
            Some(_) => {}
            None => {
                let bench = Bench::new(repo, &place.tree, Bytes::AsTheyAre)?;
                let author = Author::ADJUTANT;
                if let Some(staged) = staged {
                    let before: Vec<&str> = parents.iter().map(String::as_str).collect();
                    let message = "What was marked to be committed\n";
                    let new = NewCommit { tree: staged, parents: &before, author, message };
                    parents.push(bench.commit(&new)?);
                }
                let message = format!("Uncommitted work of attempt {attempt}\n\n{reference}\n");
                let before: Vec<&str> = parents.iter().map(String::as_str).collect();
                let new = NewCommit { tree, parents: &before, author, message: &message };
                let commit = bench.commit(&new)?;
                repo.set(&reference, &commit, None)?;
                return Ok(Saved { reference, commit, new: true });
            }
        }
    }
    unreachable!("there are more numbers than references")
}

/// Says whether a commit holds just this.
fn is_same(
    repo: &Repo,
    commit: &str,
    tree: &str,
    parents: &[String],
    staged: Option<&str>,
) -> Result<bool, Refused> {
    let format = ["show", "-s", "--format=%T %P", commit];
    let shown = text(&repo.call(&format).output()?);
    let mut words = shown.split_whitespace();
    if words.next() != Some(tree) {
        return Ok(false);
    }
    let mut found: Vec<&str> = words.collect();
    let marked = if found.len() > parents.len() { found.pop() } else { None };
    let marked = marked.map(|commit| repo.tree(commit)).transpose()?;
    Ok(found == parents.iter().collect::<Vec<_>>() && marked.as_deref() == staged)
}

/// Returns the repositories within a work tree, from its folder. Links are not followed.
fn nested(tree: &Path) -> std::io::Result<Vec<PathBuf>> {
    let (mut found, mut open) = (Vec::new(), vec![tree.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                continue;
            }
            let path = entry.path();
            if path.join(".git").symlink_metadata().is_ok() {
                found.extend(path.strip_prefix(tree).map(Path::to_owned));
            } else {
                open.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the names of the files that differ between two trees.
pub(super) fn names_between(
    bench: &Bench,
    before: &str,
    after: &str,
) -> Result<Vec<Vec<u8>>, Refused> {
    let asked = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after];
    Ok(items(&bench.call(&asked).output()?).map(<[u8]>::to_vec).collect())
}
