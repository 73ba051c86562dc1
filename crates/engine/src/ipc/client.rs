//! The client of the daemon's socket and of the socket of a run.

use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use adjutant_run_files::socket_protocol::{
    DAEMON_SOCKET, IpcReply, RunSocketRequest, SocketLine, read_line, to_line,
};
use adjutant_run_files::unix_socket;
use serde::Serialize;
use thiserror::Error;

use crate::engine::{EngineAnswer, EngineRequest, Request};

/// A connection to a running daemon, or to the shim of a run.
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
        let stream = unix_socket::connect(root, DAEMON_SOCKET).ok()?;
        Some(Self { stream: BufReader::new(stream) })
    }

    /// Connects to the socket of a run.
    pub fn connect_to_run(socket: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let stream = unix_socket::connect(folder, &name.to_string_lossy())?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Sends the requests and waits for the answers, in the same order.
    pub fn ask(&mut self, requests: &[EngineRequest]) -> Result<Vec<EngineAnswer>, IpcError> {
        let mut sent = Vec::new();
        for request in requests {
            let request = match &request.request {
                // The daemon reads the files itself.
                Request::Stories { by, .. } => {
                    Request::Stories { by: by.clone(), told: None, facts: vec![] }.into()
                }
                _ => request.clone(),
            };
            if !request.is_public() {
                return Err(IpcError::BadReply);
            }
            sent.push(request);
        }
        self.exchange(&sent)?.into_iter().map(into_answer).collect()
    }

    /// Like [`IpcClient::ask`], over the socket of a run.
    pub fn ask_as_run(
        &mut self,
        requests: &[EngineRequest],
    ) -> Result<Vec<EngineAnswer>, IpcError> {
        let submit = |request: &EngineRequest| RunSocketRequest::Submit(Box::new(request.clone()));
        let sent: Vec<RunSocketRequest> = requests.iter().map(submit).collect();
        self.exchange(&sent)?.into_iter().map(into_answer).collect()
    }

    /// Sends a request over the socket of a run that is answered with a text.
    pub fn ask_for_text(&mut self, request: RunSocketRequest) -> Result<String, IpcError> {
        match self.exchange(&[request])?.pop() {
            Some(IpcReply::Text(text)) => Ok(text),
            Some(IpcReply::Failed { message, causes } | IpcReply::Alone { message, causes }) => {
                Err(IpcError::Failed { message, causes })
            }
            Some(IpcReply::Answered(_)) | None => Err(IpcError::BadReply),
        }
    }

    /// Sends requests, and returns the replies in the same order.
    fn exchange(&mut self, requests: &[impl Serialize]) -> Result<Vec<IpcReply>, IpcError> {
        let lines: io::Result<Vec<Vec<u8>>> = requests.iter().map(to_line).collect();
        let lines = lines.map_err(|_| IpcError::BadReply)?.concat();
        // Answers must be read while requests are written, or both sides could
        // block on full buffers.
        let mut writer = self.stream.get_ref().try_clone().map_err(IpcError::Disconnected)?;
        std::thread::scope(|scope| {
            scope.spawn(move || writer.write_all(&lines));
            requests.iter().map(|_| self.read_reply()).collect()
        })
    }

    fn read_reply(&mut self) -> Result<IpcReply, IpcError> {
        match read_line(&mut self.stream).map_err(IpcError::Disconnected)? {
            SocketLine::Whole(line) => {
                serde_json::from_slice(&line).map_err(|_| IpcError::BadReply)
            }
            SocketLine::TooLong => Err(IpcError::BadReply),
            SocketLine::Closed => Err(IpcError::Disconnected(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

fn into_answer(reply: IpcReply) -> Result<EngineAnswer, IpcError> {
    match reply {
        IpcReply::Answered(answered) => Ok(*answered),
        IpcReply::Text(_) => Err(IpcError::BadReply),
        IpcReply::Failed { message, causes } => Err(IpcError::Failed { message, causes }),
        IpcReply::Alone { message, causes } => Err(IpcError::LeaderUnreachable { message, causes }),
    }
}
