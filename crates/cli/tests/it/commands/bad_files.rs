//! Invalid task files: they are reported, kept byte for byte, and do not block other tasks.

use std::os::unix::fs::symlink;

use adjutant_model::Status;
use serde_json::{Value, json};

use crate::commands::support::{CliProject, completion, document, lines, run_with, task_text};

fn id(number: usize) -> String {
    format!("TASK-2026-02-09-{number:03}")
}

/// Returns every kind of broken file: its description, its content, and a part of the finding.
fn broken(id: &str) -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let good = task_text(id, Status::Ready, "");
    let with = |line: &str| task_text(id, Status::Ready, line).into_bytes();
    let swapped = |from: &str, to: &str| good.replacen(from, to, 1).into_bytes();
    let alias = |n: u32| format!("a{n}: &a{n} [*a{0},*a{0},*a{0},*a{0},*a{0},*a{0}]", n - 1);
    let aliases = lines((1..12).map(alias));
    let deep = format!("x: {}1{}\n", "[".repeat(200), "]".repeat(200));
    let keys = lines((0..60_000).map(|n| format!("k{n}: 1")));
    vec![
        ("nothing", vec![], "the first line is not `---`"),
        ("no front matter", b"Just text.\n".to_vec(), "the first line is not `---`"),
        ("a front matter that never ends", b"---\nid: x\n".to_vec(), "no `---` line closes"),
        ("an empty front matter", b"---\n---\n".to_vec(), "id: is required"),
        ("bytes that are no text", b"---\nid: \xff\n---\n".to_vec(), "is not UTF-8 text"),
        ("a list", b"---\n- a\n---\n".to_vec(), ""),
        ("a word", b"---\nhello\n---\n".to_vec(), ""),
        ("an open bracket", with("x: [\n"), "line"),
        ("an open quote", with("x: \"\n"), "line"),
        ("a tab for indentation", with("x:\n\ty: 1\n"), "line"),
        ("a bad indentation", with("x: 1\n   y: 2\n"), "line"),
        ("the same key twice", with("priority: low\n"), "the key `priority` appears twice"),
        ("the same key twice, below", with("x:\n  a: 1\n  a: 2\n"), "the key `a` appears twice"),
        ("two documents", with("...\n--- x\n"), ""),
        (
            "aliases that explode",
            with(&format!("a0: &a0 [x,x,x,x,x,x]\n{aliases}")),
            "aliases expand to too much",
        ),
        ("an alias of nothing", with("x: *nowhere\n"), "line"),
        ("an alias that holds itself", with("x: &x [*x]\n"), "line"),
        ("lists, very deep", with(&deep), "limit exceeded"),
        ("very many keys", with(&keys), "too many values"),
        (
            "more than there may be",
            with(&format!("x: {}\n", "y".repeat(1 << 20))),
            "is longer than",
        ),
        ("a number that is none", with("x: .nan\n"), "not a finite number"),
        ("an id that is none", swapped(&format!("id: {id}"), "id: 57"), "id: "),
        (
            "another task's id",
            swapped(&format!("id: {id}"), "id: TASK-2026-02-09-999"),
            "like the name of the file",
        ),
        ("no title", swapped(&format!("title: Task {id}\n"), ""), "title: is required"),
        (
            "an empty title",
            swapped(&format!("title: Task {id}"), "title: ''"),
            "title: must not be empty",
        ),
        (
            "a title that is a number",
            swapped(&format!("title: Task {id}"), "title: 3"),
            "title: must be text",
        ),
        (
            "a title that is too long",
            swapped("title: Task", &format!("title: {}", "x".repeat(600))),
            "title: must have at most 512 characters",
        ),
        (
            "a status nobody knows",
            swapped("status: ready", "status: finished"),
            "status: must be one of",
        ),
        (
            "a priority nobody knows",
            swapped("priority: normal", "priority: urgent"),
            "priority: must be one of",
        ),
        (
            "a version nobody knows",
            swapped("schemaVersion: 1", "schemaVersion: 3"),
            "schemaVersion: must be 1 or 2",
        ),
        (
            "a time that is none",
            swapped("2026-02-09T20:00:00.000Z", "yesterday"),
            "createdAt: must be",
        ),
        ("a due time that is none", with("dueBy: soon\n"), "dueBy: must be"),
        ("a parent that is none", with("parentId: mother\n"), "parentId: must match"),
        ("dependencies that are no list", with("dependsOn: x\n"), "dependsOn: must be a list"),
        ("a dependency that is none", with("dependsOn: [x]\n"), "dependsOn[0]: must match"),
        ("a routing that is none", with("routing: swe\n"), "routing: must be a mapping"),
        (
            "an agent that is none",
            with("routing:\n  agent: ''\n"),
            "routing.agent: must not be empty",
        ),
        (
            "tags that are none",
            with("routing:\n  tags: x\n"),
            "routing.tags: must be a list of texts",
        ),
        ("half a lease", with("lease:\n  agent: swe\n"), "lease.acquiredAt: is required"),
        ("a lease that is none", with("lease: mine\n"), "lease: must be a mapping"),
        ("metadata that is none", with("metadata: [x]\n"), "metadata: must be a mapping"),
        ("a resource that is none", with("resource: [x]\n"), "resource: must be text"),
    ]
}

