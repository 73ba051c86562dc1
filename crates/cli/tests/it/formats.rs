//! Data folders and archives of a newer format: every command refuses them, says what to do, and
//! changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Commands that read or write a data folder, with ordinary arguments.
const COMMANDS: [&[&str]; 32] = [
    &["task", "add", "One more"],
    &["task", "list"],
    &["task", "show", "TASK-2026-02-09-001"],
    &["task", "edit", "TASK-2026-02-09-001", "--title", "Other"],
    &["task", "move", "TASK-2026-02-09-001", "ready"],
    &["approve", "TASK-2026-02-09-001"],
    &["reject", "TASK-2026-02-09-001", "--reason", "No"],
    &["answer", "TASK-2026-02-09-001", "Yes"],
    &["inbox"],
    &["why", "TASK-2026-02-09-001"],
    &["up", "--until-idle"],
    &["up", "--detach"],
    &["down"],
    &["status"],
    &["logs", "TASK-2026-02-09-001"],
    &["agents"],
    &["tick"],
    &["top"],
    &["undo"],
    &["send"],
    &["send", "--lines"],
    &["report", "done"],
    &["beat"],
    &["mcp"],
    &["mcp", "--agent", "swe"],
    &["session-end"],
    &["events"],
    &["mission", "TASK-2026-02-09-001"],
    &["export", "../project.tar"],
    &["fleet", "status"],
    &["fleet", "restore"],
    &["init", "."],
];

struct FormatProject(TempDir);

impl FormatProject {
    /// Makes a project with a task.
    fn new() -> Self {
        let project = Self(tempfile::tempdir().expect("a temporary folder"));
        fs::create_dir(project.home()).expect("a folder");
        project.does(&["init", "."]);
        project.does(&["task", "add", "A task"]);
        project
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("project")
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.home().join(".adjutant").join(relative)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjutant"));
        command.args(arguments).current_dir(self.home()).stdin(Stdio::null());
        for name in ["ADJUTANT_DATA", "ADJUTANT_RUN_TOKEN", "ADJUTANT_AGENT", "ADJUTANT_TASK_ID"] {
            command.env_remove(name);
        }
        crate::with_trust(command.env("USER", "alice"));
        command
    }

    fn does(&self, arguments: &[&str]) {
        let ran = self.command(arguments).output().expect("it runs");
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    /// Turns the folder into one of the next format, with a setting this version lacks.
    fn upgrade(&self) {
        fs::write(self.path("format.json"), "{\"folder\":3,\"eventLog\":1}\n").expect("a file");
        fs::write(self.path("adjutant.toml"), "colour = \"blue\"\n").expect("a file");
    }
}

/// Returns the content of every file in a folder; folders have `None`.
fn tree(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let (mut tree, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let bytes = (!path.is_dir()).then(|| fs::read(&path).expect("a file"));
            folders.extend(bytes.is_none().then(|| path.clone()));
            tree.insert(path.strip_prefix(root).expect("inside").to_owned(), bytes);
        }
    }
    tree
}

#[test]
fn newer_folder_is_refused_by_every_command_and_left_as_it_was() {
    let project = FormatProject::new();
    project.upgrade();
    let before = tree(project.0.path());
    for arguments in COMMANDS {
        let mut command = project.command(arguments);
        if ["report", "beat"].contains(&arguments[0]) {
            command.env("ADJUTANT_TASK_ID", "TASK-2026-02-09-001").env("ADJUTANT_ATTEMPT", "1");
            command.env("ADJUTANT_AGENT", "swe").env("ADJUTANT_RUN_TOKEN", "token");
        }
        let ran = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&ran.stderr);
        if arguments[0] == "init" {
            assert_eq!(ran.status.code(), Some(1), "{arguments:?}: {said}");
        } else {
            assert_eq!(ran.status.code(), Some(3), "{arguments:?}: {said}");
            assert_eq!(said, REFUSAL, "{arguments:?}");
        }
        assert_eq!(tree(project.0.path()), before, "{arguments:?} changed something");
    }
}

