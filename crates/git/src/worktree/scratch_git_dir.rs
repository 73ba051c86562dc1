//! A temporary git folder for one operation. It uses the repository's objects, but only those
//! settings that affect how files are written, so that no filter, hook or monitor can be executed.

use std::path::Path;
use std::{fs, io};

use super::WorktreeError;
use super::project_repository::{ProjectRepository, output_text};
use crate::workspace::git::{GitCommand, GitConfigScope};

/// Whether git converts files when it reads and writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileConversion {
    /// No conversion; the attributes in the work tree are ignored.
    Disabled,
    /// As configured, for example with converted line endings. An encoding counts only if the
    /// project itself uses encodings: git fails on one that does not fit, and a run can write any.
    AsConfigured,
}

/// Overrides every attribute in the work tree, so that no file is converted.
const NO_CONVERSION: &str = "* -text -eol -ident -filter -working-tree-encoding\n";

/// Overrides the encodings in the work tree.
const NO_ENCODING: &str = "* -working-tree-encoding\n";

/// Makes git sync what it writes.
const DURABLE: &str = "[core]\n\tfsync = committed,loose-object\n\tfsyncMethod = batch\n";

/// A temporary git folder, deleted on drop.
pub(super) struct ScratchGitDir {
    dir: tempfile::TempDir,
    repo: ProjectRepository,
    tree: std::path::PathBuf,
}

impl ScratchGitDir {
    pub(super) fn new(
        repo: &ProjectRepository,
        tree: &Path,
        bytes: FileConversion,
    ) -> Result<Self, WorktreeError> {
        let settings = format!("{}{DURABLE}", repo.safe_config()?);
        let ignored = repo.outside_ignore_rules()?;
        let attributes = match bytes {
            FileConversion::Disabled => NO_CONVERSION,
            FileConversion::AsConfigured if repo.sets_encodings("HEAD")? => "",
            FileConversion::AsConfigured => NO_ENCODING,
        };
        let made = tempfile::tempdir().and_then(|dir| {
            lay_out(dir.path(), &settings, &ignored, attributes)?;
            Ok(dir)
        });
        let dir =
            made.map_err(|error| WorktreeError(format!("cannot create a git folder: {error}")))?;
        Ok(Self { dir, repo: repo.clone(), tree: tree.to_owned() })
    }

    /// Makes a call on the work tree with the temporary index.
    pub(super) fn call(&self, arguments: &[&str]) -> GitCommand {
        self.with_index(&self.index(), arguments)
    }

    /// Makes a call on the work tree with another index.
    pub(super) fn with_index(&self, index: &Path, arguments: &[&str]) -> GitCommand {
        let call = GitCommand::new(&self.tree, GitConfigScope::Isolated, arguments)
            .with_env("GIT_DIR", self.dir.path())
            .with_env("GIT_WORK_TREE", &self.tree)
            .with_env("GIT_INDEX_FILE", index)
            .with_env("GIT_OBJECT_DIRECTORY", self.repo.common_dir.join("objects"));
        let shallow = self.repo.common_dir.join("shallow");
        if shallow.exists() { call.with_env("GIT_SHALLOW_FILE", shallow) } else { call }
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn index(&self) -> std::path::PathBuf {
        self.dir.path().join("index")
    }

    /// Writes the index as a tree.
    pub(super) fn write_tree(&self) -> Result<String, WorktreeError> {
        Ok(output_text(&self.call(&["write-tree"]).output()?))
    }

    pub(super) fn commit(&self, new: &NewCommit<'_>) -> Result<String, WorktreeError> {
        let mut asked = vec!["commit-tree", new.tree];
        asked.extend(new.parents.iter().flat_map(|parent| ["-p", parent]));
        let author = new.author;
        let mut call = self
            .call(&asked)
            .with_env("GIT_AUTHOR_NAME", author.name)
            .with_env("GIT_AUTHOR_EMAIL", author.email)
            .with_env("GIT_COMMITTER_NAME", "Adjutant")
            .with_env("GIT_COMMITTER_EMAIL", "adjutant@localhost");
        if let Some(date) = author.date {
            call = call.with_env("GIT_AUTHOR_DATE", date);
        }
        Ok(output_text(&call.with_input(new.message.as_bytes().to_vec()).output()?))
    }
}

pub(super) struct NewCommit<'a> {
    pub(super) tree: &'a str,
    pub(super) parents: &'a [&'a str],
    pub(super) author: CommitAuthor<'a>,
    pub(super) message: &'a str,
}

#[derive(Clone, Copy)]
pub(super) struct CommitAuthor<'a> {
    pub(super) name: &'a str,
    pub(super) email: &'a str,
    /// In git's format; `None` means now.
    pub(super) date: Option<&'a str>,
}

impl CommitAuthor<'_> {
    pub(super) const ADJUTANT: Self =
        CommitAuthor { name: "Adjutant", email: "adjutant@localhost", date: None };
}

fn lay_out(dir: &Path, settings: &str, ignored: &[u8], attributes: &str) -> io::Result<()> {
    for folder in ["refs", "objects", "info"] {
        fs::create_dir_all(dir.join(folder))?;
    }
    fs::write(dir.join("HEAD"), "ref: refs/heads/none\n")?;
    fs::write(dir.join("config"), settings)?;
    fs::write(dir.join("info/exclude"), ignored)?;
    fs::write(dir.join("info/attributes"), attributes)
}
