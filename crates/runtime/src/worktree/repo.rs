//! The repository of a project: what its references point to, and where it keeps things.
//!
//! It is only asked for commits and references, which runs nothing that it names; see
//! [`crate::workspace`] for why.

use std::fs;
use std::path::{Path, PathBuf};

use super::Refused;
use crate::workspace::git::{Call, Settings};
use crate::workspace::name::Name;
use crate::workspace::shadow::{Places, config, ignored};

/// A repository with a work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repo {
    /// The folder of its work tree.
    pub(super) top: PathBuf,
    /// The git folder of that work tree.
    pub(super) git_dir: PathBuf,
    /// The git folder that all its work trees share.
    pub(super) common_dir: PathBuf,
}

/// A work tree that has a branch checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CheckedOut {
    /// Its folder.
    pub(super) top: PathBuf,
    /// Its git folder.
    pub(super) git_dir: PathBuf,
}

impl Repo {
    /// Finds the repository a folder is in.
    pub(super) fn find(folder: &Path) -> Result<Self, Refused> {
        let asked = ["rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"];
        let answer = Call::new(folder, Settings::OfNobody, &asked).answer()?;
        if answer.code != Some(0) {
            let what = format!("{} is in no git repository", folder.display());
            return Err(Refused(what));
        }
        let [git_dir, common_dir] = lines(&answer.output)?;
        let asked = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
        let answer = Call::new(folder, Settings::OfNobody, &asked).answer()?;
        if answer.code != Some(0) {
            let what =
                format!("the repository at {} is bare: it has no work tree", git_dir.display());
            return Err(Refused(what));
        }
        let [top] = lines(&answer.output)?;
        let repo = Self { top, git_dir, common_dir };
        repo.refuse_reftable()?;
        Ok(repo)
    }

    /// Work trees are made by writing the files git reads, and those of this format are others.
    fn refuse_reftable(&self) -> Result<(), Refused> {
        let call = self.call(&["config", "--get", "extensions.refStorage"]).answer()?;
        if call.output.starts_with(b"reftable") {
            let what = "the repository keeps its references as reftable, which is not supported";
            return Err(Refused(what.to_owned()));
        }
        Ok(())
    }

    /// Asks the repository itself. Only for what runs nothing.
    pub(super) fn call(&self, arguments: &[&str]) -> Call {
        Call::new(&self.top, Settings::OfNobody, arguments).variable("GIT_DIR", &self.git_dir)
    }

    /// Returns the commit a name stands for.
    pub(super) fn commit(&self, name: &str) -> Result<Option<String>, Refused> {
        let name = format!("{name}^{{commit}}");
        let asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
        let answer = self.call(&asked).answer()?;
        Ok((answer.code == Some(0)).then(|| text(&answer.output)))
    }

    /// Returns the tree of a commit.
    pub(super) fn tree(&self, commit: &str) -> Result<String, Refused> {
        let name = format!("{commit}^{{tree}}");
        Ok(text(&self.call(&["rev-parse", "--verify", &name]).output()?))
    }

    /// Returns the branch that is checked out, by its short name.
    pub(super) fn current(&self) -> Result<Option<String>, Refused> {
        let answer = self.call(&["symbolic-ref", "--quiet", "HEAD"]).answer()?;
        let name = text(&answer.output);
        Ok(name.strip_prefix("refs/heads/").map(str::to_owned).filter(|_| answer.code == Some(0)))
    }

    /// Points a reference to a commit, if it points to `old`; none if it must not be there.
    pub(super) fn set(&self, name: &str, new: &str, old: Option<&str>) -> Result<(), Refused> {
        let zero = "0".repeat(new.len());
        let old = old.unwrap_or(&zero);
        let asked = ["update-ref", "-m", "adjutant", "--create-reflog", name, new, old];
        Ok(self.call(&asked).output().map(drop)?)
    }

    /// Takes a reference away, if it points to `old`.
    pub(super) fn unset(&self, name: &str, old: &str) -> Result<(), Refused> {
        Ok(self.call(&["update-ref", "-d", name, old]).output().map(drop)?)
    }

