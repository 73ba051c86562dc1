//! Refusals, leadership, logs, snapshots and restore on real servers.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use adjutant_engine::Engine;
use adjutant_model::command::InitialStatus;
use adjutant_model::{Policy, TaskId};
use adjutant_process::clock::SystemClock;
use adjutant_replication::nats::{
    CommitStream, DurabilityLevel, FleetConnection, FleetOptions, NatsStore, RunLog,
};
use adjutant_replication::replicated_store::CommitLog;
use adjutant_store::file::DataFolder;
use adjutant_store::{CommitBatch, FleetStore, Store, StoreError, StoreVersion};
use adjutant_testkit::cluster::{NatsCluster, SharedCluster, SyncSetting};
use adjutant_testkit::fleet_keys::{fleet_options, signer};
use adjutant_testkit::nats_admin::NatsAdmin;
use adjutant_testkit::nodes::{TestFleet, files_without_journal};
use adjutant_testkit::project::{add_request, task_id_of};

static CLUSTER: LazyLock<SharedCluster> = LazyLock::new(SharedCluster::join);

fn options(address: &str) -> FleetOptions {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let prefix = format!("fleet-{}-{number}", std::process::id());
    FleetOptions { prefix, ..fleet_options(address, "node-0") }
}

fn fleet() -> FleetConnection {
    FleetConnection::connect(&options(&CLUSTER.address())).expect("the fleet can be reached")
}

/// Connects another node to the same fleet.
fn as_node(fleet: &FleetConnection, name: &str) -> FleetConnection {
    let options = FleetOptions { signer: Some(signer(name)), ..fleet.options().clone() };
    FleetConnection::connect(&options).expect("the fleet can be reached")
}

fn engine(nodes: &TestFleet<CommitStream>, node: usize) -> Engine<NatsStore> {
    let (replica, loaded) = nodes.open_replica(node).expect("the folder opens");
    Engine::start(replica, loaded, Box::new(SystemClock), Policy::default()).expect("it starts")
}

fn refused(options: &FleetOptions) -> String {
    FleetConnection::connect(options).map(drop).expect_err("it is refused").to_string()
}

#[test]
fn server_without_sync_is_refused_unless_relaxed() {
    let cluster = NatsCluster::start_with(1, SyncSetting::Periodic);
    let strict = options(&cluster.address());
    let words = refused(&strict);
    assert!(words.contains("s1 does not sync before it confirms"), "{words}");
    assert!(words.contains("durability = \"relaxed\""), "{words}");
    let relaxed = FleetOptions { durability: DurabilityLevel::Relaxed, ..strict };
    let fleet = FleetConnection::connect(&relaxed).expect("what is asked for is given");
    let nodes = TestFleet::new(2, move |_| CommitStream::new(&fleet));
    engine(&nodes, 0)
        .submit_one(add_request("One", InitialStatus::Ready))
        .expect("one server is enough");
    assert_eq!(engine(&nodes, 1).world().tasks().len(), 1);
}

#[test]
fn server_that_hides_its_sync_setting_is_refused() {
    let cluster = NatsCluster::start_with(1, SyncSetting::Undisclosed);
    let words = refused(&options(&cluster.address()));
    assert!(words.contains("no server reports its sync setting"), "{words}");
}

#[test]
fn unreachable_server_is_reported_without_password() {
    let options = fleet_options("nats://me:secret@127.0.0.1:1", "a");
    let words = refused(&options);
    assert_eq!(words, "cannot connect at nats://127.0.0.1:1", "and the password is not shown");
}

#[test]
fn commit_too_large_for_message_reaches_all_nodes() {
    let fleet = fleet();
    let nodes = TestFleet::new(2, move |_| CommitStream::new(&fleet));
    let mut one = engine(&nodes, 0);
    let titles: Vec<_> = (0..60)
        .map(|n| add_request(&format!("{n} {}", "x".repeat(200)), InitialStatus::Ready))
        .collect();
    let body = "y".repeat(900_000);
    let long = |n: usize| {
        let mut new = adjutant_model::command::NewTask::default();
        (new.title, new.body) = (format!("Long {n}"), body.clone());
        adjutant_testkit::project::operator_request(adjutant_model::Command::Add(Box::new(new)))
    };
    let all: Vec<_> = titles.into_iter().chain([long(1), long(2)]).collect();
    one.submit(&all).expect("one commit of two megabytes");
    assert_eq!(one.store().version(), StoreVersion(1));
    drop(engine(&nodes, 1));
    assert!(
        files_without_journal(nodes.folder(0)) == files_without_journal(nodes.folder(1)),
        "both have the same files"
    );
}

