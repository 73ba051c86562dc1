//! Task files, which anybody may have written, and the changes this program makes to them.

use adjutant_core::task::State;
use adjutant_core::worklog::Entry;
use adjutant_core::{Stamp, Status, Task};
use adjutant_store::frontmatter::Parts;
use adjutant_store::taskfile::{self, BodyChange, Parsed, Patch};
use serde_json::{Map, Value};

use crate::given;

/// The fields that a move may change.
const CHANGED: [&str; 5] = ["status", "updatedAt", "lastTransitionAt", "lease", "metadata"];

/// A task file is read or refused with reasons, and a change of it changes nothing else.
pub fn task_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for folder in [None, Some(Status::Ready), Some(Status::InProgress)] {
        match taskfile::parse(text, None, folder) {
            Err(problems) => assert!(!problems.is_empty(), "a refusal says what is wrong"),
            Ok(parsed) => check(text, &parsed),
        }
    }
}

fn check(text: &str, before: &Parsed) {
    check_render(&before.task);
    check_nothing(text, before);
    for to in [Status::Review, Status::InProgress] {
        check_move(text, before, to);
    }
    check_log(text);
}

/// A file made anew says the same, but for fields this program does not know.
fn check_render(task: &Task) {
    let text = taskfile::render(task, "Do it.");
    let read = taskfile::parse(&text, Some(&task.id), Some(task.status())).expect("our own text");
    assert_eq!(read.task, *task, "{text}");
}

/// A patch to what is there already, in the folder it says, leaves the text alone.
fn check_nothing(text: &str, before: &Parsed) {
    let patch = Patch::new(before, &before.task, vec![]);
    if before.said == Some(before.task.status()) && !before.fields.contains_key("lease") {
        assert!(patch.is_empty(), "{patch:?}");
    }
    if patch.is_empty() {
        assert_eq!(patch.apply(text).as_deref(), Ok(text));
    }
}

/// A move says what it should, keeps what it does not name, and made again changes nothing.
fn check_move(text: &str, before: &Parsed, to: Status) {
    let after = moved(text, &before.task, to);
    let patch = Patch::new(before, &after, vec![]);
    let new = patch.apply(text).expect("what could be read can be changed");
    let read = taskfile::parse(&new, Some(&after.id), None).expect("what was changed can be read");
    assert_eq!(read.task, after, "{new:?}");
    assert_eq!(others(&read.fields), others(&before.fields), "no other field has changed: {new:?}");
    assert_eq!(patch.apply(&new).as_ref(), Ok(&new), "a patch made again changes nothing");

    let (old, new) = (split(text), split(&new));
    assert_eq!(new.body(), old.body(), "the body stays as it is");
    assert_eq!(new.eol(), old.eol());
    if old.yaml().lines().all(is_plain) {
        assert_eq!(kept(&new), kept(&old), "every other line stays as it is");
    }
}

/// A line in the work log leaves the front matter alone.
fn check_log(text: &str) {
    let at = Stamp::from(given::now());
    let entry = Entry { at, progress: Some(odd(text)), notes: None, blockers: vec![] };
    let patch = Patch::body(vec![BodyChange::Append(entry.clone())]);
    let new = patch.apply(text).expect("what could be read can be changed");
    let (old, new) = (split(text), split(&new));
    assert_eq!(new.yaml(), old.yaml());
    assert!(new.body().contains(&entry.line()));
}

fn moved(text: &str, task: &Task, to: Status) -> Task {
    Task {
        state: State::entered(to),
        updated_at: given::now(),
        last_transition_at: given::now(),
        feedback: Some(odd(text).into()),
        ..task.clone()
    }
}

/// Returns the start of a text, as a value with its odd characters.
fn odd(text: &str) -> String {
    text.chars().take(40).collect()
}

fn split(text: &str) -> Parts<'_> {
    Parts::split(text).expect("a task file has front matter")
}

fn others(fields: &Map<String, Value>) -> Map<String, Value> {
    let other = |(key, _): &(String, Value)| !CHANGED.contains(&key.as_str());
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
fn kept<'a>(parts: &Parts<'a>) -> Vec<&'a str> {
    let touched = |line: &&str| CHANGED.iter().any(|key| line.starts_with(&format!("{key}:")));
    parts.yaml().lines().filter(|line| !touched(line) && !line.starts_with(' ')).collect()
}
