//! Checks that must hold for a folder at any time after it was opened.

use std::path::Path;

use adjutant_core::{World, invariants};
use adjutant_model::{EventId, Status};
use adjutant_store::FileStore;
use adjutant_store::event_log::decode;
use adjutant_store::file::doctor::examine;
use adjutant_store::file::{DataFolder, EventFiles, read_world};
use adjutant_store::hash::ShortHash;
use serde_json::Value;

use crate::snapshot::{FolderSnapshot, fast_temp_folder};

/// How much of the world the event log covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventLogScope {
    /// Every task since its creation.
    Complete,
    /// Events since the folder was adopted from another program.
    SinceAdopted,
}

/// Returns every problem of a folder whose world should be this one.
pub fn find_problems(folder: &DataFolder, world: &World, record: EventLogScope) -> Vec<String> {
    let mut problems = invariants::find_violations(world);
    let findings = examine(folder).expect("the folder can be examined");
    problems.extend(findings.iter().map(|finding| format!("{finding:?}")));
    problems.extend(check_lines(folder.root()));
    problems.extend(check_places(folder.root(), world));
    problems.extend(compare("read without the index", rebuild_world(folder), world));
    let last = world.last_event();
    let read = read_world(folder).expect("the folder can be read").with_last_event(last);
    problems.extend(compare_tasks("read without the lock", &read, world));
    if record == EventLogScope::Complete {
        problems.extend(compare("told by the record", replay_world(folder), world));
    }
    problems
}

/// Compares worlds without their configuration, which a folder does not store.
fn compare(what: &str, other: World, world: &World) -> Option<String> {
    let other = other.with_policy(world.policy().clone());
    (other != *world).then(|| format!("the world {what} is another:\n  {other:?}\n  {world:?}"))
}

fn compare_tasks(what: &str, other: &World, world: &World) -> Option<String> {
    (!other.tasks().eq(world.tasks())).then(|| format!("the tasks {what} are others: {other:?}"))
}

/// Opens a copy of the folder without its index.
pub fn rebuild_world(folder: &DataFolder) -> World {
    let home = fast_temp_folder();
    let root = home.path().join(".adjutant");
    FolderSnapshot::of_folder(folder.root()).without("journal/index").write_to(&root);
    let folder = DataFolder::at(&root).expect("a copy of a data folder is one");
    let (_, loaded) = FileStore::open(&folder).expect("the copy opens");
    loaded.world
}

/// Replays the event log from the start.
pub fn replay_world(folder: &DataFolder) -> World {
    let mut world = World::default();
    let mut files = EventFiles::open(folder.root());
    while let Some(line) = files.next_line().expect("the record can be read") {
        let text = String::from_utf8(line.bytes).expect("the record is text");
        world.apply(&decode(&text).expect("a line of the record is an event"));
    }
    world
}

/// Every line is complete JSON, numbered without a gap and chained to the previous one.
fn check_lines(root: &Path) -> Vec<String> {
    let mut files = EventFiles::open(root);
    let (mut problems, mut before) = (Vec::new(), None);
    let mut expected = EventId(1);
    while let Some(line) = files.next_line().expect("the record can be read") {
        let Ok(event) = serde_json::from_slice::<Value>(&line.bytes) else {
            problems.push(format!("{}:{} is no JSON", line.file, line.number));
            continue;
        };
        if event["eventId"].as_u64() != Some(expected.0) {
            problems.push(format!("{} stands where event {expected} should", event["eventId"]));
        }
        if event.get("prev").and_then(Value::as_str) != before.as_deref() {
            problems.push(format!("event {expected} is not chained to the one before"));
        }
        before = Some(ShortHash::digest(&line.bytes).to_string());
        expected = expected.next();
    }
    if !files.incomplete_line().is_empty() {
        problems.push("the record ends in the middle of a line".to_owned());
    }
    problems
}

/// Every task file is only in the folder of its status, and its companion folder is next to it.
fn check_places(root: &Path, world: &World) -> Vec<String> {
    let mut problems = Vec::new();
    for task in world.tasks() {
        let here = |end: &str| -> Vec<Status> {
            let path = |status| root.join(format!("tasks/{status}/{}{end}", task.id));
            Status::ALL.into_iter().filter(|status| path(*status).exists()).collect()
        };
        if here(".md") != [task.status()] {
            problems.push(format!(
                "{} is {} and lies in {:?}",
                task.id,
                task.status(),
                here(".md")
            ));
        }
        if here("").iter().any(|status| *status != task.status()) {
            problems.push(format!("{} has a folder in {:?}", task.id, here("")));
        }
    }
    problems
}
