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

/// How often everything is measured.
const ROUNDS: usize = 3;

/// Measures messages from one sender and from many, each against the bare client.
pub(crate) fn measure(report: &mut Report, quick: bool) {
    let cluster = Cluster::start();
    let (few, many) = if quick { (50, 400) } else { (400, 8_000) };
    // Each takes a second or so: the servers take the first some thousand messages faster than what
    // follows, and a task's file has by then the length it has in practice.
    for (senders, messages) in [(1, few), (32, many), (256, 4 * many)] {
        one(report, &cluster.address(), senders, messages);
    }
    nodes::claims(report, &cluster.address(), if quick { 40 } else { 400 });
    nodes::failover(report, &cluster.address(), if quick { 2 } else { 9 });
}

/// What was measured of as many senders and messages, each by itself.
#[derive(Clone, Copy)]
struct Times {
    /// Through the servers.
    fleet: Duration,
    /// The bare client, with as many messages of the same length.
    each: Duration,
    /// The bare client, with the same commits.
    same: Duration,
    /// The file store.
    alone: Duration,
}

impl Times {
    fn best(self, other: Self) -> Self {
        Self {
            fleet: self.fleet.min(other.fleet),
            each: self.each.min(other.each),
            same: self.same.min(other.same),
            alone: self.alone.min(other.alone),
        }
    }
}

/// Takes the best of three rounds, in which all take turns: the machine has other things to do.
fn one(report: &mut Report, address: &str, senders: usize, messages: usize) {
    let (mut best, mut bytes, mut count): (Option<Times>, usize, usize) = (None, 0, 0);
    for number in 0..ROUNDS {
        let (times, commits) = round(address, number, senders, messages);
        bytes = bytes.max(commits.iter().map(String::len).sum::<usize>() / messages);
        count = count.max(commits.len());
        best = Some(best.map_or(times, |best| best.best(times)));
    }
    let Some(Times { fleet, each, same, alone }) = best else { return };
    let rate = |time: Duration| messages as f64 / time.as_secs_f64();
    let ratio = |floor: Duration| format!("{:.2}", rate(fleet) / rate(floor));
    let own = || format!("{:.0}/s", rate(fleet));
    let what = format!("fleet messages, {senders} at once, {bytes} bytes each");
    report.add(&what, own(), format!("{:.0}/s (bare client)", rate(each)), ratio(each), ">= 0.50");
    let what = format!("the same, {count} commits");
    report.add(&what, own(), format!("{:.0}/s (the same commits)", rate(same)), ratio(same), "");
    let beside = format!("the file store, {senders} at once");
    report.add(&beside, format!("{:.0}/s", rate(alone)), String::new(), ratio(alone), "");
}

/// Measures everything once, and returns what was committed as well.
fn round(address: &str, number: usize, senders: usize, messages: usize) -> (Times, Vec<String>) {
    let name = |what: &str| format!("{what}-{senders}-{number}");
    let options =
        Options { prefix: name("bench"), ..Options::parse(address).expect("a good address") };
    let servers = Fleet::connect(&options).expect("the fleet can be reached");
    let (fleet, commits) = through(&servers, senders, messages);
    let bytes = commits.iter().map(String::len).sum::<usize>() / messages;
    let each = bare::messages(address, &name("each"), senders, messages, bytes);
    let same = bare::commits(address, &name("same"), &commits);
    (Times { fleet, each, same, alone: alone(senders, messages) }, commits)
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
