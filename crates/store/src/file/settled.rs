//! Whether what was appended to a file survives a power cut.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::fault;

/// Whether a file is synced, for one that is synced now and then.
pub(super) struct Settled {
    path: PathBuf,
    state: Mutex<State>,
}

enum State {
    Synced,
    /// Another thread is at it.
    Underway(JoinHandle<io::Result<()>>),
    /// Nobody knows: others wrote to it.
    Unknown,
    /// It could not be synced, and nobody will ever know.
    Failed,
}

impl Settled {
    /// Begins with a file that others may have written to.
    pub(super) fn unknown(path: PathBuf) -> Self {
        Self { path, state: Mutex::new(State::Unknown) }
    }

    /// Takes note that others wrote to the file.
    pub(super) fn doubt(&self) {
        let mut state = self.state();
        *state = match std::mem::replace(&mut *state, State::Unknown) {
            State::Underway(thread) => join(thread).map_or(State::Failed, |()| State::Unknown),
            State::Failed => State::Failed,
            State::Synced | State::Unknown => State::Unknown,
        };
    }

    /// Has another thread sync the file. Where that cannot be, whoever waits does it.
    pub(super) fn begin(&self, file: &File) {
        let path = self.path.clone();
        let begun = file.try_clone().and_then(|file| {
            thread::Builder::new().name("sync".to_owned()).spawn(move || sync(&file, &path))
        });
        *self.state() = begun.map_or(State::Unknown, State::Underway);
    }

    /// Waits until the file is synced. An error says that nobody knows whether it is, and is told
    /// again to whoever waits next: the system tells it once.
    pub(super) fn wait(&self, file: &File) -> io::Result<()> {
        let mut state = self.state();
        let synced = match std::mem::replace(&mut *state, State::Failed) {
            State::Synced => Ok(()),
            State::Underway(thread) => join(thread),
            State::Unknown => sync(file, &self.path),
            State::Failed => Err(io::Error::other("an earlier sync failed")),
        };
        if synced.is_ok() {
            *state = State::Synced;
        }
        synced
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sync(file: &File, path: &Path) -> io::Result<()> {
    fault::note_sync(path);
    file.sync_data()
}

fn join(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};

    use super::Settled;

    /// A file that cannot be synced.
    fn pipe() -> File {
        let (_reader, writer) = std::io::pipe().expect("a pipe");
        File::from(std::os::fd::OwnedFd::from(writer))
    }

    #[test]
    fn what_could_not_be_synced_once_is_never_said_to_be() {
        let (bad, good) = (pipe(), tempfile::tempfile().expect("a file"));
        let settled = Settled::unknown("journal".into());
        settled.begin(&bad);
        assert!(settled.wait(&bad).is_err());
        assert!(settled.wait(&good).is_err());
        settled.doubt();
        assert!(settled.wait(&good).is_err());
    }

    #[test]
    fn an_error_is_not_forgotten_when_others_write() {
        let (bad, good) = (pipe(), tempfile::tempfile().expect("a file"));
        let settled = Settled::unknown("journal".into());
        settled.begin(&bad);
        settled.doubt();
        assert!(settled.wait(&good).is_err());
    }

    #[test]
    fn whoever_waits_syncs_what_others_wrote() {
        let read_only = OpenOptions::new().read(true).open("/dev/null").expect("it is there");
        let settled = Settled::unknown("journal".into());
        assert!(settled.wait(&read_only).is_err(), "what cannot be synced was tried");
        let good = tempfile::tempfile().expect("a file");
        let settled = Settled::unknown("journal".into());
        assert!(settled.wait(&good).is_ok() && settled.wait(&read_only).is_ok(), "once is enough");
    }
}
