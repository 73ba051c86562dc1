//! Fault injection for tests. Without the feature `faults`, all of this does nothing.
//!
//! Every step that changes the disk passes a [`point`] first. A write passes three: before it, in
//! its middle and before its last byte. A test counts the points, and has the process killed at
//! one of them.

#[cfg(feature = "faults")]
pub use with_faults::{journal_bytes_max, note_sync, point, write_all};

#[cfg(feature = "faults")]
pub use with_faults::synced_paths;

#[cfg(not(feature = "faults"))]
pub use without_faults::{journal_bytes_max, note_sync, point, write_all};

#[cfg(not(feature = "faults"))]
mod without_faults {
    use std::fs::File;
    use std::io::{self, Write};
    use std::path::Path;

    /// A point where the process may be killed: before a write, a rename, a removal or a sync.
    #[inline]
    pub fn point() {}

    #[inline]
    pub fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)
    }

    /// Lets a test override the journal size that triggers a checkpoint.
    #[inline]
    pub fn journal_bytes_max(usual: u64) -> u64 {
        usual
    }

    /// Records that a file or folder was synced.
    #[inline]
    pub fn note_sync(_: &Path) {}
}

#[cfg(feature = "faults")]
mod with_faults {
    use std::fs::File;
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use parking_lot::Mutex;
    use rustix::process::{Signal, getpid, kill_process};

    /// The number of the point to die at, counted from 1, from the environment.
    static DIE_AT: LazyLock<u64> = LazyLock::new(|| number("ADJUTANT_DIE_AT").unwrap_or(u64::MAX));

    /// The numbers of the points at which the process stops itself until it gets SIGCONT.
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

    pub fn point() {
        if is_last() {
            die();
        }
    }

    pub fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
        point();
        for part in [bytes.len() / 2, bytes.len().saturating_sub(1)] {
            if is_last() {
                let _ = file.write_all(&bytes[..part]);
                die();
            }
        }
        file.write_all(bytes)
    }

    pub fn journal_bytes_max(usual: u64) -> u64 {
        JOURNAL_BYTES_MAX.unwrap_or(usual)
    }

    pub fn note_sync(path: &Path) {
        SYNCED.lock().push(path.to_owned());
    }

    /// Returns every path that this process has synced, in order. A `*` after a folder means that
    /// everything in it was synced.
    pub fn synced_paths() -> Vec<PathBuf> {
        SYNCED.lock().clone()
    }

    /// Dies like `kill -9`: no destructor runs, no buffer is flushed.
    fn die() -> ! {
        signal(Signal::KILL);
        std::process::abort()
    }
}
