//! A test fixture: a repository with a data folder and its worktrees.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use adjutant_git::worktree::{
    MergeMethod, MergeRequest, PreparedWorktree, WorktreeError, WorktreeSetup, Worktrees,
};
use adjutant_model::TaskId;
use adjutant_model::evidence::WorkEvidence;
use adjutant_model::work::MergeResult;
use adjutant_process::test_runner::limited_command::CommandResult;

pub(crate) struct WorktreeProject {
    home: tempfile::TempDir,
}

impl WorktreeProject {
    pub(crate) fn new() -> Self {
        let project = Self { home: tempfile::tempdir().expect("a folder") };
        fs::create_dir(project.path(".adjutant")).expect("made");
        project.git(&["init", "-q", "-b", "main"]);
        project.write(".gitignore", b"*.o\n");
        project.write("a.txt", b"one\ntwo\n");
        project.git(&["add", ".gitignore", "a.txt"]);
        project.git(&["commit", "-q", "-m", "first"]);
        project
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("written");
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.home.path(), args)
    }

    pub(crate) fn worktrees(&self) -> Worktrees {
        Worktrees::new(&self.path(".adjutant"), self.home.path(), None)
    }

    pub(crate) fn prepare(&self, attempt: u32) -> Result<PreparedWorktree, WorktreeError> {
        self.worktrees().prepare(&task(), attempt - 1, &WorktreeSetup::default(), &no_setup)
    }

    pub(crate) fn merge(&self, how: MergeMethod) -> MergeResult {
        self.merge_checking(how, None)
    }

    pub(crate) fn merge_checking(
        &self,
        how: MergeMethod,
        check: Option<&dyn Fn(&Path) -> WorkEvidence>,
    ) -> MergeResult {
        let (task, setup) = (task(), WorktreeSetup::default());
        let merge = MergeRequest {
            task: &task,
            title: "Do it",
            attempt: 1,
            method: how,
            setup: &setup,
            run_setup: &no_setup,
            refusal: &|_| None,
            check,
            is_wanted: &|| true,
        };
        self.worktrees().merge(&merge).expect("it can be tried")
    }
}

pub(crate) fn task() -> TaskId {
    TaskId::parse("TASK-2026-02-09-001").expect("a good id")
}

/// Runs no setup command: the worktrees here have none.
pub(crate) fn no_setup(line: &str, _: &Path, _: &Path) -> std::io::Result<CommandResult> {
    panic!("there is no setup command, but `{line}` was to be run")
}

pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@x", "-c", "core.fsmonitor=false"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git starts");
    let text = |bytes| String::from_utf8_lossy(bytes).trim_end().to_owned();
    assert!(output.status.success(), "git {args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileState {
    File(Vec<u8>, bool),
    Link(PathBuf),
}

/// Returns every file in a folder except `.git`, by path.
pub(crate) fn all_files(folder: &Path) -> BTreeMap<PathBuf, FileState> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(inner) = open.pop() {
        for entry in fs::read_dir(inner).expect("read").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            let name = path.strip_prefix(folder).expect("below").to_owned();
            if name == Path::new(".git") {
                continue;
            }
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_symlink() {
                found.insert(name, FileState::Link(fs::read_link(path).expect("a link")));
            } else {
                let mode = entry.metadata().expect("metadata").permissions().mode();
                let bytes = fs::read(path).expect("read");
                found.insert(name, FileState::File(bytes, mode & 0o100 != 0));
            }
        }
    }
    found
}
