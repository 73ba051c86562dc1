//! Tests of `adjutant doctor`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use adjutant_model::Status;
use serde_json::{Value, json};

use crate::commands::support::{CliOutput, CliProject, completion, document, run, task_text};

const ID: &str = "TASK-2026-02-09-001";

#[test]
fn doctor_finds_nothing_in_healthy_folder() {
    let project = CliProject::new();
    project.add(["one"]);
    assert_eq!(project.does(["doctor"]), "no problems found\n");
    assert_eq!(project.json(["doctor"]), json!({"ok": true, "findings": []}));
    assert_eq!(project.does(["doctor", "--fix"]), "no problems found\n");
}

#[test]
fn doctor_shows_hint_of_invalid_config() {
    let project = CliProject::new();
    project.write("adjutant.toml", "[protocol]\nrequire_tokn = true\n");
    let ran = project.adjutant(["doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let expected = "config_invalid adjutant.toml: it cannot be used: line 2: unknown setting \
                    `require_tokn` in [protocol]; did you mean `require_token`?\n";
    assert!(ran.out.contains(expected), "{ran:?}");
}

#[test]
fn old_git_is_refused_by_up_and_named_by_doctor() {
    let project = CliProject::new();
    let agent = "[agents.a]\nkind = \"command\"\ncommand = [\"true\"]\n";
    project.write("adjutant.toml", agent);
    let bin = project.home().join("bin");
    fs::create_dir_all(&bin).expect("a folder");
    fs::write(bin.join("git"), "#!/bin/sh\necho git version 2.34.1\n").expect("written");
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).expect("set");
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let up = |listen: &str| {
        let args = ["up", "--until-idle", "--listen", listen, "--json"];
        run(project.command(args).env("PATH", &path))
    };
    assert_eq!(up("off").code, 0, "no agent has a worktree");
    project.write("adjutant.toml", format!("[project]\nworkspace = \"worktree\"\n{agent}"));
    let refused = up("off");
    let error = &document(&refused.out)["error"];
    assert_eq!((refused.code, &error["message"]), (1, &json!("cannot start a daemon")), "{error}");
    let why = "git 2.34.1 is too old: worktrees and merging need git 2.39 or newer";
    assert_eq!(error["causes"], json!([why]));
    assert!(error["hint"].as_str().is_some_and(|hint| hint.starts_with("install a newer git")));
    let ran = run(project.command(["doctor", "--json"]).env("PATH", &path));
    let found = &document(&ran.out)["findings"];
    assert_eq!((ran.code, &found[0]["code"]), (1, &json!("git_unusable")), "{found}");
    assert!(found[0]["text"].as_str().is_some_and(|text| text.starts_with(why)), "{found}");
}

/// Makes a folder with every problem that task files can have.
fn ailing() -> CliProject {
    let project = CliProject::foreign();
    project.task(ID, Status::Ready, "");
    project.write(
        &format!("tasks/done/{ID}.md"),
        task_text(ID, Status::Done, "").replace("20:00:00", "20:30:00"),
    );
    let second = "TASK-2026-02-09-002";
    project.write(
        &format!("tasks/review/{second}.md"),
        task_text(second, Status::Backlog, "note: 'kept' # as it is\n"),
    );
    project.write("tasks/ready/TASK-2026-02-09-003/inputs/handoff.md", "mine\n");
    project.write("tasks/ready/TASK-2026-02-09-002/outputs/summary.md", "of the second\n");
    project.write("tasks/ready/TASK-2026-02-09-004.md.tmp", "half");
    project.write("tasks/ready/notes.txt", "stray");
    project.write("tasks/backlog/TASK-2026-02-09-005.md", "---\ntitle: [\n---\n");
    project
}

fn findings(document: &Value, key: &str) -> Vec<(String, String, bool)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().expect("text").to_owned();
    let list = document[key].as_array().expect("a list");
    let finding = |finding: &Value| {
        let fixable = finding["fixable"].as_bool().expect("a flag");
        (text(finding, "code"), text(finding, "path"), fixable)
    };
    list.iter().map(finding).collect()
}

fn named(code: &str, path: &str, fixable: bool) -> (String, String, bool) {
    (code.into(), path.into(), fixable)
}

#[test]
fn doctor_finds_every_problem_and_changes_nothing() {
    let project = ailing();
    let before = project.digest();
    let ran = project.adjutant(["doctor", "--json"]);
    let mut found = findings(&document(&ran.out), "findings");
    found.sort();
    assert_eq!((ran.code, &*ran.err), (1, ""));
    assert_eq!(
        found,
        [
            named("leftover_temporary", "tasks/ready/TASK-2026-02-09-004.md.tmp", true),
            named("orphan_companion", "tasks/ready/TASK-2026-02-09-002", true),
            named("orphan_companion", "tasks/ready/TASK-2026-02-09-003", true),
            named("status_at_odds", "tasks/review/TASK-2026-02-09-002.md", true),
            named("stray_file", "tasks/ready/notes.txt", false),
            named("task_in_two_folders", "tasks/ready/TASK-2026-02-09-001.md", true),
            named("task_unreadable", "tasks/backlog/TASK-2026-02-09-005.md", false),
        ]
    );
    assert_eq!(project.digest(), before);
}