#[test]
fn folder_ahead_of_servers_is_refused() {
    let (here, elsewhere) = (fleet(), fleet());
    let nodes = TestFleet::new(1, move |_| CommitStream::new(&here));
    engine(&nodes, 0).submit_one(add_request("One", InitialStatus::Ready)).expect("an answer");
    let (store, _) = adjutant_store::FileStore::open(nodes.folder(0)).expect("it opens");
    let error =
        CommitStream::new(&elsewhere).check_folder(&store).expect_err("there is no such stream");
    assert!(error.to_string().contains("adjutant fleet restore"), "{error}");
    // A stream that ends before the folder does.
    let mut impatient = elsewhere.options().clone();
    impatient.retry_timeout = Duration::from_millis(200);
    let elsewhere = FleetConnection::connect(&impatient).expect("the fleet can be reached");
    CommitStream::new(&elsewhere).create(StoreVersion(0)).expect("a stream");
    let error =
        CommitStream::new(&elsewhere).check_folder(&store).expect_err("the folder is ahead");
    assert!(error.to_string().contains("adjutant fleet restore"), "{error}");
}

#[test]
fn stream_continues_from_existing_folder() {
    let (before, again) = (fleet(), fleet());
    let nodes = TestFleet::new(1, move |_| CommitStream::new(&before));
    let mut one = engine(&nodes, 0);
    for title in ["One", "Two", "Three"] {
        one.submit_one(add_request(title, InitialStatus::Ready)).expect("an answer");
    }
    drop(one);
    CommitStream::new(&again).create(StoreVersion(3)).expect("a stream that goes on");
    let (replica, loaded) =
        NatsStore::open(nodes.folder(0), "node-0", CommitStream::new(&again)).expect("it opens");
    let mut one = Engine::start(replica, loaded, Box::new(SystemClock), Policy::default())
        .expect("it starts");
    one.submit_one(add_request("Four", InitialStatus::Ready)).expect("an answer");
    assert_eq!(one.store().version(), StoreVersion(4));
}

