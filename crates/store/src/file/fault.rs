//! Where a test can pull the plug. Without the feature `faults` there is nothing here.

/// A place where the process may be killed: before a write, in the middle of one, before a rename,
/// a removal or a sync.
#[cfg(not(feature = "faults"))]
#[inline]
pub(super) fn point() {}

/// Returns how much of a write is to be done before the process is killed in the middle of it.
#[cfg(not(feature = "faults"))]
#[inline]
pub(super) fn torn(_: usize) -> Option<usize> {
    None
}

#[cfg(feature = "faults")]
pub(super) use with_faults::{point, torn};

#[cfg(feature = "faults")]
mod with_faults {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// The number of the point to die at, from 1, as the environment gives it.
    static DIE_AT: LazyLock<u64> = LazyLock::new(|| {
        std::env::var("ADJUTANT_DIE_AT").ok().and_then(|n| n.parse().ok()).unwrap_or(u64::MAX)
    });

    static PASSED: AtomicU64 = AtomicU64::new(0);

    fn is_last() -> bool {
        PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *DIE_AT
    }

    pub(in crate::file) fn point() {
        if is_last() {
            die();
        }
    }

    pub(in crate::file) fn torn(bytes: usize) -> Option<usize> {
        is_last().then_some(bytes / 2)
    }

    /// Ends as `kill -9` would: no destructor runs, no buffer is flushed.
    pub(in crate::file) fn die() -> ! {
        let own = rustix::process::getpid();
        let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
        std::process::abort()
    }
}

#[cfg(feature = "faults")]
pub(super) use with_faults::die;

/// Never called: nothing is ever torn without the feature.
#[cfg(not(feature = "faults"))]
pub(super) fn die() {}
