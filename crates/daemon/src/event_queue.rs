//! The daemon's event queue: commits, file changes, run events and signals, in arrival order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};
use std::{io, thread};

use adjutant_model::TaskId;
use adjutant_runs::supervisor::{RunEvent, RunEventSink};
use parking_lot::Mutex;
use signal_hook::consts::{SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle as Hook, Signals as Hooks};

use super::{FILE_CHANGE_DELAY, time_until};

/// The most run events in the queue. A message has at most 1 MiB, so this bounds the memory; with
/// more than one, a single commit can take several.
const RUN_EVENTS_MAX: usize = 8;

pub(super) enum DaemonEvent {
    Committed,
    /// Task files that may have changed; `None` means any of them.
    FilesChanged(Option<Vec<TaskId>>),
    Run(RunEvent),
    Signal(ShutdownSignal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShutdownSignal {
    /// Ctrl-C: the first drains, the second stops the runs, the third leaves at once.
    Interrupt,
    /// Stop the runs, and leave when they have ended.
    Quit,
    /// Leave at once; runs continue.
    Terminate,
}

pub(super) struct EventQueue {
    receiver: Receiver<DaemonEvent>,
    sender: Sender<DaemonEvent>,
    commit_queued: Arc<AtomicBool>,
    changed_files: Arc<Mutex<ChangedFiles>>,
    /// Permits for run events: they wait in their sender until one is admitted, so they cannot
    /// fill the memory.
    run_event_permits: SyncSender<()>,
    signals: Hook,
}

/// Task files that changed and were not read yet. Changes are collected for [`FILE_CHANGE_DELAY`].
#[derive(Default)]
struct ChangedFiles {
    tasks: BTreeSet<TaskId>,
    all: bool,
    since: Option<Instant>,
}

/// The signals that this process catches from now on.
pub(super) struct SignalListener(Hooks);

/// The sending end for file changes.
#[derive(Clone)]
pub(super) struct FileChangeSender {
    changed: Arc<Mutex<ChangedFiles>>,
    sender: Sender<DaemonEvent>,
}

/// Asks a daemon in this process to leave.
#[derive(Clone)]
pub struct DaemonHandle {
    sender: Sender<DaemonEvent>,
}

impl DaemonHandle {
    /// Asks the daemon to leave at once; runs continue without it.
    pub fn leave(&self) {
        // A daemon that has left does not receive it.
        let _ = self.sender.send(DaemonEvent::Signal(ShutdownSignal::Terminate));
    }

    /// Asks the daemon to stop its runs, and to leave when they have ended.
    pub fn stop(&self) {
        // A daemon that has left does not receive it.
        let _ = self.sender.send(DaemonEvent::Signal(ShutdownSignal::Quit));
    }
}

impl SignalListener {
    /// Catches the signals that ask a daemon to leave.
    pub(super) fn listen() -> io::Result<Self> {
        Hooks::new([SIGINT, SIGQUIT, SIGTERM]).map(Self)
    }
}

impl FileChangeSender {
    /// Wakes the daemon, which looks at the file of the configuration by itself.
    pub(super) fn config_changed(&self) {
        let _ = self.sender.send(DaemonEvent::Committed);
    }

    /// Notes that a task file changed; `None` means any of them.
    pub(super) fn file_changed(&self, task: Option<TaskId>) {
        let mut changed = self.changed.lock();
        match task {
            Some(task) => drop(changed.tasks.insert(task)),
            None => changed.all = true,
        }
        if changed.since.is_none() {
            changed.since = Some(Instant::now());
            // This only wakes the daemon; it takes all the changes together later.
            let _ = self.sender.send(DaemonEvent::Committed);
        }
    }
}

impl EventQueue {
    /// Starts the thread that forwards signals to the queue. Returns the sink for run events too.
    pub(super) fn start(signals: SignalListener) -> io::Result<(Self, RunEventSink)> {
        let (sender, queue) = channel();
        let (run_event_permits, permits) = sync_channel(RUN_EVENTS_MAX);
        let (permits, to) = (Mutex::new(permits), sender.clone());
        // The permits end with the queue, and so do the senders that wait for one.
        let run_events =
            move |event| permits.lock().recv().is_ok() && to.send(DaemonEvent::Run(event)).is_ok();
        let (to, handle) = (sender.clone(), signals.0.handle());
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let mut signals = signals.0;
            for number in &mut signals {
                let signal = match number {
                    SIGINT => ShutdownSignal::Interrupt,
                    SIGQUIT => ShutdownSignal::Quit,
                    _ => ShutdownSignal::Terminate,
                };
                if to.send(DaemonEvent::Signal(signal)).is_err() {
                    return;
                }
            }
        })?;
        let queue = Self {
            receiver: queue,
            sender,
            commit_queued: Arc::default(),
            changed_files: Arc::default(),
            run_event_permits,
            signals: handle,
        };
        queue.admit_run_events(RUN_EVENTS_MAX);
        Ok((queue, Arc::new(run_events)))
    }

