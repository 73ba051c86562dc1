//! A client that has the password of the servers and no key of a node: it publishes forged, altered,
//! replayed and re-addressed messages and entries, and nothing comes of them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use adjutant_engine::Engine;
use adjutant_model::command::InitialStatus;
use adjutant_model::{NodeId, Policy};
use adjutant_process::clock::SystemClock;
use adjutant_replication::nats::{
    AcceptedKeys, CommitStream, FleetConnection, FleetOptions, NatsStore, NodeKey, NodeSigner,
};
use adjutant_replication::replicated_store::CommitLog;
use adjutant_store::file::DataFolder;
use adjutant_store::{FleetNetwork, Store, StoreVersion};
use adjutant_testkit::cluster::SharedCluster;
use adjutant_testkit::fleet_keys::{accepted_line, fleet_options, node_key};
use adjutant_testkit::nats_admin::NatsAdmin;
use adjutant_testkit::nodes::TestFleet;
use adjutant_testkit::project::add_request;

static CLUSTER: LazyLock<SharedCluster> = LazyLock::new(SharedCluster::join);
const TTL: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(20);

fn prefix() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("forged-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn node(name: &str) -> NodeId {
    NodeId::parse(name).expect("a good name")
}

fn connect(prefix: &str, name: &str) -> FleetConnection {
    let options = FleetOptions { prefix: prefix.into(), ..fleet_options(&CLUSTER.address(), name) };
    FleetConnection::connect(&options).expect("the fleet can be reached")
}

/// Connects a node that accepts only these lines.
fn connect_accepting(prefix: &str, name: &str, key: NodeKey, lines: &[String]) -> FleetConnection {
    let accepted = AcceptedKeys::parse(lines).expect("good lines");
    let signer = NodeSigner::new(node(name), key, accepted).expect("it is listed");
    let options = FleetOptions {
        prefix: prefix.into(),
        signer: Some(signer),
        retry_timeout: Duration::from_secs(12),
        ..FleetOptions::parse(&CLUSTER.address()).expect("a good address")
    };
    FleetConnection::connect(&options).expect("the fleet can be reached")
}

fn admin() -> NatsAdmin {
    NatsAdmin::connect_when_ready(&CLUSTER.address())
}

/// Waits until these texts are among the refusals of a node.
fn await_refusals(fleet: &FleetConnection, words: &[&str]) {
    await_refusals_of(fleet, words, || {});
}

