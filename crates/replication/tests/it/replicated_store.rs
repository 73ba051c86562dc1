//! Tests of replicated stores: the conformance suite on three nodes, and behaviour that
//! only they have.

#![expect(clippy::print_stdout, reason = "a random test says what it did")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::{fs, io};

use adjutant_engine::{Engine, EngineRequest};
use adjutant_model::command::{InitialStatus, TaskChanges};
use adjutant_model::relative_path::RelPath;
use adjutant_model::{Command, Policy, Status, TaskId};
use adjutant_replication::replicated_store::{CommitLog, ReplicatedStore};
use adjutant_store::file::doctor::examine;
use adjutant_store::replicated_file::{ReplicatedFile, TaskFolderKind};
use adjutant_store::{FileStore, FleetStore, Store, StoreError, StoreVersion};
use adjutant_testkit::locked_path::LockedPath;
use adjutant_testkit::message::completion;
use adjutant_testkit::nodes::{TestFleet, files_without_journal, node_name};
use adjutant_testkit::project::{add_request, message_request, operator_request, task_id_of};
use adjutant_testkit::seeded_rng::SeededRng;
use adjutant_testkit::snapshot::FolderSnapshot;
use adjutant_testkit::{ManualClock, power_cut};

/// A commit log in memory; clones share it.
#[derive(Clone, Default)]
struct MemoryLog {
    commits: Arc<Mutex<Vec<String>>>,
    /// The fates of the next appends, last first.
    fate: Arc<Mutex<Vec<AppendFate>>>,
    /// A folder to copy while a commit is being appended, and the last copy.
    watched: Arc<Mutex<Option<(PathBuf, FolderSnapshot)>>>,
    /// The number of calls of `after`.
    reads: Arc<Mutex<u32>>,
    /// What another node does right before the next append.
    rival: Arc<Mutex<Option<RivalWork>>>,
}

type RivalWork = Box<dyn FnOnce() + Send>;

/// What goes wrong with an append.
#[derive(Clone, Copy, PartialEq)]
enum AppendFate {
    /// The commit is appended, and the answer is lost.
    Unanswered,
    /// The commit never arrives.
    Lost,
}

impl CommitLog for MemoryLog {
    fn commits_after(&self, version: StoreVersion) -> Result<Vec<String>, StoreError> {
        *self.reads.lock().expect("nobody panicked") += 1;
        let list = self.commits.lock().expect("nobody panicked");
        let from = usize::try_from(version.0).expect("a small number");
        Ok(list.iter().skip(from).take(3).cloned().collect())
    }

    fn append(
        &self,
        expect: StoreVersion,
        commit: String,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), StoreError> {
        let rival = self.rival.lock().expect("nobody panicked").take();
        if let Some(rival) = rival {
            rival();
        }
        meanwhile();
        if let Some((root, look)) = &mut *self.watched.lock().expect("nobody panicked") {
            *look = FolderSnapshot::of_folder(root);
        }
        let mut list = self.commits.lock().expect("nobody panicked");
        let now = StoreVersion(list.len() as u64);
        if now != expect {
            return Err(StoreError::Conflict { expected: expect, now });
        }
        let fate = self.fate.lock().expect("nobody panicked").pop();
        if fate != Some(AppendFate::Lost) {
            list.push(commit);
        }
        match fate {
            Some(_) => Err(StoreError::io("commit", "fleet")(io::ErrorKind::TimedOut.into())),
            None => Ok(()),
        }
    }

    fn check_folder(&self, _: &FileStore) -> Result<(), StoreError> {
        Ok(())
    }
}

fn nodes() -> TestFleet<MemoryLog> {
    let list = MemoryLog::default();
    TestFleet::new(3, move |_| list.clone())
}

mod conforms {
    adjutant_testkit::conformance!(super::nodes());
}

fn engine(nodes: &TestFleet<MemoryLog>, node: usize) -> Engine<ReplicatedStore<MemoryLog>> {
    let (replica, loaded) = nodes.open_replica(node).expect("the folder opens");
    let clock = Box::new(ManualClock::at("2026-02-09T21:00:00.000Z"));
    Engine::start(replica, loaded, clock, Policy::default()).expect("the engine starts")
}

/// Adds a task on the first node, and has every node catch up.
fn add_everywhere(engines: &mut [Engine<ReplicatedStore<MemoryLog>>], title: &str) -> TaskId {
    let id = task_id_of(
        &engines[0].submit_one(add_request(title, InitialStatus::Ready)).expect("an answer"),
    );
    scan_all(engines);
    id
}

fn scan_all(engines: &mut [Engine<ReplicatedStore<MemoryLog>>]) {
    for engine in engines {
        engine.check_all_files().expect("a look around");
    }
}

fn check_all_same(nodes: &TestFleet<MemoryLog>) {
    let first = files_without_journal(nodes.folder(0));
    assert!(!first.is_empty());
    for node in 1..3 {
        assert_eq!(
            files_without_journal(nodes.folder(node)),
            first,
            "node {node} has the same files"
        );
        assert_eq!(examine(nodes.folder(node)).expect("a look"), [], "and they are in order");
    }
}

