//! Says whether a file is open anywhere else.
//!
//! Linux knows: it grants a lease to write only to who alone has a file open. No crate that is
//! kept offers that call in safe Rust, so it is made here, and nothing else is.

use std::fs::File;

/// Chooses the signal, as Linux numbers it on every machine we build for.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

/// Says whether nobody but the caller has a file open, here or in any other process. The file must
/// be open for reading and writing. Where that cannot be found out, somebody may have it open.
#[cfg(target_os = "linux")]
#[must_use]
pub fn is_sole(file: &File) -> bool {
    // Whoever opens the file while it is lent makes the system send a signal, which would end the
    // process unless it is one that nobody minds.
    let quiet = control(file, F_SETSIG, libc::SIGURG);
    let granted = quiet && control(file, libc::F_SETLEASE, libc::F_WRLCK);
    granted && control(file, libc::F_SETLEASE, libc::F_UNLCK)
}

/// Elsewhere nobody knows.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn is_sole(_: &File) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn control(file: &File, command: libc::c_int, argument: libc::c_int) -> bool {
    use std::os::fd::AsRawFd;

    // SAFETY: the descriptor is open for as long as `file` is borrowed, and these commands take a
    // number and touch no memory of this process.
    #[expect(unsafe_code, reason = "no safe crate has this call")]
    let done = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    done == 0
}