#[test]
fn broken_task_files_are_reported_kept_and_do_not_block_others() {
    let project = CliProject::foreign();
    let count = broken("").len();
    let mut cases = Vec::new();
    for number in 1..=count {
        let id = id(number);
        let (what, bytes, said) = broken(&id).swap_remove(number - 1);
        project.write(&format!("tasks/ready/{id}.md"), &bytes);
        cases.push((id, what, bytes, said));
    }
    let good = id(count + 1);
    project.task(&good, Status::InProgress, "routing:\n  agent: swe\n");
    let list = project.adjutant(["task", "list", "--json"]);
    assert_eq!((list.code, list.err.lines().count()), (0, count), "{}", list.err);
    assert_eq!(document(&list.out).as_array().map(Vec::len), Some(1), "{}", list.out);
    let before = project.digest();

    let doctor = project.adjutant(["doctor", "--json"]);
    let findings = document(&doctor.out)["findings"].as_array().expect("a list").clone();
    assert_eq!((doctor.code, findings.len()), (1, count));
    for (finding, (id, what, _, said)) in findings.iter().zip(&cases) {
        assert_eq!(finding["path"], format!("tasks/ready/{id}.md"), "{what}");
        assert_eq!(finding["code"], "task_unreadable", "{what}");
        let text = finding["text"].as_str().expect("a text");
        assert!(text.contains(said), "{what}: {text}");
        assert!(text.chars().count() < 400, "{what}: {text}");
    }

    let reports = lines(cases.iter().map(|(id, ..)| completion(id, "swe", "done")));
    let (code, answers) = project.send_lines(reports.as_bytes());
    assert_eq!(code, 1);
    for (answer, (_, what, ..)) in answers.iter().zip(&cases) {
        assert_eq!(answer["reason"], "task_unreadable", "{what}");
    }
    assert_eq!(project.digest(), before);
    for (id, what, bytes, _) in &cases {
        let now = std::fs::read(project.path(&format!("tasks/ready/{id}.md"))).expect("a file");
        assert!(now == *bytes, "{what} was changed");
    }
    let (code, answer) = project.send(completion(&good, "swe", "done").to_string().as_bytes());
    assert_eq!((code, &answer["status"]), (0, &json!("review")), "the good one goes on");
}

