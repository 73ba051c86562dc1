//! Sockets whose names may be long.
//!
//! The name of a socket may have about a hundred bytes, the path of a data folder many more. On
//! Linux the folder is named by an open file instead, elsewhere by a link in a short place.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Listens under a name in a folder.
pub(super) fn bind(folder: &Path, name: &str) -> io::Result<UnixListener> {
    by_short_name(folder, name, |path| UnixListener::bind(path))
}

/// Connects to whoever listens under a name in a folder.
pub(super) fn connect(folder: &Path, name: &str) -> io::Result<UnixStream> {
    by_short_name(folder, name, |path| UnixStream::connect(path))
}

#[cfg(target_os = "linux")]
fn by_short_name<T>(
    folder: &Path,
    name: &str,
    work: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    use std::os::fd::AsRawFd;

    let folder = std::fs::File::open(folder)?;
    work(Path::new(&format!("/proc/self/fd/{}/{name}", folder.as_raw_fd())))
}

#[cfg(not(target_os = "linux"))]
fn by_short_name<T>(
    folder: &Path,
    name: &str,
    work: impl FnOnce(&Path) -> io::Result<T>,
) -> io::Result<T> {
    let place = tempfile::Builder::new().prefix("adj").tempdir_in("/tmp")?;
    let link = place.path().join("data");
    std::os::unix::fs::symlink(std::path::absolute(folder)?, &link)?;
    work(&link.join(name))
}
