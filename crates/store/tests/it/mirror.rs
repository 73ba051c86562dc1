//! Folders that share an order: the conformance suite on several of them, and what only they do.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use adjutant_core::command::{Changes, Start};
use adjutant_core::path::RelPath;
use adjutant_core::{Command, Policy, Status, TaskId};
use adjutant_runtime::{Engine, Request};
use adjutant_store::file::doctor::examine;
use adjutant_store::file::{Carried, Home};
use adjutant_store::{FileStore, Mirror, Sequence, Store, StoreError, Version};
use adjutant_testkit::SetClock;
use adjutant_testkit::dice::Dice;
use adjutant_testkit::nodes::{Nodes, files, name};
use adjutant_testkit::power;
use adjutant_testkit::project::{add, id_of, operator};
use adjutant_testkit::snapshot::Snapshot;

/// An order in memory; clones share it.
#[derive(Clone, Default)]
struct List {
    commits: Arc<Mutex<Vec<String>>>,
    /// What becomes of the next commits.
    fate: Arc<Mutex<Vec<Fate>>>,
    /// A folder to look at while a commit is being ordered, and how it looked the last time.
    watched: Arc<Mutex<Option<(PathBuf, Snapshot)>>>,
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

    fn append(
        &self,
        expect: Version,
        commit: String,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), StoreError> {
        meanwhile();
        if let Some((root, look)) = &mut *self.watched.lock().expect("nobody panicked") {
            *look = Snapshot::take(root);
        }
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

fn path(nodes: &Nodes<List>, node: usize, relative: &str) -> PathBuf {
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

/// What a power cut leaves of the journal's last commit, which is not synced when it is answered.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Last {
    Whole,
    Torn,
    Empty,
    Gone,
}

const LASTS: [Last; 4] = [Last::Whole, Last::Torn, Last::Empty, Last::Gone];

/// Takes of the journal what a power cut may take: of its last commit anything, of others nothing.
fn lose(last: Last, before: &Snapshot, left: &mut Snapshot, dice: &mut Dice) {
    let file = "journal/00000001.wal";
    let (safe, journal) = (before.files[file].len(), left.files.get_mut(file).expect("a journal"));
    let torn = safe + 1 + dice.below(journal.len() - safe - 2);
    match last {
        Last::Whole => {}
        Last::Torn => journal.truncate(torn),
        Last::Empty => journal[safe..torn].fill(0),
        Last::Gone => journal.truncate(safe),
    }
}

/// Three nodes, of which the first decided something and lost its power.
struct Cut {
    order: List,
    nodes: Nodes<List>,
    id: TaskId,
    /// The first node's folder when it was last synced.
    safe: Snapshot,
}

impl Cut {
    /// Has the first node make a task and leave its folder at rest, and then do some more.
    fn after(some: usize, dice: &mut Dice) -> (Self, Engine<Mirror<List>>) {
        let order = List::default();
        let shared = order.clone();
        let nodes = Nodes::new(3, move |_| shared.clone());
        let mut engine = engine(&nodes, 0);
        let id = id_of(&engine.submit_one(add("One", Start::Ready)).expect("an answer"));
        fs::create_dir_all(path(&nodes, 0, &format!("tasks/ready/{id}/inputs"))).expect("a folder");
        engine.rest().expect("at rest");
        let safe = Snapshot::take(nodes.folder(0).root());
        let cut = Self { order, nodes, id, safe };
        for number in 0..some {
            let request = match dice.below(3) {
                0 => add(&format!("More {number}"), Start::Ready),
                _ => cut.edit(&format!("db {number}")),
            };
            engine.submit_one(request).expect("an answer");
        }
        (cut, engine)
    }

    fn edit(&self, resource: &str) -> Request {
        let changes = Changes { resource: Some(Some(resource.into())), ..Changes::default() };
        operator(Command::Edit { id: self.id.clone(), changes: Box::new(changes) })
    }

    /// Returns something that changes the task, moves it, or makes another.
    fn something(&self, dice: &mut Dice) -> Request {
        match dice.below(3) {
            0 => self.edit("another"),
            1 => operator(Command::Cancel { id: self.id.clone(), reason: "No more".into() }),
            _ => add("Two", Start::Ready),
        }
    }

    fn commits(&self) -> usize {
        self.order.commits.lock().expect("nobody panicked").len()
    }

    /// Leaves the first node's folder like this, has every node go on, and sees that nobody took
    /// anything for a person's doing and all have the same.
    fn go_on_with(&self, left: &Snapshot, dice: &mut Dice, what: &str) {
        let root = self.nodes.folder(0).root();
        for entry in fs::read_dir(root).expect("a folder").flatten() {
            clear(&entry.path());
        }
        left.write_to(root);
        let commits = self.commits();
        if dice.below(2) == 0 {
            // Whoever opens it before the others can be reached changes nothing about that.
            drop(FileStore::open(self.nodes.folder(0)).expect("it opens"));
        }
        let mut engines: Vec<_> = (0..3).map(|node| engine(&self.nodes, node)).collect();
        all_look(&mut engines);
        assert_eq!(self.commits(), commits, "{what}: taken for an edit");
        engines[0].submit_one(self.edit("afterwards")).map(drop).expect("an answer");
        all_look(&mut engines);
        drop(engines);
        let _ = fs::remove_dir_all(root.join("lost+found"));
        all_same(&self.nodes);
    }
}

/// Removes a file, or a folder with all that is in it.
fn clear(path: &Path) {
    let cleared = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    cleared.expect("it is removed");
}

/// A commit counts once others have it; here it is synced while the next is decided.
#[test]
fn what_a_power_cut_takes_of_the_last_commit_is_made_up_for() {
    let seed = Dice::seed();
    let mut dice = Dice::from_seed(seed);
    for round in 0..84 {
        let last = LASTS[round % LASTS.len()];
        let (cut, mut engine) = Cut::after(round % 3, &mut dice);
        let before = Snapshot::take(cut.nodes.folder(0).root());
        engine.submit_one(cut.something(&mut dice)).expect("an answer");
        drop(engine);
        let after = Snapshot::take(cut.nodes.folder(0).root());
        let mut left = power::cut(&cut.safe, &after, &mut dice);
        lose(last, &before, &mut left, &mut dice);
        cut.go_on_with(&left, &mut dice, &format!("{last:?}, seed {seed}, round {round}"));
    }
}

/// Nobody knows then whether the commit counts, and its files are not shown yet.
#[test]
fn what_a_power_cut_takes_while_others_are_asked_is_as_they_say() {
    let seed = Dice::seed();
    let mut dice = Dice::from_seed(seed);
    for round in 0..60 {
        let (cut, mut engine) = Cut::after(round % 3, &mut dice);
        let root = cut.nodes.folder(0).root().to_owned();
        *cut.order.watched.lock().expect("nobody panicked") = Some((root, Snapshot::default()));
        let is_lost = dice.below(2) == 0;
        if is_lost {
            cut.order.fate.lock().expect("nobody panicked").push(Fate::Lost);
        }
        let answered = engine.submit_one(cut.something(&mut dice));
        assert_eq!(answered.is_err(), is_lost);
        drop(engine);
        let watched = cut.order.watched.lock().expect("nobody panicked").take();
        let (_, asked) = watched.expect("it was watched");
        let left = power::cut(&cut.safe, &asked, &mut dice);
        cut.go_on_with(&left, &mut dice, &format!("lost: {is_lost}, seed {seed}, round {round}"));
    }
}

impl Cut {
    /// Has the first node ask for something that is never ordered, and returns its folder as it was
    /// while it asked, on a machine that was started again since.
    fn while_asking_for(&self, mut engine: Engine<Mirror<List>>, request: Request) -> Snapshot {
        let root = self.nodes.folder(0).root().to_owned();
        *self.order.watched.lock().expect("nobody panicked") = Some((root, Snapshot::default()));
        self.order.fate.lock().expect("nobody panicked").push(Fate::Lost);
        engine.submit_one(request).map(drop).expect_err("it never arrives");
        drop(engine);
        let watched = self.order.watched.lock().expect("nobody panicked").take();
        let (_, mut left) = watched.expect("it was watched");
        started_again(&mut left);
        left
    }

    fn file(&self, status: &str) -> String {
        format!("tasks/{status}/{}.md", self.id)
    }
}

fn started_again(left: &mut Snapshot) {
    let state = left.files.get_mut("journal/state").expect("a marker");
    *state = power::of_another_boot(state);
}

/// What a person did to a file meanwhile is theirs, and no sign of a commit that nobody ordered.
#[test]
fn a_commit_that_was_not_ordered_is_not_taken_for_one_by_an_edit() {
    let mut dice = Dice::from_seed(7);
    let (cut, engine) = Cut::after(1, &mut dice);
    let mut left = cut.while_asking_for(engine, cut.edit("another"));
    let file = left.files.get_mut(&cut.file("ready")).expect("a task");
    file.extend_from_slice(b"\nA line by hand.\n");
    left.write_to(cut.nodes.folder(0).root());
    let commits = cut.commits();
    let mut engines: Vec<_> = (0..3).map(|node| self::engine(&cut.nodes, node)).collect();
    all_look(&mut engines);
    assert_eq!(cut.commits(), commits + 1, "the edit alone");
    let there = fs::read_to_string(path(&cut.nodes, 2, &cut.file("ready"))).expect("a task");
    assert!(there.ends_with("\nA line by hand.\n") && !there.contains("another"), "{there}");
    drop(engines);
    all_same(&cut.nodes);
}

/// What a person does to a file.
type Deed = fn(&mut Vec<u8>, &str) -> Option<String>;

const DEEDS: [Deed; 3] = [
    |_, id| Some(format!("tasks/cancelled/{id}.md")),
    |_, _| None,
    |text, id| {
        text.clear();
        Some(format!("tasks/ready/{id}.md"))
    },
];

/// Once somebody has opened the folder, what was about to be ordered is over: what people do later
/// does not bring it back, whatever it looks like and however often the machine is started.
#[test]
fn a_commit_that_was_not_ordered_is_forgotten_by_who_opens_the_folder() {
    for (number, deed) in DEEDS.into_iter().enumerate() {
        let (cut, engine) = Cut::after(number, &mut Dice::from_seed(7));
        let cancel = Command::Cancel { id: cut.id.clone(), reason: "No more".into() };
        let left = cut.while_asking_for(engine, operator(cancel));
        let root = cut.nodes.folder(0).root();
        let put_back = |left: &Snapshot| {
            for entry in fs::read_dir(root).expect("a folder").flatten() {
                clear(&entry.path());
            }
            left.write_to(root);
        };
        put_back(&left);
        drop(FileStore::open(cut.nodes.folder(0)).expect("it opens"));

        let mut later = Snapshot::take(root);
        let mut text = later.files.remove(&cut.file("ready")).expect("a task");
        if let Some(path) = deed(&mut text, &cut.id.to_string()) {
            later.files.insert(path, text);
        }
        started_again(&mut later);
        put_back(&later);
        let commits = cut.commits();
        let mut engines: Vec<_> = (0..3).map(|node| self::engine(&cut.nodes, node)).collect();
        all_look(&mut engines);
        let by = cut.order.commits.lock().expect("nobody panicked")[commits..].concat();
        assert!(by.is_empty() || by.contains("human:unknown"), "deed {number}: {by}");
        assert!(!by.contains("No more"), "deed {number}: {by}");
    }
}

/// What a person has only moved is as it was, and no sign of a commit that nobody ordered.
#[test]
fn a_commit_that_was_not_ordered_is_not_taken_for_one_by_a_move() {
    let (cut, engine) = Cut::after(1, &mut Dice::from_seed(7));
    let cancel = Command::Cancel { id: cut.id.clone(), reason: "No more".into() };
    let mut left = cut.while_asking_for(engine, operator(cancel));
    let text = left.files.remove(&cut.file("ready")).expect("a task");
    left.files.insert(cut.file("cancelled"), text);
    let root = cut.nodes.folder(0).root();
    for entry in fs::read_dir(root).expect("a folder").flatten() {
        clear(&entry.path());
    }
    left.write_to(root);
    let commits = cut.commits();
    let mut engines: Vec<_> = (0..3).map(|node| self::engine(&cut.nodes, node)).collect();
    all_look(&mut engines);
    let by = cut.order.commits.lock().expect("nobody panicked")[commits..].concat();
    assert!(by.contains("human:unknown") && !by.contains("No more"), "{by}");
    drop(engines);
    all_same(&cut.nodes);
}

/// Who takes in what others say of a task.
#[derive(Clone, Copy, PartialEq)]
enum By {
    /// The process that looks at it afterwards.
    Itself,
    /// One that ends, beside the process that looks at it afterwards.
    AnotherProcess,
    /// One that ends, before the process that looks at it afterwards is started.
    TheNextProcess,
}

/// That it was moved is told at the next look, and until then others may say more than once what
/// becomes of it; so they may before and after a restart.
#[test]
fn what_others_say_of_a_task_that_a_person_moved_is_all_kept() {
    for by in [By::Itself, By::AnotherProcess, By::TheNextProcess] {
        let nodes = nodes();
        let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
        let id = added(&mut engines, "One");
        let (from, to) = (format!("tasks/ready/{id}.md"), format!("tasks/blocked/{id}.md"));
        fs::rename(path(&nodes, 1, &from), path(&nodes, 1, &to)).expect("a move");
        for resource in ["db", "net"] {
            let changes = Changes { resource: Some(Some(resource.into())), ..Changes::default() };
            let edit = Command::Edit { id: id.clone(), changes: Box::new(changes) };
            engines[0].submit_one(operator(edit)).expect("an answer");
            match by {
                By::Itself => {
                    engines[1].store().begin().expect("a turn");
                    engines[1].store().end();
                }
                By::AnotherProcess | By::TheNextProcess => {
                    let (mut mirror, _) = nodes.mirror(1).expect("the folder opens");
                    mirror.begin().expect("a turn");
                    mirror.end();
                }
            }
        }
        if by != By::AnotherProcess {
            drop(engines);
            engines = (0..3).map(|node| engine(&nodes, node)).collect();
        }
        all_look(&mut engines);
        all_look(&mut engines);
        let task = engines[2].world().task(&id).expect("a task");
        assert_eq!((task.status(), task.resource.as_deref()), (Status::Blocked, Some("net")));
        drop(engines);
        all_same(&nodes);
    }
}

/// What a person did while nothing ran is seen when the folder is opened, before it is heard what
/// others did to the same task meanwhile.
/// The person wrote, and did not move anything: the text is theirs, and the place the record's.
#[test]
fn what_a_person_wrote_while_a_node_was_off_goes_where_others_moved_the_task() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = added(&mut engines, "One");
    for engine in &mut engines {
        engine.rest().expect("at rest");
    }
    let off = engines.remove(1);
    fs::create_dir_all(path(&nodes, 1, &format!("tasks/ready/{id}/inputs"))).expect("a folder");
    let file = path(&nodes, 1, &format!("tasks/ready/{id}.md"));
    let text = fs::read_to_string(&file).expect("a task").replace("title: One", "title: Mine");
    fs::write(&file, &text).expect("an edit");
    for to in [Status::Blocked, Status::Review, Status::Done] {
        let (id, reason) = (id.clone(), String::new());
        engines[0].submit_one(operator(Command::Move { id, to, reason })).expect("an answer");
    }
    drop((engines, off));

    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    all_look(&mut engines);
    all_look(&mut engines);
    let task = engines[0].world().task(&id).expect("a task");
    assert_eq!((task.status(), &*task.title), (Status::Done, "Mine"));
    assert!(
        path(&nodes, 1, &format!("tasks/done/{id}/inputs")).exists(),
        "with what belongs to it"
    );
    drop(engines);
    fs::remove_dir_all(path(&nodes, 1, &format!("tasks/done/{id}"))).expect("it is there");
    all_same(&nodes);
}

#[test]
fn what_a_person_did_while_a_node_was_off_is_not_trampled_by_what_comes_from_others() {
    for number in 0..3 {
        let nodes = nodes();
        let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
        let id = added(&mut engines, "One");
        for engine in &mut engines {
            engine.rest().expect("at rest");
        }
        let off = engines.remove(1);
        let file = path(&nodes, 1, &format!("tasks/ready/{id}.md"));
        let moved = path(&nodes, 1, &format!("tasks/blocked/{id}.md"));
        let text = fs::read_to_string(&file).expect("a task").replace("title: One", "title: Mine");
        match number {
            0 => fs::write(&file, &text).expect("an edit"),
            1 => fs::rename(&file, &moved).expect("a move"),
            _ => fs::remove_file(&file).expect("it is taken away"),
        }
        let changes = Changes { resource: Some(Some("db".into())), ..Changes::default() };
        let edit = Command::Edit { id: id.clone(), changes: Box::new(changes) };
        engines[0].submit_one(operator(edit)).expect("an answer");
        drop((engines, off));

        let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
        all_look(&mut engines);
        all_look(&mut engines);
        let task = engines[0].world().task(&id);
        match number {
            0 => assert_eq!(&*task.expect("a task").title, "Mine", "the edit counts"),
            1 => assert_eq!(task.expect("a task").status(), Status::Blocked, "the move counts"),
            _ => assert!(task.is_none(), "what was taken away stays away"),
        }
        drop(engines);
        for node in 0..3 {
            // What was taken away on one is put aside on the others.
            let _ = fs::remove_dir_all(path(&nodes, node, "lost+found"));
        }
        all_same(&nodes);
    }
}
