//! The client of the daemon's socket and of the socket of a run.

use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use adjutant_process::process_table::{self, ProcessIdentity};
use adjutant_run_files::daemon_lock::DaemonInfo;
use adjutant_run_files::socket_protocol::{
    DAEMON_SOCKET, IpcReply, RunSocketRequest, SocketLine, read_line, to_line,
};
use adjutant_run_files::unix_socket;
use serde::Serialize;
use thiserror::Error;

use crate::engine::{EngineAnswer, EngineRequest, Request};

/// How long a process that is stopped is given to continue.
const STOPPED_PATIENCE: Duration = Duration::from_secs(5);
/// How long a process that runs may take for an answer. A slow disk is no reason to give up, and a
/// fleet node refuses by itself before that.
const ANSWER_PATIENCE: Duration = Duration::from_mins(2);

/// A connection to a running daemon, or to the shim of a run.
pub struct IpcClient {
    stream: BufReader<PatientStream>,
}

/// A process that has not answered in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SilentProcess {
    /// `None` if it cannot be seen from here.
    pub pid: Option<i32>,
    /// Whether it was stopped by a signal or by a debugger.
    pub is_suspended: bool,
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
    /// The daemon or the shim did not answer in time: the request may be done later.
    #[error("{0}")]
    Silent(SilentProcess),
    /// The reply cannot be parsed.
    #[error("the daemon sent an invalid reply; it may be another version")]
    BadReply,
}

impl std::error::Error for SilentProcess {}

impl fmt::Display for SilentProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, self.is_suspended) {
            (Some(pid), true) => write!(f, "process {pid} is stopped"),
            (Some(pid), false) => write!(f, "process {pid} does not answer"),
            (None, _) => f.write_str("the process does not answer"),
        }
    }
}

impl IpcClient {
    /// Connects to the daemon of a data folder. Returns None if no daemon runs.
    pub fn connect(root: &Path) -> Option<Self> {
        let stream = match unix_socket::connect_within(root, DAEMON_SOCKET, STOPPED_PATIENCE) {
            Ok(stream) => PatientStream::new(stream),
            // So many clients wait that no further one is let in.
            Err(error) if is_timeout(&error) => PatientStream::refused(root),
            Err(_) => return None,
        };
        Some(Self { stream: BufReader::new(stream) })
    }

    /// Connects to the socket of a run.
    pub fn connect_to_run(socket: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (socket.parent(), socket.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let name = name.to_string_lossy();
        let stream = unix_socket::connect_within(folder, &name, STOPPED_PATIENCE)?;
        Ok(Self { stream: BufReader::new(PatientStream::new(stream)) })
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
        let mut writer = self.stream.get_ref().writer()?;
        std::thread::scope(|scope| {
            scope.spawn(move || writer.write_all(&lines));
            let replies = requests.iter().map(|_| self.read_reply()).collect();
            if let Err(IpcError::Silent(_)) = replies {
                self.stream.get_ref().close();
            }
            replies
        })
    }

    fn read_reply(&mut self) -> Result<IpcReply, IpcError> {
        match read_line(&mut self.stream).map_err(|error| self.read_failure(error))? {
            SocketLine::Whole(line) => {
                serde_json::from_slice(&line).map_err(|_| IpcError::BadReply)
            }
            SocketLine::TooLong => Err(IpcError::BadReply),
            SocketLine::Closed => Err(IpcError::Disconnected(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    fn read_failure(&self, error: io::Error) -> IpcError {
        match self.stream.get_ref().silent {
            Some(silent) if is_timeout(&error) => IpcError::Silent(silent),
            _ => IpcError::Disconnected(error),
        }
    }
}

/// A connection whose reader gives up when the other side does not answer.
struct PatientStream {
    /// `None` if the other side let no client in.
    stream: Option<UnixStream>,
    peer: Option<ProcessIdentity>,
    /// The other side, once the reader has given up.
    silent: Option<SilentProcess>,
}

impl PatientStream {
    fn new(stream: UnixStream) -> Self {
        let peer = process_table::peer_pid(&stream).and_then(ProcessIdentity::find);
        // Without the timeout, the reader waits without a limit. The limit of the connection must not
        // cut off a long request.
        let _ = stream.set_read_timeout(Some(STOPPED_PATIENCE));
        let _ = stream.set_write_timeout(None);
        Self { stream: Some(stream), peer, silent: None }
    }

    /// Stands for a connection that the daemon of this folder did not accept.
    fn refused(root: &Path) -> Self {
        let pid = DaemonInfo::find_running(root).and_then(|daemon| daemon.pid.try_into().ok());
        let peer = pid.and_then(ProcessIdentity::find);
        let mut refused = Self { stream: None, peer, silent: None };
        refused.give_up();
        refused
    }

    fn writer(&self) -> Result<UnixStream, IpcError> {
        match (&self.stream, self.silent) {
            (Some(stream), _) => stream.try_clone().map_err(IpcError::Disconnected),
            (None, Some(silent)) => Err(IpcError::Silent(silent)),
            (None, None) => Err(IpcError::Disconnected(io::ErrorKind::NotConnected.into())),
        }
    }

    /// Wakes the thread that writes.
    fn close(&self) {
        let _ = self.stream.as_ref().map(|stream| stream.shutdown(Shutdown::Both));
    }

    fn is_suspended(&self) -> bool {
        self.peer.is_some_and(ProcessIdentity::is_suspended)
    }

    fn give_up(&mut self) {
        let pid = self.peer.map(|peer| peer.pid);
        self.silent = Some(SilentProcess { pid, is_suspended: self.is_suspended() });
    }
}

impl Read for PatientStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let began = Instant::now();
        loop {
            let Some(stream) = &mut self.stream else { return Err(io::ErrorKind::TimedOut.into()) };
            match stream.read(buffer) {
                Err(error) if is_timeout(&error) => {
                    if self.is_suspended() || began.elapsed() >= ANSWER_PATIENCE {
                        self.give_up();
                        return Err(error);
                    }
                }
                done => return done,
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn into_answer(reply: IpcReply) -> Result<EngineAnswer, IpcError> {
    match reply {
        IpcReply::Answered(answered) => Ok(*answered),
        IpcReply::Text(_) => Err(IpcError::BadReply),
        IpcReply::Failed { message, causes } => Err(IpcError::Failed { message, causes }),
        IpcReply::Alone { message, causes } => Err(IpcError::LeaderUnreachable { message, causes }),
    }
}
