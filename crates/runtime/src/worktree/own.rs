//! A git folder of its own for the work tree of a run that is confined.
//!
//! All work trees of a repository share its objects, its references and its settings, and git must
//! write to them to make a commit: who may do that can destroy the whole history. So a confined run
//! gets a git folder that reads the repository's objects and writes its own. When the run is over,
//! the commits on its branch, what is checked out and what is marked to be committed are taken into
//! the repository, read anew object by object, and the folder goes. Other branches, tags and stashes
//! it made go with it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use adjutant_core::TaskId;

use super::bench::{Bench, Bytes};
use super::place::Place;
use super::prepare::{cannot, link};
use super::repo::{Repo, read, text};
use super::tidy::remove_folder;
use super::{Refused, Yard};
use crate::whole_file::put;
use crate::workspace::git::{Call, Settings, items};

impl Yard {
    /// Gives the work tree of a task a git folder of its own, and returns where that is. The work
    /// tree was made ready, and nobody works in it yet.
    pub fn enclose(&self, task: &TaskId) -> Result<PathBuf, Refused> {
        let (repo, place) = self.of(task)?;
        // What was begun and not finished has nothing in it that is not in the repository.
        remove_folder(&place.own).map_err(cannot("remove", &place.own))?;
        lay_out(&repo, &place).map_err(cannot("make", &place.own))?;
        settings(&repo, &place)?;
        let refs = repo.call(&["for-each-ref", "--format=%(objectname) %(refname)"]).output()?;
        fs::write(place.own.join("packed-refs"), refs).map_err(cannot("write", &place.own))?;
        point(&place, &place.own)?;
        Ok(place.own)
    }
}

fn lay_out(repo: &Repo, place: &Place) -> io::Result<()> {
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
        fs::create_dir_all(place.own.join(folder))?;
    }
    let objects = repo.common_dir.join("objects");
    let objects = [objects.as_os_str().as_encoded_bytes(), b"\n"].concat();
    fs::write(place.own.join("objects/info/alternates"), objects)?;
    fs::write(place.own.join("HEAD"), format!("ref: {}\n", place.reference()))?;
    let shallow = repo.common_dir.join("shallow");
    if shallow.exists() {
        fs::copy(shallow, place.own.join("shallow"))?;
    }
    match fs::copy(place.admin.join("index"), place.own.join("index")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes the settings that say how files are written, and whose commits they are.
fn settings(repo: &Repo, place: &Place) -> Result<(), Refused> {
    let write = |name: &str, bytes: &[u8]| {
        fs::write(place.own.join(name), bytes).map_err(cannot("write", &place.own))
    };
    write("info/exclude", &repo.ignored()?)?;
    write("config", repo.settings()?.as_bytes())?;
    let file = place.own.join("config").to_string_lossy().into_owned();
    for key in ["user.name", "user.email"] {
        let told = repo.call(&["config", "--get", key]).answer()?;
        if told.code == Some(0) {
            repo.call(&["config", "--file", &file, key, &text(&told.output)]).output()?;
        }
    }
    Ok(())
}

/// Points a work tree to its git folder.
fn point(place: &Place, to: &Path) -> Result<(), Refused> {
    let line = [b"gitdir: ", to.as_os_str().as_encoded_bytes(), b"\n"].concat();
    put(&place.tree.join(".git"), &line).map_err(cannot("write", &place.tree))
}

/// Takes what a confined run left in its git folder into the repository. Says in words what of it
/// could not be taken; that is kept beside the work tree. Nobody may work in it any more.
pub(super) fn take_in(repo: &Repo, place: &Place) -> Result<Option<String>, Refused> {
    let gone = beside(&place.own, "gone");
    remove_folder(&gone).map_err(cannot("remove", &gone))?;
    if !place.own.symlink_metadata().is_ok_and(|there| there.is_dir()) {
        return Ok(None);
    }
    let taken = carry(repo, place);
    let aside = if taken.is_ok() { gone } else { beside(&place.own, "broken") };
    remove_folder(&aside).map_err(cannot("remove", &aside))?;
    // Until here it can all be done again; from here on, the repository says what there is.
    fs::rename(&place.own, &aside).map_err(cannot("move", &place.own))?;
    if place.tree.is_dir() {
        point(place, &place.admin)?;
    }
    match taken {
        Ok(()) => remove_folder(&aside).map_err(cannot("remove", &aside)).map(|()| None),
        Err(Refused(why)) => {
            let at = aside.display();
            Ok(Some(format!("what it committed cannot be read and is kept in {at}: {why}")))
        }
    }
}

fn beside(own: &Path, what: &str) -> PathBuf {
    let name = own.file_name().unwrap_or_default().to_string_lossy().into_owned();
    own.with_file_name(format!("{name}.{what}"))
}

/// Carries over the branch, what is checked out, and what is marked to be committed.
fn carry(repo: &Repo, place: &Place) -> Result<(), Refused> {
    let branch = commit(place, &place.reference())?;
    let head = commit(place, "HEAD")?;
    let bench = Bench::new(repo, &place.tree, Bytes::AsTheyAre)?;
    let mut wanted = marked(&bench, place)?;
    let tips: Vec<&str> = branch.iter().chain(&head).map(String::as_str).collect();
    let before = repo.commit(&place.reference())?;
    if !tips.is_empty() {
        let mut asked = vec!["rev-list", "--objects", "--no-object-names"];
        asked.extend(&tips);
        asked.extend(before.iter().flat_map(|before| ["--not", before.as_str()]));
        let listed = with_own(&bench, place, &asked).output()?;
        wanted.extend(text(&listed).lines().map(str::to_owned));
    }
    if !wanted.is_empty() {
        let pack = with_own(&bench, place, &["pack-objects", "--stdout", "-q"]);
        let pack = pack.input(in_lines(&wanted)).output()?;
        // Each object is given the name its content has, whatever it was called before.
        bench.call(&["unpack-objects", "-q"]).input(pack).output()?;
    }
    if let Some(branch) = branch.filter(|branch| before.as_ref() != Some(branch)) {
        repo.set(&place.reference(), &branch, before.as_deref())?;
    }
    if !place.tree.is_dir() {
        return Ok(());
    }
    // It is on its branch again, as if it had worked in the repository.
    link(repo, place)?;
    let on_branch = read(&place.own.join("HEAD")) == Some(format!("ref: {}", place.reference()));
    if let Some(head) = head.filter(|_| !on_branch) {
        let line = format!("{head}\n");
        put(&place.admin.join("HEAD"), line.as_bytes()).map_err(cannot("write", &place.admin))?;
    }
    let index = place.own.join("index");
    if index.symlink_metadata().is_ok_and(|there| there.is_file()) {
        let copied = fs::read(&index).and_then(|bytes| put(&place.admin.join("index"), &bytes));
        copied.map_err(cannot("copy", &index))?;
    }
    Ok(())
}

/// Makes a call that finds the objects of the run as well.
fn with_own(bench: &Bench, place: &Place, arguments: &[&str]) -> Call {
    let objects = place.own.join("objects");
    bench.call(arguments).variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects)
}

