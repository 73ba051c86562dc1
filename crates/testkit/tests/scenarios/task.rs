//! Steps about tasks: files that people write, and their state afterwards.

use adjutant_model::Status;
use adjutant_model::command::InitialStatus;
use adjutant_store::frontmatter::{self, FrontMatterParts};
use adjutant_store::taskfile::body_text;
use adjutant_testkit::project::add_request;
use serde_json::Value;

use crate::scenario_state::ScenarioState;
use crate::step_arguments::{StepArguments, json};
use crate::steps::StepDefinition;

pub(crate) const STEPS: &[StepDefinition] = &[
    ("a task {task} with status {status}", |scene, words| {
        put(scene, words.captured(0), status(words.captured(1)), "");
    }),
    ("{agent} works on {task}", |scene, words| {
        put(scene, words.captured(1), Status::InProgress, &lease(words.captured(0)));
    }),
    ("{task} needs no review", |scene, words| {
        add_fields(scene, words.captured(0), "metadata:\n  reviewRequired: false\n");
    }),
    ("{task} has the delegation depth {depth}", |scene, words| {
        let metadata = format!("metadata:\n  delegationDepth: {}\n", words.captured(1));
        add_fields(scene, words.captured(0), &metadata);
    }),
    ("the body of {task} is:", |scene, words| {
        edit(scene, words.captured(0), |head, _| format!("{head}---\n\n{}", words.text()));
    }),
    ("{agent} has written the outputs of {task}", write_outputs),
    ("a person adds the task {title...}", |scene, words| {
        scene.command(add_request(words.captured(0), InitialStatus::Backlog));
    }),
    ("there is no task {task}", |scene, words| {
        assert_eq!(scene.project.status_folders_of(words.captured(0)), []);
    }),
    ("the status of {task} is now {status}", check_status),
    ("the status of {task} is still {status}", |scene, words| {
        check_status(scene, words);
        assert_eq!(moves(scene, words.captured(0)), Vec::<String>::new());
    }),
    ("{task} has gone from {statuses...}", |scene, words| {
        let way: Vec<&str> = words.captured(1).split(" to ").collect();
        let steps: Vec<String> = way.windows(2).map(|pair| pair.join(" to ")).collect();
        assert_eq!(moves(scene, words.captured(0)), steps);
    }),
    ("the front matter of {task} has {path}: {json...}", |scene, words| {
        assert_eq!(
            field(scene, words.captured(0), words.captured(1)),
            Some(json(words.captured(2)))
        );
    }),
    ("the front matter of {task} has no {path}", |scene, words| {
        assert_eq!(field(scene, words.captured(0), words.captured(1)), None);
    }),
    ("the body of {task} is now:", |scene, words| {
        let text = scene.project.read(&file_of(scene, words.captured(0)));
        let parts = FrontMatterParts::split(&text).expect("a task file");
        assert_eq!(body_text(parts.body()), words.text());
    }),
];

fn status(text: &str) -> Status {
    Status::parse(text).expect("a feature file gives a good status")
}

fn put(scene: &ScenarioState, task: &str, status: Status, fields: &str) {
    scene.project.write_task(task, status, fields);
}

fn lease(agent: &str) -> String {
    format!(
        "lease:\n  agent: {agent}\n  acquiredAt: 2026-02-09T20:55:00.000Z\n  \
         expiresAt: 2026-02-09T21:05:00.000Z\n  renewCount: 0\n  attempt: 1\n  fence: 1\n"
    )
}

/// Returns the path of a task's only file.
fn file_of(scene: &ScenarioState, task: &str) -> String {
    match scene.project.status_folders_of(task)[..] {
        [status] => format!("tasks/{status}/{task}.md"),
        ref folders => panic!("{task} lies in {folders:?}"),
    }
}

fn edit(scene: &ScenarioState, task: &str, change: impl FnOnce(&str, &str) -> String) {
    let path = file_of(scene, task);
    let text = scene.project.read(&path);
    let (head, body) = text.split_once("---\n\n").expect("a task file");
    scene.project.write(&path, &change(head, body));
}

fn add_fields(scene: &ScenarioState, task: &str, fields: &str) {
    edit(scene, task, |head, body| format!("{head}{fields}---\n\n{body}"));
}

/// Writes the two files a completion refers to, so that none is reported missing.
fn write_outputs(scene: &mut ScenarioState, words: &StepArguments) {
    let (agent, task) = words.captured_pair();
    let folder = file_of(scene, task).replace(".md", "/outputs");
    for name in ["summary.md", "handoff.md"] {
        scene.project.write(&format!("{folder}/{name}"), &format!("Written by {agent}.\n"));
    }
}

/// The task is in one folder, and its front matter has the same status.
fn check_status(scene: &mut ScenarioState, words: &StepArguments) {
    let (task, expected) = words.captured_pair();
    assert_eq!(scene.project.status_folders_of(task), [status(expected)]);
    assert_eq!(field(scene, task, "status"), Some(Value::from(expected)));
}

/// Returns the moves of a task in the new lines of the event log, each as `from to to`.
fn moves(scene: &ScenarioState, task: &str) -> Vec<String> {
    let word = |value: &Value| value.as_str().expect("a status").to_owned();
    let is_move = |line: &Value| line["type"] == "task.transitioned" && line["taskId"] == task;
    let step = |line: &Value| {
        format!("{} to {}", word(&line["payload"]["from"]), word(&line["payload"]["to"]))
    };
    scene.new_lines().iter().filter(|line| is_move(line)).map(step).collect()
}

fn field(scene: &ScenarioState, task: &str, path: &str) -> Option<Value> {
    let text = scene.project.read(&file_of(scene, task));
    let parts = FrontMatterParts::split(&text).expect("a task file");
    let fields = frontmatter::read(parts.yaml()).expect("front matter");
    let pointer = format!("/{}", path.replace('.', "/"));
    Value::Object(fields).pointer(&pointer).cloned()
}
