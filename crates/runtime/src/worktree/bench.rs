//! A git folder of our own for one job: it has the repository's objects and none of its settings
//! but those that say how files are written, so that no filter, hook or monitor can be run.

use std::fs;
use std::io;
use std::path::Path;

use super::Refused;
use super::repo::{Repo, text};
use crate::workspace::git::{Call, Settings};

/// How files are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bytes {
    /// As they are, whatever the repository says of them.
    AsTheyAre,
    /// As the repository says: with other line ends, say.
    AsWanted,
}

/// What counts before everything a work tree says: no file is changed on its way in or out.
const AS_THEY_ARE: &str = "* -text -eol -ident -filter -working-tree-encoding\n";

/// What is written is on the disk when git says so.
const DURABLE: &str = "[core]\n\tfsync = committed,loose-object\n\tfsyncMethod = batch\n";

/// A git folder of our own.
pub(super) struct Bench {
    dir: tempfile::TempDir,
    repo: Repo,
    tree: std::path::PathBuf,
}

impl Bench {
    /// Makes one for a work tree.
    pub(super) fn new(repo: &Repo, tree: &Path, bytes: Bytes) -> Result<Self, Refused> {
        let settings = format!("{}{DURABLE}", repo.settings()?);
        let ignored = repo.ignored()?;
        let made = tempfile::tempdir().and_then(|dir| {
            lay_out(dir.path(), &settings, &ignored, bytes)?;
            Ok(dir)
        });
        let dir = made.map_err(|error| Refused(format!("cannot make a git folder: {error}")))?;
        Ok(Self { dir, repo: repo.clone(), tree: tree.to_owned() })
    }

    /// Makes a call on the work tree, with the index of the bench.
    pub(super) fn call(&self, arguments: &[&str]) -> Call {
        self.with_index(&self.index(), arguments)
    }

    /// Makes a call on the work tree, with another index.
    pub(super) fn with_index(&self, index: &Path, arguments: &[&str]) -> Call {
        let call = Call::new(&self.tree, Settings::OfNobody, arguments)
            .variable("GIT_DIR", self.dir.path())
            .variable("GIT_WORK_TREE", &self.tree)
            .variable("GIT_INDEX_FILE", index)
            .variable("GIT_OBJECT_DIRECTORY", self.repo.common_dir.join("objects"));
        let shallow = self.repo.common_dir.join("shallow");
        if shallow.exists() { call.variable("GIT_SHALLOW_FILE", shallow) } else { call }
    }

    /// Returns the folder.
    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns where the index of the bench lies.
    pub(super) fn index(&self) -> std::path::PathBuf {
        self.dir.path().join("index")
    }

    /// Writes what the index holds as a tree.
    pub(super) fn write_tree(&self) -> Result<String, Refused> {
        Ok(text(&self.call(&["write-tree"]).output()?))
    }

    /// Makes a commit of a tree.
    pub(super) fn commit(&self, new: &NewCommit<'_>) -> Result<String, Refused> {
        let mut asked = vec!["commit-tree", new.tree];
        asked.extend(new.parents.iter().flat_map(|parent| ["-p", parent]));
        let author = new.author;
        let mut call = self
            .call(&asked)
            .variable("GIT_AUTHOR_NAME", author.name)
            .variable("GIT_AUTHOR_EMAIL", author.email)
            .variable("GIT_COMMITTER_NAME", "Adjutant")
            .variable("GIT_COMMITTER_EMAIL", "adjutant@localhost");
        if let Some(date) = author.date {
            call = call.variable("GIT_AUTHOR_DATE", date);
        }
        Ok(text(&call.input(new.message.as_bytes().to_vec()).output()?))
    }
}

/// A commit to be made.
pub(super) struct NewCommit<'a> {
    pub(super) tree: &'a str,
    pub(super) parents: &'a [&'a str],
    pub(super) author: Author<'a>,
    pub(super) message: &'a str,
}

/// Who did what is in a commit.
#[derive(Clone, Copy)]
pub(super) struct Author<'a> {
    pub(super) name: &'a str,
    pub(super) email: &'a str,
    /// When, as git has it; now if there is none.
    pub(super) date: Option<&'a str>,
}

impl Author<'_> {
    /// This program.
    pub(super) const ADJUTANT: Self =
        Author { name: "Adjutant", email: "adjutant@localhost", date: None };
}

fn lay_out(dir: &Path, settings: &str, ignored: &[u8], bytes: Bytes) -> io::Result<()> {
    for folder in ["refs", "objects", "info"] {
        fs::create_dir_all(dir.join(folder))?;
    }
    fs::write(dir.join("HEAD"), "ref: refs/heads/none\n")?;
    fs::write(dir.join("config"), settings)?;
    fs::write(dir.join("info/exclude"), ignored)?;
    match bytes {
        Bytes::AsTheyAre => fs::write(dir.join("info/attributes"), AS_THEY_ARE),
        Bytes::AsWanted => Ok(()),
    }
}