fn path(nodes: &TestFleet<MemoryLog>, node: usize, relative: &str) -> PathBuf {
    nodes.folder(node).root().join(relative)
}

#[test]
fn hand_edit_on_one_node_reaches_every_node() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = add_everywhere(&mut engines, "One");
    let file = path(&nodes, 1, &format!("tasks/ready/{id}.md"));
    let text = fs::read_to_string(&file).expect("a task");
    fs::write(&file, format!("{text}\nA line by hand.\n")).expect("an edit");
    engines[1].check_all_files().expect("a look around");
    scan_all(&mut engines);
    let there = fs::read_to_string(path(&nodes, 2, &format!("tasks/ready/{id}.md")));
    assert!(there.expect("a task").ends_with("\nA line by hand.\n"));
    check_all_same(&nodes);
}

#[test]
fn hand_move_on_one_node_reaches_every_node() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = add_everywhere(&mut engines, "One");
    let (from, to) = (format!("tasks/ready/{id}.md"), format!("tasks/blocked/{id}.md"));
    fs::rename(path(&nodes, 2, &from), path(&nodes, 2, &to)).expect("a move");
    engines[2].check_all_files().expect("a look around");
    scan_all(&mut engines);
    assert!(path(&nodes, 0, &to).exists() && !path(&nodes, 0, &from).exists());
    check_all_same(&nodes);
}

const HAND_MADE: &str = "TASK-2026-02-09-041";

fn hand_made_text(title: &str) -> String {
    format!("---\nid: {HAND_MADE}\ntitle: {title}\n---\n\nText by hand, as it was written.\n")
}

#[test]
fn hand_made_file_on_one_node_reaches_every_node() {
    for maker in 0..3 {
        let nodes = nodes();
        let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
        add_everywhere(&mut engines, "One");
        let file = format!("tasks/backlog/{HAND_MADE}.md");
        fs::write(path(&nodes, maker, &file), hand_made_text("By hand")).expect("a file");
        engines[maker].check_all_files().expect("a look around");
        for _ in 0..2 {
            scan_all(&mut engines);
        }
        for node in 0..3 {
            let text = fs::read_to_string(path(&nodes, node, &file)).expect("the file is there");
            assert!(text.ends_with("\nText by hand, as it was written.\n"), "node {node}: {text}");
        }
        drop(engines);
        check_all_same(&nodes);
        let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
        // It is a task like any other from then on.
        let moved = format!("tasks/ready/{HAND_MADE}.md");
        fs::rename(path(&nodes, 2, &file), path(&nodes, 2, &moved)).expect("a move");
        engines[2].check_all_files().expect("a look around");
        scan_all(&mut engines);
        fs::remove_file(path(&nodes, 1, &moved)).expect("it is taken away");
        engines[1].check_all_files().expect("a look around");
        scan_all(&mut engines);
        // It comes back, as a branch does that is checked out again.
        fs::write(path(&nodes, 0, &file), hand_made_text("Again")).expect("a file");
        engines[0].check_all_files().expect("a look around");
        for _ in 0..2 {
            scan_all(&mut engines);
        }
        for (node, engine) in engines.iter().enumerate() {
            let id = TaskId::parse(HAND_MADE).expect("an id");
            assert_eq!(&*engine.world().task(&id).expect("a task").title, "Again");
            assert!(path(&nodes, node, &file).exists(), "node {node}");
        }
    }
}

#[test]
fn same_file_made_by_hand_on_every_node_is_one_task() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    add_everywhere(&mut engines, "One");
    let file = format!("tasks/backlog/{HAND_MADE}.md");
    for node in 0..3 {
        fs::write(path(&nodes, node, &file), hand_made_text("Pulled")).expect("a file");
    }
    for _ in 0..2 {
        scan_all(&mut engines);
    }
    let created = engines[0].world().tasks().filter(|task| &*task.title == "Pulled").count();
    assert_eq!(created, 1);
    drop(engines);
    check_all_same(&nodes);
    assert!(!path(&nodes, 1, "lost+found").exists(), "nothing was in the way");
}

/// The files of a task cannot follow on one node: it is on hold there, and every commit goes on.
#[test]
fn task_whose_files_fail_on_one_node_is_on_hold_there_alone() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = add_everywhere(&mut engines, "One");
    let Some(locked) = LockedPath::new(&path(&nodes, 1, &format!("tasks/ready/{id}.md"))) else {
        return;
    };
    let report = message_request(&completion(id.as_str(), "swe", "done"));
    engines[0].submit_one(report).expect("an answer");
    scan_all(&mut engines);
    let has_fault = |engine: &Engine<_>| engine.world().file_fault(&id).is_some();
    assert_eq!(engines.iter().map(has_fault).collect::<Vec<_>>(), [false, true, false]);
    add_everywhere(&mut engines, "Two");
    drop(locked);
    for _ in 0..2 {
        scan_all(&mut engines);
    }
    assert!(!engines.iter().any(has_fault));
    for engine in &mut engines {
        engine.rest().expect("at rest");
    }
    drop(engines);
    check_all_same(&nodes);
}