#[test]
fn deposed_leader_commit_is_refused_by_servers() {
    let fleet = fleet();
    let ttl = Duration::from_secs(2);
    let sequence = fleet.clone();
    let nodes = TestFleet::new(2, move |_| CommitStream::new(&sequence));
    let old = fleet.try_lead("node-0", ttl).expect("an answer").expect("nobody decides yet");
    let other = as_node(&fleet, "node-1");
    assert!(other.try_lead("node-1", ttl).expect("an answer").is_none(), "one at a time");
    assert_eq!(fleet.leader_term(ttl).expect("an answer").as_ref(), Some(old.term()));
    // The old leader has begun its turn and does not know that its lease expires.
    let mut deposed = nodes.open_replica(0).expect("it opens").0;
    deposed.begin().expect("a turn");
    let until = Instant::now() + Duration::from_mins(1);
    let new = loop {
        if let Some(lease) = other.try_lead("node-1", ttl).expect("an answer") {
            break lease;
        }
        assert!(Instant::now() < until, "nobody takes over");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(!old.is_held() && new.is_held());
    let mut decider = nodes.open_replica(1).expect("it opens").0;
    decider.begin().expect("a turn");
    decider.replicate_files(&[], "node-1").expect("the first thing it does is to commit");
    decider.end();
    // The old leader commits regardless.
    match deposed.commit(&CommitBatch::default()) {
        Err(StoreError::Conflict { expected, now }) => {
            assert_eq!((expected, now), (StoreVersion(0), StoreVersion(1)));
        }
        taken => panic!("a deposed decider's commit was taken: {taken:?}"),
    }
    deposed.end();
    new.release().expect("it is given back");
    assert!(fleet.try_lead("node-0", ttl).expect("an answer").is_some(), "at once");
}

#[test]
fn leader_lease_is_kept_by_renewing() {
    let fleet = fleet();
    let (other, ttl) = (as_node(&fleet, "node-1"), Duration::from_secs(2));
    let mut lease = fleet.try_lead("node-0", ttl).expect("an answer").expect("nobody decides");
    let until = Instant::now() + 2 * ttl;
    while Instant::now() < until {
        assert!(lease.renew().expect("an answer"), "nobody else has it");
        assert!(other.try_lead("node-1", ttl).expect("an answer").is_none());
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn run_log_is_read_from_any_offset_while_it_grows() {
    let fleet = fleet();
    let task = TaskId::parse("TASK-2026-02-09-001").expect("a good id");
    let log = RunLog { task: task.clone(), attempt: 1 };
    let other = RunLog { task, attempt: 2 };
    assert_eq!(fleet.read_log(&log, 0).expect("an answer"), (0, vec![]));
    fleet.append_log(&log, 0, b"Hello, ").expect("it is kept");
    fleet.append_log(&other, 0, b"Else.").expect("it is kept");
    fleet.append_log(&log, 7, b"world.\n").expect("it is kept");
    // The answer was lost, so the same chunk is sent again.
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
fn log_stream_size_is_limited() {
    let fleet = fleet();
    let task = TaskId::parse("TASK-2026-02-09-001").expect("a good id");
    let log = RunLog { task, attempt: 1 };
    fleet.append_log(&log, 0, b"Hello").expect("it is kept");
    let name = format!("{}_logs", fleet.options().prefix);
    let mut admin = NatsAdmin::connect_when_ready(&CLUSTER.address());
    let limits = |admin: &mut NatsAdmin| {
        let info = admin.call_api(&format!("STREAM.INFO.{name}"), &serde_json::json!({}));
        (info["config"]["max_bytes"].clone(), info["config"]["discard"].clone())
    };
    let bound = (serde_json::json!(1 << 30), serde_json::json!("old"));
    assert_eq!(limits(&mut admin), bound);
    // A stream created without a limit gets one.
    admin.update_stream(&name, "max_bytes", serde_json::json!(-1));
    fleet.append_log(&log, 5, b", world").expect("it is kept");
    assert_eq!(limits(&mut admin), bound);
    assert_eq!(fleet.read_log(&log, 0).expect("an answer"), (0, b"Hello, world".to_vec()));
}

#[test]
fn task_ids_stay_unique_across_two_writers() {
    let fleet = fleet();
    let nodes = TestFleet::new(2, move |_| CommitStream::new(&fleet));
    let (mut one, mut two) = (engine(&nodes, 0), engine(&nodes, 1));
    let ids: Vec<TaskId> = (0..6)
        .map(|n| {
            let who = if n % 2 == 0 { &mut one } else { &mut two };
            task_id_of(
                &who.submit_one(add_request("A task", InitialStatus::Ready)).expect("an answer"),
            )
        })
        .collect();
    let mut different = ids.clone();
    different.dedup();
    assert_eq!(different, ids);
}

/// Stores a join archive, as the leader does from time to time.
fn snapshot(fleet: &FleetConnection, engine: &mut Engine<NatsStore>) -> StoreVersion {
    let world = engine.committed().expect("a world").clone();
    let store = engine.store();
    store.begin().expect("a turn");
    let version = fleet.store_join_archive(store, &world).expect("it is kept");
    store.end();
    version
}

#[test]
fn node_joins_from_snapshot_and_later_commits() {
    let fleet = fleet();
    let sequence = fleet.clone();
    let nodes = TestFleet::new(2, move |_| CommitStream::new(&sequence));
    let mut one = engine(&nodes, 0);
    for n in 0..5 {
        one.submit_one(add_request(&format!("Task {n}"), InitialStatus::Ready)).expect("an answer");
    }
    let version = snapshot(&fleet, &mut one);
    assert_eq!(version, StoreVersion(5));
    CommitStream::new(&fleet).trim(version).expect("what came before is dropped");
    one.submit_one(add_request("After", InitialStatus::Ready)).expect("an answer");
    // An empty folder is too far behind by now.
    let error = nodes.open_replica(1).map(drop).expect_err("the first commits are gone");
    assert!(error.to_string().contains("join again"), "{error}");
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = DataFolder::init(home.path()).expect("a folder");
    let settings = home.path().join(".adjutant/adjutant.toml");
    std::fs::write(&settings, "# of this node\n").expect("a file");
    fleet.join(&folder).expect("it joins");
    let (_, loaded) = NatsStore::open(&folder, "new", CommitStream::new(&fleet)).expect("it opens");
    assert_eq!(loaded.world, *one.committed().expect("a world"));
    assert_eq!(loaded.edits, []);
    let mut there = files_without_journal(&folder);
    assert_eq!(there.remove("adjutant.toml").expect("its own"), b"# of this node\n");
    assert!(there == files_without_journal(nodes.folder(0)), "the same files");
    assert_eq!(CommitStream::new(&fleet).verify().expect("an answer"), Vec::<String>::new());
}

/// Returns the number of stored objects that hold a commit.
fn long_commits(admin: &mut NatsAdmin, options: &FleetOptions) -> usize {
    let objects = admin.messages(&format!("OBJ_{}_objects", options.prefix));
    let texts = objects.iter().map(|(_, text)| String::from_utf8_lossy(text));
    let is_commit = |text: &str| text.contains("\"name\":\"commit-1-");
    texts.filter(|text| is_commit(text) && !text.contains("\"deleted\":true")).count()
}

/// The leader stores a join archive from time to time; older commits are dropped then.
#[test]
fn old_commits_are_dropped_when_snapshot_is_kept() {
    let address = CLUSTER.address();
    let options = FleetOptions { commits_kept: 3, ..options(&address) };
    let fleet = FleetConnection::connect(&options).expect("the fleet can be reached");
    let sequence = fleet.clone();
    let nodes = TestFleet::new(3, move |_| CommitStream::new(&sequence));
    let mut one = engine(&nodes, 0);
    let long = |n: u32| {
        let mut new = adjutant_model::command::NewTask::default();
        (new.title, new.body) = (format!("Long {n}"), "y".repeat(900_000));
        adjutant_testkit::project::operator_request(adjutant_model::Command::Add(Box::new(new)))
    };
    one.submit(&[long(1), long(2)]).expect("a commit that is too long for a message");
    let add_to = |one: &mut Engine<NatsStore>, count: u32| {
        for n in 0..count {
            one.submit_one(add_request(&format!("Task {n}"), InitialStatus::Ready))
                .expect("an answer");
        }
    };
    add_to(&mut one, 6);
    // A node that has seen version 7 is not too far behind; an empty node is.
    let mut near = engine(&nodes, 1);
    add_to(&mut one, 2);
    let mut admin = NatsAdmin::connect_when_ready(&address);
    assert_eq!(long_commits(&mut admin, &options), 1);
    let world = one.committed().expect("a world").clone();
    one.store().begin().expect("a turn");
    one.store().store_join_archive(&world).expect("a copy is kept");
    one.store().end();
    let kept: Vec<u64> =
        admin.messages(&format!("{}_commits", options.prefix)).iter().map(|(n, _)| *n).collect();
    assert_eq!(kept, [7, 8, 9], "the copy is of the ninth");
    assert_eq!(long_commits(&mut admin, &options), 0, "the long one is dropped with the others");
    near.check_all_files().expect("it follows");
    assert!(
        files_without_journal(nodes.folder(0)) == files_without_journal(nodes.folder(1)),
        "both have the same files"
    );
    let error = nodes.open_replica(2).map(drop).expect_err("the first commits are gone");
    assert!(error.to_string().contains("join again"), "{error}");
}

#[test]
fn lost_fleet_is_restored_from_folder() {
    let (lost, new) = (fleet(), fleet());
    let nodes = TestFleet::new(1, move |_| CommitStream::new(&lost));
    let mut one = engine(&nodes, 0);
    for n in 0..3 {
        one.submit_one(add_request(&format!("Task {n}"), InitialStatus::Ready)).expect("an answer");
    }
    let world = one.committed().expect("a world").clone();
    drop(one);
    let (store, loaded) = new.restore(nodes.folder(0), "node-0").expect("it is restored");
    assert_eq!((store.version(), &loaded.world), (StoreVersion(3), &world));
    let error = new.restore(nodes.folder(0), "node-0").map(drop).expect_err("it is there");
    assert!(error.to_string().contains("they are not overwritten"), "{error}");
    let home = tempfile::tempdir().expect("a temporary folder");
    let folder = DataFolder::init(home.path()).expect("a folder");
    new.join(&folder).expect("another joins");
    let (_, joined) = NatsStore::open(&folder, "new", CommitStream::new(&new)).expect("it opens");
    assert_eq!(joined.world, world);
}

#[test]
fn forged_commit_is_found_by_verify() {
    let fleet = fleet();
    let commits = CommitStream::new(&fleet);
    let sequence = fleet.clone();
    let nodes = TestFleet::new(1, move |_| CommitStream::new(&sequence));
    let mut one = engine(&nodes, 0);
    for n in 0..3 {
        one.submit_one(add_request(&format!("Task {n}"), InitialStatus::Ready)).expect("an answer");
    }
    assert_eq!(commits.verify().expect("an answer"), Vec::<String>::new());
    let forged = commits.commits_after(StoreVersion(2)).expect("the last commit").remove(0);
    let forged = forged.replace("\"version\":3", "\"version\":4");
    commits.append(StoreVersion(3), forged, &mut || {}).expect("a node may write anything");
    let found = commits.verify().expect("an answer");
    assert!(found.len() == 1 && found[0].starts_with("commit 4: "), "{found:?}");
    assert!(nodes.open_replica(0).is_err(), "and no folder follows it");
}
