//! What takes its time, done beside the daemon's other work: making work trees, looking into what
//! runs said, merging, tidying up. One thing at a time for each task.
//!
//! Nothing is remembered that could not be found again: what is owed stays owed until what came of
//! it was taken, and is begun anew by whoever comes next.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use adjutant_core::TaskId;
use adjutant_core::work::Merged;

use super::WORK_PAUSE as PAUSE;
use crate::crew::Looked;
use crate::worktree::{Ready, Refused, Saved};

/// What is done for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Its work tree is made ready for this attempt.
    Prepare(u32),
    /// What this run said is looked into.
    LookInto(u64),
    /// Its work is merged.
    Merge,
    /// Its work tree is taken away.
    Tidy,
}

/// What came of it.
pub(super) enum Product {
    Ready(Result<Ready, Refused>),
    Looked(Looked),
    Merged(Merged),
    Tidied(Result<Option<Saved>, Refused>),
}

/// What is under way, and what came of it.
pub(super) struct Jobs {
    table: Arc<Mutex<BTreeMap<TaskId, Slot>>>,
    /// What is not to be tried before.
    later: Mutex<BTreeMap<TaskId, (What, Instant)>>,
    /// Set when nobody wants any of it any more.
    halt: Arc<AtomicBool>,
    /// Called when something came of something; none where it is waited for.
    bell: Option<Arc<Mutex<Bell>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

type Bell = Box<dyn Fn() + Send>;

struct Slot {
    what: What,
    product: Option<Product>,
    /// Whether somebody still asks for it.
    asked: bool,
}

impl Jobs {
    /// Does everything at once, and whoever asks waits for it.
    pub(super) fn at_once() -> Self {
        Self {
            table: Arc::default(),
            later: Mutex::default(),
            halt: Arc::default(),
            bell: None,
            threads: Mutex::default(),
        }
    }

    /// Does everything beside, and calls `bell` when something came of something.
    pub(super) fn beside(bell: impl Fn() + Send + 'static) -> Self {
        let bell: Bell = Box::new(bell);
        let mut jobs = Self::at_once();
        jobs.bell = Some(Arc::new(Mutex::new(bell)));
        jobs
    }

    /// Returns what is set when nobody wants any of it any more.
    pub(super) fn halt(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.halt)
    }

    /// Returns what came of something; none while it is under way, or something else is for the
    /// same task. It is begun if it was not.
    pub(super) fn ask(
        &self,
        task: &TaskId,
        what: What,
        work: impl FnOnce() -> Product + Send + 'static,
    ) -> Option<Product> {
        let Some(bell) = &self.bell else { return Some(work()) };
        if self.is_later(task, what) {
            return None;
        }
        let mut table = lock(&self.table);
        if let Some(slot) = table.get_mut(task) {
            slot.asked = slot.what == what;
            slot.product.as_ref()?;
            let slot = table.remove(task)?;
            if slot.what == what {
                return slot.product;
            }
        }
        table.insert(task.clone(), Slot { what, product: None, asked: true });
        drop(table);
        self.begin(task.clone(), Arc::clone(bell), work);
        None
    }

    fn begin(
        &self,
        task: TaskId,
        bell: Arc<Mutex<Bell>>,
        work: impl FnOnce() -> Product + Send + 'static,
    ) {
        let table = Arc::clone(&self.table);
        let of = task.clone();
        let run = move || {
            let product = work();
            if let Some(slot) = lock(&table).get_mut(&task) {
                slot.product = Some(product);
            }
            lock(&bell)();
        };
        let started = std::thread::Builder::new().name("work".to_owned()).spawn(run);
        match started {
            Ok(thread) => {
                let mut threads = lock(&self.threads);
                threads.retain(|thread| !thread.is_finished());
                threads.push(thread);
            }
            // Begun again the next time.
            Err(_) => drop(lock(&self.table).remove(&of)),
        }
    }

    /// Leaves something alone for a while.
    pub(super) fn put_off(&self, task: &TaskId, what: What) {
        lock(&self.later).insert(task.clone(), (what, Instant::now() + PAUSE));
    }

    /// Leaves something alone for good.
    pub(super) fn give_up(&self, task: &TaskId, what: What) {
        let far = Instant::now() + Duration::from_hours(24);
        lock(&self.later).insert(task.clone(), (what, far));
    }

    fn is_later(&self, task: &TaskId, what: What) -> bool {
        let later = lock(&self.later);
        later.get(task).is_some_and(|(of, until)| *of == what && Instant::now() < *until)
    }

    /// Says whether something is left alone for a while.
    pub(super) fn is_waiting(&self) -> bool {
        let mut later = lock(&self.later);
        later.retain(|_, (_, until)| Instant::now() < *until + PAUSE);
        later.values().any(|(what, _)| *what == What::Merge)
    }

    /// Forgets what came of something nobody asks for any more.
    pub(super) fn sweep(&self) {
        let mut table = lock(&self.table);
        table.retain(|_, slot| slot.asked || slot.product.is_none());
        table.values_mut().for_each(|slot| slot.asked = false);
    }

    /// Says whether anything is under way.
    pub(super) fn is_busy(&self) -> bool {
        !lock(&self.table).is_empty()
    }
}

impl Drop for Jobs {
    /// Whatever is under way ends first: nothing it started outlives this process.
    fn drop(&mut self) {
        self.halt.store(true, Ordering::SeqCst);
        for thread in lock(&self.threads).drain(..) {
            // One that broke has nothing to say.
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
