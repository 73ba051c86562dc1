//! Delivers notices to their targets: one thread per notify rule, so that a slow target delays
//! neither the others nor the engine.
//!
//! The notifier makes no decisions. The engine commits a notice as a pending effect together with
//! the event it is about, [`adjutant_core::notify`] says what to send next and when, and the result
//! is committed together with settling the effect. If this process dies in between, the next one
//! sends the notice again under the same id, by which the receiver can recognise the duplicate.

mod delivery_state;
mod desktop;
mod notice_message;
mod notify_targets;
mod rule_worker;
mod target_check;
pub(crate) mod webhook;
mod webhook_body;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use adjutant_model::notice::OperatorNotice;
use adjutant_model::request::{DeliveryResult, NoticeDelivery};
use adjutant_model::{Effect, Policy};
use adjutant_store::{EffectId, PendingEffect};

pub use notice_message::{NoticeItem, NoticeMessage};
pub use notify_targets::{ConsoleMessage, NotifyTargets as Where};
pub use target_check::{TargetProblem, check_targets};

use adjutant_engine::engine::{EngineRequest, Request};
use adjutant_engine::service::EngineHandle;
use delivery_state::SharedDeliveries;
use rule_worker::RuleWorker;

/// How long to wait after a commit before reading the pending effects, so that several commits
/// need one read.
const COMMIT_DELAY: Duration = Duration::from_millis(20);

/// How long deliveries in progress may take when the daemon leaves.
const SHUTDOWN_WAIT: Duration = Duration::from_secs(3);

/// The pending notices of a rule.
type PendingNotices = Vec<(EffectId, OperatorNotice)>;

pub struct NoticeDispatcher {
    shared: Arc<SharedDeliveries>,
    calls: Receiver<ConsoleMessage>,
    threads: Vec<JoinHandle<()>>,
}

pub struct NotifierSetup {
    pub targets: Where,
    pub policy: Policy,
    /// The prefix of every notice id, which keeps the ids of two projects apart.
    pub mark: String,
}

impl NoticeDispatcher {
    /// Starts delivering pending notices. Calls `bell` whenever a rule has sent what was due, or
    /// has to wait.
    pub fn start(
        setup: NotifierSetup,
        client: &EngineHandle,
        bell: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let NotifierSetup { targets, policy, mark } = setup;
        let (console, calls) = channel();
        let rules = policy.notify.iter().map(|rule| rule.name.clone());
        let shared =
            Arc::new(SharedDeliveries::new(client.clone(), rules.collect(), Box::new(bell)));
        let ring = Arc::clone(&shared);
        client.on_commit(move || ring.note_commit());
        let mut threads = Vec::new();
        for rule in policy.notify {
            let target = targets.for_rule(&rule.name, console.clone(), shared.halt());
            let (shared, mark) = (Arc::clone(&shared), mark.clone());
            let worker = RuleWorker::new(rule, target, mark, shared);
            let named = thread::Builder::new().name("notify".to_owned());
            threads.push(named.spawn(move || worker.run())?);
        }
        let looks = Arc::clone(&shared);
        let named = thread::Builder::new().name("notifier".to_owned());
        threads.push(named.spawn(move || read_pending_notices(&looks))?);
        Ok(Self { shared, calls, threads })
    }

    /// Returns the notices to show on the console. A notice counts as sent when it is confirmed.
    pub fn console_messages(&self) -> impl Iterator<Item = ConsoleMessage> + '_ {
        self.calls.try_iter()
    }

    /// Returns whether a delivery is in progress or due and not tried yet.
    pub fn is_busy(&self) -> bool {
        self.shared.is_busy()
    }
}

impl Drop for NoticeDispatcher {
    /// Waits a moment for deliveries in progress, so that they need not be repeated. A delivery
    /// that takes longer no longer reaches the engine, and the next daemon repeats it.
    fn drop(&mut self) {
        self.shared.stop();
        let until = Instant::now() + SHUTDOWN_WAIT;
        while self.threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < until {
            // Notices that still wait for the console are not shown any more.
            self.calls.try_iter().for_each(drop);
            thread::sleep(Duration::from_millis(5));
        }
        self.shared.release_engine();
    }
}

/// Reads the pending notices after each commit, until it is time to stop.
fn read_pending_notices(shared: &SharedDeliveries) {
    while let Some(client) = shared.wait_for_commit() {
        thread::sleep(COMMIT_DELAY);
        // If the engine cannot answer now, the notices are read after the next commit or at
        // the next start.
        let pending = client.pending_effects().unwrap_or_default();
        let (known, unknown) = group_by_rule(pending, shared.names());
        give_up_without_rule(&client, unknown);
        shared.publish(known);
    }
}

type NoticesByRule =
    (BTreeMap<Box<str>, PendingNotices>, Vec<(EffectId, Box<str>, OperatorNotice)>);

/// Groups the pending notices by rule, and returns separately those whose rule no longer exists.
fn group_by_rule(pending: Vec<PendingEffect>, names: &[Box<str>]) -> NoticesByRule {
    let (mut known, mut unknown) = (BTreeMap::<Box<str>, PendingNotices>::new(), Vec::new());
    for PendingEffect { id, effect } in pending {
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

/// Records that notices without a rule are not delivered.
fn give_up_without_rule(client: &EngineHandle, unknown: Vec<(EffectId, Box<str>, OperatorNotice)>) {
    let request = |(done, rule, notice): (EffectId, Box<str>, OperatorNotice)| {
        let result = DeliveryResult::GivenUp(
            "the configuration no longer has a rule of that name".to_owned(),
        );
        notified_request(done, &rule, "none", &notice, 0, result)
    };
    let requests: Vec<EngineRequest> = unknown.into_iter().map(request).collect();
    if !requests.is_empty() {
        // Retried after the next commit.
        let _ = client.ask_all(requests);
    }
}

fn notified_request(
    done: EffectId,
    rule: &str,
    target: &str,
    notice: &OperatorNotice,
    tries: u32,
    result: DeliveryResult,
) -> EngineRequest {
    let notified = NoticeDelivery {
        rule: rule.to_owned(),
        target: target.to_owned(),
        kind: notice.kind,
        about: notice.event,
        task: notice.task.clone(),
        tries,
        result,
    };
    Request::Notified { done, notified: Box::new(notified) }.into()
}
