//! Reconciles the board with the stories of a project while a daemon runs.
//!
//! After every commit and file change it compares the story files with the world, reports new
//! positions to the engine, measures what runs left, and ends executors that time out. All state is in the files and
//! the world, so that the next daemon continues where a killed one stopped.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use adjutant_core::World;
use adjutant_engine::service::EngineHandle;
use adjutant_model::EventId;
use adjutant_model::story::StoryId;
use parking_lot::Mutex;

use super::run_result::process_run_result;
use super::story_board::{
    FileSignatures, PassResult, ReconcilerConfig, RunningStep, StoryBoard, TimeoutCheck,
    are_settled, file_signatures,
};

/// How often the files are checked for changes.
const FILE_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Reconciles stories in its own thread until it is dropped.
pub struct StoryReconciler {
    waker: ReconcilerWaker,
    progress: Arc<Mutex<ReconcilerProgress>>,
    thread: Option<JoinHandle<()>>,
}

/// Wakes the reconciler's thread.
#[derive(Clone)]
pub struct ReconcilerWaker(Sender<WakeSignal>);

/// The receiving end of a [`ReconcilerWaker`].
pub struct WakeReceiver(Receiver<WakeSignal>);

#[derive(PartialEq, Eq)]
enum WakeSignal {
    Reconcile,
    Stop,
}

/// What the reconciler has done so far.
#[derive(Default)]
struct ReconcilerProgress {
    /// The last event that had been seen when a pass left nothing to do.
    seen: Option<EventId>,
    /// The stories whose last step is being measured.
    measuring: BTreeSet<StoryId>,
    /// Counts the measurements that left a result for the next pass.
    measurement_count: u64,
}

impl ReconcilerProgress {
    /// Records the end of a pass that began at `measurement_count` and saw everything up to `seen`.
    /// A pass may have missed a measurement that finished meanwhile; then it does not count.
    fn finish_pass(&mut self, measurement_count: u64, seen: EventId) {
        self.seen = Some(seen).filter(|_| self.measurement_count == measurement_count);
    }

    /// Records that a story was measured, and whether that left a result for the next pass.
    fn finish_measurement(&mut self, story: &StoryId, has_result: bool) {
        self.measuring.remove(story);
        if has_result {
            self.measurement_count += 1;
            self.seen = None;
        }
    }

    fn is_settled_at(&self, last: EventId) -> bool {
        self.measuring.is_empty() && self.seen >= Some(last)
    }
}

pub fn wake_channel() -> (ReconcilerWaker, WakeReceiver) {
    let (sender, receiver) = channel();
    (ReconcilerWaker(sender), WakeReceiver(receiver))
}

impl ReconcilerWaker {
    pub fn wake(&self) {
        // The receiver may be gone.
        let _ = self.0.send(WakeSignal::Reconcile);
    }
}

impl StoryReconciler {
    /// Starts the thread. The project may get its first story later. `on_pass` is called
    /// after each pass.
    pub fn start(
        config: ReconcilerConfig,
        engine: EngineHandle,
        (waker, wake_receiver): (ReconcilerWaker, WakeReceiver),
        on_pass: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let progress = Arc::new(Mutex::new(ReconcilerProgress::default()));
        let mut reconciler = ReconcilerThread {
            config,
            engine,
            waker: waker.clone(),
            progress: Arc::clone(&progress),
            polled: None,
            signatures: None,
            board: None,
        };
        let thread = std::thread::Builder::new().name("stories".to_owned()).spawn(move || {
            while reconciler.wait_and_reconcile(&wake_receiver) {
                on_pass();
            }
        })?;
        waker.wake();
        Ok(Self { waker, progress, thread: Some(thread) })
    }

    /// Returns whether everything up to an event was reconciled and nothing is left to do. If not,
    /// wakes the thread.
    pub fn has_settled(&self, last: EventId) -> bool {
        let is_settled = self.progress.lock().is_settled_at(last);
        if !is_settled {
            self.waker.wake();
        }
        is_settled
    }

    /// Returns whether nothing is being measured.
    pub fn is_idle(&self) -> bool {
        self.progress.lock().measuring.is_empty()
    }
}

