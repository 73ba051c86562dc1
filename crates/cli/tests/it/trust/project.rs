//! A project whose operator has accepted nothing but what commands wrote.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::commands::support::{CliOutput, document, run};

/// A folder `project` and the operator's state folder, in a temporary folder.
pub(super) struct CautiousProject {
    temp: TempDir,
}

impl CautiousProject {
    /// Makes a project with an empty data folder.
    pub(super) fn new() -> Self {
        let project = Self::empty();
        project.does(&["init", "."]);
        project
    }

    /// Makes a project without a data folder.
    pub(super) fn empty() -> Self {
        let project = Self { temp: tempfile::tempdir().expect("a temporary folder") };
        fs::create_dir(project.root()).expect("a folder");
        project
    }

    pub(super) fn root(&self) -> PathBuf {
        self.temp.path().join("project")
    }

    pub(super) fn temp(&self) -> &Path {
        self.temp.path()
    }

    /// Returns a path in the data folder.
    pub(super) fn path(&self, relative: &str) -> PathBuf {
        self.root().join(".adjutant").join(relative)
    }

    /// Writes the configuration by hand.
    pub(super) fn configure(&self, text: &str) {
        fs::write(self.path("adjutant.toml"), text).expect("written");
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        self.command_in(&self.root(), args)
    }

    pub(super) fn command_in(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant"));
        let ours = |name: &str| name.starts_with("ADJUTANT_");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
            command.env_remove(name);
        }
        command.env("XDG_STATE_HOME", self.temp.path().join("state")).env("USER", "alice");
        command.env("ADJUTANT_SERVER_LISTEN", "off").stdin(Stdio::null());
        command.current_dir(folder).args(args);
        command
    }

    pub(super) fn adjutant(&self, args: &[&str]) -> CliOutput {
        run(&mut self.command(args))
    }

    /// Runs a command that must succeed, and returns its output.
    pub(super) fn does(&self, args: &[&str]) -> String {
        let ran = self.adjutant(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.out
    }

    pub(super) fn json(&self, args: &[&str]) -> Value {
        document(&self.does(&[args, &["--json"]].concat()))
    }

    /// Runs a command that must be refused, and returns its error.
    pub(super) fn refused(&self, args: &[&str]) -> Value {
        let ran = self.adjutant(&[args, &["--json"]].concat());
        assert_eq!(ran.code, 1, "{args:?}: {ran:?}");
        document(&ran.out)["error"].take()
    }

    /// Returns the texts of the inbox items of a kind.
    pub(super) fn inbox(&self, kind: &str) -> Vec<Value> {
        let items = self.json(&["inbox"]);
        let items = items.as_array().expect("a list").iter();
        items.filter(|item| item["kind"] == kind).cloned().collect()
    }
}

/// Returns an agent that is a shell script and needs no review.
pub(super) fn agent(script: &str) -> String {
    format!("[agents.dev]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", {script:?}]\n")
}