/// Returns the commit a name stands for in the git folder of a run.
fn commit(place: &Place, name: &str) -> Result<Option<String>, Refused> {
    let name = format!("{name}^{{commit}}");
    let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
    let call = Call::new(&place.tree, Settings::OfNobody, &asked);
    let answer = call.variable("GIT_DIR", &place.own).answer()?;
    Ok((answer.code == Some(0)).then(|| text(&answer.output)))
}

/// Returns what is marked to be committed and is not in the repository.
fn marked(bench: &Bench, place: &Place) -> Result<BTreeSet<String>, Refused> {
    let index = place.own.join("index");
    if !index.symlink_metadata().is_ok_and(|there| there.is_file()) {
        return Ok(BTreeSet::new());
    }
    let listed = bench.with_index(&index, &["ls-files", "--stage", "-z"]).output()?;
    let id = |item: &[u8]| {
        let item = String::from_utf8_lossy(item);
        let mut words = item.split_whitespace();
        // The commit of a repository within it is none of ours.
        let mode = words.next().filter(|mode| *mode != "160000");
        mode.and_then(|_| words.next().map(str::to_owned))
    };
    let ids: BTreeSet<String> = items(&listed).filter_map(id).collect();
    let missing = bench.call(&["cat-file", "--batch-check=%(objectname)", "--buffer"]);
    let known = missing.input(in_lines(&ids)).output()?;
    let is_missing = |line: &str| line.strip_suffix(" missing").map(str::to_owned);
    let lacking: BTreeSet<String> = text(&known).lines().filter_map(is_missing).collect();
    // What nobody has cannot be carried.
    let there = with_own(bench, place, &["cat-file", "--batch-check=%(objectname)", "--buffer"]);
    let there = there.input(in_lines(&lacking)).output()?;
    Ok(text(&there).lines().filter(|line| !line.contains(' ')).map(str::to_owned).collect())
}

fn in_lines(ids: &BTreeSet<String>) -> Vec<u8> {
    ids.iter().flat_map(|id| [id.as_bytes(), b"\n"].concat()).collect()
}