/// Sends something until these texts are among the refusals of a node, which may not listen yet.
fn await_refusals_of(fleet: &FleetConnection, words: &[&str], mut send: impl FnMut()) {
    let until = Instant::now() + Duration::from_mins(1);
    let mut all = Vec::new();
    loop {
        send();
        all.extend(FleetNetwork::take_refused(fleet).into_iter().map(|refused| refused.detail));
        let has = |words: &&str| all.iter().any(|detail: &String| detail.contains(words));
        if words.iter().all(has) {
            return;
        }
        assert!(Instant::now() < until, "{words:?} are not all in {all:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Asks a node until it listens, and returns its answer.
fn ask(fleet: &FleetConnection, name: &str, text: &str) -> Vec<u8> {
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        let answer = fleet.send_request(&node(name), text.into(), PATIENCE).expect("an answer");
        if let Some(answer) = answer {
            return answer;
        }
        assert!(Instant::now() < until, "{name} never answers");
    }
}

/// Serves requests, and returns what was let through, as sender and text.
fn serve(
    fleet: &FleetConnection,
    name: &str,
) -> (Arc<Mutex<Vec<String>>>, Box<dyn std::any::Any + Send>) {
    let heard = Arc::<Mutex<Vec<String>>>::default();
    let list = Arc::clone(&heard);
    let handler = move |from: &NodeId, body: Vec<u8>| {
        let text = String::from_utf8_lossy(&body).into_owned();
        list.lock().expect("a list").push(format!("{from}: {text}"));
        Some(b"done".to_vec())
    };
    let served = fleet.serve_requests(&node(name), Box::new(handler)).expect("it listens");
    (heard, served)
}

#[test]
fn request_that_is_forged_replayed_moved_or_altered_is_not_performed() {
    let prefix = prefix();
    let [desk, lamp] = ["desk", "lamp"].map(|name| connect(&prefix, name));
    let (heard, served) = serve(&lamp, "lamp");
    let (other_heard, _other) = serve(&desk, "desk");
    let mut admin = admin();
    let subject = format!("{prefix}.ask.lamp");
    let recorded = admin.record(&format!("{prefix}.ask.>"));
    assert_eq!(ask(&desk, "lamp", "one"), b"done");
    assert_eq!(ask(&desk, "lamp", "two"), b"done");
    assert_eq!(*heard.lock().expect("a list"), ["desk: one", "desk: two"]);
    // The first request was sent again, because the receiver challenged it.
    let mut sent: Vec<Vec<u8>> = recorded.take(3);
    while !sent.last().is_some_and(|last| last.ends_with(b"\ntwo")) {
        sent.extend(recorded.take(1));
    }
    for message in &sent {
        admin.send(&subject, message);
    }
    await_refusals(&lamp, &["desk sent it before"]);
    for message in &sent {
        admin.send(&format!("{prefix}.ask.desk"), message);
    }
    await_refusals(&desk, &["no accepted key of desk signed these bytes for this place"]);
    let last = sent.last().expect("a message");
    let altered = String::from_utf8_lossy(last).replace("two", "six");
    admin.send(&subject, altered.as_bytes());
    await_refusals(&lamp, &["no accepted key of desk signed these bytes"]);
    admin.send(&subject, b"{\"id\":\"desk/1\",\"node\":\"desk\"}");
    await_refusals(&lamp, &["it is not signed"]);
    let key = node_key("a stranger's seed");
    let stranger = connect_accepting(
        &prefix,
        "evil",
        key,
        &[format!("evil {}", node_key("a stranger's seed").public()), accepted_line("lamp")],
    );
    let told = stranger.send_request(&node("lamp"), b"let me in".to_vec(), PATIENCE);
    let words = told.expect_err("it is refused").to_string();
    assert!(words.contains("it is signed as evil, which is not accepted"), "{words}");
    await_refusals(&lamp, &["it is signed as evil, which is not accepted"]);
    assert_eq!(*heard.lock().expect("a list"), ["desk: one", "desk: two"], "nothing else ran");
    assert!(other_heard.lock().expect("a list").is_empty());
    // A new process of the receiver does not know which messages were sent before it started.
    let again = connect(&prefix, "lamp");
    drop(served);
    let (heard, _served) = serve(&again, "lamp");
    for message in &sent {
        admin.send(&subject, message);
    }
    assert_eq!(ask(&desk, "lamp", "three"), b"done");
    for message in &sent {
        admin.send(&subject, message);
    }
    await_refusals(&again, &["desk sent it before"]);
    assert_eq!(*heard.lock().expect("a list"), ["desk: three"], "it was challenged");
}

/// Asks a node until it listens, and returns its refusal.
fn refusal(fleet: &FleetConnection, name: &str) -> String {
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        match fleet.send_request(&node(name), b"a question".to_vec(), PATIENCE) {
            Err(error) => return error.to_string(),
            Ok(answer) => assert_eq!(answer, None, "it is refused"),
        }
        assert!(Instant::now() < until, "{name} never answers");
    }
}

#[test]
fn reply_of_stranger_is_refused() {
    let prefix = prefix();
    let desk = connect(&prefix, "desk");
    let lines = [accepted_line("desk"), format!("lamp {}", node_key("not the lamp").public())];
    let impostor = connect_accepting(&prefix, "lamp", node_key("not the lamp"), &lines);
    let (_heard, _served) = serve(&impostor, "lamp");
    let words = refusal(&desk, "lamp");
    assert!(words.contains("no accepted key of lamp signed these bytes"), "{words}");
}

fn engine(nodes: &TestFleet<CommitStream>, node: usize) -> Engine<NatsStore> {
    let (replica, loaded) = nodes.open_replica(node).expect("the folder opens");
    Engine::start(replica, loaded, Box::new(SystemClock), Policy::default()).expect("it starts")
}

#[test]
fn commit_that_is_forged_copied_or_altered_is_followed_by_no_folder() {
    let prefix = prefix();
    let fleet = connect(&prefix, "desk");
    let (stream, subject) = (format!("{prefix}_commits"), format!("{prefix}.commits"));
    let mut admin = admin();
    let begin = || {
        let sequence = fleet.clone();
        let nodes = TestFleet::new(2, move |_| CommitStream::new(&sequence));
        engine(&nodes, 0).submit_one(add_request("One", InitialStatus::Ready)).expect("an answer");
        nodes
    };
    let nodes = begin();
    let (_, first) = admin.messages(&stream).pop().expect("a commit");
    let text = String::from_utf8_lossy(&first).into_owned();
    let plain = text.split_once('\n').expect("a signed commit").1.to_owned();
    let next = |text: &str| text.replace("\"version\":1", "\"version\":2");
    for (forged, why) in [
        (next(&plain).into_bytes(), "it is not signed"),
        (first.clone(), "no accepted key of desk signed these bytes for this place"),
        (next(&text).into_bytes(), "no accepted key of desk signed these bytes for this place"),
    ] {
        let number = admin.publish(&subject, &forged)["seq"].as_u64().expect("it is stored");
        let found = CommitStream::new(&fleet).verify().expect("an answer");
        assert!(found.iter().any(|one| *one == format!("commit {number}: {why}")), "{found:?}");
        let after = CommitStream::new(&fleet).commits_after(StoreVersion(number - 1));
        let words = after.expect_err("it is refused").to_string();
        assert!(words.contains(&format!("commit {number} is refused: {why}")), "{words}");
    }
    let error = nodes.open_replica(1).map(drop).expect_err("no folder follows it");
    assert!(error.to_string().contains("commit 2 is refused"), "{error}");
    await_refusals(&fleet, &["it is not signed"]);
}

#[test]
fn commits_of_node_that_left_count_up_to_their_version() {
    let prefix = prefix();
    let left = connect(&prefix, "left");
    let sequence = left.clone();
    let nodes = TestFleet::new(1, move |_| CommitStream::new(&sequence));
    let mut one = engine(&nodes, 0);
    for title in ["One", "Two"] {
        one.submit_one(add_request(title, InitialStatus::Ready)).expect("an answer");
    }
    let follow = |line: &[String]| {
        let lines = [&[accepted_line("desk")], line].concat();
        let desk = connect_accepting(&prefix, "desk", node_key("desk"), &lines);
        CommitStream::new(&desk).commits_after(StoreVersion(0)).map(|commits| commits.len())
    };
    let until = |version: u64| [format!("{} until {version}", accepted_line("left"))];
    assert_eq!(follow(&until(2)).expect("both count"), 2);
    let words = follow(&until(1)).expect_err("the second is too late").to_string();
    assert!(words.contains("commit 2 is refused: no accepted key of left"), "{words}");
    let words = follow(&[]).expect_err("it is not known").to_string();
    assert!(words.contains("commit 1 is refused: it is signed as left"), "{words}");
    // What it asks is refused at once.
    let lines = [&[accepted_line("desk")][..], &until(2)].concat();
    let desk = connect_accepting(&prefix, "desk", node_key("desk"), &lines);
    let (heard, _served) = serve(&desk, "desk");
    let words = refusal(&left, "desk");
    assert!(words.contains("no accepted key of left signed these bytes"), "{words}");
    assert!(heard.lock().expect("a list").is_empty());
}

#[test]
fn lease_announcement_and_news_of_stranger_are_not_believed() {
    let prefix = prefix();
    let [desk, lamp] = ["desk", "lamp"].map(|name| connect(&prefix, name));
    let mut admin = admin();
    let lease = desk.try_lead("desk", TTL).expect("an answer").expect("no other leader");
    assert_eq!(lamp.current_leader(TTL).expect("an answer"), Some(node("desk")));
    let forged = br#"{"node":"evil","id":"x"}"#;
    admin.publish(&format!("$KV.{prefix}_lease.decider"), forged);
    assert_eq!(lamp.current_leader(TTL).expect("an answer"), None);
    drop(lease);

    let recorded = admin.record(&format!("{prefix}.nodes.>"));
    lamp.nodes(TTL).expect("an answer");
    desk.announce(&node("desk"), b"old".to_vec(), TTL).expect("it is sent");
    let heard = |fleet: &FleetConnection| -> Vec<(String, String)> {
        let nodes = fleet.nodes(TTL).expect("an answer").into_iter();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        nodes.map(|(node, what)| (node.to_string(), text(what))).collect()
    };
    let until_heard = |fleet: &FleetConnection, what: &str| {
        let until = Instant::now() + Duration::from_mins(1);
        while heard(fleet) != [("desk".to_owned(), what.to_owned())] {
            assert!(Instant::now() < until, "{what:?}: {:?}", heard(fleet));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until_heard(&lamp, "old");
    let old = recorded.take(1);
    desk.announce(&node("desk"), b"new".to_vec(), TTL).expect("it is sent");
    until_heard(&lamp, "new");
    admin.send(&format!("{prefix}.nodes.desk"), &old[0]);
    admin.send(&format!("{prefix}.nodes.evil"), b"{}");
    admin.send(&format!("{prefix}.nodes.lamp"), &old[0]);
    await_refusals(&lamp, &["desk sent it before", "evil: it is not signed"]);
    assert_eq!(heard(&lamp), [("desk".to_owned(), "new".to_owned())]);
    // Nor does a node that starts now believe what was said before.
    let third = connect(&prefix, "third");
    third.nodes(TTL).expect("an answer");
    admin.send(&format!("{prefix}.nodes.desk"), &old[0]);
    until_heard(&third, "new");

    let versions = Arc::<Mutex<Vec<StoreVersion>>>::default();
    let list = Arc::clone(&versions);
    let callback = move |version| list.lock().expect("a list").push(version);
    let _news = lamp.on_commit(Box::new(callback)).expect("it listens");
    await_refusals_of(&lamp, &[".news: it is not signed"], || {
        admin.send(&format!("{prefix}.news"), b"18446744073709551615");
    });
    assert!(versions.lock().expect("a list").is_empty());
}

#[test]
fn join_archive_and_run_log_of_stranger_are_not_used() {
    let prefix = prefix();
    let fleet = connect(&prefix, "desk");
    let sequence = fleet.clone();
    let nodes = TestFleet::new(1, move |_| CommitStream::new(&sequence));
    let mut one = engine(&nodes, 0);
    for title in ["One", "Two"] {
        one.submit_one(add_request(title, InitialStatus::Ready)).expect("an answer");
    }
    let world = one.committed().expect("a world").clone();
    one.store().begin().expect("a turn");
    let version = fleet.store_join_archive(one.store(), &world).expect("it is kept");
    one.store().end();
    CommitStream::new(&fleet).trim(version).expect("what came before is dropped");
    one.submit_one(add_request("Three", InitialStatus::Ready)).expect("an answer");
    // The archive is accepted from a node that is listed only.
    let join = |lines: &[String]| {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = DataFolder::init(home.path()).expect("a folder");
        connect_accepting(&prefix, "lamp", node_key("lamp"), lines).join(&folder)
    };
    join(&[accepted_line("lamp"), accepted_line("desk")]).expect("it joins");
    let words = join(&[accepted_line("lamp")]).expect_err("it is refused").to_string();
    assert!(words.contains("the join archive is refused: it is signed as desk"), "{words}");

    let task = adjutant_model::TaskId::parse("TASK-2026-02-09-001").expect("a good id");
    FleetNetwork::append_log(&fleet, &task, 1, 0, b"real").expect("it is kept");
    admin().publish(&format!("{prefix}.logs.{task}.1"), b"\x1b[31mforged");
    let read = FleetNetwork::read_log(&fleet, &task, 1, 0).expect("an answer");
    assert_eq!(read, (0, b"real".to_vec()));
}

#[test]
fn secret_is_stored_sealed_for_each_accepted_node() {
    let prefix = prefix();
    let secret = "5e".repeat(32);
    let lines = ["desk", "lamp"].map(accepted_line);
    let open =
        |name: &str, lines: &[String]| connect_accepting(&prefix, name, node_key(name), lines);
    let desk = open("desk", &lines);
    assert_eq!(desk.share_secret(&secret).expect("an answer"), secret);
    let own = "11".repeat(32);
    assert_eq!(open("lamp", &lines).share_secret(&own).expect("an answer"), secret);
    let bucket = || {
        let all = admin().messages(&format!("KV_{prefix}_keys"));
        all.into_iter().flat_map(|(_, bytes)| bytes).collect::<Vec<u8>>()
    };
    let has = |text: &str| bucket().windows(text.len()).any(|bytes| bytes == text.as_bytes());
    assert!(has("sealed") && !has(&secret) && !has(&secret[..16]), "it is not in clear");
    // A node that is new gets it once another node has its key.
    let more = [&lines[..], &[accepted_line("third")]].concat();
    let words = open("third", &more).share_secret(&own).expect_err("not yet").to_string();
    assert!(words.contains("the secret of the fleet is not sealed for its key"), "{words}");
    assert_eq!(open("lamp", &more).share_secret(&own).expect("an answer"), secret);
    assert_eq!(open("third", &more).share_secret(&own).expect("an answer"), secret);
    // The node that sealed it last has left: the others still have the secret.
    let fewer = [accepted_line("desk"), accepted_line("third")];
    assert_eq!(open("third", &fewer).share_secret(&secret).expect("an answer"), secret);
    assert_eq!(open("desk", &fewer).share_secret(&own).expect("an answer"), secret);
}

#[test]
fn secret_that_was_stored_in_clear_is_replaced() {
    let prefix = prefix();
    let old = "ab".repeat(32);
    let desk = connect(&prefix, "desk");
    desk.propose_agreement("secret", &old).expect("an earlier version wrote it");
    let new = desk.share_secret(&old).expect("an answer");
    assert!(new != old && new.len() == old.len(), "it was known to every user of the servers");
    let bucket = admin().messages(&format!("KV_{prefix}_keys"));
    let has_old = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).contains(&old);
    assert!(!bucket.iter().any(|(_, bytes)| has_old(bytes)), "it is erased");
    assert_eq!(connect(&prefix, "lamp").share_secret(&old).expect("an answer"), new);
}