/// People make, change, move and remove task files on three nodes at random, while the nodes
/// commit. At rest all folders are equal, and a file that was left alone has its text.
#[test]
fn hand_work_on_random_nodes_leaves_equal_folders() {
    let first = SeededRng::seed_from_env();
    for seed in first..first.saturating_add(4) {
        println!("ADJUTANT_SEED={seed}");
        let mut rng = SeededRng::from_seed(seed);
        let mut work = HandWork::default();
        let nodes = nodes();
        let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
        add_everywhere(&mut engines, "One");
        for step in 0..60 {
            work.do_one(&nodes, &mut rng, step);
            let scanning = rng.below(3);
            engines[scanning].check_all_files().expect("a look around");
            if rng.below(3) == 0 {
                scan_all(&mut engines);
            }
        }
        for _ in 0..4 {
            scan_all(&mut engines);
        }
        let tasks: Vec<usize> =
            engines.iter().map(|engine| engine.world().tasks().count()).collect();
        assert!(tasks.iter().all(|count| *count == tasks[0]), "{tasks:?}");
        let of_tasks = |node: usize| -> Vec<(String, String)> {
            let files = files_without_journal(nodes.folder(node)).into_iter();
            let text = |(path, text): (String, Vec<u8>)| {
                (path, String::from_utf8_lossy(&text).into_owned())
            };
            files
                .filter(|(path, _)| path.starts_with("tasks/") || path.starts_with("events/"))
                .map(text)
                .collect()
        };
        for node in 1..3 {
            assert_eq!(of_tasks(node), of_tasks(0), "node {node}");
        }
        for id in work.made.difference(&work.removed) {
            let name = format!("/{id}.md");
            let found = of_tasks(0).into_iter().filter(|(path, _)| path.ends_with(&name)).count();
            assert_eq!(found, 1, "{id} was made and never removed");
        }
    }
}

/// The files that people made, and those that they removed.
#[derive(Default)]
struct HandWork {
    made: BTreeSet<String>,
    removed: BTreeSet<String>,
}

impl HandWork {
    /// Does one thing that a person does to a task file of one node.
    fn do_one(&mut self, nodes: &TestFleet<MemoryLog>, rng: &mut SeededRng, step: usize) {
        let node = rng.below(3);
        let files: Vec<PathBuf> = Status::ALL
            .iter()
            .flat_map(|status| fs::read_dir(path(nodes, node, &format!("tasks/{status}"))))
            .flatten()
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "md"))
            .collect();
        let file = files.get(rng.below(files.len().max(1)));
        match (rng.below(4), file) {
            (0, _) | (_, None) => {
                let id = format!("TASK-2026-02-09-{:03}", 100 + step);
                let text = hand_made_text("By hand").replace(HAND_MADE, &id);
                fs::write(path(nodes, node, &format!("tasks/backlog/{id}.md")), text)
                    .expect("a file");
                self.made.insert(id);
            }
            (1, Some(file)) => {
                let text = fs::read_to_string(file).expect("a task");
                fs::write(file, format!("{text}\nLine {step} by hand.\n")).expect("an edit");
            }
            (2, Some(file)) => {
                let to = ["backlog", "ready", "blocked"][rng.below(3)];
                let name = file.file_name().expect("a name").to_string_lossy().into_owned();
                fs::rename(file, path(nodes, node, &format!("tasks/{to}/{name}"))).expect("a move");
            }
            (_, Some(file)) => {
                fs::remove_file(file).expect("it is taken away");
                let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
                self.removed.insert(name);
            }
        }
    }
}

#[test]
fn removed_file_goes_to_lost_and_found_on_other_nodes() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = add_everywhere(&mut engines, "One");
    let file = format!("tasks/ready/{id}.md");
    let text = fs::read_to_string(path(&nodes, 0, &file)).expect("a task");
    fs::remove_file(path(&nodes, 0, &file)).expect("it is taken away");
    scan_all(&mut engines);
    for (node, engine) in engines.iter().enumerate() {
        assert_eq!(engine.world().task(&id), None);
        assert!(!path(&nodes, node, &file).exists(), "node {node}");
    }
    let aside = format!("lost+found/tasks-ready-{id}.md.1");
    assert_eq!(fs::read_to_string(path(&nodes, 1, &aside)).expect("nothing is lost"), text);
    let edits = nodes.open_replica(2).expect("it opens").1.edits;
    assert_eq!(edits, [], "it is not taken for an edit");
}

