//! Unix sockets with long paths.
//!
//! A socket's path may have only about a hundred bytes, and the path of a data folder may
//! be longer. On Linux the folder of a long path is named through an open file descriptor,
//! elsewhere through a short symlink.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// The longest path that every system takes, with room for the byte at its end.
const PATH_BYTES_MAX: usize = 100;

pub fn bind(folder: &Path, name: &str) -> io::Result<UnixListener> {
    with_path(folder, name, |path| UnixListener::bind(path))
}

pub fn connect(folder: &Path, name: &str) -> io::Result<UnixStream> {
    with_path(folder, name, |path| UnixStream::connect(path))
}

/// Connects like [`connect`], but waits at most this long: a connection waits as long as the queue
/// of a stopped listener is full.
pub fn connect_within(folder: &Path, name: &str, limit: Duration) -> io::Result<UnixStream> {
    with_path(folder, name, |path| connect_path_within(path, limit))
}

#[cfg(target_os = "linux")]
fn connect_path_within(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(limit))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}

#[cfg(not(target_os = "linux"))]
fn connect_path_within(path: &Path, _: Duration) -> io::Result<UnixStream> {
    UnixStream::connect(path)
}

fn with_path<T>(
    folder: &Path,
    name: &str,
    work: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let path = folder.join(name);
    if path.as_os_str().len() <= PATH_BYTES_MAX {
        return work(&path);
    }
    with_short_path(folder, name, work)
}

#[cfg(target_os = "linux")]
fn with_short_path<T>(
    folder: &Path,
    name: &str,
    work: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{Mode, OFlags};

    // The descriptor needs no right to list the folder.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(folder, flags, Mode::empty())?;
    work(Path::new(&format!("/proc/self/fd/{}/{name}", folder.as_raw_fd())))
}

#[cfg(not(target_os = "linux"))]
fn with_short_path<T>(
    folder: &Path,
    name: &str,
    work: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let place = tempfile::Builder::new().prefix("adj").tempdir_in("/tmp")?;
    let link = place.path().join("data");
    std::os::unix::fs::symlink(std::path::absolute(folder)?, &link)?;
    work(&link.join(name))
}
