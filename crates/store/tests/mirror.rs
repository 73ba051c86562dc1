//! Folders that share an order: the conformance suite on several of them, and what only they do.

use std::fs;
use std::io;
use std::sync::{Arc, Mutex};

use adjutant_core::command::{Changes, Start};
use adjutant_core::path::RelPath;
use adjutant_core::{Command, Policy, Status, TaskId};
use adjutant_runtime::Engine;
use adjutant_store::file::doctor::examine;
use adjutant_store::file::{Carried, Home};
use adjutant_store::{FileStore, Mirror, Sequence, Store, StoreError, Version};
use adjutant_testkit::SetClock;
use adjutant_testkit::nodes::{Nodes, files, name};
use adjutant_testkit::project::{add, id_of, operator};

/// An order in memory; clones share it.
#[derive(Clone, Default)]
struct List {
    commits: Arc<Mutex<Vec<String>>>,
    /// What becomes of the next commits.
    fate: Arc<Mutex<Vec<Fate>>>,
    /// How often it was asked what others did.
    looks: Arc<Mutex<u32>>,
}

/// What becomes of a commit, other than that it is taken and answered.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// It is taken, and the answer is lost.
    Unanswered,
    /// It never arrives.
    Lost,
}

impl Sequence for List {
    fn after(&self, version: Version) -> Result<Vec<String>, StoreError> {
        *self.looks.lock().expect("nobody panicked") += 1;
        let list = self.commits.lock().expect("nobody panicked");
        let from = usize::try_from(version.0).expect("a small number");
        Ok(list.iter().skip(from).take(3).cloned().collect())
    }

    fn append(&self, expect: Version, commit: String) -> Result<(), StoreError> {
        let mut list = self.commits.lock().expect("nobody panicked");
        let now = Version(list.len() as u64);
        if now != expect {
            return Err(StoreError::Conflict { expected: expect, now });
        }
        let fate = self.fate.lock().expect("nobody panicked").pop();
        if fate != Some(Fate::Lost) {
            list.push(commit);
        }
        match fate {
            Some(_) => Err(StoreError::io("commit", "fleet")(io::ErrorKind::TimedOut.into())),
            None => Ok(()),
        }
    }

    fn check(&self, _: &FileStore) -> Result<(), StoreError> {
        Ok(())
    }
}

fn nodes() -> Nodes<List> {
    let list = List::default();
    Nodes::new(3, move |_| list.clone())
}

mod conforms {
    adjutant_store::conformance!(super::nodes());
}

fn engine(nodes: &Nodes<List>, node: usize) -> Engine<Mirror<List>> {
    let (mirror, loaded) = nodes.mirror(node).expect("the folder opens");
    let clock = Box::new(SetClock::at("2026-02-09T21:00:00.000Z"));
    Engine::start(mirror, loaded, clock, Policy::default()).expect("the engine starts")
}

/// Adds a task on a node, and has every other take it in.
fn added(engines: &mut [Engine<Mirror<List>>], title: &str) -> TaskId {
    let id = id_of(&engines[0].submit_one(add(title, Start::Ready)).expect("an answer"));
    all_look(engines);
    id
}

fn all_look(engines: &mut [Engine<Mirror<List>>]) {
    for engine in engines {
        engine.look_around().expect("a look around");
    }
}

fn all_same(nodes: &Nodes<List>) {
    let first = files(nodes.folder(0));
    assert!(!first.is_empty());
    for node in 1..3 {
        assert_eq!(files(nodes.folder(node)), first, "node {node} has the same files");
        assert_eq!(examine(nodes.folder(node)).expect("a look"), [], "and they are in order");
    }
}

fn path(nodes: &Nodes<List>, node: usize, relative: &str) -> std::path::PathBuf {
    nodes.folder(node).root().join(relative)
}

#[test]
fn what_a_person_writes_on_one_node_is_on_every_node() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = added(&mut engines, "One");
    let file = path(&nodes, 1, &format!("tasks/ready/{id}.md"));
    let text = fs::read_to_string(&file).expect("a task");
    fs::write(&file, format!("{text}\nA line by hand.\n")).expect("an edit");
    engines[1].look_around().expect("a look around");
    all_look(&mut engines);
    let there = fs::read_to_string(path(&nodes, 2, &format!("tasks/ready/{id}.md")));
    assert!(there.expect("a task").ends_with("\nA line by hand.\n"));
    all_same(&nodes);
}