#[test]
fn hand_edit_is_not_overwritten_by_commits_of_others() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = add_everywhere(&mut engines, "One");
    let file = path(&nodes, 1, &format!("tasks/ready/{id}.md"));
    let theirs = fs::read_to_string(&file).expect("a task").replace("title: One", "title: Mine");
    fs::write(&file, &theirs).expect("an edit");
    // Before node 1 scans its files, node 0 changes the task.
    let changes = TaskChanges { resource: Some(Some("db".into())), ..TaskChanges::default() };
    let edit = Command::Edit { id: id.clone(), changes: Box::new(changes) };
    engines[0].submit_one(operator_request(edit)).expect("an answer");
    engines[1].store().begin().expect("a turn");
    engines[1].store().end();
    assert_eq!(fs::read_to_string(&file).expect("it is there"), theirs, "it is as they left it");
    drop(engines);
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    scan_all(&mut engines);
    scan_all(&mut engines);
    assert_eq!(&*engines[0].world().task(&id).expect("a task").title, "Mine", "and it counts");
    check_all_same(&nodes);
}

#[test]
fn node_that_starts_with_edits_while_others_commit_tries_again() {
    let list = MemoryLog::default();
    let shared = list.clone();
    let nodes = TestFleet::new(3, move |_| shared.clone());
    let mut first = engine(&nodes, 0);
    let answered = first.submit_one(add_request("One", InitialStatus::Ready)).expect("an answer");
    let id = task_id_of(&answered);
    engine(&nodes, 1).check_all_files().expect("a look around");
    let file = path(&nodes, 1, &format!("tasks/ready/{id}.md"));
    let text = fs::read_to_string(&file).expect("a task");
    fs::write(&file, text.replace("title: One", "title: Mine")).expect("an edit");
    let (replica, loaded) = nodes.open_replica(1).expect("the folder opens");
    assert_eq!(loaded.edits.len(), 1);
    // The other node commits between opening and starting, and again while the edit is committed.
    first.submit_one(add_request("Two", InitialStatus::Ready)).expect("an answer");
    let again = move || {
        first.submit_one(add_request("Three", InitialStatus::Ready)).expect("an answer");
    };
    *list.rival.lock().expect("nobody panicked") = Some(Box::new(again));
    let clock = Box::new(ManualClock::at("2026-02-09T21:00:00.000Z"));
    let started = Engine::start(replica, loaded, clock, Policy::default()).expect("it starts");
    let titles: Vec<&str> = started.world().tasks().map(|task| &*task.title).collect();
    assert_eq!(titles, ["Mine", "Two", "Three"]);
}

#[test]
fn commit_with_lost_answer_counts_once() {
    for fate in [AppendFate::Unanswered, AppendFate::Lost] {
        let list = MemoryLog::default();
        let shared = list.clone();
        let nodes = TestFleet::new(3, move |_| shared.clone());
        let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
        add_everywhere(&mut engines, "One");
        list.fate.lock().expect("nobody panicked").push(fate);
        engines[1].submit_one(add_request("Two", InitialStatus::Ready)).expect_err("nobody knows");
        add_everywhere(&mut engines, "Three");
        let titles: Vec<&str> = engines[1].world().tasks().map(|task| &*task.title).collect();
        let expected: &[&str] =
            if fate == AppendFate::Lost { &["One", "Three"] } else { &["One", "Two", "Three"] };
        assert_eq!(titles, expected);
        check_all_same(&nodes);
    }
}

#[test]
fn different_event_log_is_refused_and_nothing_is_changed() {
    let list = MemoryLog::default();
    let shared = list.clone();
    let nodes = TestFleet::new(3, move |_| shared.clone());
    engine(&nodes, 0).submit_one(add_request("Ours", InitialStatus::Ready)).expect("an answer");
    engine(&nodes, 1).check_all_files().expect("a look around");
    // Another event log of the same length.
    list.commits.lock().expect("nobody panicked").clear();
    engine(&nodes, 2).submit_one(add_request("Theirs", InitialStatus::Ready)).expect("an answer");
    engine(&nodes, 2).submit_one(add_request("More", InitialStatus::Ready)).expect("an answer");
    let before = files_without_journal(nodes.folder(1));
    let refused = nodes.open_replica(1).map(drop).expect_err("it is another record").to_string();
    assert!(refused.contains("fleet restore"), "{refused}");
    assert_eq!(files_without_journal(nodes.folder(1)), before);
}