    /// Returns a function to call after a commit. Several calls before the daemon wakes
    /// make one event.
    pub(super) fn commit_callback(&self) -> impl Fn() + Send + 'static {
        let (queued, sender) = (Arc::clone(&self.commit_queued), self.sender.clone());
        move || {
            if !queued.swap(true, Ordering::SeqCst) {
                let _ = sender.send(DaemonEvent::Committed);
            }
        }
    }

    pub(super) fn handle(&self) -> DaemonHandle {
        DaemonHandle { sender: self.sender.clone() }
    }

    pub(super) fn file_change_sender(&self) -> FileChangeSender {
        FileChangeSender { changed: Arc::clone(&self.changed_files), sender: self.sender.clone() }
    }

    /// Waits for the next event; `None` if none arrives in time.
    pub(super) fn wait(&self, patience: Duration) -> Option<DaemonEvent> {
        let until = Instant::now() + patience;
        loop {
            if let Some(files) = self.take_due_files() {
                return Some(files);
            }
            let pause = self.file_delay_left().unwrap_or(Duration::MAX).min(time_until(until));
            match self.receiver.recv_timeout(pause) {
                Ok(one) => return Some(self.mark_taken(one)),
                Err(RecvTimeoutError::Timeout) if time_until(until).is_zero() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Returns the next event that has arrived already.
    pub(super) fn next(&self) -> Option<DaemonEvent> {
        self.receiver.try_recv().ok().map(|one| self.mark_taken(one))
    }

    /// Admits more run events. Until then they wait in their senders, or in the outbox
    /// files on disk.
    pub(super) fn admit_run_events(&self, count: usize) {
        for _ in 0..count {
            // The queue never holds more events than there are permits, so this cannot fail.
            let _ = self.run_event_permits.try_send(());
        }
    }

    fn mark_taken(&self, one: DaemonEvent) -> DaemonEvent {
        // A commit from now on needs an event of its own.
        if matches!(one, DaemonEvent::Committed) {
            self.commit_queued.store(false, Ordering::SeqCst);
        }
        one
    }

    fn file_delay_left(&self) -> Option<Duration> {
        let changed = self.changed_files.lock();
        changed.since.map(|since| time_until(since + FILE_CHANGE_DELAY))
    }

    fn take_due_files(&self) -> Option<DaemonEvent> {
        let mut changed = self.changed_files.lock();
        changed.since.filter(|since| time_until(*since + FILE_CHANGE_DELAY).is_zero())?;
        let ChangedFiles { tasks, all, .. } = std::mem::take(&mut *changed);
        Some(DaemonEvent::FilesChanged((!all).then(|| tasks.into_iter().collect())))
    }
}

impl Drop for EventQueue {
    fn drop(&mut self) {
        self.signals.close();
    }
}
