//! Fuzz target: task files by any writer, and the changes this program makes to them.

use adjutant_model::task::TaskState;
use adjutant_model::work_log::WorkLogEntry;
use adjutant_model::{Status, Task, Timestamp};
use adjutant_store::frontmatter::FrontMatterParts;
use adjutant_store::taskfile::{self, BodyChange, ParsedTask, TaskFilePatch};
use serde_json::{Map, Value};

use crate::fixture;

/// The fields that a move may change.
const MOVED_FIELDS: [&str; 5] = ["status", "updatedAt", "lastTransitionAt", "lease", "metadata"];

/// A task file is read or refused with problems, and a change affects only what it names.
pub fn task_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for folder in [None, Some(Status::Ready), Some(Status::InProgress)] {
        match taskfile::parse(text, None, folder) {
            Err(problems) => assert!(!problems.is_empty(), "a refusal says what is wrong"),
            Ok(parsed) => check(text, &parsed),
        }
    }
}

fn check(text: &str, before: &ParsedTask) {
    check_render(&before.task);
    check_empty_patch(text, before);
    for to in [Status::Review, Status::InProgress] {
        check_move(text, before, to);
    }
    check_log(text);
}

/// A file rendered anew says the same, except for fields this program does not know.
fn check_render(task: &Task) {
    let text = taskfile::render(task, "Do it.");
    let read = taskfile::parse(&text, Some(&task.id), Some(task.status())).expect("our own text");
    assert_eq!(read.task, *task, "{text}");
}

/// A patch to the current values, in the folder the file states, leaves the text alone.
fn check_empty_patch(text: &str, before: &ParsedTask) {
    let patch = TaskFilePatch::new(before, &before.task, vec![]);
    if before.stated_status == Some(before.task.status()) && !before.fields.contains_key("lease") {
        assert!(patch.is_empty(), "{patch:?}");
    }
    if patch.is_empty() {
        assert_eq!(patch.apply(text).as_deref(), Ok(text));
    }
}

/// A move sets what it should, keeps all other fields, and changes nothing when repeated.
fn check_move(text: &str, before: &ParsedTask, to: Status) {
    let after = moved_task(text, &before.task, to);
    let patch = TaskFilePatch::new(before, &after, vec![]);
    let new = patch.apply(text).expect("what could be read can be changed");
    let read = taskfile::parse(&new, Some(&after.id), None).expect("what was changed can be read");
    assert_eq!(read.task, after, "{new:?}");
    assert_eq!(
        other_fields(&read.fields),
        other_fields(&before.fields),
        "no other field has changed: {new:?}"
    );
    assert_eq!(patch.apply(&new).as_ref(), Ok(&new), "a patch made again changes nothing");

    let (old, new) = (split(text), split(&new));
    assert_eq!(new.body(), old.body(), "the body stays as it is");
    assert_eq!(new.eol(), old.eol());
    if old.yaml().lines().all(is_plain) {
        assert_eq!(untouched_lines(&new), untouched_lines(&old), "every other line stays as it is");
    }
}

/// A line in the work log leaves the front matter alone.
fn check_log(text: &str) {
    let at = Timestamp::from(fixture::now());
    let entry = WorkLogEntry { at, progress: Some(odd_start(text)), notes: None, blockers: vec![] };
    let patch = TaskFilePatch::from_body(vec![BodyChange::Append(entry.clone())]);
    let new = patch.apply(text).expect("what could be read can be changed");
    let (old, new) = (split(text), split(&new));
    assert_eq!(new.yaml(), old.yaml());
    assert!(new.body().contains(&entry.line()));
}

fn moved_task(text: &str, task: &Task, to: Status) -> Task {
    Task {
        state: TaskState::entered(to),
        updated_at: fixture::now(),
        last_transition_at: fixture::now(),
        feedback: Some(odd_start(text).into()),
        ..task.clone()
    }
}

/// Returns the start of a text, to use its odd characters as a value.
fn odd_start(text: &str) -> String {
    text.chars().take(40).collect()
}

fn split(text: &str) -> FrontMatterParts<'_> {
    FrontMatterParts::split(text).expect("a task file has front matter")
}

fn other_fields(fields: &Map<String, Value>) -> Map<String, Value> {
    let other = |(key, _): &(String, Value)| !MOVED_FIELDS.contains(&key.as_str());
    fields.clone().into_iter().filter(other).collect()
}

/// Tells whether a line of front matter is a field with a word or a number, as most are.
fn is_plain(line: &str) -> bool {
    let safe = |text: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '/');
        text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(fits)
    };
    line.split_once(": ").is_some_and(|(key, value)| safe(key) && safe(value))
}

/// Returns the lines of front matter that a move does not touch.
fn untouched_lines<'a>(parts: &FrontMatterParts<'a>) -> Vec<&'a str> {
    let touched = |line: &&str| MOVED_FIELDS.iter().any(|key| line.starts_with(&format!("{key}:")));
    parts.yaml().lines().filter(|line| !touched(line) && !line.starts_with(' ')).collect()
}
