//! A data folder in a git repository: what git tracks, and what a checkout does to it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::commands::support::{CliProject, document};

/// The git that is first in the path, and that of the system.
const PROGRAMS: [&str; 2] = ["git", "/usr/bin/git"];

fn git_of(program: &str, folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let identity = ["-c", "user.name=T", "-c", "user.email=t@example.com"];
    let mut command = Command::new(program);
    let output = command.current_dir(folder).args(identity).args(args).output().expect("git runs");
    (output.status.code(), String::from_utf8(output.stdout).expect("text"))
}

fn git(folder: &Path, args: &[&str]) -> String {
    let (code, out) = git_of("git", folder, args);
    assert_eq!(code, Some(0), "{args:?}: {out}");
    out
}

/// A project in a repository that tracks everything in the data folder, as older versions did.
fn project_with_tracked_events() -> CliProject {
    let project = CliProject::new();
    project.write(".gitignore", "/journal/\n/secret\n");
    git(project.home(), &["init", "--quiet", "--initial-branch", "main"]);
    project.add(["one"]);
    commit_all(&project);
    project
}

fn commit_all(project: &CliProject) {
    git(project.home(), &["add", "--all"]);
    git(project.home(), &["commit", "--quiet", "--message", "Tasks"]);
}

#[test]
fn gitignore_leaves_only_configuration_tasks_and_memories_trackable() {
    let project = CliProject::new();
    git(project.home(), &["init", "--quiet"]);
    let id = "TASK-2026-02-09-001";
    let trackable = [
        ".gitignore".to_owned(),
        "adjutant.toml".to_owned(),
        format!("tasks/ready/{id}.md"),
        format!("archive/2026-02/{id}.md"),
        "epics/E1/memory.md".to_owned(),
    ];
    let private = [
        "secret".to_owned(),
        "operator-token".to_owned(),
        "node-key".to_owned(),
        "format.json".to_owned(),
        "daemon.log".to_owned(),
        "a-file-of-a-later-version".to_owned(),
        "events/2026-02-09.jsonl".to_owned(),
        "journal/00000001.wal".to_owned(),
        format!("runs/{id}/run.json"),
        format!("runs/{id}/attempts/1/output.log"),
        format!("tasks/ready/{id}/inputs/handoff.md"),
        format!("tasks/ready/{id}.md/inside.md"),
        "tasks/notes.md".to_owned(),
        "archive/notes.md".to_owned(),
        format!("archive/2026-02/{id}/outputs/summary.md"),
        "epics/notes.md".to_owned(),
        "epics/E1/notes.md".to_owned(),
        "epics/E1/memory.md/inside".to_owned(),
        "lost+found/tasks-ready.md.1".to_owned(),
        "worktrees/x/file.rs".to_owned(),
    ];
    for program in PROGRAMS {
        let is_ignored = |path: &str| {
            let ignored = ["check-ignore", "--quiet", "--no-index", "--", path];
            git_of(program, &project.path(""), &ignored).0 == Some(0)
        };
        for path in &trackable {
            assert!(!is_ignored(path), "{program} ignores {path}");
        }
        for path in &private {
            assert!(is_ignored(path), "{program} tracks {path}");
        }
    }
}

#[test]
fn doctor_names_tracked_private_files_and_its_commands_mend_it() {
    let project = project_with_tracked_events();
    let found = project.adjutant(["doctor", "--json"]);
    let found = document(&found.out)["findings"].clone();
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(
        (&found[0]["code"], &found[0]["path"]),
        (&json!("git_tracks_private"), &json!("events"))
    );
    let text = found[0]["text"].as_str().expect("a text");
    let commands: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    assert_eq!(commands.len(), 3, "{text}");
    for command in commands {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir("/");
        let ran = shell.output().expect("it runs");
        assert!(ran.status.success(), "{command}: {ran:?}");
    }
    git(project.home(), &["commit", "--quiet", "--message", "Private files"]);
    assert_eq!(project.does(["doctor"]), "no problems found\n");
    assert_eq!(project.types(), ["task.created"], "the files stay");
    assert_eq!(git(project.home(), &["status", "--porcelain"]), "");
}

#[test]
fn checkout_of_older_branch_and_back_keeps_event_log_whole() {
    let project = project_with_tracked_events();
    git(project.home(), &["checkout", "--quiet", "-b", "work"]);
    project.add(["two"]);
    commit_all(&project);
    let newer = project.types();
    git(project.home(), &["checkout", "--quiet", "main"]);
    let (code, error) = project.error(["task", "add", "three"]);
    assert_eq!((code, &error["code"]), (3, &json!("event_log_behind")), "{error}");
    let hint = error["hint"].as_str().expect("a hint");
    assert!(hint.contains("adjutant doctor --fix") && hint.contains("git checkout"), "{hint}");
    assert_eq!(project.types().len(), 1, "nothing is appended to the older log");
    git(project.home(), &["checkout", "--quiet", "work"]);
    project.add(["three"]);
    assert_eq!(project.types()[..newer.len()], newer);
    let codes = project.adjutant(["doctor"]);
    assert!(!codes.out.contains("event_"), "{codes:?}");
}

#[test]
fn restored_event_log_continues_only_after_doctor_fix() {
    let project = project_with_tracked_events();
    project.add(["two"]);
    project.add(["three"]);
    git(project.home(), &["checkout", "--quiet", "--", "."]);
    let refused = project.adjutant(["task", "add", "four"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    let found = project.adjutant(["doctor"]);
    let expected = "event_log_behind events: the event log ends at event 1, but the store has \
                    events up to 3";
    assert!(found.out.contains(expected), "{found:?}");
    let fixed = project.adjutant(["doctor", "--fix"]);
    assert!(fixed.out.contains("continued the log with event 4, log.restored"), "{fixed:?}");
    project.add(["four"]);
    let day = fs::read_dir(project.path("events"))
        .expect("a folder")
        .map(|file| fs::read_to_string(file.expect("read").path()).expect("a text"));
    let mut events: Vec<Value> = day.collect::<String>().lines().map(document).collect();
    events.sort_by_key(|event| event["eventId"].as_u64());
    let restored = &events[1];
    assert_eq!((&restored["eventId"], &restored["type"]), (&json!(4), &json!("log.restored")));
    assert_eq!(restored["payload"], json!({"kept": 1, "missing": 3}));
    assert_eq!(events[2]["eventId"], 5);
    let found = project.adjutant(["doctor"]);
    assert!(!found.out.contains("event_"), "{found:?}");
}

#[test]
fn event_file_cut_under_open_store_is_refused() {
    let project = CliProject::new();
    project.add(["one"]);
    let events = fs::read_dir(project.path("events")).expect("a folder");
    let file = events.last().expect("a file").expect("read").path();
    fs::write(&file, "").expect("emptied");
    let (code, error) = project.error(["task", "add", "two"]);
    assert_eq!((code, &error["code"]), (3, &json!("event_log_behind")), "{error}");
}
