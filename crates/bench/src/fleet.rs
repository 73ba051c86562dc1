//! Durable messages a second through three servers, beside the bare client and the file store.
//!
//! The floor is the bare client with the same bytes and the same acknowledgement: as many senders,
//! each of which publishes a message when the one before is acknowledged. Messages that come
//! together are one commit here; how far that is from a bare client which is given the same commits,
//! one after the other, is told as well. The file store is measured in the same run, with the same
//! senders and messages, on the same disk.

mod bare;
mod nodes;

use std::time::Duration;

use adjutant_core::Policy;
use adjutant_runtime::{Engine, SystemClock};
use adjutant_store::{FileStore, Loaded, Sequence, Store, Version};
use adjutant_store_nats::{Commits, Fleet, Options};

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
    let bytes = commits.iter().map(String::len).sum::<usize>() / messages;
    let each = bare::messages(address, &format!("each-{senders}"), senders, messages, bytes);
    let same = bare::commits(address, &format!("same-{senders}"), &commits);
    let alone = alone(senders, messages);
    let ratio = |floor: Duration| format!("{:.2}", rate(through) / rate(floor));
    let own = || format!("{:.0}/s", rate(through));
    let what = format!("fleet messages, {senders} at once, {bytes} bytes each");
    report.add(&what, own(), format!("{:.0}/s (bare client)", rate(each)), ratio(each), ">= 0.50");
    let what = format!("the same, {} commits", commits.len());
    report.add(&what, own(), format!("{:.0}/s (the same commits)", rate(same)), ratio(same), "");
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
