//! What those who deliver know together: what is owed, who is at work, and when to stop.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Waiting;
use crate::service::Client;

/// The longest wait without a look: a clock may have been put forward meanwhile.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) struct Shared {
    names: Vec<Box<str>>,
    state: Mutex<State>,
    changed: Condvar,
    bell: Box<dyn Fn() + Send + Sync>,
    /// Set when nobody wants any of it any more: what runs is ended.
    halt: Arc<AtomicBool>,
}

struct State {
    /// A way to ask the engine, for as long as there is one to ask.
    client: Option<Client>,
    /// Something was committed that was not looked at.
    rung: bool,
    looking: bool,
    stop: bool,
    /// How often what is owed was looked at.
    looks: u64,
    owed: BTreeMap<Box<str>, Waiting>,
    /// The look that each rule has thought about; none while it delivers.
    thought: BTreeMap<Box<str>, Option<u64>>,
}

impl Shared {
    pub(super) fn new(
        client: Client,
        names: Vec<Box<str>>,
        bell: Box<dyn Fn() + Send + Sync>,
    ) -> Self {
        let thought = names.iter().map(|name| (name.clone(), Some(0))).collect();
        let state = State {
            client: Some(client),
            // What an earlier process left is looked at before anything else.
            rung: true,
            looking: false,
            stop: false,
            looks: 0,
            owed: BTreeMap::new(),
            thought,
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, patience: Duration) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_timeout(state, patience.min(PATIENCE));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Says that something was committed.
    pub(super) fn ring(&self) {
        let mut state = self.lock();
        if !state.rung {
            state.rung = true;
            self.changed.notify_all();
        }
    }

    /// Waits until something was committed, and returns a way to ask what is owed now.
    pub(super) fn wait_for_ring(&self) -> Option<Client> {
        let mut state = self.lock();
        loop {
            if state.stop {
                return None;
            }
            if std::mem::take(&mut state.rung) {
                state.looking = true;
                return state.client.clone();
            }
            state = self.wait(state, PATIENCE);
        }
    }

    /// Shows what is owed.
    pub(super) fn show(&self, owed: BTreeMap<Box<str>, Waiting>) {
        let mut state = self.lock();
        (state.owed, state.looking) = (owed, false);
        state.looks += 1;
        self.changed.notify_all();
    }

    /// Returns what waits for a rule, with the look it was seen by; none when it is time to stop.
    pub(super) fn seen(&self, rule: &str) -> Option<(u64, Waiting)> {
        let state = self.lock();
        (!state.stop).then(|| (state.looks, state.owed.get(rule).cloned().unwrap_or_default()))
    }

    /// Waits for another look than the one a rule has thought about, for at most so long.
    pub(super) fn rest(&self, rule: &str, look: u64, patience: Duration) {
        let mut state = self.lock();
        state.thought.insert(rule.into(), Some(look));
        drop(state);
        (self.bell)();
        state = self.lock();
        if !state.stop && state.looks == look {
            drop(self.wait(state, patience));
        }
    }

    /// Takes note that a rule delivers.
    pub(super) fn begin(&self, rule: &str) {
        self.lock().thought.insert(rule.into(), None);
    }

    /// Returns a way to ask the engine, if there is one still.
    pub(super) fn client(&self) -> Option<Client> {
        self.lock().client.clone()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stop
    }

    pub(super) fn is_busy(&self) -> bool {
        let state = self.lock();
        let thinks = |thought: &Option<u64>| thought.is_none_or(|look| look < state.looks);
        !state.stop && (state.rung || state.looking || state.thought.values().any(thinks))
    }

    /// Has nobody begin anything more.
    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    /// Ends what runs, and has nobody ask the engine any more.
    pub(super) fn leave(&self) {
        self.halt.store(true, Ordering::SeqCst);
        self.lock().client = None;
    }
}
