//! Golden files of every message a node sends to the servers of a
//! fleet: subjects, headers, payloads.

mod errors;
mod recorder;

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_engine::Engine;
use adjutant_model::command::{InitialStatus, NewTask};
use adjutant_model::{Command, NodeId, Policy, TaskId};
use adjutant_replication::nats::{
    CommitStream, DurabilityLevel, FleetConnection, FleetOptions, NatsStore,
};
use adjutant_store::{FleetNetwork, Store};
use adjutant_test_support::golden::GoldenFolder;
use adjutant_testkit::ManualClock;
use adjutant_testkit::cluster::{NatsCluster, SyncSetting};
use adjutant_testkit::fleet_keys::fleet_options;
use adjutant_testkit::nodes::TestFleet;
use adjutant_testkit::project::{add_request, operator_request};
use recorder::{MessageRecorder, SentMessage};

const TTL: Duration = Duration::from_secs(30);

fn node() -> NodeId {
    NodeId::parse("mac").expect("a node name")
}

fn task() -> TaskId {
    TaskId::parse("TASK-2026-02-09-001").expect("a task id")
}

/// Commits one task, then a commit too large for a message, and stores a join archive.
fn commit(fleet: &FleetConnection) {
    let sequence = fleet.clone();
    let nodes = TestFleet::new(1, move |_| CommitStream::new(&sequence));
    let (store, loaded) = nodes.open_replica(0).expect("the folder opens");
    let clock = Box::new(ManualClock::at("2026-02-09T21:00:00.000Z"));
    let mut engine: Engine<NatsStore> =
        Engine::start(store, loaded, clock, Policy::default()).expect("the engine starts");
    engine.submit_one(add_request("Mend it", InitialStatus::Ready)).expect("a commit");
    let long = |title: &str| {
        let (title, body) = (title.to_owned(), "x".repeat(900_000));
        operator_request(Command::Add(Box::new(NewTask { title, body, ..NewTask::default() })))
    };
    engine.submit(&[long("Long"), long("Longer")]).expect("a commit of two megabytes");
    let world = engine.world().clone();
    let store = engine.store();
    store.begin().expect("the turn is taken");
    fleet.store_join_archive(store, &world).expect("a snapshot is kept");
    store.end();
}

/// Sends every kind of message besides commits.
fn talk(fleet: &FleetConnection) {
    let mut lease = fleet.try_lead("mac", TTL).expect("an answer").expect("no other leader");
    assert!(lease.renew().expect("an answer"), "the lease is renewed");
    lease.release().expect("an answer");
    let secret = "00".repeat(32);
    assert_eq!(fleet.share_secret(&secret).expect("an answer"), secret);
    fleet.propose_agreement("times", r#"{"heartbeatTtlMs":90000}"#).expect("an answer");
    fleet.replace_agreement("times", r#"{"heartbeatTtlMs":90000}"#, "{}").expect("an answer");
    let subscription = fleet.on_commit(Box::new(|_| {})).expect("a subscription");
    let answer =
        fleet.serve_requests(&node(), Box::new(|_, asked| Some(asked))).expect("it listens");
    let patience = Duration::from_secs(20);
    fleet.send_request(&node(), b"a question".to_vec(), patience).expect("an answer");
    fleet.send_request(&node(), vec![b'x'; 2 << 20], patience).expect("an answer");
    FleetNetwork::append_log(fleet, &task(), 2, 7, b"a line it printed\n").expect("it is kept");
    FleetNetwork::read_log(fleet, &task(), 2, 0).expect("it is read");
    fleet.announce(&node(), b"{}".to_vec(), TTL).expect("it is said");
    fleet.nodes(TTL).expect("who is there");
    drop((answer, subscription));
    fleet.withdraw(&node(), TTL).expect("it is said");
}

/// Returns the golden file of a message, or None for a plain read from the servers.
fn file_of(sent: &SentMessage) -> Option<&'static str> {
    let subject = sent.subject.as_str();
    let is = |prefix: &str| subject.starts_with(prefix);
    Some(match subject {
        _ if is("$KV.golden_lease.") => "lease.txt",
        _ if is("$KV.golden_keys.") => "keys.txt",
        _ if is("$O.golden_objects.") => "objects.txt",
        _ if is("golden.logs.") => "logs.txt",
        "golden.commits" | "golden.news" => "commits.txt",
        _ if is("golden.") => "nodes.txt",
        // A server with little space is asked for smaller limits, an unknown number of times.
        "$JS.API.STREAM.CREATE.golden_logs" if !sent.contains_text("1073741824") => return None,
        _ if is("$JS.API.STREAM.CREATE.") || is("$JS.API.STREAM.UPDATE.") => "streams.txt",
        _ => return None,
    })
}

#[test]
fn fleet_server_messages_match_golden_files() {
    let cluster = NatsCluster::start_with(1, SyncSetting::Periodic);
    let options = FleetOptions {
        prefix: "golden".into(),
        durability: DurabilityLevel::Relaxed,
        ..fleet_options(&cluster.address(), "mac")
    };
    let recorder = MessageRecorder::start(&cluster.address());
    let fleet = FleetConnection::connect(&options).expect("the server is reached");
    commit(&fleet);
    talk(&fleet);
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    // A node that leaves sends an empty announcement, which is the last message.
    let is_last = |sent: &SentMessage| sent.subject == "golden.nodes.mac" && sent.is_empty();
    for sent in recorder.until(is_last) {
        if let Some(file) = file_of(&sent) {
            files.entry(file).or_default().push(sent.masked());
        }
    }
    let mut golden = GoldenFolder::new("fleet/servers");
    for (file, mut messages) in files {
        messages.sort();
        messages.dedup();
        golden.add(file, messages.concat());
    }
    golden.check();
}
