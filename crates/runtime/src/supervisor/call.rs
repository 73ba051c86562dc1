//! Speaks to a shim.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use crate::shim::door::Wish;
use crate::shim::files::{Folder, SOCKET};

/// Tells a shim something, and waits until it has heard.
pub(super) fn call(folder: &Folder, wish: &Wish) -> io::Result<()> {
    let stream = open(folder, wish)?;
    let mut heard = String::new();
    match BufReader::new(stream).read_line(&mut heard)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Tells a shim something, and stays connected.
pub(super) fn open(folder: &Folder, wish: &Wish) -> io::Result<UnixStream> {
    let mut stream = connect(folder)?;
    let mut line = serde_json::to_vec(wish)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    Ok(stream)
}

/// Connects by way of the open folder, because the path of a socket may not be long.
#[cfg(target_os = "linux")]
fn connect(folder: &Folder) -> io::Result<UnixStream> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let held = rustix::fs::open(folder.path(), flags, Mode::empty())?;
    UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET}", held.as_raw_fd()))
}

/// Connects by way of a link in a short place, because the path of a socket may not be long.
#[cfg(not(target_os = "linux"))]
fn connect(folder: &Folder) -> io::Result<UnixStream> {
    let place = tempfile::Builder::new().prefix("adj").tempdir_in("/tmp")?;
    let link = place.path().join("run");
    std::os::unix::fs::symlink(folder.path(), &link)?;
    UnixStream::connect(link.join(SOCKET))
}
