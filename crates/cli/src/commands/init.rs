//! `adjutant init`: creates a data folder.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use adjutant_config::{self as config, Kind};
use adjutant_git::worktree::{WorktreeError, WorktreeSupport, Worktrees};
use adjutant_process::test_runner::test_command::{PlainTestCommand, find_plain};
use adjutant_query::installed_agents;
use adjutant_store::file::{DATA_FOLDER, DataFolder};
use serde_json::{Value, json};

use crate::config_trust::accept_text;
use crate::data::{ProjectData, data_folder_from_env};
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean};

/// Create a data folder for a project: DIR/.adjutant
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant init             create .adjutant in this folder
  adjutant init ~/src/shop  create it in another folder")]
pub(crate) struct InitArgs {
    /// The project's folder [default: this one]
    dir: Option<PathBuf>,
}

/// Keeps this machine's own files out of the project's git repository.
const IGNORED_FILE: &str = ".gitignore";

/// A list of what git may track, so that a file that a later version adds is not committed.
const IGNORED: &str = "\
# Git tracks the configuration and the tasks. Everything else belongs to this machine: the event
# log, the journal, runs, work trees and secrets.
/*
!/.gitignore
!/adjutant.toml
!/tasks/
/tasks/*
!/tasks/*/
/tasks/*/*
!/tasks/*/*.md
/tasks/*/*/
!/archive/
/archive/*
!/archive/*/
/archive/*/*
!/archive/*/*.md
/archive/*/*/
!/epics/
/epics/*
!/epics/*/
/epics/*/*
!/epics/*/memory.md
/epics/*/*/
";

/// The line of the template that the detected test command is inserted after.
const TEST_COMMAND_ANCHOR: &str = "# `test_command` names the command that runs the tests. It is the check if there is \
                     no other.\n";

/// The line of the template that the workspace is inserted after.
const WORKSPACE_ANCHOR: &str = "\n[project]\n";

