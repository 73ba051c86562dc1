//! Moves a base on, together with the work tree that has it checked out. What a person has there
//! and did not commit is never touched: then it waits.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Refused;
use super::bench::{Bench, Bytes};
use super::prepare::cannot;
use super::repo::{CheckedOut, Repo};
use super::save::names_between;
use crate::whole_file::put;
use crate::workspace::git::items;
use crate::workspace::shadow::copy_index;

/// By what a lock is known to be ours: whoever held it was killed.
const MARK: &[u8] = b"adjutant merge\n";

/// What shows that somebody is in the middle of something.
const UNDER_WAY: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
];

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Landed {
    /// The base has moved.
    Done,
    /// Somebody else was first.
    Moved,
    /// A person has to do something first.
    Waits(String),
}

/// Moves a base from one commit to another, which comes after it.
pub(super) fn land(repo: &Repo, base: &str, from: &str, to: &str) -> Result<Landed, Refused> {
    let name = format!("refs/heads/{base}");
    match &repo.checked_out(&name)[..] {
        [] => move_on(repo, &name, from, to),
        [one] => with_tree(repo, one, &name, from, to),
        several => {
            let places: Vec<String> =
                several.iter().map(|one| one.top.display().to_string()).collect();
            let places = places.join(" and ");
            Ok(Landed::Waits(format!("{base} is checked out more than once, in {places}")))
        }
    }
}

fn move_on(repo: &Repo, name: &str, from: &str, to: &str) -> Result<Landed, Refused> {
    match repo.set(name, to, Some(from)) {
        Ok(()) => Ok(Landed::Done),
        Err(_) if repo.commit(name)?.as_deref() != Some(from) => Ok(Landed::Moved),
        Err(error) => Err(error),
    }
}

/// Moves a base on that is checked out: the files first, then the base, with the index locked as
/// git locks it, so that nobody commits in between.
fn with_tree(
    repo: &Repo,
    at: &CheckedOut,
    name: &str,
    from: &str,
    to: &str,
) -> Result<Landed, Refused> {
    let under_way = UNDER_WAY.iter().find(|(file, _)| at.git_dir.join(file).exists());
    if let Some((_, what)) = under_way {
        return Ok(Landed::Waits(format!("{what} is under way in {}", at.top.display())));
    }
    let lock = match Lock::take(&at.git_dir) {
        Ok(Some(lock)) => lock,
        Ok(None) => {
            let what = "git is at work there, or left its index.lock behind";
            return Ok(Landed::Waits(format!("{}: {what}", at.top.display())));
        }
        Err(error) => return Err(cannot("lock the index in", &at.git_dir)(error)),
    };
    if repo.commit(name)?.as_deref() != Some(from) {
        return Ok(Landed::Moved);
    }
    let bench = Bench::new(repo, &at.top, Bytes::AsWanted)?;
    let copied = copy_index(&at.git_dir, bench.dir());
    copied.map_err(cannot("copy the index of", &at.git_dir))?;
    refresh(&bench)?;
    adopt(&bench, from, to)?;
    let dry = bench.call(&["read-tree", "-m", "-u", "--dry-run", from, to]).answer()?;
    if dry.code != Some(0) {
        let (top, why) = (at.top.display(), dry.complaint);
        let what = "has changes that are not committed in files the merge changes";
        return Ok(Landed::Waits(format!("{top} {what} ({why}); commit or stash them")));
    }
    bench.call(&["read-tree", "-m", "-u", from, to]).output()?;
    write_index(&bench, &at.git_dir)?;
    let landed = move_on(repo, name, from, to)?;
    if landed != Landed::Done {
        bench.call(&["read-tree", "-m", "-u", to, from]).output()?;
        write_index(&bench, &at.git_dir)?;
    }
    drop(lock);
    Ok(landed)
}

fn refresh(bench: &Bench) -> Result<(), Refused> {
    // It says 1 if anything is changed.
    bench.call(&["update-index", "-q", "--unmerged", "--ignore-missing", "--refresh"]).answer()?;
    Ok(())
}

fn write_index(bench: &Bench, git_dir: &Path) -> Result<(), Refused> {
    let index = git_dir.join("index");
    let written = fs::read(bench.index()).and_then(|bytes| put(&index, &bytes));
    written.map_err(cannot("write", &index))
}

/// Takes files for what they are to be if they are that already: somebody was cut off after writing
/// them, or a person made the same change.
fn adopt(bench: &Bench, from: &str, to: &str) -> Result<(), Refused> {
    let other = tempfile::tempdir().map_err(|error| Refused(error.to_string()))?;
    let other = other.path().join("index");
    bench.with_index(&other, &["read-tree", to]).output()?;
    bench.with_index(&other, &["update-index", "-q", "--ignore-missing", "--refresh"]).answer()?;
    let differ = bench.with_index(&other, &["diff-files", "-z", "--name-only"]).output()?;
    let differ: std::collections::BTreeSet<&[u8]> = items(&differ).collect();
    let listed = bench.with_index(&other, &["ls-files", "--stage", "-z"]).output()?;
    let touched = names_between(bench, from, to)?;
    let touched: std::collections::BTreeSet<&[u8]> = touched.iter().map(Vec::as_slice).collect();
    let mut entries = Vec::new();
    for entry in items(&listed) {
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
        let name = &entry[tab + 1..];
        if touched.contains(name) && !differ.contains(name) {
            entries.extend_from_slice(entry);
            entries.push(0);
        }
    }
    if entries.is_empty() {
        return Ok(());
    }
    bench.call(&["update-index", "-z", "--index-info"]).input(entries).output()?;
    refresh(bench)
}

/// The lock of an index, as git knows it.
struct Lock(PathBuf);

impl Lock {
    /// Takes it; none if somebody else has it.
    fn take(git_dir: &Path) -> io::Result<Option<Self>> {
        let path = git_dir.join("index.lock");
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                let lock = Self(path);
                file.write_all(MARK)?;
                Ok(Some(lock))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // One merge is made at a time: whoever left it is gone.
                let ours = fs::read(&path).is_ok_and(|bytes| bytes == MARK);
                // Made only if it is ours: whoever has one removes it in the end.
                Ok(ours.then(|| Self(path)))
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Should it stay, it is known by its mark.
        let _ = fs::remove_file(&self.0);
    }
}
