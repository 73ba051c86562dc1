//! Tracks whether what was appended to a file survives a power cut.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use parking_lot::{Mutex, MutexGuard};

use super::fault;

/// The sync state of a file that is not synced at every write.
pub(super) struct SyncState {
    path: PathBuf,
    state: Mutex<SyncStatus>,
}

enum SyncStatus {
    Synced,
    Syncing(JoinHandle<io::Result<()>>),
    /// Another process may have written to the file.
    Unknown,
    /// A sync failed. It is final, because the system does not report the error again.
    Failed,
}

impl SyncState {
    /// Starts with a file to which other processes may have written.
    pub(super) fn unknown(path: PathBuf) -> Self {
        Self { path, state: Mutex::new(SyncStatus::Unknown) }
    }

    /// Notes that another process wrote to the file.
    pub(super) fn mark_unknown(&self) {
        let mut state = self.state();
        *state = match std::mem::replace(&mut *state, SyncStatus::Unknown) {
            SyncStatus::Syncing(thread) => {
                join(thread).map_or(SyncStatus::Failed, |()| SyncStatus::Unknown)
            }
            SyncStatus::Failed => SyncStatus::Failed,
            SyncStatus::Synced | SyncStatus::Unknown => SyncStatus::Unknown,
        };
    }

    /// Syncs the file in another thread. If no thread can be started, the next
    /// [`Self::wait`] syncs it.
    pub(super) fn start_sync(&self, file: &File) {
        let path = self.path.clone();
        let begun = file.try_clone().and_then(|file| {
            thread::Builder::new().name("sync".to_owned()).spawn(move || sync(&file, &path))
        });
        *self.state() = begun.map_or(SyncStatus::Unknown, SyncStatus::Syncing);
    }

    /// Waits until the file is synced. After an error it is unknown whether the file is synced.
    /// Every later call fails too, because the system reports the error only once.
    pub(super) fn wait(&self, file: &File) -> io::Result<()> {
        let mut state = self.state();
        let synced = match std::mem::replace(&mut *state, SyncStatus::Failed) {
            SyncStatus::Synced => Ok(()),
            SyncStatus::Syncing(thread) => join(thread),
            SyncStatus::Unknown => sync(file, &self.path),
            SyncStatus::Failed => Err(io::Error::other("an earlier sync failed")),
        };
        if synced.is_ok() {
            *state = SyncStatus::Synced;
        }
        synced
    }

    fn state(&self) -> MutexGuard<'_, SyncStatus> {
        self.state.lock()
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

    use super::SyncState;

    /// Returns a file that cannot be synced.
    fn pipe() -> File {
        let (_reader, writer) = std::io::pipe().expect("a pipe");
        File::from(std::os::fd::OwnedFd::from(writer))
    }

    #[test]
    fn sync_state_stays_failed_after_one_error() {
        let (bad, good) = (pipe(), tempfile::tempfile().expect("a file"));
        let settled = SyncState::unknown("journal".into());
        settled.start_sync(&bad);
        assert!(settled.wait(&bad).is_err());
        assert!(settled.wait(&good).is_err());
        settled.mark_unknown();
        assert!(settled.wait(&good).is_err());
    }

    #[test]
    fn sync_error_survives_writes_of_others() {
        let (bad, good) = (pipe(), tempfile::tempfile().expect("a file"));
        let settled = SyncState::unknown("journal".into());
        settled.start_sync(&bad);
        settled.mark_unknown();
        assert!(settled.wait(&good).is_err());
    }

    #[test]
    fn sync_wait_syncs_writes_of_others() {
        let read_only = OpenOptions::new().read(true).open("/dev/null").expect("it is there");
        let settled = SyncState::unknown("journal".into());
        assert!(settled.wait(&read_only).is_err(), "what cannot be synced was tried");
        let good = tempfile::tempfile().expect("a file");
        let settled = SyncState::unknown("journal".into());
        assert!(settled.wait(&good).is_ok() && settled.wait(&read_only).is_ok(), "once is enough");
    }
}
