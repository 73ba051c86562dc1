//! Golden files of everything a node sends to the servers of a fleet: subjects, headers, payloads.

mod errors;
mod recorder;

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_core::command::{NewTask, Start};
use adjutant_core::{Command, NodeId, Policy, TaskId};
use adjutant_runtime::Engine;
use adjutant_store::{Net, Store};
use adjutant_store_nats::{Commits, Durability, Fleet, NatsStore, Options};
use adjutant_test_support::golden::GoldenFolder;
use adjutant_testkit::SetClock;
use adjutant_testkit::cluster::{Cluster, Sync};
use adjutant_testkit::nodes::Nodes;
use adjutant_testkit::project::{add, operator};

use recorder::{Recorder, Sent};

const TTL: Duration = Duration::from_secs(30);

fn node() -> NodeId {
    NodeId::parse("mac").expect("a node name")
}

fn task() -> TaskId {
    TaskId::parse("TASK-2026-02-09-001").expect("a task id")
}

/// Commits one task, then more than fits into a message, and keeps a snapshot of the folder.
fn commit(fleet: &Fleet) {
    let sequence = fleet.clone();
    let nodes = Nodes::new(1, move |_| Commits::new(&sequence));
    let (store, loaded) = nodes.mirror(0).expect("the folder opens");
    let clock = Box::new(SetClock::at("2026-02-09T21:00:00.000Z"));
    let mut engine: Engine<NatsStore> =
        Engine::start(store, loaded, clock, Policy::default()).expect("the engine starts");
    engine.submit_one(add("Mend it", Start::Ready)).expect("a commit");
    let long = |title: &str| {
        let (title, body) = (title.to_owned(), "x".repeat(900_000));
        operator(Command::Add(Box::new(NewTask { title, body, ..NewTask::default() })))
    };
    engine.submit(&[long("Long"), long("Longer")]).expect("a commit of two megabytes");
    let world = engine.world().clone();
    let store = engine.store();
    store.begin().expect("the turn is taken");
    fleet.keep_snapshot(store, &world).expect("a snapshot is kept");
    store.end();
}

/// Everything nodes say to each other besides commits.
fn talk(fleet: &Fleet) {
    let mut lease = fleet.try_lead("mac", TTL).expect("an answer").expect("no other leader");
    assert!(lease.renew().expect("an answer"), "the lease is renewed");
    lease.release().expect("an answer");
    fleet.agree("times", r#"{"heartbeatTtlMs":90000}"#).expect("an answer");
    fleet.change("times", r#"{"heartbeatTtlMs":90000}"#, "{}").expect("an answer");
    let bell = fleet.on_commit(Box::new(|_| {})).expect("a bell");
    let answer = fleet.answer(&node(), Box::new(|asked| asked)).expect("it listens");
    let patience = Duration::from_secs(20);
    fleet.ask(&node(), b"a question".to_vec(), patience).expect("an answer");
    fleet.ask(&node(), vec![b'x'; 2 << 20], patience).expect("an answer");
    Net::append_log(fleet, &task(), 2, 7, b"a line it printed\n").expect("it is kept");
    Net::read_log(fleet, &task(), 2, 0).expect("it is read");
    fleet.announce(&node(), b"{}".to_vec(), TTL).expect("it is said");
    fleet.nodes(TTL).expect("who is there");
    drop((answer, bell));
    fleet.withdraw(&node(), TTL).expect("it is said");
}

/// Returns the file a message belongs to; none for what only asks the servers something.
fn file_of(sent: &Sent) -> Option<&'static str> {
    let subject = sent.subject.as_str();
    let is = |prefix: &str| subject.starts_with(prefix);
    Some(match subject {
        _ if is("$KV.golden_lease.") => "lease.txt",
        _ if is("$KV.golden_keys.") => "keys.txt",
        _ if is("$O.golden_objects.") => "objects.txt",
        _ if is("golden.logs.") => "logs.txt",
        "golden.commits" | "golden.news" => "commits.txt",
        _ if is("golden.") => "nodes.txt",
        // A server with little room is asked for less, as often as it takes.
        "$JS.API.STREAM.CREATE.golden_logs" if !sent.says("1073741824") => return None,
        _ if is("$JS.API.STREAM.CREATE.") || is("$JS.API.STREAM.UPDATE.") => "streams.txt",
        _ => return None,
    })
}

#[test]
fn fleet_server_messages_match_golden_files() {
    let cluster = Cluster::start_with(1, Sync::Seldom);
    let options = Options {
        prefix: "golden".into(),
        durability: Durability::Relaxed,
        ..Options::parse(&cluster.address()).expect("an address")
    };
    let recorder = Recorder::start(&cluster.address());
    let fleet = Fleet::connect(&options).expect("the server is reached");
    commit(&fleet);
    talk(&fleet);
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    // A node that leaves says so with an empty message, which is the last of them all.
    let is_last = |sent: &Sent| sent.subject == "golden.nodes.mac" && sent.is_empty();
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
