//! Sends control requests to a shim. Every step has a time limit, because a shim may be stopped.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use adjutant_process::process_table;
use adjutant_run_files::attempt_files::{AttemptFolder, CONTROL_SOCKET};
use adjutant_run_files::unix_socket;

use crate::shim::control_socket::ControlRequest;

/// How long a shim may take to accept a request and to acknowledge it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Sends a request, and waits until the shim acknowledges it.
pub(super) fn send_request(folder: &AttemptFolder, wish: &ControlRequest) -> io::Result<()> {
    let stream = open_with_request(folder, wish)?;
    let mut reply = String::new();
    match BufReader::new(stream).read_line(&mut reply)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Sends a request, and returns the open connection. A read from it waits for [`PATIENCE`].
pub(super) fn open_with_request(
    folder: &AttemptFolder,
    wish: &ControlRequest,
) -> io::Result<UnixStream> {
    let mut stream = unix_socket::connect_within(folder.path(), CONTROL_SOCKET, PATIENCE)?;
    require_shim(folder, &stream)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(wish)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    Ok(stream)
}

/// Refuses a connection to another process than the shim: an agent that can write to the folder of
/// its run could listen in the shim's place.
fn require_shim(folder: &AttemptFolder, stream: &UnixStream) -> io::Result<()> {
    let shim = folder.record().ok().flatten().map(|record| record.shim_pid);
    match (shim, process_table::peer_pid(stream)) {
        (Some(shim), Some(peer)) if shim != peer => {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "the socket is not the shim's"))
        }
        // The record was overwritten, or the system does not report the peer.
        (_, _) => Ok(()),
    }
}
