//! What a daemon waits for, in one queue: runs, commits, files and signals.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use adjutant_core::TaskId;
use signal_hook::consts::{SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle as Hook, Signals as Hooks};

use super::{FILES_PAUSE, left};
use crate::supervisor::Event;

/// The most events of runs that wait inside. A message has at most 1 MiB, so that this bounds the
/// memory; that several can wait lets one commit take them in.
const INSIDE_MAX: usize = 8;

/// One piece of news.
pub(super) enum One {
    /// Something was committed.
    Changed,
    /// The files of these tasks may have changed; none stands for all.
    Files(Option<Vec<TaskId>>),
    /// A run did something.
    Run(Event),
    /// Somebody wants the daemon to go.
    Signal(Signal),
}

/// What a person or a system can tell a daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// Finish, in steps: Ctrl-C.
    Interrupt,
    /// Stop the runs, and leave when they are over.
    Quit,
    /// Leave at once.
    Terminate,
}

/// The queue of news.
pub(super) struct News {
    queue: Receiver<One>,
    sender: Sender<One>,
    rung: Arc<AtomicBool>,
    touched: Arc<Mutex<Touched>>,
    /// Lets the next event of a run in: they wait outside, so that they cannot fill the memory.
    admit: SyncSender<()>,
    signals: Hook,
}

/// Files that were touched and not looked at.
#[derive(Default)]
struct Touched {
    tasks: BTreeSet<TaskId>,
    all: bool,
    since: Option<Instant>,
}

/// Signals that were caught from now on.
pub(super) struct Signals(Hooks);

/// Where somebody tells which files were touched.
#[derive(Clone)]
pub(super) struct Files {
    touched: Arc<Mutex<Touched>>,
    sender: Sender<One>,
}

/// A way to tell a daemon of this process to go.
#[derive(Clone)]
pub struct Handle {
    sender: Sender<One>,
}

impl Handle {
    /// Has the daemon leave at once; runs go on without it.
    pub fn leave(&self) {
        // One that has left does not hear it.
        let _ = self.sender.send(One::Signal(Signal::Terminate));
    }

    /// Has the daemon stop the runs there are, and leave when they are over.
    pub fn stop(&self) {
        // One that has left does not hear it.
        let _ = self.sender.send(One::Signal(Signal::Quit));
    }
}

impl Signals {
    /// Catches the signals that ask a daemon to go.
    pub(super) fn listen() -> io::Result<Self> {
        Hooks::new([SIGINT, SIGQUIT, SIGTERM]).map(Self)
    }
}

impl Files {
    /// Takes note of a task whose file was touched; none stands for any.
    pub(super) fn touch(&self, task: Option<TaskId>) {
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        match task {
            Some(task) => drop(touched.tasks.insert(task)),
            None => touched.all = true,
        }
        if touched.since.is_none() {
            touched.since = Some(Instant::now());
            // It is only woken: what there is to look at is taken later, all at once.
            let _ = self.sender.send(One::Changed);
        }
    }
}

impl News {
    /// Brings together what runs do and what signals come.
    pub(super) fn gather(events: Receiver<Event>, signals: Signals) -> io::Result<Self> {
        let (sender, queue) = channel();
        let (admit, admitted) = sync_channel(INSIDE_MAX);
        // All but the first may come in before anybody was taken from the queue.
        for _ in 1..INSIDE_MAX {
            let _ = admit.try_send(());
        }
        let to = sender.clone();
        thread::Builder::new().name("runs".to_owned()).spawn(move || {
            for event in events {
                if to.send(One::Run(event)).is_err() || admitted.recv().is_err() {
                    return;
                }
            }
        })?;
        let (to, handle) = (sender.clone(), signals.0.handle());
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let mut signals = signals.0;
            for number in &mut signals {
                let signal = match number {
                    SIGINT => Signal::Interrupt,
                    SIGQUIT => Signal::Quit,
                    _ => Signal::Terminate,
                };
                if to.send(One::Signal(signal)).is_err() {
                    return;
                }
            }
        })?;
        let (rung, touched) = (Arc::default(), Arc::default());
        Ok(Self { queue, sender, rung, touched, admit, signals: handle })
    }

    /// Returns a bell that says that something was committed. Ringing it twice is ringing it once.
    pub(super) fn bell(&self) -> impl Fn() + Send + 'static {
        let (rung, sender) = (Arc::clone(&self.rung), self.sender.clone());
        move || {
            if !rung.swap(true, Ordering::SeqCst) {
                let _ = sender.send(One::Changed);
            }
        }
    }

    /// Returns a way to tell the daemon to leave.
    pub(super) fn handle(&self) -> Handle {
        Handle { sender: self.sender.clone() }
    }

    /// Returns where touched files are told.
    pub(super) fn files(&self) -> Files {
        Files { touched: Arc::clone(&self.touched), sender: self.sender.clone() }
    }

    /// Waits for the next piece of news; none if there was none for so long.
    pub(super) fn wait(&self, patience: Duration) -> Option<One> {
        let until = Instant::now() + patience;
        loop {
            if let Some(files) = self.files_due() {
                return Some(files);
            }
            let pause = self.files_left().unwrap_or(Duration::MAX).min(left(until));
            match self.queue.recv_timeout(pause) {
                Ok(one) => return Some(self.taken(one)),
                Err(RecvTimeoutError::Timeout) if left(until).is_zero() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Returns the next piece of news that is there already.
    pub(super) fn next(&self) -> Option<One> {
        self.queue.try_recv().ok().map(|one| self.taken(one))
    }

    /// Lets so many more events of runs in. They wait until then, be it in files on the disk.
    pub(super) fn admit(&self, count: usize) {
        for _ in 0..count {
            // More than fit are never inside, so that there is a place for each that was taken.
            let _ = self.admit.try_send(());
        }
    }

    fn taken(&self, one: One) -> One {
        // Whatever rings from now on tells of something new.
        if matches!(one, One::Changed) {
            self.rung.store(false, Ordering::SeqCst);
        }
        one
    }

    fn files_left(&self) -> Option<Duration> {
        let touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        touched.since.map(|since| left(since + FILES_PAUSE))
    }

    fn files_due(&self) -> Option<One> {
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        touched.since.filter(|since| left(*since + FILES_PAUSE).is_zero())?;
        let Touched { tasks, all, .. } = std::mem::take(&mut *touched);
        Some(One::Files((!all).then(|| tasks.into_iter().collect())))
    }
}

impl Drop for News {
    fn drop(&mut self) {
        self.signals.close();
    }
}
