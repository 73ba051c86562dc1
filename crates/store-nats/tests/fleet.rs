//! What is refused, who decides, and what is carried, on real servers.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use adjutant_core::command::Start;
use adjutant_core::{Policy, TaskId};
use adjutant_runtime::{Engine, SystemClock};
use adjutant_store::file::Folder;
use adjutant_store::{Batch, Sequence, Store, StoreError, Version};
use adjutant_store_nats::{Commits, Durability, Fleet, NatsStore, Options, RunLog};
use adjutant_testkit::cluster::{Cluster, Shared, Sync};
use adjutant_testkit::nodes::{Nodes, files};
use adjutant_testkit::project::{add, id_of};

static CLUSTER: LazyLock<Shared> = LazyLock::new(Shared::join);

fn options(address: &str) -> Options {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let prefix = format!("fleet-{}-{number}", std::process::id());
    Options { prefix, ..Options::parse(address).expect("a good address") }
}

fn fleet() -> Fleet {
    Fleet::connect(&options(&CLUSTER.address())).expect("the fleet can be reached")
}

fn engine(nodes: &Nodes<Commits>, node: usize) -> Engine<NatsStore> {
    let (mirror, loaded) = nodes.mirror(node).expect("the folder opens");
    Engine::start(mirror, loaded, Box::new(SystemClock), Policy::default()).expect("it starts")
}

fn refused(options: &Options) -> String {
    Fleet::connect(options).map(drop).expect_err("it is refused").to_string()
}

#[test]
fn servers_that_do_not_sync_are_refused_unless_told_otherwise() {
    let cluster = Cluster::start_with(1, Sync::Seldom);
    let strict = options(&cluster.address());
    let words = refused(&strict);
    assert!(words.contains("s1 does not sync before it answers"), "{words}");
    assert!(words.contains("durability = \"relaxed\""), "{words}");
    let relaxed = Options { durability: Durability::Relaxed, ..strict };
    let fleet = Fleet::connect(&relaxed).expect("what is asked for is given");
    let nodes = Nodes::new(2, move |_| Commits::new(&fleet));
    engine(&nodes, 0).submit_one(add("One", Start::Ready)).expect("one server is enough");
    assert_eq!(engine(&nodes, 1).world().tasks().len(), 1);
}

#[test]
fn servers_that_do_not_tell_are_refused() {
    let cluster = Cluster::start_with(1, Sync::Untold);
    let words = refused(&options(&cluster.address()));
    assert!(words.contains("no server tells how often it syncs"), "{words}");
}

#[test]
fn fewer_than_three_servers_are_refused() {
    let cluster = Cluster::start_with(1, Sync::Always);
    let fleet = Fleet::connect(&options(&cluster.address())).expect("it syncs, and tells so");
    let nodes = Nodes::new(1, move |_| Commits::new(&fleet));
    let error = nodes.mirror(0).map(drop).expect_err("one server is not three");
    assert!(format!("{error:?}").contains("replicas"), "{error:?}");
}

#[test]
fn a_server_that_is_not_there_is_said_to_be_so() {
    let options = Options::parse("nats://me:secret@127.0.0.1:1").expect("a good address");
    let words = refused(&options);
    assert_eq!(words, "cannot connect at nats://127.0.0.1:1", "and the password is not shown");
}

#[test]
fn a_commit_too_long_for_a_message_is_carried_all_the_same() {
    let fleet = fleet();
    let nodes = Nodes::new(2, move |_| Commits::new(&fleet));
    let mut one = engine(&nodes, 0);
    let titles: Vec<_> =
        (0..60).map(|n| add(&format!("{n} {}", "x".repeat(200)), Start::Ready)).collect();
    let body = "y".repeat(900_000);
    let long = |n: usize| {
        let mut new = adjutant_core::command::NewTask::default();
        (new.title, new.body) = (format!("Long {n}"), body.clone());
        adjutant_testkit::project::operator(adjutant_core::Command::Add(Box::new(new)))
    };
    let all: Vec<_> = titles.into_iter().chain([long(1), long(2)]).collect();
    one.submit(&all).expect("one commit of two megabytes");
    assert_eq!(one.store().version(), Version(1));
    drop(engine(&nodes, 1));
    assert!(files(nodes.folder(0)) == files(nodes.folder(1)), "both have the same files");
}

