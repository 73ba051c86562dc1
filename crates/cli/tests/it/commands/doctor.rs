//! `adjutant doctor`.

use std::fs;
use std::os::unix::fs::symlink;

use adjutant_core::Status;
use serde_json::{Value, json};

use crate::commands::support::{Project, Ran, completion, task_text};

const ID: &str = "TASK-2026-02-09-001";

#[test]
fn a_folder_in_order_is_said_to_be_so() {
    let project = Project::new();
    project.add(["one"]);
    assert_eq!(project.does(["doctor"]), "nothing is wrong\n");
    assert_eq!(project.json(["doctor"]), json!({"ok": true, "findings": []}));
    assert_eq!(project.does(["doctor", "--fix"]), "nothing is wrong\n");
}

/// A folder with everything wrong that can be wrong with task files.
fn ailing() -> Project {
    let project = Project::foreign();
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
fn everything_that_is_wrong_is_found_and_nothing_is_touched() {
    let project = ailing();
    let before = project.digest();
    let ran = project.adjutant(["doctor", "--json"]);
    let mut found = findings(&crate::commands::support::document(&ran.out), "findings");
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
fn what_can_be_mended_is_mended_and_nothing_is_lost() {
    let project = ailing();
    let ran = project.adjutant(["doctor", "--fix", "--json"]);
    let document = crate::commands::support::document(&ran.out);
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
    assert_eq!(again.out.lines().last(), Some("none of this can be mended without you"));
}

#[test]
fn in_words_every_finding_is_a_line_and_the_last_says_what_to_do() {
    let project = Project::new();
    let id = project.add(["one"]);
    project.write("tasks/ready/notes.txt", "stray");
    project.write(&format!("tasks/done/{id}/outputs/x"), "");
    let ran = project.adjutant(["doctor"]);
    let out = format!(
        "stray_file tasks/ready/notes.txt: is no task: a task's file is called \
         TASK-YYYY-MM-DD-NNN.md\n\
         orphan_companion tasks/done/{id}: belongs to {id}, which is in backlog\n\
         `adjutant doctor --fix` mends what can be mended\n"
    );
    assert_eq!(ran, Ran { code: 1, out, err: String::new() });
    let ran = project.adjutant(["doctor", "--fix"]);
    let out = format!(
        "mended tasks/done/{id}: belongs to {id}, which is in backlog\n       \
         moved it to tasks/backlog/{id}, next to its task\n\
         stray_file tasks/ready/notes.txt: is no task: a task's file is called \
         TASK-YYYY-MM-DD-NNN.md\n\
         none of this can be mended without you\n"
    );
    assert_eq!(ran, Ran { code: 1, out, err: String::new() });
}

fn record_file(project: &Project) -> std::path::PathBuf {
    let entry = fs::read_dir(project.path("events")).expect("a folder").next();
    entry.expect("a day").expect("it reads").path()
}

#[test]
fn a_record_that_was_tampered_with_is_found_and_not_mended() {
    let project = Project::new();
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
            let found = findings(&crate::commands::support::document(&ran.out), "findings");
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
fn a_torn_line_is_cut_off_and_kept() {
    let project = Project::new();
    project.add(["one"]);
    let file = record_file(&project);
    let whole = fs::read_to_string(&file).expect("the record");
    fs::write(&file, format!("{whole}{{\"eventId\":2,\"ty")).expect("the record");
    let ran = project.adjutant(["doctor"]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("torn_event_tail events/"), "{}", ran.out);
    let ran = project.adjutant(["doctor", "--fix"]);
    assert_eq!((ran.code, ran.out.lines().last()), (0, Some("nothing is wrong")), "{ran:?}");
    assert_eq!(fs::read_to_string(&file).expect("the record"), whole);
    assert!(project.files().values().any(|text| text == "{\"eventId\":2,\"ty"));
}

#[test]
fn a_task_that_is_no_plain_file_is_found_and_not_followed() {
    let project = Project::new();
    fs::write(project.home().join("secret.md"), task_text(ID, Status::Ready, "")).expect("a file");
    symlink(project.home().join("secret.md"), project.path(&format!("tasks/ready/{ID}.md")))
        .expect("a link");
    let ran = project.adjutant(["doctor", "--json"]);
    let found = findings(&crate::commands::support::document(&ran.out), "findings");
    assert_eq!(found, [named("task_unreadable", &format!("tasks/ready/{ID}.md"), false)]);
    let (code, error) = project.error(["task", "show", ID]);
    assert_eq!((code, &error["code"]), (1, &json!("task_unreadable")));
    let (code, answer) = project.send(completion(ID, "swe", "done").to_string().as_bytes());
    assert_eq!((code, &answer["reason"]), (1, &json!("task_unreadable")));
}
