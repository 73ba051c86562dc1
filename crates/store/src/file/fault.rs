//! Where a test can pull the plug. Without the feature `faults` there is nothing here.
//!
//! Every step that changes something on disk passes a [`point`] first; a write passes three: one
//! before it, one in its middle and one before its last byte. A test counts them, and has the
//! process killed at one.

#[cfg(feature = "faults")]
pub(crate) use with_faults::{journal_bytes_max, note_sync, point, write_all};

#[cfg(feature = "faults")]
pub use with_faults::synced_so_far;

#[cfg(not(feature = "faults"))]
pub(crate) use without_faults::{journal_bytes_max, note_sync, point, write_all};

#[cfg(not(feature = "faults"))]
mod without_faults {
    use std::fs::File;
    use std::io::{self, Write};
    use std::path::Path;

    /// A place where the process may be killed: before a write, a rename, a removal or a sync.
    #[inline]
    pub(crate) fn point() {}

    /// Writes all of it.
    #[inline]
    pub(crate) fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    /// Returns the size from which on the journal is cut.
    #[inline]
    pub(crate) fn journal_bytes_max(usual: u64) -> u64 {
        usual
    }

    /// Takes note that a file or folder was synced.
    #[inline]
    pub(crate) fn note_sync(_: &Path) {}
}

#[cfg(feature = "faults")]
mod with_faults {
    use std::fs::File;
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{LazyLock, Mutex, PoisonError};

    use rustix::process::{Signal, getpid, kill_process};

    /// The number of the point to die at, from 1, as the environment gives it.
    static DIE_AT: LazyLock<u64> = LazyLock::new(|| number("ADJUTANT_DIE_AT").unwrap_or(u64::MAX));

    /// The numbers of the points to stand still at until somebody says to go on.
    static PAUSE_AT: LazyLock<Vec<u64>> = LazyLock::new(|| {
        let points = std::env::var("ADJUTANT_PAUSE_AT").unwrap_or_default();
        points.split(',').filter_map(|point| point.parse().ok()).collect()
    });

    static JOURNAL_BYTES_MAX: LazyLock<Option<u64>> =
        LazyLock::new(|| number("ADJUTANT_JOURNAL_BYTES_MAX"));

    static PASSED: AtomicU64 = AtomicU64::new(0);

    static SYNCED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

    fn number(name: &str) -> Option<u64> {
        std::env::var(name).ok()?.parse().ok()
    }

    fn is_last() -> bool {
        let number = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
        if PAUSE_AT.contains(&number) {
            signal(Signal::STOP);
        }
        number == *DIE_AT
    }

    fn signal(signal: Signal) {
        let _ = kill_process(getpid(), signal);
    }

    pub(crate) fn point() {
        if is_last() {
            die();
        }
    }

    pub(crate) fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
        point();
        for part in [bytes.len() / 2, bytes.len().saturating_sub(1)] {
            if is_last() {
                let _ = file.write_all(&bytes[..part]);
                die();
            }
        }
        file.write_all(bytes)
    }

    pub(crate) fn journal_bytes_max(usual: u64) -> u64 {
        JOURNAL_BYTES_MAX.unwrap_or(usual)
    }

    pub(crate) fn note_sync(path: &Path) {
        SYNCED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    }

    /// Returns every file and folder this process has synced, in order; a folder of which
    /// everything was synced is told with a `*` behind it.
    pub fn synced_so_far() -> Vec<PathBuf> {
        SYNCED.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends as `kill -9` would: no destructor runs, no buffer is flushed.
    fn die() -> ! {
        signal(Signal::KILL);
        std::process::abort()
    }
}
