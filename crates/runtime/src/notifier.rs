//! Delivers what is owed to people: each rule by a thread of its own, so that a slow target holds up
//! no other, and never the engine.
//!
//! It holds no rule: what is owed was decided and committed with what it tells of, what comes next
//! and when is said by [`adjutant_core::notice`], and what came of it is committed together with
//! that it is not owed any more. Should this process die in between, the next one tells it again
//! under the same id, by which whoever is told knows that it was told before.

mod check;
mod desktop;
mod format;
mod letter;
mod shared;
mod target;
pub(crate) mod webhook;
mod worker;

#[cfg(test)]
mod golden_tests;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use adjutant_core::input::{Notified, Told};
use adjutant_core::notice::Notice;
use adjutant_core::{Effect, Policy};
use adjutant_store::{EffectId, Owed};

pub use check::{Flaw, check};
pub use letter::{Item, Letter};
pub use target::{Call, Targets as Where};

use crate::engine::Request;
use crate::service::Client;
use shared::Shared;
use worker::Worker;

/// How long news of commits is gathered before what is owed is looked at.
const GATHER: Duration = Duration::from_millis(20);

/// How long somebody who is being told is waited for when the daemon leaves.
const LEAVE: Duration = Duration::from_secs(3);

/// What waits to be told by a rule.
type Waiting = Vec<(EffectId, Notice)>;

/// Everybody who delivers.
pub struct Notifier {
    shared: Arc<Shared>,
    calls: Receiver<Call>,
    threads: Vec<JoinHandle<()>>,
}

/// What is needed to deliver.
pub struct Setup {
    /// What the configuration says, and where it is from.
    pub targets: Where,
    /// What decisions go by.
    pub policy: Policy,
    /// What every id begins with, so that those of two projects are told apart.
    pub mark: String,
}

impl Notifier {
    /// Begins to deliver what is owed, and rings whenever somebody was told or could not be.
    pub fn start(
        setup: Setup,
        client: &Client,
        bell: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let Setup { targets, policy, mark } = setup;
        let (console, calls) = channel();
        let rules = policy.notify.iter().map(|rule| rule.name.clone());
        let shared = Arc::new(Shared::new(client.clone(), rules.collect(), Box::new(bell)));
        let ring = Arc::clone(&shared);
        client.listen(move || ring.ring());
        let mut threads = Vec::new();
        for rule in policy.notify {
            let target = targets.of(&rule.name, console.clone(), shared.halt());
            let (shared, mark) = (Arc::clone(&shared), mark.clone());
            let worker = Worker::new(rule, target, mark, shared);
            let named = thread::Builder::new().name("notify".to_owned());
            threads.push(named.spawn(move || worker.work())?);
        }
        let looks = Arc::clone(&shared);
        let named = thread::Builder::new().name("notifier".to_owned());
        threads.push(named.spawn(move || look(&looks))?);
        Ok(Self { shared, calls, threads })
    }

    /// Returns what is to be shown where the daemon shows things. It is told when that is confirmed.
    pub fn calls(&self) -> impl Iterator<Item = Call> + '_ {
        self.calls.try_iter()
    }

    /// Says whether somebody is being told, or is to be told at once and was not tried yet.
    pub fn is_busy(&self) -> bool {
        self.shared.is_busy()
    }
}

impl Drop for Notifier {
    /// Waits a little for whoever is being told, so that it need not be told again. What is not over
    /// by then asks the engine for nothing any more, and is told by the next daemon.
    fn drop(&mut self) {
        self.shared.stop();
        let until = Instant::now() + LEAVE;
        while self.threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < until {
            // Whoever waits to be shown is not shown any more.
            self.calls.try_iter().for_each(drop);
            thread::sleep(Duration::from_millis(5));
        }
        self.shared.leave();
    }
}

/// Looks at what is owed whenever something was committed, until it is time to stop.
fn look(shared: &Shared) {
    while let Some(client) = shared.wait_for_ring() {
        thread::sleep(GATHER);
        // What cannot be seen now is seen after the next commit, or at the next start.
        let owed = client.owed().unwrap_or_default();
        let (known, unknown) = sort(owed, shared.names());
        give_up(&client, unknown);
        shared.show(known);
    }
}

type Sorted = (BTreeMap<Box<str>, Waiting>, Vec<(EffectId, Box<str>, Notice)>);

/// Sorts what is owed by rule, and puts aside what no rule is there for any more.
fn sort(owed: Vec<Owed>, names: &[Box<str>]) -> Sorted {
    let (mut known, mut unknown) = (BTreeMap::<Box<str>, Waiting>::new(), Vec::new());
    for Owed { id, effect } in owed {
        if let Effect::Notify { rule, notice } = effect {
            if names.contains(&rule) {
                known.entry(rule).or_default().push((id, *notice));
            } else {
                unknown.push((id, rule, *notice));
            }
        }
    }
    (known, unknown)
}

/// Writes down that nobody is told what no rule is there for any more.
fn give_up(client: &Client, unknown: Vec<(EffectId, Box<str>, Notice)>) {
    let request = |(done, rule, notice): (EffectId, Box<str>, Notice)| {
        let told = Told::GivenUp("the configuration has no rule of that name any more".to_owned());
        notified(done, &rule, "none", &notice, 0, told)
    };
    let requests: Vec<Request> = unknown.into_iter().map(request).collect();
    if !requests.is_empty() {
        // Tried again after the next commit.
        let _ = client.ask_all(requests);
    }
}

fn notified(
    done: EffectId,
    rule: &str,
    target: &str,
    notice: &Notice,
    tries: u32,
    told: Told,
) -> Request {
    let notified = Notified {
        rule: rule.to_owned(),
        target: target.to_owned(),
        kind: notice.kind,
        about: notice.event,
        task: notice.task.clone(),
        tries,
        told,
    };
    Request::Notified { done, notified: Box::new(notified) }
}
