//! Measures durable messages per second through three servers, beside the bare client and the file
//! store.
//!
//! The floor is the bare client with the same bytes and the same acknowledgement: as many senders,
//! each of which publishes a message once the previous one is acknowledged. The fleet puts messages
//! that arrive together into one commit; the report also compares it with a bare client that
//! publishes the same commits one after another. The file store is measured in the same run, with
//! the same senders and messages, on the same disk.

mod bare_client;
mod nodes;

use std::time::Duration;

use adjutant_engine::Engine;
use adjutant_model::{NodeId, Policy};
use adjutant_process::clock::SystemClock;
use adjutant_replication::nats::{
    AcceptedKeys, CommitStream, FleetConnection, FleetOptions, NodeKey, NodeSigner,
};
use adjutant_replication::replicated_store::CommitLog;
use adjutant_store::{FileStore, FleetStore, LoadedStore, Store, StoreVersion};

use crate::bench_folder;
use crate::cluster::NatsCluster;
use crate::messages::send_all;
use crate::report::BenchReport;

/// A commit costs the same with many more tasks.
const TASKS: usize = 1_000;

const ROUNDS: usize = 3;

/// Measures messages from one sender and from many, each against the bare client.
pub(crate) fn measure(report: &mut BenchReport, quick: bool) {
    let cluster = NatsCluster::start();
    let (few, many) = if quick { (50, 400) } else { (400, 8_000) };
    // Each measurement takes about a second: the servers accept the first few thousand messages
    // faster than later ones, and by then a task file has the length it has in practice.
    for (senders, messages) in [(1, few), (32, many), (256, 4 * many)] {
        measure_senders(report, &cluster.address(), senders, messages);
    }
    nodes::measure_claims(report, &cluster.address(), if quick { 40 } else { 400 });
    nodes::measure_failover(report, &cluster.address(), if quick { 2 } else { 9 });
}

/// Durations for one number of senders and messages, each measured by itself.
#[derive(Clone, Copy)]
struct RoundTimes {
    fleet: Duration,
    /// The bare client, with as many messages of the same length.
    bare_messages: Duration,
    /// The bare client, with the same commits.
    bare_commits: Duration,
    file_store: Duration,
}

impl RoundTimes {
    fn min_of(self, other: Self) -> Self {
        Self {
            fleet: self.fleet.min(other.fleet),
            bare_messages: self.bare_messages.min(other.bare_messages),
            bare_commits: self.bare_commits.min(other.bare_commits),
            file_store: self.file_store.min(other.file_store),
        }
    }
}

/// Takes the best of three rounds that alternate: the machine has other things to do.
fn measure_senders(report: &mut BenchReport, address: &str, senders: usize, messages: usize) {
    let (mut best, mut bytes, mut count): (Option<RoundTimes>, usize, usize) = (None, 0, 0);
    for number in 0..ROUNDS {
        let (times, commits) = measure_round(address, number, senders, messages);
        bytes = bytes.max(commits.iter().map(String::len).sum::<usize>() / messages);
        count = count.max(commits.len());
        best = Some(best.map_or(times, |best| best.min_of(times)));
    }
    let Some(RoundTimes { fleet, bare_messages: each, bare_commits: same, file_store: alone }) =
        best
    else {
        return;
    };
    let rate = |time: Duration| messages as f64 / time.as_secs_f64();
    let ratio = |floor: Duration| format!("{:.2}", rate(fleet) / rate(floor));
    let own = || format!("{:.0}/s", rate(fleet));
    let what = format!("fleet messages, {senders} at once, {bytes} bytes each");
    report.add_row(
        &what,
        own(),
        format!("{:.0}/s (bare client)", rate(each)),
        ratio(each),
        ">= 0.50",
    );
    let what = format!("the same, {count} commits");
    report.add_row(
        &what,
        own(),
        format!("{:.0}/s (the same commits)", rate(same)),
        ratio(same),
        "",
    );
    let beside = format!("the file store, {senders} at once");
    report.add_row(&beside, format!("{:.0}/s", rate(alone)), String::new(), ratio(alone), "");
}

/// Measures everything once and returns the commits as well.
fn measure_round(
    address: &str,
    number: usize,
    senders: usize,
    messages: usize,
) -> (RoundTimes, Vec<String>) {
    let name = |what: &str| format!("{what}-{senders}-{number}");
    let options = FleetOptions {
        prefix: name("bench"),
        signer: Some(own_signer()),
        ..FleetOptions::parse(address).expect("a good address")
    };
    let servers = FleetConnection::connect(&options).expect("the fleet can be reached");
    let (fleet, commits) = send_through_fleet(&servers, senders, messages);
    let bytes = commits.iter().map(String::len).sum::<usize>() / messages;
    let each = bare_client::publish_messages(address, &name("each"), senders, messages, bytes);
    let same = bare_client::publish_commits(address, &name("same"), &commits);
    (
        RoundTimes {
            fleet,
            bare_messages: each,
            bare_commits: same,
            file_store: send_to_file_store(senders, messages),
        },
        commits,
    )
}

/// Returns the key of the only node of the fleet.
fn own_signer() -> NodeSigner {
    let key = NodeKey::generate();
    let accepted = AcceptedKeys::parse(&[format!("bench {}", key.public())]).expect("a good line");
    NodeSigner::new(NodeId::parse("bench").expect("a good name"), key, accepted)
        .expect("it is listed")
}

fn start_engine<S: Store>((store, loaded): (S, LoadedStore)) -> Engine<S> {
    let mut engine = Engine::start(store, loaded, Box::new(SystemClock), Policy::default())
        .expect("the engine starts");
    engine.rest().expect("at rest");
    engine
}

/// Sends messages through the servers; returns the duration and the commits.
fn send_through_fleet(
    fleet: &FleetConnection,
    senders: usize,
    messages: usize,
) -> (Duration, Vec<String>) {
    let sized = bench_folder::make_folder(TASKS);
    let restored = fleet.restore(&sized.folder(), "bench").expect("a fleet of this folder");
    let mut engine = start_engine(restored);
    // As for a leader, which assumes that other nodes commit almost nothing.
    engine.store().set_leader_check(Box::new(|| true));
    let before = engine.store().version();
    let (took, service) = send_all(engine, &sized.in_progress_ids(), senders, messages);
    service.stop().expect("it stops");
    (took, commits_after(&CommitStream::new(fleet), before))
}

fn commits_after(commits: &CommitStream, mut version: StoreVersion) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let some = commits.commits_after(version).expect("the commits can be read");
        if some.is_empty() {
            return all;
        }
        version = StoreVersion(version.0 + some.len() as u64);
        all.extend(some);
    }
}

fn send_to_file_store(senders: usize, messages: usize) -> Duration {
    let sized = bench_folder::make_folder(TASKS);
    let engine = start_engine(FileStore::open(&sized.folder()).expect("it opens"));
    let (took, service) = send_all(engine, &sized.in_progress_ids(), senders, messages);
    service.stop().expect("it stops");
    took
}