#[test]
fn doctor_fix_repairs_what_it_can_and_loses_nothing() {
    let project = ailing();
    let ran = project.adjutant(["doctor", "--fix", "--json"]);
    let document = document(&ran.out);
    assert_eq!((ran.code, &*ran.err), (1, ""), "what is left is still wrong");
    let mut left = findings(&document, "findings");
    left.sort();
    assert_eq!(
        left,
        [
            named("stray_file", "tasks/ready/notes.txt", false),
            named("task_unreadable", "tasks/backlog/TASK-2026-02-09-005.md", false),
        ]
    );
    assert_eq!(findings(&document, "fixed").len(), 5);
    for fixed in document["fixed"].as_array().expect("a list") {
        assert!(fixed["done"].as_str().is_some_and(|done| !done.is_empty()), "{fixed}");
    }
    let files = project.files();
    let kept: Vec<&String> = files.keys().collect();
    assert_eq!(
        kept,
        [
            "lost+found/tasks-ready-TASK-2026-02-09-001.md.1",
            "lost+found/tasks-ready-TASK-2026-02-09-003.1/inputs/handoff.md",
            "lost+found/tasks-ready-TASK-2026-02-09-004.md.tmp.1",
            "tasks/backlog/TASK-2026-02-09-005.md",
            "tasks/done/TASK-2026-02-09-001.md",
            "tasks/ready/notes.txt",
            "tasks/review/TASK-2026-02-09-002.md",
            "tasks/review/TASK-2026-02-09-002/outputs/summary.md",
        ]
    );
    let aligned = &files["tasks/review/TASK-2026-02-09-002.md"];
    assert!(aligned.contains("status: review\n"), "{aligned}");
    assert!(aligned.contains("note: 'kept' # as it is\n"), "{aligned}");
    let again = project.adjutant(["doctor", "--fix"]);
    assert_eq!(again.code, 1);
    assert_eq!(again.out.lines().last(), Some("none of these can be repaired automatically"));
}

#[test]
fn doctor_text_has_line_per_finding_and_next_step() {
    let project = CliProject::new();
    let id = project.add(["one"]);
    project.write("tasks/ready/notes.txt", "stray");
    project.write(&format!("tasks/done/{id}/outputs/x"), "");
    let ran = project.adjutant(["doctor"]);
    let out = format!(
        "stray_file tasks/ready/notes.txt: is not a task file: those are named \
         TASK-YYYY-MM-DD-NNN.md\n\
         orphan_companion tasks/done/{id}: belongs to {id}, which is in backlog\n\
         `adjutant doctor --fix` repairs what can be repaired automatically\n"
    );
    assert_eq!(ran, CliOutput { code: 1, out, err: String::new() });
    let ran = project.adjutant(["doctor", "--fix"]);
    let out = format!(
        "repaired tasks/done/{id}: belongs to {id}, which is in backlog\n         \
         moved it to tasks/backlog/{id}, next to its task\n\
         stray_file tasks/ready/notes.txt: is not a task file: those are named \
         TASK-YYYY-MM-DD-NNN.md\n\
         none of these can be repaired automatically\n"
    );
    assert_eq!(ran, CliOutput { code: 1, out, err: String::new() });
}

fn record_file(project: &CliProject) -> std::path::PathBuf {
    let entry = fs::read_dir(project.path("events")).expect("a folder").next();
    entry.expect("a day").expect("it reads").path()
}

#[test]
fn doctor_finds_tampered_event_log_and_does_not_fix_it() {
    let project = CliProject::new();
    for title in ["one", "two", "three"] {
        project.add([title]);
    }
    let file = record_file(&project);
    let name = format!("events/{}", file.file_name().expect("a name").to_string_lossy());
    let whole = fs::read_to_string(&file).expect("the record");
    let check = |text: &str, code: &str, line: usize| {
        fs::write(&file, text).expect("the record");
        for args in [&["doctor", "--json"][..], &["doctor", "--fix", "--json"]] {
            let ran = project.adjutant(args);
            let found = findings(&document(&ran.out), "findings");
            let expected = named(code, &format!("{name}:{line}"), false);
            assert_eq!((ran.code, found), (1, vec![expected]), "{args:?}");
        }
    };
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    check(&whole.replace("two", "2"), "event_chain_broken", 3);
    check(&[lines[0], lines[2]].concat(), "event_gap", 2);
    check(&[lines[0], lines[1], lines[1], lines[2]].concat(), "event_gap", 3);
}

#[test]
fn doctor_fix_cuts_off_torn_event_line_and_keeps_it() {
    let project = CliProject::new();
    project.add(["one"]);
    let file = record_file(&project);
    let whole = fs::read_to_string(&file).expect("the record");
    fs::write(&file, format!("{whole}{{\"eventId\":2,\"ty")).expect("the record");
    let ran = project.adjutant(["doctor"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("torn_event_tail events/"), "{}", ran.out);
    let ran = project.adjutant(["doctor", "--fix"]);
    assert_eq!((ran.code, ran.out.lines().last()), (0, Some("no problems found")), "{ran:?}");
    assert_eq!(fs::read_to_string(&file).expect("the record"), whole);
    assert!(project.files().values().any(|text| text == "{\"eventId\":2,\"ty"));
}

#[test]
fn doctor_reports_task_symlink_and_does_not_follow_it() {
    let project = CliProject::new();
    fs::write(project.home().join("secret.md"), task_text(ID, Status::Ready, "")).expect("a file");
    symlink(project.home().join("secret.md"), project.path(&format!("tasks/ready/{ID}.md")))
        .expect("a link");
    let ran = project.adjutant(["doctor", "--json"]);
    let found = findings(&document(&ran.out), "findings");
    assert_eq!(found, [named("task_unreadable", &format!("tasks/ready/{ID}.md"), false)]);
    let (code, error) = project.error(["task", "show", ID]);
    assert_eq!((code, &error["code"]), (1, &json!("task_unreadable")));
    let (code, answer) = project.send(completion(ID, "swe", "done").to_string().as_bytes());
    assert_eq!((code, &answer["reason"]), (1, &json!("task_unreadable")));
}
