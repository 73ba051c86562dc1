//! What must hold of a folder at any time after it was opened, whatever happened before.

use std::path::Path;

use adjutant_core::{EventId, Status, World, invariants};
use adjutant_store::FileStore;
use adjutant_store::file::doctor::examine;
use adjutant_store::file::{EventFiles, Folder, read_world};
use adjutant_store::hash::Hash;
use adjutant_store::record::decode;
use serde_json::Value;

use crate::snapshot::{Snapshot, quick_folder};

/// How much of the world the record tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// Every task since it was made.
    Whole,
    /// What happened since the folder was taken over from others.
    SinceAdopted,
}

/// Returns everything that is wrong with a folder whose world should be this one.
pub fn problems(folder: &Folder, world: &World, record: Record) -> Vec<String> {
    let mut problems = invariants::broken(world);
    let findings = examine(folder).expect("the folder can be examined");
    problems.extend(findings.iter().map(|finding| format!("{finding:?}")));
    problems.extend(lines(folder.root()));
    problems.extend(places(folder.root(), world));
    problems.extend(compare("read without the index", rebuilt(folder), world));
    let last = world.last_event();
    let read = read_world(folder).expect("the folder can be read").after(last);
    problems.extend(compare_tasks("read without the lock", &read, world));
    if record == Record::Whole {
        problems.extend(compare("told by the record", replayed(folder), world));
    }
    problems
}

/// Compares worlds, whatever their configuration: a folder does not know it.
fn compare(what: &str, other: World, world: &World) -> Option<String> {
    let other = other.with_policy(world.policy().clone());
    (other != *world).then(|| format!("the world {what} is another:\n  {other:?}\n  {world:?}"))
}

fn compare_tasks(what: &str, other: &World, world: &World) -> Option<String> {
    (!other.tasks().eq(world.tasks())).then(|| format!("the tasks {what} are others: {other:?}"))
}

/// Opens a copy of the folder that has lost its index.
pub fn rebuilt(folder: &Folder) -> World {
    let home = quick_folder();
    let root = home.path().join(".adjutant");
    Snapshot::take(folder.root()).without("journal/index").write_to(&root);
    let folder = Folder::at(&root).expect("a copy of a data folder is one");
    let (_, loaded) = FileStore::open(&folder).expect("the copy opens");
    loaded.world
}

/// Goes through the record from the start.
pub fn replayed(folder: &Folder) -> World {
    let mut world = World::default();
    let mut files = EventFiles::open(folder.root());
    while let Some(line) = files.next_line().expect("the record can be read") {
        let text = String::from_utf8(line.bytes).expect("the record is text");
        world.apply(&decode(&text).expect("a line of the record is an event"));
    }
    world
}

/// Every line is whole JSON, numbered without a gap and chained to the one before.
fn lines(root: &Path) -> Vec<String> {
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
        before = Some(Hash::of(&line.bytes).to_string());
        expected = expected.next();
    }
    if !files.unfinished().is_empty() {
        problems.push("the record ends in the middle of a line".to_owned());
    }
    problems
}

/// Every task lies in the folder of its status and nowhere else, and its own folder next to it.
fn places(root: &Path, world: &World) -> Vec<String> {
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
