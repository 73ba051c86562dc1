//! Looks every now and then whether an executor of a project's stories took too long.

use std::io;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::project::Project;
use crate::SystemClock;

/// Looks every now and then, until it is dropped.
pub struct Poller {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Poller {
    /// Begins to look after the stories of the project at `root`. They may come later.
    pub fn start(root: &Path, every: Duration) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let root = root.to_owned();
        let thread = std::thread::Builder::new().name("poll stories".into()).spawn(move || {
            loop {
                look(&root);
                if stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

/// What is wrong with the files is said by the commands that people call.
fn look(root: &Path) {
    if root.join(".ai").is_dir() {
        let polled = Project::at(root, &SystemClock).and_then(|project| project.poll());
        drop(polled);
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
