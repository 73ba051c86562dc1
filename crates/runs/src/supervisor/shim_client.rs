//! Sends control requests to a shim.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use adjutant_run_files::attempt_files::{AttemptFolder, SOCKET};

use crate::shim::control_socket::ControlRequest;

/// Sends a request, and waits until the shim acknowledges it.
pub(super) fn send_request(folder: &AttemptFolder, wish: &ControlRequest) -> io::Result<()> {
    let stream = open_with_request(folder, wish)?;
    let mut reply = String::new();
    match BufReader::new(stream).read_line(&mut reply)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Sends a request, and returns the open connection.
pub(super) fn open_with_request(
    folder: &AttemptFolder,
    wish: &ControlRequest,
) -> io::Result<UnixStream> {
    let mut stream = connect(folder)?;
    let mut line = serde_json::to_vec(wish)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    Ok(stream)
}

/// Connects through a descriptor of the folder, because the path of a socket must be short.
#[cfg(target_os = "linux")]
fn connect(folder: &AttemptFolder) -> io::Result<UnixStream> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let held = rustix::fs::open(folder.path(), flags, Mode::empty())?;
    UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET}", held.as_raw_fd()))
}

/// Connects through a symbolic link in `/tmp`, because the path of a socket must be short.
#[cfg(not(target_os = "linux"))]
fn connect(folder: &AttemptFolder) -> io::Result<UnixStream> {
    let place = tempfile::Builder::new().prefix("adj").tempdir_in("/tmp")?;
    let link = place.path().join("run");
    std::os::unix::fs::symlink(folder.path(), &link)?;
    UnixStream::connect(link.join(SOCKET))
}
