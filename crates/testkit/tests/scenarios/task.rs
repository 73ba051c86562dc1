//! Tasks: files that people put there, and where and how they lie afterwards.

use adjutant_core::Status;
use adjutant_core::command::Start;
use adjutant_store::frontmatter::{self, Parts};
use adjutant_store::taskfile::body_text;
use adjutant_testkit::project::add;
use serde_json::Value;

use crate::scene::Scene;
use crate::steps::Known;
use crate::words::{Words, json};

pub(crate) const STEPS: &[Known] = &[
    ("a task {task} with status {status}", |scene, words| {
        put(scene, words.at(0), status(words.at(1)), "");
    }),
    ("{agent} works on {task}", |scene, words| {
        put(scene, words.at(1), Status::InProgress, &lease(words.at(0)));
    }),
    ("{task} needs no review", |scene, words| {
        add_fields(scene, words.at(0), "metadata:\n  reviewRequired: false\n");
    }),
    ("{task} has the delegation depth {depth}", |scene, words| {
        let metadata = format!("metadata:\n  delegationDepth: {}\n", words.at(1));
        add_fields(scene, words.at(0), &metadata);
    }),
    ("the body of {task} is:", |scene, words| {
        edit(scene, words.at(0), |head, _| format!("{head}---\n\n{}", words.text()));
    }),
    ("{agent} has written the outputs of {task}", write_outputs),
    ("a person adds the task {title...}", |scene, words| {
        scene.command(add(words.at(0), Start::Backlog));
    }),
    ("there is no task {task}", |scene, words| {
        assert_eq!(scene.project.folders_of(words.at(0)), []);
    }),
    ("the status of {task} is now {status}", check_status),
    ("the status of {task} is still {status}", |scene, words| {
        check_status(scene, words);
        assert_eq!(moves(scene, words.at(0)), Vec::<String>::new());
    }),
    ("{task} has gone from {statuses...}", |scene, words| {
        let way: Vec<&str> = words.at(1).split(" to ").collect();
        let steps: Vec<String> = way.windows(2).map(|pair| pair.join(" to ")).collect();
        assert_eq!(moves(scene, words.at(0)), steps);
    }),
    ("the front matter of {task} has {path}: {json...}", |scene, words| {
        assert_eq!(field(scene, words.at(0), words.at(1)), Some(json(words.at(2))));
    }),
    ("the front matter of {task} has no {path}", |scene, words| {
        assert_eq!(field(scene, words.at(0), words.at(1)), None);
    }),
    ("the body of {task} is now:", |scene, words| {
        let text = scene.project.read(&file_of(scene, words.at(0)));
        let parts = Parts::split(&text).expect("a task file");
        assert_eq!(body_text(parts.body()), words.text());
    }),
];

fn status(text: &str) -> Status {
    Status::parse(text).expect("a feature file gives a good status")
}

fn put(scene: &Scene, task: &str, status: Status, fields: &str) {
    scene.project.task(task, status, fields);
}

fn lease(agent: &str) -> String {
    format!(
        "lease:\n  agent: {agent}\n  acquiredAt: 2026-02-09T20:55:00.000Z\n  \
         expiresAt: 2026-02-09T21:05:00.000Z\n  renewCount: 0\n  attempt: 1\n  fence: 1\n"
    )
}

/// Returns the path of the one file a task has.
fn file_of(scene: &Scene, task: &str) -> String {
    match scene.project.folders_of(task)[..] {
        [status] => format!("tasks/{status}/{task}.md"),
        ref folders => panic!("{task} lies in {folders:?}"),
    }
}

fn edit(scene: &Scene, task: &str, change: impl FnOnce(&str, &str) -> String) {
    let path = file_of(scene, task);
    let text = scene.project.read(&path);
    let (head, body) = text.split_once("---\n\n").expect("a task file");
    scene.project.write(&path, &change(head, body));
}

fn add_fields(scene: &Scene, task: &str, fields: &str) {
    edit(scene, task, |head, body| format!("{head}{fields}---\n\n{body}"));
}

/// Writes the two files a completion speaks of, so that none is missed.
fn write_outputs(scene: &mut Scene, words: &Words) {
    let (agent, task) = words.pair();
    let folder = file_of(scene, task).replace(".md", "/outputs");
    for name in ["summary.md", "handoff.md"] {
        scene.project.write(&format!("{folder}/{name}"), &format!("Written by {agent}.\n"));
    }
}

/// The task lies in one folder, and its front matter says the same.
fn check_status(scene: &mut Scene, words: &Words) {
    let (task, expected) = words.pair();
    assert_eq!(scene.project.folders_of(task), [status(expected)]);
    assert_eq!(field(scene, task, "status"), Some(Value::from(expected)));
}

/// Returns the moves of a task in the new lines of the record, each as `from to to`.
fn moves(scene: &Scene, task: &str) -> Vec<String> {
    let word = |value: &Value| value.as_str().expect("a status").to_owned();
    let is_move = |line: &Value| line["type"] == "task.transitioned" && line["taskId"] == task;
    let step = |line: &Value| {
        format!("{} to {}", word(&line["payload"]["from"]), word(&line["payload"]["to"]))
    };
    scene.new_lines().iter().filter(|line| is_move(line)).map(step).collect()
}

fn field(scene: &Scene, task: &str, path: &str) -> Option<Value> {
    let text = scene.project.read(&file_of(scene, task));
    let parts = Parts::split(&text).expect("a task file");
    let fields = frontmatter::read(parts.yaml()).expect("front matter");
    let pointer = format!("/{}", path.replace('.', "/"));
    Value::Object(fields).pointer(&pointer).cloned()
}
