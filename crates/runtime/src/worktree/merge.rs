//! Brings the work on a task into its base: made anew on top of it, checked there, and only then
//! moved to. Nothing of it is done in anybody's work tree but the task's own.

use std::fs::File;
use std::path::Path;

use adjutant_core::TaskId;
use adjutant_core::evidence::Evidence;
use adjutant_core::work::Merged;
use rustix::fs::{FlockOperation, flock};

use super::bench::{Author, Bench, Bytes, NewCommit};
use super::diff::changes;
use super::land::{Landed, land};
use super::place::Place;
use super::prepare::{Setup, cannot, check_out, link};
use super::repo::{Repo, text};
use super::{Refused, Yard};
use crate::testrun::run::Terms;
use crate::whole_file::put;
use crate::workspace::name::Name;

/// How work is brought into its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The base moves on to the branch, if it has not moved otherwise.
    Ff,
    /// The work becomes one commit.
    Squash,
    /// Its commits are made anew.
    Rebase,
}

/// How often it is tried again when the base has moved meanwhile.
const TRIES_MAX: u32 = 5;

/// The lock that lets one merge of a repository be made at a time.
const LOCK: &str = "adjutant-merge.lock";

/// A merge to be made.
pub struct Merge<'a> {
    /// The task whose work it is.
    pub task: &'a TaskId,
    /// Its title, which a commit of all of it has too.
    pub title: &'a str,
    /// The attempt that did the work.
    pub attempt: u32,
    /// How.
    pub how: How,
    /// What its work tree needs, should it have to be made again.
    pub setup: &'a Setup,
    /// How commands are run.
    pub terms: &'a Terms,
    /// Looks into the result, in this folder; none if there is nothing to look for.
    pub check: Option<&'a dyn Fn(&Path) -> Evidence>,
    /// Says whether it is still wanted.
    pub wanted: &'a dyn Fn() -> bool,
}

/// What came of making work anew.
enum Anew {
    Commit(String),
    Conflict(Vec<String>),
}

impl Yard {
    /// Makes a merge, one at a time. Called again after it was cut off, it is made once.
    pub fn merge(&self, merge: &Merge<'_>) -> Result<Merged, Refused> {
        let (repo, place) = self.of(merge.task)?;
        let lock =
            File::create(repo.common_dir.join(LOCK)).map_err(cannot("lock", &repo.common_dir))?;
        flock(&lock, FlockOperation::LockExclusive)
            .map_err(|error| cannot("lock", &repo.common_dir)(error.into()))?;
        let base = self.base_of(&repo, &place)?;
        if let Some(done) = is_done(&repo, &place, &base)? {
            return Ok(done);
        }
        for _ in 0..TRIES_MAX {
            if let Some(merged) = self.try_once(&repo, &place, &base, merge)? {
                return Ok(merged);
            }
        }
        Ok(Merged::Waits { reason: format!("{base} moves all the time") })
    }

    /// Tries once; none if the base has moved meanwhile.
    fn try_once(
        &self,
        repo: &Repo,
        place: &Place,
        base: &str,
        merge: &Merge<'_>,
    ) -> Result<Option<Merged>, Refused> {
        let gone = |what: &str| Refused(format!("there is no branch {what:?} any more"));
        let onto = repo.commit(&format!("refs/heads/{base}"))?.ok_or_else(|| gone(base))?;
        let branch = repo.commit(&place.reference())?.ok_or_else(|| gone(&place.branch))?;
        if repo.is_ancestor(&branch, &onto)? {
            finish(repo, place, Some(&branch))?;
            return Ok(Some(done(place, base, &onto, Evidence::default())));
        }
        let result = match anew(repo, place, merge, (base, &onto), &branch)? {
            Ok(Anew::Commit(result)) => result,
            Ok(Anew::Conflict(files)) => return Ok(Some(conflict(base, files))),
            Err(reason) => return Ok(Some(Merged::Refused { reason, files: vec![] })),
        };
        let mut evidence = Evidence::default();
        if let Some(check) = merge.check {
            let workspace = self.show(repo, place, merge, &result)?;
            evidence = check(&workspace);
            hide(repo, place, &branch)?;
            if let Some(failed) = evidence.failed() {
                let what = failed.in_words();
                let reason = format!("a check fails on what {base} would be with it: {what}");
                return Ok(Some(Merged::Refused { reason, files: vec![] }));
            }
        }
        evidence.changes = Some(changes(repo, base, &result)?);
        if !(merge.wanted)() {
            return Ok(Some(Merged::Waits { reason: "nobody wants it any more".to_owned() }));
        }
        repo.set(&place.merging(), &result, None)?;
        let landed = land(repo, base, &onto, &result)?;
        if !matches!(landed, Landed::Done) {
            repo.unset(&place.merging(), &result)?;
        }
        match landed {
            Landed::Done => {
                finish(repo, place, Some(&branch))?;
                Ok(Some(done(place, base, &result, evidence)))
            }
            Landed::Moved => Ok(None),
            Landed::Waits(reason) => Ok(Some(Merged::Waits { reason })),
        }
    }