#[test]
fn carried_file_reaches_other_nodes_and_moves_with_its_task() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = add_everywhere(&mut engines, "One");
    let summary = |text: &str| ReplicatedFile {
        task: id.clone(),
        home: TaskFolderKind::Task,
        path: RelPath::parse("outputs/summary.md").expect("a good path"),
        content: text.into(),
    };
    let lies = |status: Status| format!("tasks/{status}/{id}/outputs/summary.md");
    let mut carry = |text: &str, from: usize, by: usize| {
        let store = engines[by].store();
        store.begin().expect("a turn");
        store.replicate_files(&[summary(text)], &node_name(from)).expect("it is carried");
        store.end();
    };
    // Node 1 has the file, and node 0 replicates it to the others.
    let own = path(&nodes, 1, &lies(Status::Ready));
    fs::create_dir_all(own.parent().expect("a folder")).expect("a folder");
    fs::write(&own, "First, and more since.\n").expect("a file");
    carry("First.\n", 1, 0);
    scan_all(&mut engines);
    let read = |node: usize, status| fs::read_to_string(path(&nodes, node, &lies(status)));
    assert_eq!(read(0, Status::Ready).expect("carried"), "First.\n");
    assert_eq!(read(2, Status::Ready).expect("carried"), "First.\n");
    assert_eq!(read(1, Status::Ready).expect("its own"), "First, and more since.\n");
    let back = Command::Move { id: id.clone(), to: Status::Backlog, reason: String::new() };
    engines[2].submit_one(operator_request(back)).expect("an answer");
    scan_all(&mut engines);
    for node in 0..3 {
        assert!(read(node, Status::Backlog).is_ok(), "node {node}");
        assert!(read(node, Status::Ready).is_err(), "node {node}");
    }
}

#[test]
fn carried_binary_file_is_kept_byte_for_byte() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let task = add_everywhere(&mut engines, "One");
    let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
    let picture = ReplicatedFile {
        task: task.clone(),
        home: TaskFolderKind::Task,
        path: RelPath::parse("outputs/picture.png").expect("a good path"),
        content: bytes.clone(),
    };
    let store = engines[0].store();
    store.begin().expect("a turn");
    store.replicate_files(&[picture], &node_name(1)).expect("it is carried");
    store.end();
    scan_all(&mut engines);
    let lies = format!("tasks/ready/{task}/outputs/picture.png");
    for node in [0, 2] {
        assert!(fs::read(path(&nodes, node, &lies)).expect("carried") == bytes, "node {node}");
    }
}

/// Returns how often `work` asked for the commits of others.
fn count_reads(list: &MemoryLog, work: impl FnOnce()) -> u32 {
    let before = *list.reads.lock().expect("nobody panicked");
    work();
    *list.reads.lock().expect("nobody panicked") - before
}

#[test]
fn lone_node_asks_for_commits_only_after_a_refusal() {
    let list = MemoryLog::default();
    let shared = list.clone();
    let nodes = TestFleet::new(3, move |_| shared.clone());
    let (mut alone, mut other) = (engine(&nodes, 0), engine(&nodes, 1));
    alone.store().set_leader_check(Box::new(|| true));
    let mut submit = |title: &str| {
        drop(alone.submit_one(add_request(title, InitialStatus::Ready)).expect("done"));
    };
    assert_eq!(count_reads(&list, || submit("One")), 0);
    assert_eq!(count_reads(&list, || submit("Two")), 0);
    other.submit_one(add_request("Three", InitialStatus::Ready)).expect("an answer");
    // The commit is refused, so the node catches up and decides again.
    assert!(count_reads(&list, || submit("Four")) > 0);
    assert_eq!(count_reads(&list, || submit("Five")), 0);
    // A lost answer leaves open whether the commit was appended.
    list.fate.lock().expect("nobody panicked").push(AppendFate::Unanswered);
    alone.submit_one(add_request("Six", InitialStatus::Ready)).expect_err("nobody answers");
    let seven =
        || drop(alone.submit_one(add_request("Seven", InitialStatus::Ready)).expect("an answer"));
    assert!(count_reads(&list, seven) > 0);
    let mut all: Vec<_> = [other, engine(&nodes, 2)].into_iter().chain([alone]).collect();
    scan_all(&mut all);
    let mut titles: Vec<String> =
        all[0].world().tasks().map(|task| task.title.to_string()).collect();
    titles.sort();
    assert_eq!(titles, ["Five", "Four", "One", "Seven", "Six", "Three", "Two"]);
    drop(all);
    check_all_same(&nodes);
}

/// What a power cut leaves of the journal's last commit, which is not synced when it is answered.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LastCommit {
    Whole,
    Torn,
    Empty,
    Gone,
}

const LAST_COMMITS: [LastCommit; 4] =
    [LastCommit::Whole, LastCommit::Torn, LastCommit::Empty, LastCommit::Gone];

/// Damages the journal as a power cut may: only its last commit.
fn damage_journal(
    last: LastCommit,
    before: &FolderSnapshot,
    left: &mut FolderSnapshot,
    dice: &mut SeededRng,
) {
    let file = "journal/00000001.wal";
    let (safe, journal) = (before.files[file].len(), left.files.get_mut(file).expect("a journal"));
    let torn = safe + 1 + dice.below(journal.len() - safe - 2);
    match last {
        LastCommit::Whole => {}
        LastCommit::Torn => journal.truncate(torn),
        LastCommit::Empty => journal[safe..torn].fill(0),
        LastCommit::Gone => journal.truncate(safe),
    }
}

/// Three nodes, the first of which loses power after some commits.
struct PowerCut {
    order: MemoryLog,
    nodes: TestFleet<MemoryLog>,
    id: TaskId,
    /// The first node's folder when it was last synced.
    safe: FolderSnapshot,
}