#[test]
fn check_finds_same_problems_as_data_folder() {
    let id = id(1);
    for (what, bytes, said) in broken(&id) {
        let mut command = crate::commands::support::adjutant();
        let ran = run_with(command.args(["check", "--as", "task", "--json", "-"]), &bytes);
        let answer = document(&ran.out);
        let problems = answer["problems"].as_array().expect("a list");
        // Standard input has no file name that the id could differ from.
        if what == "another task's id" {
            assert_eq!(ran.code, 0, "{what}");
            continue;
        }
        assert_eq!((ran.code, problems.is_empty()), (1, false), "{what}");
        let text = |problem: &Value| {
            let part = |key: &str| problem[key].as_str().expect("text").to_owned();
            format!("{}: {}", part("path"), part("message"))
        };
        let all: String = problems.iter().map(text).collect();
        assert!(all.contains(said), "{what}: {all}");
    }
}

#[test]
fn unusual_but_valid_task_files_are_tasks() {
    let good = |id: &str| task_text(id, Status::Ready, "");
    let odd: [(&str, String); 9] = [
        ("Windows line breaks", good(&id(1)).replace('\n', "\r\n")),
        ("a byte order mark", format!("\u{feff}{}", good(&id(2)))),
        ("no body", good(&id(3)).replace("\nDo it.\n", "")),
        ("no last line break", good(&id(4)).trim_end().to_owned()),
        ("remarks", good(&id(5)).replace("priority:", "# a remark\npriority:")),
        (
            "fields in JSON",
            format!("---\n{{\"id\":\"{0}\",\"title\":\"x\",\"status\":\"ready\"}}\n---\n", id(6)),
        ),
        ("an anchor", good(&id(7)).replace("---\n\n", "a: &a [1]\nb: *a\n---\n\n")),
        ("nulls", good(&id(8)).replace("priority: normal", "priority: null\ndueBy: ~\nrouting:")),
        ("the other version", good(&id(9)).replace("schemaVersion: 1", "schemaVersion: 2")),
    ];
    let project = CliProject::foreign();
    for (number, (_, text)) in odd.iter().enumerate() {
        project.write(&format!("tasks/ready/{}.md", id(number + 1)), text);
    }
    assert_eq!(project.does(["doctor"]), "no problems found\n");
    for (number, (what, text)) in odd.iter().enumerate() {
        let id = id(number + 1);
        let moved = project.adjutant(["task", "move", &id, "blocked"]);
        assert_eq!(moved.code, 0, "{what}: {moved:?}");
        let now = project.read(&format!("tasks/blocked/{id}.md"));
        assert_eq!(now.contains("\r\n"), text.contains("\r\n"), "{what}");
        assert_eq!(now.starts_with('\u{feff}'), text.starts_with('\u{feff}'), "{what}");
    }
    assert_eq!(project.does(["doctor"]), "no problems found\n");
}

#[test]
fn task_paths_that_are_no_plain_files_are_left_alone() {
    let project = CliProject::new();
    let outside = project.home().join("outside.md");
    std::fs::write(&outside, task_text(&id(1), Status::Ready, "")).expect("a file");
    symlink(&outside, project.path(&format!("tasks/ready/{}.md", id(1)))).expect("a link");
    symlink("nowhere", project.path(&format!("tasks/ready/{}.md", id(2)))).expect("a link");
    std::fs::create_dir(project.path(&format!("tasks/ready/{}.md", id(3)))).expect("a folder");
    let pipe = project.path(&format!("tasks/ready/{}.md", id(4)));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
    assert!(made.success());
    let before = project.digest();
    let list = project.adjutant(["task", "list"]);
    assert_eq!((list.code, list.err.lines().count()), (0, 4), "{list:?}");
    for number in 1..=4 {
        let id = id(number);
        for args in [&["task", "show", &id][..], &["task", "move", &id, "blocked"]] {
            let (code, error) = project.error(args);
            assert_eq!((code, &error["code"]), (1, &json!("task_unreadable")), "{args:?}");
        }
    }
    assert_eq!(project.digest(), before);
    let text = std::fs::read_to_string(&outside).expect("it is there");
    assert_eq!(text, task_text(&id(1), Status::Ready, ""));
}