    /// Brings the work tree of the task to a commit that is no branch's, and returns where to look.
    fn show(
        &self,
        repo: &Repo,
        place: &Place,
        merge: &Merge<'_>,
        commit: &str,
    ) -> Result<std::path::PathBuf, Refused> {
        let ready = self.prepare(merge.task, merge.attempt, merge.setup, merge.terms)?;
        let head = place.admin.join("HEAD");
        put(&head, format!("{commit}\n").as_bytes()).map_err(cannot("write", &head))?;
        check_out(repo, place, commit)?;
        Ok(ready.workspace)
    }
}

/// Says whether it was made before, by whoever was cut off before it could say so.
fn is_done(repo: &Repo, place: &Place, base: &str) -> Result<Option<Merged>, Refused> {
    let tip = repo.commit(&format!("refs/heads/{base}"))?;
    let (branch, merged) = (repo.commit(&place.reference())?, repo.commit(&place.merged())?);
    let Some(tip) = tip else {
        return Err(Refused(format!("there is no branch {base:?} any more")));
    };
    let begun = repo.commit(&place.merging())?;
    if merged.is_some() && (branch.is_none() || branch == merged) {
        return Ok(Some(done(place, base, &begun.unwrap_or(tip), Evidence::default())));
    }
    let Some(begun) = begun else { return Ok(None) };
    if repo.is_ancestor(&begun, &tip)? {
        finish(repo, place, branch.as_deref())?;
        return Ok(Some(done(place, base, &begun, Evidence::default())));
    }
    repo.unset(&place.merging(), &begun)?;
    Ok(None)
}

/// Brings the work tree of the task back to its branch. What checks left in it is nobody's work.
fn hide(repo: &Repo, place: &Place, branch: &str) -> Result<(), Refused> {
    link(repo, place)?;
    check_out(repo, place, branch)
}

fn done(place: &Place, base: &str, commit: &str, evidence: Evidence) -> Merged {
    let evidence = Evidence {
        branch: Some(place.branch.clone()),
        base: Some(base.to_owned()),
        commit: Some(commit.to_owned()),
        ..evidence
    };
    Merged::Done { base: base.to_owned(), commit: commit.to_owned(), evidence }
}

fn conflict(base: &str, files: Vec<String>) -> Merged {
    let names = files.join(", ");
    let reason = format!(
        "it cannot be merged, because {base} has changed meanwhile; in conflict: {names}. \
         Rebase the branch onto {base} (`git rebase {base}`), resolve what is in conflict, and \
         report again."
    );
    Merged::Refused { reason, files }
}

/// Notes that work is in its base. The commits it was are kept, in whatever form it got there.
fn finish(repo: &Repo, place: &Place, branch: Option<&str>) -> Result<(), Refused> {
    if let Some(branch) = branch {
        let before = repo.commit(&place.merged())?;
        if before.as_deref() != Some(branch) {
            repo.set(&place.merged(), branch, before.as_deref())?;
        }
    }
    match repo.commit(&place.merging())? {
        Some(begun) => repo.unset(&place.merging(), &begun),
        None => Ok(()),
    }
}

