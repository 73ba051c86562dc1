//! A test fixture: a workspace and the folder of an attempt.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use adjutant_git::workspace::{
    ChangeKind, InspectionError, WorkspaceChanges, compare_baseline, record_baseline,
};

pub(crate) struct WorkspaceFixture {
    home: tempfile::TempDir,
}

impl WorkspaceFixture {
    pub(crate) fn plain() -> Self {
        let stage = Self { home: tempfile::tempdir().expect("a folder") };
        fs::create_dir_all(stage.top()).expect("made");
        fs::create_dir_all(stage.attempt()).expect("made");
        stage
    }

    /// Makes a repository with one commit of three files.
    pub(crate) fn git() -> Self {
        let stage = Self::plain();
        stage.run(&["init", "-q", "-b", "main"]);
        for name in ["a.txt", "b.txt", "dir/c.txt"] {
            stage.write(name, &format!("{name}\n"));
        }
        stage.run(&["add", "."]);
        stage.run(&["commit", "-qm", "first"]);
        stage
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.home.path().join("work")
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.top().join(".adjutant")
    }

    pub(crate) fn attempt(&self) -> PathBuf {
        self.home.path().join("attempt")
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, text: &str) {
        let path = self.top().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.top().join(name)).expect("removed");
    }

    /// Runs git as an agent does.
    pub(crate) fn run(&self, arguments: &[&str]) {
        git(&self.top(), arguments);
    }

    pub(crate) fn take_baseline(&self) {
        record_baseline(&self.attempt(), &self.top(), &self.data()).expect("noted");
    }

    pub(crate) fn inspect(&self) -> Result<WorkspaceChanges, InspectionError> {
        compare_baseline(&self.attempt())
    }

    /// Returns the changes since the baseline, each as a letter and a path.
    pub(crate) fn changed_files(&self) -> Vec<String> {
        changed(&self.inspect().expect("it can be seen"))
    }

    pub(crate) fn new_commits(&self) -> u32 {
        self.inspect().expect("it can be seen").commits
    }
}

pub(crate) fn changed(seen: &WorkspaceChanges) -> Vec<String> {
    let letter = |how| match how {
        ChangeKind::Added => "A",
        ChangeKind::Modified => "M",
        ChangeKind::Deleted => "D",
    };
    seen.changed.iter().map(|one| format!("{} {}", letter(one.how), one.path)).collect()
}

pub(crate) fn git(folder: &Path, arguments: &[impl AsRef<OsStr>]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Ann").env(format!("GIT_{role}_EMAIL"), "a@b.c");
    }
    let ended = command.output().expect("git runs");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}
