//! The client of the daemon's socket.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use thiserror::Error;

use super::reply::IpcReply;
use super::{DAEMON_SOCKET, LINE_BYTES_MAX, socket};
use crate::engine::{EngineAnswer, EngineRequest, Request};

/// A connection to a running daemon.
pub struct IpcClient {
    stream: BufReader<UnixStream>,
}

#[derive(Debug, Error)]
pub enum IpcError {
    /// The daemon could not do it. Nothing was changed.
    #[error("{message}")]
    Failed { message: String, causes: Vec<String> },
    /// The daemon could not reach the fleet's leader or got no answer: the request
    /// may have been done.
    #[error("{message}")]
    LeaderUnreachable { message: String, causes: Vec<String> },
    /// The daemon closed the connection before it answered: the request may have been done.
    #[error("the daemon closed the connection before it answered")]
    Disconnected(#[source] io::Error),
    /// The reply cannot be parsed.
    #[error("the daemon sent an invalid reply; it may be another version")]
    BadReply,
}

impl IpcClient {
    /// Connects to the daemon of a data folder. Returns None if no daemon runs.
    pub fn connect(root: &Path) -> Option<Self> {
        let stream = socket::connect(root, DAEMON_SOCKET).ok()?;
        Some(Self { stream: BufReader::new(stream) })
    }

    /// Sends the requests and waits for the answers, in the same order.
    pub fn ask(&mut self, requests: &[EngineRequest]) -> Result<Vec<EngineAnswer>, IpcError> {
        let mut lines = Vec::new();
        for request in requests {
            let sent = match &request.request {
                // The daemon reads the files itself.
                Request::Stories { by, .. } => {
                    &Request::Stories { by: by.clone(), told: None, facts: vec![] }.into()
                }
                _ => request,
            };
            if !sent.is_public() {
                return Err(IpcError::BadReply);
            }
            serde_json::to_writer(&mut lines, sent).map_err(|_| IpcError::BadReply)?;
            lines.push(b'\n');
        }
        // Answers must be read while requests are written, or both sides could
        // block on full buffers.
        let mut writer = self.stream.get_ref().try_clone().map_err(IpcError::Disconnected)?;
        std::thread::scope(|scope| {
            scope.spawn(move || writer.write_all(&lines));
            requests.iter().map(|_| self.answer()).collect()
        })
    }

    fn answer(&mut self) -> Result<EngineAnswer, IpcError> {
        let mut line = Vec::new();
        let mut limited = (&mut self.stream).take(LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut line).map_err(IpcError::Disconnected)?;
        if read == 0 || !line.ends_with(b"\n") {
            return Err(IpcError::Disconnected(io::ErrorKind::UnexpectedEof.into()));
        }
        match serde_json::from_slice(&line).map_err(|_| IpcError::BadReply)? {
            IpcReply::Answered(answered) => Ok(*answered),
            IpcReply::Failed { message, causes } => Err(IpcError::Failed { message, causes }),
            IpcReply::Alone { message, causes } => {
                Err(IpcError::LeaderUnreachable { message, causes })
            }
        }
    }
}
