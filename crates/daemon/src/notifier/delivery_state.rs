//! The state shared by the notifier's threads: pending notices, which rules are busy, and
//! when to stop.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_engine::service::EngineHandle;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::PendingNotices;

/// The longest wait before the clock is read again: it may have been set forward meanwhile.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) struct SharedDeliveries {
    names: Vec<Box<str>>,
    state: Mutex<DeliveryState>,
    changed: Condvar,
    bell: Box<dyn Fn() + Send + Sync>,
    /// Set when the daemon leaves: running programs are ended.
    halt: Arc<AtomicBool>,
}

struct DeliveryState {
    /// `None` once the daemon leaves, because the engine stops only without clients.
    client: Option<EngineHandle>,
    /// Whether a commit was made since the pending notices were last read.
    has_new_commit: bool,
    is_reading: bool,
    stop: bool,
    /// How often the pending notices were read.
    read_count: u64,
    pending: BTreeMap<Box<str>, PendingNotices>,
    /// The read that each rule has handled; `None` while the rule delivers.
    handled_reads: BTreeMap<Box<str>, Option<u64>>,
}

impl SharedDeliveries {
    pub(super) fn new(
        client: EngineHandle,
        names: Vec<Box<str>>,
        bell: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        let thought = names.iter().map(|name| (name.clone(), Some(0))).collect();
        let state = DeliveryState {
            client: Some(client),
            // Read what an earlier process left pending first.
            has_new_commit: true,
            is_reading: false,
            stop: false,
            read_count: 0,
            pending: BTreeMap::new(),
            handled_reads: thought,
        };
        Self {
            names,
            state: Mutex::new(state),
            changed: Condvar::new(),
            bell,
            halt: Arc::default(),
        }
    }

    pub(super) fn names(&self) -> &[Box<str>] {
        &self.names
    }

    pub(super) fn halt(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.halt)
    }

    fn lock(&self) -> MutexGuard<'_, DeliveryState> {
        self.state.lock()
    }

    fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, DeliveryState>,
        patience: Duration,
    ) -> MutexGuard<'a, DeliveryState> {
        self.changed.wait_for(&mut state, patience.min(PATIENCE));
        state
    }

    /// Notes that a commit was made.
    pub(super) fn note_commit(&self) {
        let mut state = self.lock();
        if !state.has_new_commit {
            state.has_new_commit = true;
            self.changed.notify_all();
        }
    }

    /// Waits for a commit, and returns a client to read the pending notices; `None` when it is
    /// time to stop.
    pub(super) fn wait_for_commit(&self) -> Option<EngineHandle> {
        let mut state = self.lock();
        loop {
            if state.stop {
                return None;
            }
            if std::mem::take(&mut state.has_new_commit) {
                state.is_reading = true;
                return state.client.clone();
            }
            state = self.wait(state, PATIENCE);
        }
    }

    /// Publishes the pending notices to the rules' threads.
    pub(super) fn publish(&self, pending: BTreeMap<Box<str>, PendingNotices>) {
        let mut state = self.lock();
        (state.pending, state.is_reading) = (pending, false);
        state.read_count += 1;
        self.changed.notify_all();
    }

    /// Returns the pending notices of a rule with the number of the read; `None` when it is
    /// time to stop.
    pub(super) fn pending_of(&self, rule: &str) -> Option<(u64, PendingNotices)> {
        let state = self.lock();
        (!state.stop)
            .then(|| (state.read_count, state.pending.get(rule).cloned().unwrap_or_default()))
    }

    /// Waits until the pending notices are read again, or until `patience` has passed.
    pub(super) fn wait_for_next_read(&self, rule: &str, look: u64, patience: Duration) {
        let mut state = self.lock();
        state.handled_reads.insert(rule.into(), Some(look));
        drop(state);
        (self.bell)();
        state = self.lock();
        if !state.stop && state.read_count == look {
            drop(self.wait(state, patience));
        }
    }

    /// Notes that a rule delivers.
    pub(super) fn mark_delivering(&self, rule: &str) {
        self.lock().handled_reads.insert(rule.into(), None);
    }

    /// Returns a client of the engine; `None` once the daemon leaves.
    pub(super) fn client(&self) -> Option<EngineHandle> {
        self.lock().client.clone()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stop
    }

    pub(super) fn is_busy(&self) -> bool {
        let state = self.lock();
        let thinks = |thought: &Option<u64>| thought.is_none_or(|look| look < state.read_count);
        !state.stop
            && (state.has_new_commit
                || state.is_reading
                || state.handled_reads.values().any(thinks))
    }

    /// Lets no thread start another delivery.
    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    /// Ends running programs, and takes the engine away from the threads.
    pub(super) fn release_engine(&self) {
        self.halt.store(true, Ordering::SeqCst);
        self.lock().client = None;
    }
}
