//! Tells whether a file is open anywhere else.
//!
//! Linux grants a write lease only to a process that is the only one with the file open. No
//! maintained crate offers that call in safe Rust, so this crate makes it, and does nothing else.

use std::fs::File;

/// The fcntl command that chooses the signal; Linux uses this number on every machine we build for.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

/// Returns true if no other handle to the file is open, in this process or any other. The file must
/// be open for reading and writing. Returns false if the system cannot tell.
#[cfg(target_os = "linux")]
#[must_use]
pub fn is_open_exclusively(file: &File) -> bool {
    // Linux signals the process when another process opens the leased file. The default signal
    // would end the process; SIGURG is ignored by default.
    let quiet = lease_control(file, F_SETSIG, libc::SIGURG);
    let granted = quiet && lease_control(file, libc::F_SETLEASE, libc::F_WRLCK);
    granted && lease_control(file, libc::F_SETLEASE, libc::F_UNLCK)
}

/// Other systems cannot tell, so the answer is always no.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn is_open_exclusively(_: &File) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn lease_control(file: &File, command: libc::c_int, argument: libc::c_int) -> bool {
    use std::os::fd::AsRawFd;

    // SAFETY: `file` is borrowed, so its descriptor stays open during the call. Both commands take
    // a number and touch no memory of this process.
    #[expect(unsafe_code, reason = "no safe crate has this call")]
    let done = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    done == 0
}