impl InitArgs {
    pub(crate) fn run(
        self,
        named: Option<&Path>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let folder = create_folder(self.dir, named)?;
        let (found, tests) = (find_installed_agents(), find_plain(&folder.workspace()));
        let support = Worktrees::new(folder.root(), &folder.workspace(), None).support();
        let written = initial_config(&found, tests.as_ref(), has_worktrees(&support));
        let is_written = write_new(&folder.root().join(config::FILE), &written)?;
        write_new(&folder.root().join(IGNORED_FILE), IGNORED)?;
        let data = ProjectData::find_unaccepted(Some(folder.root()))?;
        if is_written && !data.unaccepted().is_empty() {
            // Without a state folder, `up` asks for it.
            let _ = accept_text(&data, &written);
        }
        // Open the folder once, so that later edits are told apart from the initial files.
        data.open_engine()?.rest()?;
        let root = std::path::absolute(folder.root()).unwrap_or(folder.root().to_owned());
        let root = root.display().to_string();
        if out.is_json() {
            out.document(&document(&root, &found, tests.as_ref(), has_worktrees(&support)))?;
        } else {
            out.line(&format!("created {root}"))?;
            if let Some(PlainTestCommand { line, file }) = &tests {
                out.line(&format!("test command: `{line}`, because there is a {file}"))?;
            }
            for line in git_advice(&support, folder.root()) {
                out.line(&line)?;
            }
            out.line(&next_steps(&found, &root))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn document(
    root: &str,
    found: &[InstalledAgent],
    tests: Option<&PlainTestCommand>,
    worktrees: bool,
) -> Value {
    let agent = |one: &InstalledAgent| json!({"kind": one.kind.as_str(), "program": one.path, "signedIn": one.signed_in});
    json!({
        "data": root,
        "testCommand": tests.map(|tests| &tests.line),
        "workspace": worktrees.then_some("worktree"),
        "agents": found.iter().map(agent).collect::<Vec<_>>(),
    })
}

/// Returns whether the configuration gives each task a worktree. A repository without a commit
/// gets its first one before there is work to do.
fn has_worktrees(support: &WorktreeSupport) -> bool {
    match support {
        WorktreeSupport::Ready | WorktreeSupport::NoCommit => true,
        WorktreeSupport::NoRepository | WorktreeSupport::Unusable(_) => false,
    }
}

/// Says what git and Adjutant have to do with each other in this project.
fn git_advice(support: &WorktreeSupport, data: &Path) -> Vec<String> {
    let name = data.file_name().unwrap_or_default().display();
    let commit = format!(
        "commit {name}/: its .gitignore lets git track the configuration and the tasks, and leaves \
         out the event log, runs and secrets"
    );
    let worktrees = "each task gets its own git worktree and branch: workspace = \"worktree\" in \
                     adjutant.toml"
        .to_owned();
    match support {
        WorktreeSupport::NoRepository => vec![],
        WorktreeSupport::Unusable(WorktreeError(why)) => {
            vec![
                format!("agents work in the folder of the project, without worktrees: {why}"),
                commit,
            ]
        }
        WorktreeSupport::NoCommit => vec![
            worktrees,
            commit,
            "make a first commit before `adjutant up`: worktrees start from it".to_owned(),
        ],
        WorktreeSupport::Ready => vec![worktrees, commit],
    }
}

/// An installed agent; `ready` means that it is signed in.
struct InstalledAgent {
    kind: Kind,
    path: PathBuf,
    signed_in: bool,
}

fn find_installed_agents() -> Vec<InstalledAgent> {
    let one = |(kind, path)| InstalledAgent {
        kind,
        path,
        signed_in: installed_agents::is_signed_in(kind),
    };
    installed_agents::find_agents().into_iter().map(one).collect()
}

/// Returns the initial configuration. It lists every agent that was found, commented out unless the
/// agent is signed in. Every other setting except a detected test command and the workspace of a
/// git repository is commented out.
fn initial_config(
    found: &[InstalledAgent],
    tests: Option<&PlainTestCommand>,
    worktrees: bool,
) -> String {
    let mut text = config::TEMPLATE.to_owned();
    if worktrees {
        let own = format!(
            "{WORKSPACE_ANCHOR}# Each task gets its own git worktree and branch.\nworkspace = \"worktree\"\n"
        );
        text = text.replacen(WORKSPACE_ANCHOR, &own, 1);
    }
    if let Some(PlainTestCommand { line, file }) = tests {
        let own = format!(
            "{TEST_COMMAND_ANCHOR}# Detected, because there is a {file}.\ntest_command = {line:?}\n"
        );
        text = text.replacen(TEST_COMMAND_ANCHOR, &own, 1);
    }
    for InstalledAgent { kind, path, signed_in: ready } in found {
        let (kind, path) = (kind.as_str(), clean(&path.display().to_string()));
        let (sign, why) = if *ready { ("", "") } else { ("# ", "; not known to be signed in") };
        let _ = write!(
            text,
            "\n# Found on this machine: {path}{why}\n{sign}[agents.{kind}]\n{sign}kind = \"{kind}\"\n{sign}mode = \"code\"\n{sign}slots = 1\n"
        );
    }
    text
}

/// Says which agents were found, and ends with the two commands to type next.
fn next_steps(found: &[InstalledAgent], data: &str) -> String {
    let names = |ready: bool| -> Vec<&str> {
        found.iter().filter(|one| one.signed_in == ready).map(|one| one.kind.as_str()).collect()
    };
    let (ready, others) = (names(true), names(false));
    let mut lines = Vec::new();
    if !others.is_empty() {
        let others = others.join(", ");
        lines
            .push(format!("installed, but not known to be signed in: {others}; see adjutant.toml"));
    }
    match ready.first() {
        Some(_) => lines.push(format!("configured: {}", ready.join(", "))),
        None => lines.push(format!(
            "no agent is configured yet: add an [agents.NAME] table to {data}/{}",
            config::FILE
        )),
    }
    let agent = ready.first().copied().unwrap_or("NAME");
    lines.push(format!(
        "next:\n  adjutant task add \"TITLE\" --agent {agent} --status ready\n  adjutant up"
    ));
    lines.join("\n")
}

/// Writes a file readable by its owner only. An existing file stays unchanged, and returns false.
fn write_new(path: &Path, text: &str) -> Result<bool, CommandFailure> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => {
            Err(CommandFailure::broken(format!("cannot write {}", path.display()), &error))
        }
    }
}

/// Creates the data folder. A project given as DIR takes precedence over `ADJUTANT_DATA`.
fn create_folder(dir: Option<PathBuf>, named: Option<&Path>) -> Result<DataFolder, CommandFailure> {
    match (dir, named.map(Path::to_owned)) {
        (Some(dir), None) => Ok(DataFolder::init(&dir)?),
        (Some(dir), Some(data)) if data == dir.join(DATA_FOLDER) => Ok(DataFolder::init(&dir)?),
        (Some(_), Some(_)) => Err(CommandFailure::report_usage_error(
            "DIR and --data name different folders",
        )
        .with_hint(
            "`adjutant init DIR` creates DIR/.adjutant, `adjutant init --data DIR` creates DIR",
        )),
        (None, data) => match data.or_else(data_folder_from_env) {
            Some(data) => Ok(DataFolder::create(&data)?),
            None => Ok(DataFolder::init(Path::new("."))?),
        },
    }
}
