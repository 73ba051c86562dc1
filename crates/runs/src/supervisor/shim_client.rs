//! Sends control requests to a shim.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use adjutant_run_files::attempt_files::{AttemptFolder, CONTROL_SOCKET};
use adjutant_run_files::unix_socket;

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
    let mut stream = unix_socket::connect(folder.path(), CONTROL_SOCKET)?;
    let mut line = serde_json::to_vec(wish)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    Ok(stream)
}