#[test]
fn a_folder_that_is_ahead_of_the_servers_is_refused() {
    let (here, elsewhere) = (fleet(), fleet());
    let nodes = Nodes::new(1, move |_| Commits::new(&here));
    engine(&nodes, 0).submit_one(add("One", Start::Ready)).expect("an answer");
    let (store, _) = adjutant_store::FileStore::open(nodes.folder(0)).expect("it opens");
    let error = Commits::new(&elsewhere).check(&store).expect_err("there is no such stream");
    assert!(error.to_string().contains("adjutant fleet restore"), "{error}");
    // A stream that ends before the folder does.
    let mut impatient = elsewhere.options().clone();
    impatient.patience = Duration::from_millis(200);
    let elsewhere = Fleet::connect(&impatient).expect("the fleet can be reached");
    Commits::new(&elsewhere).establish(Version(0)).expect("a stream");
    let error = Commits::new(&elsewhere).check(&store).expect_err("the folder is ahead");
    assert!(error.to_string().contains("adjutant fleet restore"), "{error}");
}

#[test]
fn a_stream_can_be_made_from_a_folder_that_is_there() {
    let (before, again) = (fleet(), fleet());
    let nodes = Nodes::new(1, move |_| Commits::new(&before));
    let mut one = engine(&nodes, 0);
    for title in ["One", "Two", "Three"] {
        one.submit_one(add(title, Start::Ready)).expect("an answer");
    }
    drop(one);
    Commits::new(&again).establish(Version(3)).expect("a stream that goes on");
    let (mirror, loaded) =
        NatsStore::open(nodes.folder(0), "node-0", Commits::new(&again)).expect("it opens");
    let mut one =
        Engine::start(mirror, loaded, Box::new(SystemClock), Policy::default()).expect("it starts");
    one.submit_one(add("Four", Start::Ready)).expect("an answer");
    assert_eq!(one.store().version(), Version(4));
}