impl PowerCut {
    /// Has the first node create a task, bring its folder to rest, and commit `some` more.
    fn with_commits(
        some: usize,
        dice: &mut SeededRng,
    ) -> (Self, Engine<ReplicatedStore<MemoryLog>>) {
        let order = MemoryLog::default();
        let shared = order.clone();
        let nodes = TestFleet::new(3, move |_| shared.clone());
        let mut engine = engine(&nodes, 0);
        let id = task_id_of(
            &engine.submit_one(add_request("One", InitialStatus::Ready)).expect("an answer"),
        );
        fs::create_dir_all(path(&nodes, 0, &format!("tasks/ready/{id}/inputs"))).expect("a folder");
        engine.rest().expect("at rest");
        let safe = FolderSnapshot::of_folder(nodes.folder(0).root());
        let cut = Self { order, nodes, id, safe };
        for number in 0..some {
            let request = match dice.below(3) {
                0 => add_request(&format!("More {number}"), InitialStatus::Ready),
                _ => cut.edit(&format!("db {number}")),
            };
            engine.submit_one(request).expect("an answer");
        }
        (cut, engine)
    }

    fn edit(&self, resource: &str) -> EngineRequest {
        let changes =
            TaskChanges { resource: Some(Some(resource.into())), ..TaskChanges::default() };
        operator_request(Command::Edit { id: self.id.clone(), changes: Box::new(changes) })
    }

    /// Returns a request that edits the task, cancels it, or adds another.
    fn random_request(&self, dice: &mut SeededRng) -> EngineRequest {
        match dice.below(3) {
            0 => self.edit("another"),
            1 => {
                operator_request(Command::Cancel { id: self.id.clone(), reason: "No more".into() })
            }
            _ => add_request("Two", InitialStatus::Ready),
        }
    }

    fn commits(&self) -> usize {
        self.order.commits.lock().expect("nobody panicked").len()
    }

    /// Replaces the first node's folder, continues on every node, and checks that no difference
    /// counted as an edit and all nodes have the same files.
    fn resume_from(&self, left: &FolderSnapshot, dice: &mut SeededRng, what: &str) {
        let root = self.nodes.folder(0).root();
        for entry in fs::read_dir(root).expect("a folder").flatten() {
            clear(&entry.path());
        }
        left.write_to(root);
        let commits = self.commits();
        if dice.below(2) == 0 {
            // Opening the folder while the other nodes are unreachable changes nothing.
            drop(FileStore::open(self.nodes.folder(0)).expect("it opens"));
        }
        let mut engines: Vec<_> = (0..3).map(|node| engine(&self.nodes, node)).collect();
        scan_all(&mut engines);
        assert_eq!(self.commits(), commits, "{what}: taken for an edit");
        engines[0].submit_one(self.edit("afterwards")).map(drop).expect("an answer");
        scan_all(&mut engines);
        drop(engines);
        let _ = fs::remove_dir_all(root.join("lost+found"));
        check_all_same(&self.nodes);
    }
}

/// Removes a file, or a folder with its contents.
fn clear(path: &Path) {
    let cleared = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    cleared.expect("it is removed");
}

/// A commit counts once the log has it; the folder syncs it while the next is decided.
#[test]
fn power_cut_in_last_commit_is_repaired_from_the_log() {
    let seed = SeededRng::seed_from_env();
    let mut dice = SeededRng::from_seed(seed);
    for round in 0..84 {
        let last = LAST_COMMITS[round % LAST_COMMITS.len()];
        let (cut, mut engine) = PowerCut::with_commits(round % 3, &mut dice);
        let before = FolderSnapshot::of_folder(cut.nodes.folder(0).root());
        engine.submit_one(cut.random_request(&mut dice)).expect("an answer");
        drop(engine);
        let after = FolderSnapshot::of_folder(cut.nodes.folder(0).root());
        let mut left = power_cut::cut_power(&cut.safe, &after, &mut dice);
        damage_journal(last, &before, &mut left, &mut dice);
        cut.resume_from(&left, &mut dice, &format!("{last:?}, seed {seed}, round {round}"));
    }
}

/// At this moment it is unknown whether the commit counts, and the files do not show it yet.
#[test]
fn power_cut_during_append_follows_the_log() {
    let seed = SeededRng::seed_from_env();
    let mut dice = SeededRng::from_seed(seed);
    for round in 0..60 {
        let (cut, mut engine) = PowerCut::with_commits(round % 3, &mut dice);
        let root = cut.nodes.folder(0).root().to_owned();
        *cut.order.watched.lock().expect("nobody panicked") =
            Some((root, FolderSnapshot::default()));
        let is_lost = dice.below(2) == 0;
        if is_lost {
            cut.order.fate.lock().expect("nobody panicked").push(AppendFate::Lost);
        }
        let answered = engine.submit_one(cut.random_request(&mut dice));
        assert_eq!(answered.is_err(), is_lost);
        drop(engine);
        let watched = cut.order.watched.lock().expect("nobody panicked").take();
        let (_, asked) = watched.expect("it was watched");
        let left = power_cut::cut_power(&cut.safe, &asked, &mut dice);
        cut.resume_from(&left, &mut dice, &format!("lost: {is_lost}, seed {seed}, round {round}"));
    }
}