impl Drop for StoryReconciler {
    fn drop(&mut self) {
        let _ = self.waker.0.send(WakeSignal::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Makes one pass and measures before it returns; for a caller without a daemon.
pub fn reconcile_once(config: &ReconcilerConfig, engine: &EngineHandle) {
    let pass = || -> PassResult {
        let Some(mut board) = StoryBoard::read(config, TimeoutCheck::Due)? else { return Ok(()) };
        let mut difference = board.compare(engine)?;
        if !difference.ended.is_empty() {
            for step in &difference.ended {
                process_run_result(config, step)?;
            }
            let Some(measured) = StoryBoard::read(config, TimeoutCheck::NotDue)? else {
                return Ok(());
            };
            board = measured;
            difference = board.compare(engine)?;
        }
        board.report_and_advance(difference.has_news, engine)
    };
    let _ = pass();
}

struct ReconcilerThread {
    config: ReconcilerConfig,
    engine: EngineHandle,
    waker: ReconcilerWaker,
    progress: Arc<Mutex<ReconcilerProgress>>,
    polled: Option<Instant>,
    /// The files' metadata at the last pass.
    signatures: Option<FileSignatures>,
    /// The stories at the last pass, while their files are unchanged.
    board: Option<StoryBoard>,
}

impl ReconcilerThread {
    /// Waits for a reason to make a pass, and makes it. Returns false to stop.
    fn wait_and_reconcile(&mut self, wake_receiver: &WakeReceiver) -> bool {
        let first = match wake_receiver.0.recv_timeout(FILE_CHECK_INTERVAL.min(self.config.poll)) {
            Ok(signal) => Some(signal),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return false,
        };
        let signals: Vec<WakeSignal> =
            first.into_iter().chain(wake_receiver.0.try_iter()).collect();
        if signals.contains(&WakeSignal::Stop) {
            return false;
        }
        // Before the files are read, so that a later write shows as a change at the next pass.
        let signatures = file_signatures(&self.config.home);
        let check = match self.polled {
            Some(polled) if polled.elapsed() < self.config.poll => TimeoutCheck::NotDue,
            Some(_) | None => TimeoutCheck::Due,
        };
        let must_read = check == TimeoutCheck::Due || self.signatures.as_ref() != Some(&signatures);
        if must_read {
            self.board = None;
        }
        if must_read || !signals.is_empty() {
            self.reconcile(check);
            // Files that were just written are read again at the next pass.
            self.signatures = are_settled(&signatures, SystemTime::now()).then_some(signatures);
        }
        true
    }

    fn reconcile(&mut self, check: TimeoutCheck) {
        let measurement_count = self.progress.lock().measurement_count;
        let Ok(seen) = self.engine.view(World::last_event) else { return };
        if check == TimeoutCheck::Due {
            self.polled = Some(Instant::now());
        }
        let _ = self.reconcile_files(check);
        self.progress.lock().finish_pass(measurement_count, seen);
    }

    fn reconcile_files(&mut self, check: TimeoutCheck) -> PassResult {
        // Most commits are not about stories: the files of the last pass then still count.
        let cached = self.board.take();
        let compared = StoryBoard::read_and_compare(&self.config, check, cached, &self.engine)?;
        let Some((mut board, difference)) = compared else { return Ok(()) };
        board.report_and_advance(difference.has_news, &self.engine)?;
        self.board = Some(board);
        for step in difference.ended {
            self.measure(step);
        }
        Ok(())
    }

    /// Measures a step in its own thread: that takes minutes, and other stories continue meanwhile.
    fn measure(&self, step: RunningStep) {
        if !self.progress.lock().measuring.insert(step.story.clone()) {
            return;
        }
        let (config, waker) = (self.config.clone(), self.waker.clone());
        let (story, progress) = (step.story.clone(), Arc::clone(&self.progress));
        let name = format!("measure {story}");
        let spawned = std::thread::Builder::new().name(name).spawn(move || {
            let processed = process_run_result(&config, &step);
            // A failed measurement is tried again later, not at once.
            progress.lock().finish_measurement(&step.story, processed.is_ok());
            if processed.is_ok() {
                waker.wake();
            }
        });
        if spawned.is_err() {
            self.progress.lock().measuring.remove(&story);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reconciler_is_not_settled_after_measurement_during_a_pass() {
        let story = StoryId::parse("US-005").expect("a name");
        let last = EventId::default().next();
        let mut progress = ReconcilerProgress::default();
        let first = progress.measurement_count;
        progress.measuring.insert(story.clone());
        progress.finish_pass(first, last);
        assert!(!progress.is_settled_at(last), "a step is being measured");
        let second = progress.measurement_count;
        progress.finish_measurement(&story, true);
        progress.finish_pass(second, last);
        assert!(!progress.is_settled_at(last), "the second pass may have been too early to see it");
        let third = progress.measurement_count;
        progress.finish_pass(third, last);
        assert!(progress.is_settled_at(last));
        assert!(!progress.is_settled_at(last.next()));
    }
}