/// Makes the work anew on top of its base, or says why that is not to be.
fn anew(
    repo: &Repo,
    place: &Place,
    merge: &Merge<'_>,
    (base, onto): (&str, &str),
    branch: &str,
) -> Result<Result<Anew, String>, Refused> {
    let straight = repo.is_ancestor(onto, branch)?;
    let Some(fork) = repo.fork(onto, branch)? else {
        return Ok(Err(format!("its branch has nothing in common with {base}")));
    };
    let bench = Bench::new(repo, &repo.top, Bytes::AsWanted)?;
    Ok(match merge.how {
        How::Ff if straight => Ok(Anew::Commit(branch.to_owned())),
        How::Ff => Err(format!(
            "{base} has moved on, and only a fast-forward is allowed. Rebase the branch onto \
             {base} (`git rebase {base}`) and report again."
        )),
        How::Squash => Ok(squash(repo, &bench, merge, (&fork, onto, branch))?),
        How::Rebase if straight && has_no_merges(repo, onto, branch)? => {
            Ok(Anew::Commit(branch.to_owned()))
        }
        How::Rebase => Ok(rebase(repo, &bench, place, (&fork, onto, branch))?),
    })
}

fn has_no_merges(repo: &Repo, after: &str, to: &str) -> Result<bool, Refused> {
    let range = format!("{after}..{to}");
    let asked = ["rev-list", "--merges", "--max-count=1", &range];
    Ok(repo.call(&asked).output()?.is_empty())
}

fn squash(
    repo: &Repo,
    bench: &Bench,
    merge: &Merge<'_>,
    (fork, onto, branch): (&str, &str, &str),
) -> Result<Anew, Refused> {
    let tree = match join(bench, fork, onto, branch)? {
        Ok(tree) => tree,
        Err(files) => return Ok(Anew::Conflict(files)),
    };
    let said = Said::of(repo, branch)?;
    let message = format!("{}\n\nTask: {}\n", merge.title, merge.task);
    let new = NewCommit { tree: &tree, parents: &[onto], author: said.author(), message: &message };
    bench.commit(&new).map(Anew::Commit)
}

fn rebase(
    repo: &Repo,
    bench: &Bench,
    place: &Place,
    (fork, onto, branch): (&str, &str, &str),
) -> Result<Anew, Refused> {
    let mut top = onto.to_owned();
    for commit in repo.commits(fork, branch)? {
        let gone = || Refused(format!("a commit of {} is gone", place.branch));
        let parent = repo.commit(&format!("{commit}^1"))?.ok_or_else(gone)?;
        let tree = match join(bench, &parent, &top, &commit)? {
            Ok(tree) => tree,
            Err(files) => return Ok(Anew::Conflict(files)),
        };
        // What the base has got meanwhile is not made again.
        if tree == repo.tree(&top)? {
            continue;
        }
        let said = Said::of(repo, &commit)?;
        let (parents, message) = ([top.as_str()], &*said.message);
        let new = NewCommit { tree: &tree, parents: &parents, author: said.author(), message };
        top = bench.commit(&new)?;
    }
    Ok(Anew::Commit(top))
}

/// Joins two commits that have one in common, in memory: returns the tree, or the files that are in
/// conflict.
fn join(
    bench: &Bench,
    before: &str,
    one: &str,
    other: &str,
) -> Result<Result<String, Vec<String>>, Refused> {
    let base = format!("--merge-base={before}");
    let asked = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", &base];
    let answer = bench.call(&asked).arguments([one, other]).answer()?;
    let mut parts = answer.output.split(|byte| *byte == 0);
    let tree = text(parts.next().unwrap_or_default());
    match answer.code {
        Some(0) => Ok(Ok(tree)),
        Some(1) => {
            let names = parts.take_while(|name| !name.is_empty());
            Ok(Err(names.map(|name| shown(&Name::new(name).shown())).collect()))
        }
        _ => Err(answer.failed().into()),
    }
}

/// A name as one line, whatever is in it.
fn shown(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Who made a commit, when, and what it says.
struct Said {
    name: String,
    email: String,
    date: String,
    message: String,
}

impl Said {
    fn of(repo: &Repo, commit: &str) -> Result<Self, Refused> {
        let format = "--format=%an%x00%ae%x00%ad%x00%B";
        let output = repo.call(&["show", "-s", "--date=raw", format, commit]).output()?;
        let output = String::from_utf8_lossy(&output).into_owned();
        let mut parts = output.splitn(4, '\0').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        let (name, email, date, message) = (next(), next(), next(), next());
        Ok(Self { name, email, date, message: format!("{}\n", message.trim_end()) })
    }

    fn author(&self) -> Author<'_> {
        // A commit may have been made by nobody.
        let name = if self.name.trim().is_empty() { "unknown" } else { &self.name };
        Author { name, email: &self.email, date: Some(&self.date) }
    }
}