#[test]
fn a_deposed_decider_is_refused_by_the_servers() {
    let fleet = fleet();
    let ttl = Duration::from_secs(2);
    let sequence = fleet.clone();
    let nodes = Nodes::new(2, move |_| Commits::new(&sequence));
    let old = fleet.try_lead("node-0", ttl).expect("an answer").expect("nobody decides yet");
    assert!(fleet.try_lead("node-1", ttl).expect("an answer").is_none(), "one at a time");
    assert_eq!(fleet.decider(ttl).expect("an answer").as_ref(), Some(old.term()));
    // The old one has its turn, and does not know that its lease ends.
    let mut deposed = nodes.mirror(0).expect("it opens").0;
    deposed.begin().expect("a turn");
    let until = Instant::now() + Duration::from_mins(1);
    let new = loop {
        if let Some(lease) = fleet.try_lead("node-1", ttl).expect("an answer") {
            break lease;
        }
        assert!(Instant::now() < until, "nobody takes over");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(!old.is_held() && new.is_held());
    let mut decider = nodes.mirror(1).expect("it opens").0;
    decider.begin().expect("a turn");
    decider.carry(&[], "node-1").expect("the first thing it does is to commit");
    decider.end();
    // It goes on regardless.
    match deposed.commit(&Batch::default()) {
        Err(StoreError::Conflict { expected, now }) => {
            assert_eq!((expected, now), (Version(0), Version(1)));
        }
        taken => panic!("a deposed decider's commit was taken: {taken:?}"),
    }
    deposed.end();
    new.release().expect("it is given back");
    assert!(fleet.try_lead("node-0", ttl).expect("an answer").is_some(), "at once");
}

#[test]
fn a_lease_is_kept_by_renewing_it() {
    let fleet = fleet();
    let ttl = Duration::from_secs(2);
    let mut lease = fleet.try_lead("node-0", ttl).expect("an answer").expect("nobody decides");
    let until = Instant::now() + 2 * ttl;
    while Instant::now() < until {
        assert!(lease.renew().expect("an answer"), "nobody else has it");
        assert!(fleet.try_lead("node-1", ttl).expect("an answer").is_none());
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_log_is_read_from_any_place_as_it_grows() {
    let fleet = fleet();
    let task = TaskId::parse("TASK-2026-02-09-001").expect("a good id");
    let log = RunLog { task: task.clone(), attempt: 1 };
    let other = RunLog { task, attempt: 2 };
    assert_eq!(fleet.read_log(&log, 0).expect("an answer"), (0, vec![]));
    fleet.append_log(&log, 0, b"Hello, ").expect("it is kept");
    fleet.append_log(&other, 0, b"Else.").expect("it is kept");
    fleet.append_log(&log, 7, b"world.\n").expect("it is kept");
    // An answer was lost, and the same is sent again.
    fleet.append_log(&log, 7, b"world.\n").expect("it is kept");
    let read = |from| fleet.read_log(&log, from).map(|(at, text)| (at, String::from_utf8(text)));
    assert_eq!(read(0).expect("an answer"), (0, Ok("Hello, world.\n".into())));
    assert_eq!(read(9).expect("an answer"), (9, Ok("rld.\n".into())));
    assert_eq!(read(14).expect("an answer"), (14, Ok(String::new())));
    let flood = vec![b'z'; 700_000];
    fleet.append_log(&log, 14, &flood).expect("it is kept in pieces");
    assert_eq!(fleet.read_log(&log, 14).expect("an answer"), (14, flood));
}

#[test]
fn ids_are_given_by_whoever_decides() {
    let fleet = fleet();
    let nodes = Nodes::new(2, move |_| Commits::new(&fleet));
    let (mut one, mut two) = (engine(&nodes, 0), engine(&nodes, 1));
    let ids: Vec<TaskId> = (0..6)
        .map(|n| {
            let who = if n % 2 == 0 { &mut one } else { &mut two };
            id_of(&who.submit_one(add("A task", Start::Ready)).expect("an answer"))
        })
        .collect();
    let mut different = ids.clone();
    different.dedup();
    assert_eq!(different, ids);
}

/// Keeps a snapshot, as whoever decides does now and then.
fn snapshot(fleet: &Fleet, engine: &mut Engine<NatsStore>) -> Version {
    let world = engine.committed().expect("a world").clone();
    let store = engine.store();
    store.begin().expect("a turn");
    let version = fleet.keep_snapshot(store, &world).expect("it is kept");
    store.end();
    version
}

#[test]
fn a_node_joins_from_a_snapshot_and_what_came_after() {
    let fleet = fleet();
    let sequence = fleet.clone();
    let nodes = Nodes::new(2, move |_| Commits::new(&sequence));
    let mut one = engine(&nodes, 0);
    for n in 0..5 {
        one.submit_one(add(&format!("Task {n}"), Start::Ready)).expect("an answer");
    }
    let version = snapshot(&fleet, &mut one);
    assert_eq!(version, Version(5));
    Commits::new(&fleet).trim(version).expect("what came before is dropped");
    one.submit_one(add("After", Start::Ready)).expect("an answer");
    // An empty folder is too far behind by now.
    let error = nodes.mirror(1).map(drop).expect_err("the first commits are gone");
    assert!(error.to_string().contains("join anew"), "{error}");
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::init(home.path()).expect("a folder");
    let settings = home.path().join(".adjutant/adjutant.toml");
    std::fs::write(&settings, "# of this node\n").expect("a file");
    fleet.join(&folder).expect("it joins");
    let (_, loaded) = NatsStore::open(&folder, "new", Commits::new(&fleet)).expect("it opens");
    assert_eq!(loaded.world, *one.committed().expect("a world"));
    assert_eq!(loaded.edits, []);
    let mut there = files(&folder);
    assert_eq!(there.remove("adjutant.toml").expect("its own"), b"# of this node\n");
    assert!(there == files(nodes.folder(0)), "the same files");
    assert_eq!(Commits::new(&fleet).verify().expect("an answer"), Vec::<String>::new());
}

#[test]
fn a_fleet_that_was_lost_is_restored_from_a_folder() {
    let (lost, new) = (fleet(), fleet());
    let nodes = Nodes::new(1, move |_| Commits::new(&lost));
    let mut one = engine(&nodes, 0);
    for n in 0..3 {
        one.submit_one(add(&format!("Task {n}"), Start::Ready)).expect("an answer");
    }
    let world = one.committed().expect("a world").clone();
    drop(one);
    let (store, loaded) = new.restore(nodes.folder(0), "node-0").expect("it is restored");
    assert_eq!((store.version(), &loaded.world), (Version(3), &world));
    let error = new.restore(nodes.folder(0), "node-0").map(drop).expect_err("it is there");
    assert!(error.to_string().contains("nothing is written over"), "{error}");
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = Folder::init(home.path()).expect("a folder");
    new.join(&folder).expect("another joins");
    let (_, joined) = NatsStore::open(&folder, "new", Commits::new(&new)).expect("it opens");
    assert_eq!(joined.world, world);
}

#[test]
fn a_record_that_was_tampered_with_is_found() {
    let fleet = fleet();
    let commits = Commits::new(&fleet);
    let sequence = fleet.clone();
    let nodes = Nodes::new(1, move |_| Commits::new(&sequence));
    let mut one = engine(&nodes, 0);
    for n in 0..3 {
        one.submit_one(add(&format!("Task {n}"), Start::Ready)).expect("an answer");
    }
    assert_eq!(commits.verify().expect("an answer"), Vec::<String>::new());
    let forged = commits.after(Version(2)).expect("the last commit").remove(0);
    let forged = forged.replace("\"version\":3", "\"version\":4");
    commits.append(Version(3), forged).expect("whoever may write may write anything");
    let found = commits.verify().expect("an answer");
    assert!(found.len() == 1 && found[0].starts_with("commit 4: "), "{found:?}");
    assert!(nodes.mirror(0).is_err(), "and no folder follows it");
}
