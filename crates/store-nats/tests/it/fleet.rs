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
use adjutant_testkit::desk::Desk;
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
fn logs_take_no_more_room_than_they_may() {
    let fleet = fleet();
    let task = TaskId::parse("TASK-2026-02-09-001").expect("a good id");
    let log = RunLog { task, attempt: 1 };
    fleet.append_log(&log, 0, b"Hello").expect("it is kept");
    let name = format!("{}_logs", fleet.options().prefix);
    let mut desk = Desk::at(&CLUSTER.address());
    let limits = |desk: &mut Desk| {
        let info = desk.ask(&format!("STREAM.INFO.{name}"), &serde_json::json!({}));
        (info["config"]["max_bytes"].clone(), info["config"]["discard"].clone())
    };
    let bound = (serde_json::json!(1 << 30), serde_json::json!("old"));
    assert_eq!(limits(&mut desk), bound);
    // One that was made when there was no bound gets it.
    desk.set(&name, "max_bytes", serde_json::json!(-1));
    fleet.append_log(&log, 5, b", world").expect("it is kept");
    assert_eq!(limits(&mut desk), bound);
    assert_eq!(fleet.read_log(&log, 0).expect("an answer"), (0, b"Hello, world".to_vec()));
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

/// Returns how many objects there are that hold a commit.
fn long_commits(desk: &mut Desk, options: &Options) -> usize {
    let objects = desk.messages(&format!("OBJ_{}_objects", options.prefix));
    let texts = objects.iter().map(|(_, text)| String::from_utf8_lossy(text));
    let is_commit = |text: &str| text.contains("\"name\":\"commit-1-");
    texts.filter(|text| is_commit(text) && !text.contains("\"deleted\":true")).count()
}

/// Whoever decides keeps a copy now and then, and what is far before it is dropped with that.
#[test]
fn what_nobody_needs_any_more_is_dropped_when_a_copy_is_kept() {
    let address = CLUSTER.address();
    let options = Options { behind: 3, ..options(&address) };
    let fleet = Fleet::connect(&options).expect("the fleet can be reached");
    let sequence = fleet.clone();
    let nodes = Nodes::new(3, move |_| Commits::new(&sequence));
    let mut one = engine(&nodes, 0);
    let long = |n: u32| {
        let mut new = adjutant_core::command::NewTask::default();
        (new.title, new.body) = (format!("Long {n}"), "y".repeat(900_000));
        adjutant_testkit::project::operator(adjutant_core::Command::Add(Box::new(new)))
    };
    one.submit(&[long(1), long(2)]).expect("a commit that is too long for a message");
    let add_to = |one: &mut Engine<NatsStore>, count: u32| {
        for n in 0..count {
            one.submit_one(add(&format!("Task {n}"), Start::Ready)).expect("an answer");
        }
    };
    add_to(&mut one, 6);
    // One that has seen the fifth is not too far behind, one that has seen nothing is.
    let mut near = engine(&nodes, 1);
    add_to(&mut one, 2);
    let mut desk = Desk::at(&address);
    assert_eq!(long_commits(&mut desk, &options), 1);
    let world = one.committed().expect("a world").clone();
    one.store().begin().expect("a turn");
    one.store().snapshot(&world).expect("a copy is kept");
    one.store().end();
    let kept: Vec<u64> =
        desk.messages(&format!("{}_commits", options.prefix)).iter().map(|(n, _)| *n).collect();
    assert_eq!(kept, [7, 8, 9], "the copy is of the ninth");
    assert_eq!(long_commits(&mut desk, &options), 0, "the long one is dropped with the others");
    near.look_around().expect("it follows");
    assert!(files(nodes.folder(0)) == files(nodes.folder(1)), "both have the same files");
    let error = nodes.mirror(2).map(drop).expect_err("the first commits are gone");
    assert!(error.to_string().contains("join anew"), "{error}");
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
    commits.append(Version(3), forged, &mut || {}).expect("whoever may write may write anything");
    let found = commits.verify().expect("an answer");
    assert!(found.len() == 1 && found[0].starts_with("commit 4: "), "{found:?}");
    assert!(nodes.mirror(0).is_err(), "and no folder follows it");
}
