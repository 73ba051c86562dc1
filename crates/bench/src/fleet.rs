//! Durable messages a second through three servers, beside the bare client and the file store.
//!
//! The floor is the bare client: the same bytes in the same messages, one after the other, each
//! expecting the last and waiting for the same acknowledgement. The file store is measured in the
//! same run, with the same senders and messages, on the same disk.

mod nodes;

use std::time::{Duration, Instant};

use adjutant_core::Policy;
use adjutant_runtime::{Engine, SystemClock};
use adjutant_store::{FileStore, Loaded, Sequence, Store, Version};
use adjutant_store_nats::{Commits, Fleet, Options};
use async_nats::jetstream;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::Config;

use crate::cluster::Cluster;
use crate::folder;
use crate::messages::send_all;
use crate::report::Report;

/// How many tasks there are: a commit costs the same with many more.
const TASKS: usize = 1_000;

/// Measures messages from one sender and from many, each against the bare client.
pub(crate) fn measure(report: &mut Report, quick: bool) {
    let cluster = Cluster::start();
    let (few, many) = if quick { (50, 400) } else { (400, 8_000) };
    for (senders, messages) in [(1, few), (32, many), (256, many)] {
        one(report, &cluster.address(), senders, messages);
    }
    nodes::claims(report, &cluster.address(), if quick { 40 } else { 400 });
    nodes::failover(report, &cluster.address(), if quick { 2 } else { 9 });
}

fn one(report: &mut Report, address: &str, senders: usize, messages: usize) {
    let rate = |time: Duration| messages as f64 / time.as_secs_f64();
    let prefix = format!("bench-{senders}");
    let options = Options { prefix, ..Options::parse(address).expect("a good address") };
    let fleet = Fleet::connect(&options).expect("the fleet can be reached");
    let (through, commits) = through(&fleet, senders, messages);
    let bare = bare(address, &format!("bare-{senders}"), &commits);
    let alone = alone(senders, messages);
    let what = format!("fleet messages, {senders} at once, {} commits", commits.len());
    let floor = format!("{:.0}/s (bare client)", rate(bare));
    let ratio = format!("{:.2}", rate(through) / rate(bare));
    let target = if senders > 1 { ">= 0.50" } else { "" };
    report.add(&what, format!("{:.0}/s", rate(through)), floor, ratio, target);
    let beside = format!("the file store, {senders} at once");
    let ratio = format!("{:.2}", rate(through) / rate(alone));
    report.add(&beside, format!("{:.0}/s", rate(alone)), String::new(), ratio, "");
}

fn engine<S: Store>((store, loaded): (S, Loaded)) -> Engine<S> {
    let mut engine = Engine::start(store, loaded, Box::new(SystemClock), Policy::default())
        .expect("the engine starts");
    engine.rest().expect("at rest");
    engine
}

/// Sends messages through the servers, and returns how long that took and what was committed.
fn through(fleet: &Fleet, senders: usize, messages: usize) -> (Duration, Vec<String>) {
    let sized = folder::make(TASKS);
    let restored = fleet.restore(&sized.folder(), "bench").expect("a fleet of this folder");
    // Whoever decides takes it that the others commit next to nothing.
    let mut engine = engine(restored).alone();
    let before = engine.store().version();
    let (took, service) = send_all(engine, &sized.working(), senders, messages);
    service.stop().expect("it stops");
    (took, all_after(&Commits::new(fleet), before))
}

fn all_after(commits: &Commits, mut version: Version) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let some = commits.after(version).expect("the commits can be read");
        if some.is_empty() {
            return all;
        }
        version = Version(version.0 + some.len() as u64);
        all.extend(some);
    }
}

fn alone(senders: usize, messages: usize) -> Duration {
    let sized = folder::make(TASKS);
    let engine = engine(FileStore::open(&sized.folder()).expect("it opens"));
    let (took, service) = send_all(engine, &sized.working(), senders, messages);
    service.stop().expect("it stops");
    took
}

/// Publishes the same bytes by the client alone.
fn bare(address: &str, name: &str, commits: &[String]) -> Duration {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let connect = async_nats::ConnectOptions::new();
        let connect = connect.user_and_password("fleet".into(), "fleet".into());
        let servers: Vec<async_nats::ServerAddr> = Options::parse(address)
            .expect("a good address")
            .servers
            .iter()
            .map(|server| server.parse().expect("a good address"))
            .collect();
        let client = connect.connect(servers).await.expect("the servers can be reached");
        let streams = jetstream::new(client.clone());
        let subjects = vec![name.to_owned()];
        let config = Config { name: name.into(), subjects, num_replicas: 3, ..Config::default() };
        streams.create_stream(config).await.expect("a stream");
        let start = Instant::now();
        for (last, commit) in commits.iter().enumerate() {
            let message = PublishMessage::build()
                .payload(commit.clone().into())
                .message_id(client.new_inbox())
                .expected_last_sequence(last as u64);
            let sent = streams.send_publish(name.to_owned(), message).await.expect("it is sent");
            sent.await.expect("it is acknowledged");
        }
        start.elapsed()
    })
}