    /// Returns every reference below a name, with what it points to.
    pub(super) fn below(&self, prefix: &str) -> Result<Vec<(String, String)>, Refused> {
        let format = "--format=%(objectname) %(refname)";
        let output = self.call(&["for-each-ref", format, prefix]).output()?;
        let output = String::from_utf8_lossy(&output).into_owned();
        let pair =
            |line: &str| line.split_once(' ').map(|(id, name)| (name.to_owned(), id.to_owned()));
        Ok(output.lines().filter_map(pair).collect())
    }

    /// Says whether a commit is another one or comes before it.
    pub(super) fn is_ancestor(&self, one: &str, other: &str) -> Result<bool, Refused> {
        let answer = self.call(&["merge-base", "--is-ancestor", one, other]).answer()?;
        match answer.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(answer.failed().into()),
        }
    }

    /// Returns the last commit that two have in common.
    pub(super) fn fork(&self, one: &str, other: &str) -> Result<Option<String>, Refused> {
        let answer = self.call(&["merge-base", one, other]).answer()?;
        match answer.code {
            Some(0) => Ok(Some(text(&answer.output))),
            Some(1) => Ok(None),
            _ => Err(answer.failed().into()),
        }
    }

    /// Returns the commits after one up to another, the first first.
    pub(super) fn commits(&self, after: &str, to: &str) -> Result<Vec<String>, Refused> {
        let range = format!("{after}..{to}");
        let asked = ["rev-list", "--reverse", "--topo-order", "--no-merges", &range];
        let output = self.call(&asked).output()?;
        Ok(String::from_utf8_lossy(&output).lines().map(str::to_owned).collect())
    }

    /// Returns the work trees that have a branch checked out.
    pub(super) fn checked_out(&self, branch: &str) -> Vec<CheckedOut> {
        let wanted = format!("ref: {branch}");
        let has = |git_dir: &Path| read(&git_dir.join("HEAD")).is_some_and(|head| head == wanted);
        let first = self.common_dir.clone();
        let linked = fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten();
        let linked = linked.flatten().map(|entry| entry.path());
        let of = |git_dir: PathBuf| {
            let top = match read(&git_dir.join("gitdir")) {
                Some(file) => PathBuf::from(file).parent()?.to_owned(),
                None => self.first_top()?,
            };
            Some(CheckedOut { top, git_dir })
        };
        [first].into_iter().chain(linked).filter(|dir| has(dir)).filter_map(of).collect()
    }

    /// Returns the folder of the first work tree.
    fn first_top(&self) -> Option<PathBuf> {
        if self.git_dir == self.common_dir {
            return Some(self.top.clone());
        }
        let asked = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
        let home = self.common_dir.parent()?;
        let output = Call::new(home, Settings::OfNobody, &asked).output().ok()?;
        lines::<1>(&output).ok().map(|[top]| top)
    }

    /// Returns the settings that say how files are written, as a configuration of their own.
    pub(super) fn settings(&self) -> Result<String, Refused> {
        Ok(config(&self.top)?)
    }

    /// Returns what is ignored besides what a work tree says.
    pub(super) fn ignored(&self) -> Result<Vec<u8>, Refused> {
        let (top, git_dir, common_dir) = (&*self.top, &*self.git_dir, &*self.common_dir);
        Ok(ignored(&Places { top, git_dir, common_dir })?)
    }
}

/// Reads a small file of one line. A link is not followed: nobody but an agent would put one there.
pub(super) fn read(path: &Path) -> Option<String> {
    path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    Some(fs::read_to_string(path).ok()?.trim_end_matches('\n').to_owned())
}

pub(super) fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).trim_end().to_owned()
}

fn lines<const N: usize>(output: &[u8]) -> Result<[PathBuf; N], Refused> {
    let all: Vec<&[u8]> = output.split(|byte| *byte == b'\n').collect();
    let paths: Vec<PathBuf> =
        all.iter().take(all.len() - 1).map(|line| Name::new(line).to_path()).collect();
    paths
        .try_into()
        .map_err(|_| Refused("the path of the repository has a line break in it".to_owned()))
}