#[test]
fn what_a_person_moves_on_one_node_moves_on_every_node() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = added(&mut engines, "One");
    let (from, to) = (format!("tasks/ready/{id}.md"), format!("tasks/blocked/{id}.md"));
    fs::rename(path(&nodes, 2, &from), path(&nodes, 2, &to)).expect("a move");
    engines[2].look_around().expect("a look around");
    all_look(&mut engines);
    assert!(path(&nodes, 0, &to).exists() && !path(&nodes, 0, &from).exists());
    all_same(&nodes);
}

#[test]
fn what_a_person_takes_away_on_one_node_is_put_aside_on_the_others() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = added(&mut engines, "One");
    let file = format!("tasks/ready/{id}.md");
    let text = fs::read_to_string(path(&nodes, 0, &file)).expect("a task");
    fs::remove_file(path(&nodes, 0, &file)).expect("it is taken away");
    all_look(&mut engines);
    for (node, engine) in engines.iter().enumerate() {
        assert_eq!(engine.world().task(&id), None);
        assert!(!path(&nodes, node, &file).exists(), "node {node}");
    }
    let aside = format!("lost+found/tasks-ready-{id}.md.1");
    assert_eq!(fs::read_to_string(path(&nodes, 1, &aside)).expect("nothing is lost"), text);
    let told = nodes.mirror(2).expect("it opens").1.edits;
    assert_eq!(told, [], "nobody takes it for an edit");
}

#[test]
fn what_a_person_wrote_is_not_trampled_by_what_comes_from_others() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = added(&mut engines, "One");
    let file = path(&nodes, 1, &format!("tasks/ready/{id}.md"));
    let theirs = fs::read_to_string(&file).expect("a task").replace("title: One", "title: Mine");
    fs::write(&file, &theirs).expect("an edit");
    // Before anybody looks at it, the task is changed elsewhere.
    let changes = Changes { resource: Some(Some("db".into())), ..Changes::default() };
    let edit = Command::Edit { id: id.clone(), changes: Box::new(changes) };
    engines[0].submit_one(operator(edit)).expect("an answer");
    engines[1].store().begin().expect("a turn");
    engines[1].store().end();
    assert_eq!(fs::read_to_string(&file).expect("it is there"), theirs, "it is as they left it");
    drop(engines);
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    all_look(&mut engines);
    all_look(&mut engines);
    assert_eq!(&*engines[0].world().task(&id).expect("a task").title, "Mine", "and it counts");
    all_same(&nodes);
}

#[test]
fn a_commit_whose_answer_was_lost_counts_once() {
    for fate in [Fate::Unanswered, Fate::Lost] {
        let list = List::default();
        let shared = list.clone();
        let nodes = Nodes::new(3, move |_| shared.clone());
        let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
        added(&mut engines, "One");
        list.fate.lock().expect("nobody panicked").push(fate);
        engines[1].submit_one(add("Two", Start::Ready)).expect_err("nobody knows");
        added(&mut engines, "Three");
        let titles: Vec<&str> = engines[1].world().tasks().map(|task| &*task.title).collect();
        let expected: &[&str] =
            if fate == Fate::Lost { &["One", "Three"] } else { &["One", "Two", "Three"] };
        assert_eq!(titles, expected);
        all_same(&nodes);
    }
}

#[test]
fn a_record_that_differs_is_refused_and_nothing_is_changed() {
    let list = List::default();
    let shared = list.clone();
    let nodes = Nodes::new(3, move |_| shared.clone());
    engine(&nodes, 0).submit_one(add("Ours", Start::Ready)).expect("an answer");
    engine(&nodes, 1).look_around().expect("a look around");
    // Somebody else's record of the same length.
    list.commits.lock().expect("nobody panicked").clear();
    engine(&nodes, 2).submit_one(add("Theirs", Start::Ready)).expect("an answer");
    engine(&nodes, 2).submit_one(add("More", Start::Ready)).expect("an answer");
    let before = files(nodes.folder(1));
    let refused = nodes.mirror(1).map(drop).expect_err("it is another record").to_string();
    assert!(refused.contains("fleet restore"), "{refused}");
    assert_eq!(files(nodes.folder(1)), before);
}