impl PowerCut {
    /// Has the first node append a commit that never arrives, and returns its folder as it was
    /// during the append, after a reboot.
    fn folder_during_append(
        &self,
        mut engine: Engine<ReplicatedStore<MemoryLog>>,
        request: EngineRequest,
    ) -> FolderSnapshot {
        let root = self.nodes.folder(0).root().to_owned();
        *self.order.watched.lock().expect("nobody panicked") =
            Some((root, FolderSnapshot::default()));
        self.order.fate.lock().expect("nobody panicked").push(AppendFate::Lost);
        engine.submit_one(request).map(drop).expect_err("it never arrives");
        drop(engine);
        let watched = self.order.watched.lock().expect("nobody panicked").take();
        let (_, mut left) = watched.expect("it was watched");
        mark_rebooted(&mut left);
        left
    }

    fn file(&self, status: &str) -> String {
        format!("tasks/{status}/{}.md", self.id)
    }
}

fn mark_rebooted(left: &mut FolderSnapshot) {
    let state = left.files.get_mut("journal/state").expect("a marker");
    *state = power_cut::with_another_boot(state);
}

/// An edit by a person must not count as evidence that the commit was appended.
#[test]
fn unordered_commit_is_not_revived_by_an_edit() {
    let mut dice = SeededRng::from_seed(7);
    let (cut, engine) = PowerCut::with_commits(1, &mut dice);
    let mut left = cut.folder_during_append(engine, cut.edit("another"));
    let file = left.files.get_mut(&cut.file("ready")).expect("a task");
    file.extend_from_slice(b"\nA line by hand.\n");
    left.write_to(cut.nodes.folder(0).root());
    let commits = cut.commits();
    let mut engines: Vec<_> = (0..3).map(|node| self::engine(&cut.nodes, node)).collect();
    scan_all(&mut engines);
    assert_eq!(cut.commits(), commits + 1, "the edit alone");
    let there = fs::read_to_string(path(&cut.nodes, 2, &cut.file("ready"))).expect("a task");
    assert!(there.ends_with("\nA line by hand.\n") && !there.contains("another"), "{there}");
    drop(engines);
    check_all_same(&cut.nodes);
}

/// A change of a task's file by a person; returns its new path.
type HandChange = fn(&mut Vec<u8>, &str) -> Option<String>;

const HAND_CHANGES: [HandChange; 3] = [
    |_, id| Some(format!("tasks/cancelled/{id}.md")),
    |_, _| None,
    |text, id| {
        text.clear();
        Some(format!("tasks/ready/{id}.md"))
    },
];

/// The first process that opens the folder drops the commit that was never appended: later changes
/// by people do not bring it back, however similar they look and however often the machine reboots.
#[test]
fn unordered_commit_is_dropped_when_the_folder_is_opened() {
    for (number, change) in HAND_CHANGES.into_iter().enumerate() {
        let (cut, engine) = PowerCut::with_commits(number, &mut SeededRng::from_seed(7));
        let cancel = Command::Cancel { id: cut.id.clone(), reason: "No more".into() };
        let left = cut.folder_during_append(engine, operator_request(cancel));
        let root = cut.nodes.folder(0).root();
        let put_back = |left: &FolderSnapshot| {
            for entry in fs::read_dir(root).expect("a folder").flatten() {
                clear(&entry.path());
            }
            left.write_to(root);
        };
        put_back(&left);
        drop(FileStore::open(cut.nodes.folder(0)).expect("it opens"));

        let mut later = FolderSnapshot::of_folder(root);
        let mut text = later.files.remove(&cut.file("ready")).expect("a task");
        if let Some(path) = change(&mut text, &cut.id.to_string()) {
            later.files.insert(path, text);
        }
        mark_rebooted(&mut later);
        put_back(&later);
        let commits = cut.commits();
        let mut engines: Vec<_> = (0..3).map(|node| self::engine(&cut.nodes, node)).collect();
        scan_all(&mut engines);
        let by = cut.order.commits.lock().expect("nobody panicked")[commits..].concat();
        assert!(by.is_empty() || by.contains("human:unknown"), "change {number}: {by}");
        assert!(!by.contains("No more"), "change {number}: {by}");
    }
}