const REFUSAL: &str = "\
error: cannot open the data folder
  caused by: the data folder has format 3, but this version of Adjutant (0.1.0) reads formats up to 2
hint: install a newer version of Adjutant; nothing was changed
";

#[test]
fn newer_folder_is_told_to_scripts_by_code() {
    let project = FormatProject::new();
    project.upgrade();
    let ran = project.command(&["task", "list", "--json"]).output().expect("it runs");
    let said: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(said["error"]["code"], "newer_format");
    assert_eq!(said["error"]["hint"], "install a newer version of Adjutant; nothing was changed");
}

#[test]
fn newer_folder_is_a_finding_of_doctor_which_fixes_nothing() {
    let project = FormatProject::new();
    project.upgrade();
    let before = tree(project.0.path());
    for arguments in [&["doctor", "--json"][..], &["doctor", "--fix", "--json"]] {
        let ran = project.command(arguments).output().expect("it runs");
        assert_eq!(ran.status.code(), Some(1));
        let said: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
        let finding = &said["findings"][0];
        assert_eq!(
            (&finding["code"], &finding["fixable"]),
            (&"format_newer".into(), &false.into())
        );
        assert_eq!(said["findings"].as_array().map(Vec::len), Some(1));
        assert_eq!(tree(project.0.path()), before);
    }
}

#[test]
fn newer_archive_is_refused_with_what_to_do() {
    let project = FormatProject::new();
    let label = project.0.path().join("adjutant-export.json");
    fs::write(&label, r#"{"export":2}"#).expect("a file");
    let mut tar = Command::new("tar");
    tar.args(["--format=gnu", "-cf", "newer.tar", "adjutant-export.json"]);
    assert!(tar.current_dir(project.0.path()).status().expect("tar runs").success());
    let before = tree(project.0.path());
    let to = project.0.path().join("elsewhere");
    let to = to.to_str().expect("text");
    let ran = project.command(&["import", "../newer.tar", to]).output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    let words = "\
error: cannot import the archive
  caused by: the archive has format 2, but this version of Adjutant (0.1.0) reads formats up to 1
hint: install a newer version of Adjutant; nothing was changed
";
    assert_eq!((ran.status.code(), &*said), (Some(3), words));
    fs::remove_dir(to).expect("at most the folder of the project was made");
    assert_eq!(tree(project.0.path()), before);
}

#[test]
fn git_gets_neither_format_nor_copy_of_journal() {
    let project = FormatProject::new();
    fs::remove_file(project.path("format.json")).expect("a format");
    project.does(&["task", "list"]);
    assert!(project.path("backup/format-1/journal/state").exists());
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        let ran = command.args(arguments).current_dir(project.home()).output().expect("git runs");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    git(&["init", "-q"]);
    let seen = git(&["status", "--porcelain", "--untracked-files=all"]);
    assert!(seen.contains(".adjutant/adjutant.toml\n"), "{seen}");
    assert!(!seen.contains("format.json"), "{seen}");
    assert!(!seen.contains("backup"), "{seen}");
}

/// A newer version migrates the folder while a daemon of this version runs on it.
#[test]
fn running_daemon_stops_when_folder_becomes_newer() {
    let project = FormatProject::new();
    let mut command = project.command(&["up", "--listen", "off"]);
    let mut daemon =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let out = daemon.stdout.take().expect("an output");
    BufReader::new(out).read_line(&mut line).expect("it says that it is up");
    fs::write(project.path("format.json"), "{\"folder\":3,\"eventLog\":1}\n").expect("a file");
    let tasks = || tree(&project.path("tasks"));
    let (before, events) = (tasks(), tree(&project.path("events")));
    let ended = daemon.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.ends_with(REFUSAL), "{said}");
    assert_eq!((tasks(), tree(&project.path("events"))), (before, events));
}