#[test]
fn what_an_agent_left_is_carried_and_goes_where_its_task_goes() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = added(&mut engines, "One");
    let summary = |text: &str| Carried {
        task: id.clone(),
        home: Home::Task,
        path: RelPath::parse("outputs/summary.md").expect("a good path"),
        content: text.into(),
    };
    let lies = |status: Status| format!("tasks/{status}/{id}/outputs/summary.md");
    let mut carry = |text: &str, from: usize, by: usize| {
        let store = engines[by].store();
        store.begin().expect("a turn");
        store.carry(&[summary(text)], &name(from)).expect("it is carried");
        store.end();
    };
    // Node 1 has it, and has the others told by node 0.
    let own = path(&nodes, 1, &lies(Status::Ready));
    fs::create_dir_all(own.parent().expect("a folder")).expect("a folder");
    fs::write(&own, "First, and more since.\n").expect("a file");
    carry("First.\n", 1, 0);
    all_look(&mut engines);
    let read = |node: usize, status| fs::read_to_string(path(&nodes, node, &lies(status)));
    assert_eq!(read(0, Status::Ready).expect("carried"), "First.\n");
    assert_eq!(read(2, Status::Ready).expect("carried"), "First.\n");
    assert_eq!(read(1, Status::Ready).expect("its own"), "First, and more since.\n");
    let back = Command::Move { id: id.clone(), to: Status::Backlog, reason: String::new() };
    engines[2].submit_one(operator(back)).expect("an answer");
    all_look(&mut engines);
    for node in 0..3 {
        assert!(read(node, Status::Backlog).is_ok(), "node {node}");
        assert!(read(node, Status::Ready).is_err(), "node {node}");
    }
}

#[test]
fn a_file_that_is_no_text_is_carried_byte_for_byte() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let task = added(&mut engines, "One");
    let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
    let picture = Carried {
        task: task.clone(),
        home: Home::Task,
        path: RelPath::parse("outputs/picture.png").expect("a good path"),
        content: bytes.clone(),
    };
    let store = engines[0].store();
    store.begin().expect("a turn");
    store.carry(&[picture], &name(1)).expect("it is carried");
    store.end();
    all_look(&mut engines);
    let lies = format!("tasks/ready/{task}/outputs/picture.png");
    for node in [0, 2] {
        assert!(fs::read(path(&nodes, node, &lies)).expect("carried") == bytes, "node {node}");
    }
}

/// Returns how often it was asked what others did while something was done.
fn looks(list: &List, work: impl FnOnce()) -> u32 {
    let before = *list.looks.lock().expect("nobody panicked");
    work();
    *list.looks.lock().expect("nobody panicked") - before
}

#[test]
fn who_is_alone_asks_what_others_did_only_when_it_is_refused() {
    let list = List::default();
    let shared = list.clone();
    let nodes = Nodes::new(3, move |_| shared.clone());
    let (mut alone, mut other) = (engine(&nodes, 0).alone(), engine(&nodes, 1));
    let mut submit = |title: &str| drop(alone.submit_one(add(title, Start::Ready)).expect("done"));
    assert_eq!(looks(&list, || submit("One")), 0);
    assert_eq!(looks(&list, || submit("Two")), 0);
    other.submit_one(add("Three", Start::Ready)).expect("an answer");
    // It is refused, follows, and decides again.
    assert!(looks(&list, || submit("Four")) > 0);
    assert_eq!(looks(&list, || submit("Five")), 0);
    // An answer that is lost leaves open whether it was taken.
    list.fate.lock().expect("nobody panicked").push(Fate::Unanswered);
    alone.submit_one(add("Six", Start::Ready)).expect_err("nobody answers");
    let seven = || drop(alone.submit_one(add("Seven", Start::Ready)).expect("an answer"));
    assert!(looks(&list, seven) > 0);
    let mut all: Vec<_> = [other, engine(&nodes, 2)].into_iter().chain([alone]).collect();
    all_look(&mut all);
    let mut titles: Vec<String> =
        all[0].world().tasks().map(|task| task.title.to_string()).collect();
    titles.sort();
    assert_eq!(titles, ["Five", "Four", "One", "Seven", "Six", "Three", "Two"]);
    drop(all);
    all_same(&nodes);
}