/// A move by a person must not count as evidence that the commit was appended.
#[test]
fn unordered_commit_is_not_revived_by_a_move() {
    let (cut, engine) = PowerCut::with_commits(1, &mut SeededRng::from_seed(7));
    let cancel = Command::Cancel { id: cut.id.clone(), reason: "No more".into() };
    let mut left = cut.folder_during_append(engine, operator_request(cancel));
    let text = left.files.remove(&cut.file("ready")).expect("a task");
    left.files.insert(cut.file("cancelled"), text);
    let root = cut.nodes.folder(0).root();
    for entry in fs::read_dir(root).expect("a folder").flatten() {
        clear(&entry.path());
    }
    left.write_to(root);
    let commits = cut.commits();
    let mut engines: Vec<_> = (0..3).map(|node| self::engine(&cut.nodes, node)).collect();
    scan_all(&mut engines);
    let by = cut.order.commits.lock().expect("nobody panicked")[commits..].concat();
    assert!(by.contains("human:unknown") && !by.contains("No more"), "{by}");
    drop(engines);
    check_all_same(&cut.nodes);
}

/// Which process applies the commits of other nodes.
#[derive(Clone, Copy, PartialEq)]
enum ApplyingProcess {
    /// The process that scans the files afterwards.
    Itself,
    /// A process that ends, beside the one that scans the files afterwards.
    AnotherProcess,
    /// A process that ends before the one that scans the files afterwards starts.
    TheNextProcess,
}

/// The move is recorded at the next scan. Until then other nodes may change the task several times,
/// before and after a restart.
#[test]
fn hand_moved_task_keeps_all_changes_of_other_nodes() {
    for by in
        [ApplyingProcess::Itself, ApplyingProcess::AnotherProcess, ApplyingProcess::TheNextProcess]
    {
        let nodes = nodes();
        let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
        let id = add_everywhere(&mut engines, "One");
        let (from, to) = (format!("tasks/ready/{id}.md"), format!("tasks/blocked/{id}.md"));
        fs::rename(path(&nodes, 1, &from), path(&nodes, 1, &to)).expect("a move");
        for resource in ["db", "net"] {
            let changes =
                TaskChanges { resource: Some(Some(resource.into())), ..TaskChanges::default() };
            let edit = Command::Edit { id: id.clone(), changes: Box::new(changes) };
            engines[0].submit_one(operator_request(edit)).expect("an answer");
            match by {
                ApplyingProcess::Itself => {
                    engines[1].store().begin().expect("a turn");
                    engines[1].store().end();
                }
                ApplyingProcess::AnotherProcess | ApplyingProcess::TheNextProcess => {
                    let (mut replica, _) = nodes.open_replica(1).expect("the folder opens");
                    replica.begin().expect("a turn");
                    replica.end();
                }
            }
        }
        if by != ApplyingProcess::AnotherProcess {
            drop(engines);
            engines = (0..3).map(|node| engine(&nodes, node)).collect();
        }
        scan_all(&mut engines);
        scan_all(&mut engines);
        let task = engines[2].world().task(&id).expect("a task");
        assert_eq!((task.status(), task.resource.as_deref()), (Status::Blocked, Some("net")));
        drop(engines);
        check_all_same(&nodes);
    }
}

/// A node that was off sees an edit when it opens the folder, before it learns what other nodes did
/// to the task. The person edited the text and moved nothing: the text is theirs, and the status
/// that of the event log.
#[test]
fn offline_edit_follows_the_task_moved_by_other_nodes() {
    let nodes = nodes();
    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    let id = add_everywhere(&mut engines, "One");
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
        engines[0]
            .submit_one(operator_request(Command::Move { id, to, reason }))
            .expect("an answer");
    }
    drop((engines, off));

    let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
    scan_all(&mut engines);
    scan_all(&mut engines);
    let task = engines[0].world().task(&id).expect("a task");
    assert_eq!((task.status(), &*task.title), (Status::Done, "Mine"));
    assert!(
        path(&nodes, 1, &format!("tasks/done/{id}/inputs")).exists(),
        "with what belongs to it"
    );
    drop(engines);
    fs::remove_dir_all(path(&nodes, 1, &format!("tasks/done/{id}"))).expect("it is there");
    check_all_same(&nodes);
}

#[test]
fn offline_changes_are_not_overwritten_by_commits_of_others() {
    for number in 0..3 {
        let nodes = nodes();
        let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
        let id = add_everywhere(&mut engines, "One");
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
        let changes = TaskChanges { resource: Some(Some("db".into())), ..TaskChanges::default() };
        let edit = Command::Edit { id: id.clone(), changes: Box::new(changes) };
        engines[0].submit_one(operator_request(edit)).expect("an answer");
        drop((engines, off));

        let mut engines: Vec<_> = (0..3).map(|node| engine(&nodes, node)).collect();
        scan_all(&mut engines);
        scan_all(&mut engines);
        let task = engines[0].world().task(&id);
        match number {
            0 => assert_eq!(&*task.expect("a task").title, "Mine", "the edit counts"),
            1 => assert_eq!(task.expect("a task").status(), Status::Blocked, "the move counts"),
            _ => assert!(task.is_none(), "what was taken away stays away"),
        }
        drop(engines);
        for node in 0..3 {
            // A task file that was removed on one node is in `lost+found` on the others.
            let _ = fs::remove_dir_all(path(&nodes, node, "lost+found"));
        }
        check_all_same(&nodes);
    }
}
