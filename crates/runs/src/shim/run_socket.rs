//! `socket/run.sock`: the socket through which the run talks.
//!
//! Every process that connects speaks as this run and nothing else; only processes of other runs
//! and of checks are turned away. A message goes into the outbox first, so that it counts exactly
//! once even if the daemon is killed, and the daemon is then asked for the answer. Other requests
//! are relayed to the daemon in the name of the run. Without a daemon messages and heartbeats are
//! kept, and other requests are refused.

use std::fs::{self, DirBuilder};
use std::io::{self, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::time::Duration;

use adjutant_core::protocols::aof::MESSAGE_BYTES_MAX;
use adjutant_model::command::CommandCaller;
use adjutant_model::request::{EngineRequest, RefusedAccess, Request};
use adjutant_model::{Actor, AgentId, Answer, AnswerVerdict, Reason, TaskId};
use adjutant_run_files::attempt_files::{
    AttemptFolder, CONTEXT, MCP_STARTED, ORDER, RUN_SOCKET, RUN_SOCKET_FOLDER,
};
use adjutant_run_files::live_shims::{LiveShims, ProcessOrigin, ShimKind};
use adjutant_run_files::shim_spec::ShimSpec;
use adjutant_run_files::socket_protocol::{
    ANSWER_PATIENCE, DAEMON_SOCKET, IpcReply, RunAnswerRequest, RunSocketRequest, SocketLine,
    read_line, to_line,
};
use adjutant_run_files::unix_socket;
use adjutant_store::document_paths::task_file;
use parking_lot::Mutex;
use serde::Serialize;

use super::control_socket::refused_peer;
use super::outbox::RunMessage;
use super::output_log;
use super::output_pump::OutputSink;
use super::run_watch::WatchEvent;
use crate::agent::TOKEN_VARIABLE;
use crate::summary_file::{find_status, store_summary};
use crate::task_context::read_if_there;

/// The most connections at once. A further one replaces the oldest that waits for no answer.
const CONNECTIONS_MAX: usize = 32;
/// The most answers that one connection may leave unread.
const UNREAD_MAX: usize = 64;
/// How long a connection may take for the next request, or to read an answer.
const PEER_PATIENCE: Duration = Duration::from_secs(30);
/// How long the daemon may take for an answer. It replies by itself before that.
const DAEMON_PATIENCE: Duration = ANSWER_PATIENCE.saturating_add(Duration::from_secs(5));
/// How much of the output is returned.
const OUTPUT_BYTES_MAX: u64 = 64 << 10;

/// The open socket. It is removed when this is dropped.
pub(super) struct RunSocket {
    folder: AttemptFolder,
}

/// Wakes the watch of the run. Many events of one kind make one.
#[derive(Clone)]
pub(super) struct WatchNotifier {
    tell: Sender<WatchEvent>,
    message_queued: Arc<AtomicBool>,
    heartbeat_queued: Arc<AtomicBool>,
}

impl WatchNotifier {
    pub(super) fn new(tell: Sender<WatchEvent>) -> Self {
        Self { tell, message_queued: Arc::default(), heartbeat_queued: Arc::default() }
    }

    /// Says that the outbox has a new message.
    pub(super) fn notify_message(&self) {
        if !self.message_queued.swap(true, Ordering::AcqRel) {
            let _ = self.tell.send(WatchEvent::Message);
        }
    }

    fn notify_heartbeat(&self) {
        if !self.heartbeat_queued.swap(true, Ordering::AcqRel) {
            let _ = self.tell.send(WatchEvent::Heartbeat);
        }
    }

    /// Lets the next message make an event again. Call it before the outbox is read.
    pub(super) fn take_message(&self) {
        self.message_queued.store(false, Ordering::Release);
    }

    pub(super) fn take_heartbeat(&self) {
        self.heartbeat_queued.store(false, Ordering::Release);
    }
}

impl RunSocket {
    pub(super) fn open(
        spec: &ShimSpec,
        folder: &AttemptFolder,
        sink: Arc<OutputSink>,
        watch: WatchNotifier,
    ) -> io::Result<Self> {
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
        let task = TaskId::parse(&spec.task_id).map_err(|error| invalid(error.to_string()))?;
        let agent = AgentId::parse(&spec.agent).ok().filter(|agent| !agent.is_reserved());
        let relay = RunRelay {
            actor: agent.map_or(Actor::System, Actor::Agent),
            task,
            attempt: spec.attempt,
            token: spec.environment.set.get(TOKEN_VARIABLE).cloned().unwrap_or_default(),
            folder: folder.clone(),
            sink,
            watch,
        };
        let place = folder.join(RUN_SOCKET_FOLDER);
        folder.remove_run_socket();
        DirBuilder::new().recursive(true).mode(0o700).create(&place)?;
        let listener = unix_socket::bind(&place, RUN_SOCKET)?;
        fs::set_permissions(folder.run_socket(), fs::Permissions::from_mode(0o600))?;
        let relay = Arc::new(relay);
        std::thread::spawn(move || accept_connections(&listener, &relay));
        Ok(Self { folder: folder.clone() })
    }
}

impl Drop for RunSocket {
    fn drop(&mut self) {
        self.folder.remove_run_socket();
    }
}

fn accept_connections(listener: &UnixListener, relay: &Arc<RunRelay>) {
    let shims = LiveShims::new(relay.folder.data_folder());
    let connections = Arc::<OpenConnections>::default();
    for client in listener.incoming().flatten() {
        let origin = shims.peer_origin(&client);
        if !may_speak(&origin, relay.folder.path()) {
            let attempt = format!("connect to the socket of the run of {}", relay.task);
            relay.sink.record_refusal(refused_peer(&origin, &attempt));
            continue;
        }
        let Some(connection) = connections.add(client) else { continue };
        let (relay, connections) = (Arc::clone(relay), Arc::clone(&connections));
        std::thread::spawn(move || {
            let _ = serve_connection(&connection, &relay);
            connections.remove(&connection);
        });
    }
}

/// Returns whether a peer may speak as the run: every process may that belongs to no other run and
/// to no check. One that exited while it was looked at may belong to one.
fn may_speak(peer: &ProcessOrigin, attempt: &Path) -> bool {
    match peer {
        ProcessOrigin::Outside => true,
        ProcessOrigin::Inside(shim) => {
            shim.kind == ShimKind::Run && shim.attempt.as_deref() == Some(attempt)
        }
        ProcessOrigin::Orphan | ProcessOrigin::Unknown => false,
    }
}

/// A connection of a peer.
struct PeerConnection {
    stream: UnixStream,
    /// How many requests have no reply yet.
    unanswered: AtomicUsize,
}

/// The connections of all peers, oldest first.
#[derive(Default)]
struct OpenConnections(Mutex<Vec<Arc<PeerConnection>>>);

impl OpenConnections {
    /// Adds a connection. If there are too many, closes the oldest that waits for no answer; if all
    /// wait, the new one is refused.
    fn add(&self, stream: UnixStream) -> Option<Arc<PeerConnection>> {
        let mut open = self.0.lock();
        if open.len() >= CONNECTIONS_MAX {
            let is_idle = |one: &Arc<PeerConnection>| one.unanswered.load(Ordering::Acquire) == 0;
            let idle = open.iter().position(is_idle)?;
            let _ = open.remove(idle).stream.shutdown(Shutdown::Both);
        }
        let connection = Arc::new(PeerConnection { stream, unanswered: AtomicUsize::new(0) });
        open.push(Arc::clone(&connection));
        Some(connection)
    }

    fn remove(&self, connection: &Arc<PeerConnection>) {
        self.0.lock().retain(|one| !Arc::ptr_eq(one, connection));
    }
}

/// What a request came to so far.
enum PendingReply {
    Ready(IpcReply),
    /// The message with this number is in the outbox.
    Message(u64),
    /// The request is for a daemon; without one, this is the reply.
    Relay(Box<EngineRequest>, IpcReply),
}

/// Reads requests, and replies in the same order. Messages are in the outbox before the replies to
/// earlier ones, so that many share a commit.
fn serve_connection(connection: &PeerConnection, relay: &RunRelay) -> io::Result<()> {
    let stream = &connection.stream;
    stream.set_read_timeout(Some(PEER_PATIENCE))?;
    stream.set_write_timeout(Some(PEER_PATIENCE))?;
    let (queue, pending) = sync_channel(UNREAD_MAX);
    let mut daemon = DaemonConnection::new(relay.folder.data_folder());
    std::thread::scope(|scope| {
        scope.spawn(move || read_requests(connection, relay, &queue));
        let served = pending.into_iter().try_for_each(|one| {
            let line = relay.finish(one, &mut daemon)?;
            (&*stream).write_all(&line)?;
            connection.unanswered.fetch_sub(1, Ordering::AcqRel);
            Ok(())
        });
        // Wakes the reader if a reply could not be sent.
        let _ = stream.shutdown(Shutdown::Both);
        served
    })
}

fn read_requests(connection: &PeerConnection, relay: &RunRelay, queue: &SyncSender<PendingReply>) {
    let mut lines = BufReader::new(&connection.stream);
    while let Ok(line) = read_line(&mut lines) {
        let (pending, is_last) = match line {
            SocketLine::Closed => return,
            SocketLine::TooLong => (refused("the request is too long"), true),
            SocketLine::Whole(line) => match serde_json::from_slice(&line) {
                Ok(request) => {
                    connection.unanswered.fetch_add(1, Ordering::AcqRel);
                    (relay.begin(request), false)
                }
                Err(error) => (cannot_read(&error), true),
            },
        };
        if is_last {
            connection.unanswered.fetch_add(1, Ordering::AcqRel);
        }
        if queue.send(pending).is_err() || is_last {
            return;
        }
    }
}

/// Speaks to the daemon in the name of the run.
struct RunRelay {
    actor: Actor,
    task: TaskId,
    attempt: u32,
    token: String,
    folder: AttemptFolder,
    sink: Arc<OutputSink>,
    watch: WatchNotifier,
}

impl RunRelay {
    /// Does what can be done at once.
    fn begin(&self, request: RunSocketRequest) -> PendingReply {
        match request {
            RunSocketRequest::Submit(request) => self.submit(request.request),
            RunSocketRequest::TaskContext => self.text(self.read_context()),
            RunSocketRequest::TaskFile => self.text(self.read_task_file()),
            RunSocketRequest::Output => {
                let read = output_log::read_end(&self.folder, OUTPUT_BYTES_MAX);
                self.text(read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
            }
            RunSocketRequest::StoreSummary { text } => {
                let stored = store_summary(self.folder.data_folder(), &self.task, &text);
                self.text(stored.map(|()| String::new()))
            }
            RunSocketRequest::McpStarted => {
                self.text(self.folder.write(MCP_STARTED, b"").map(|()| String::new()))
            }
            RunSocketRequest::Activity => {
                self.sink.record_heartbeat();
                PendingReply::Ready(IpcReply::Text(String::new()))
            }
        }
    }

    /// Builds the request anew with the identity of the run: nothing that the peer claims about
    /// itself is passed on.
    fn submit(&self, request: Request) -> PendingReply {
        let (by, token) = (self.actor.clone(), self.token.clone());
        match request {
            Request::Message { text, .. } => self.add_message(text),
            // The token does not fit another task, so that the daemon refuses the request.
            Request::LifeSign { task, .. } if task != self.task => {
                let refused = Answer::rejected(Reason::UnknownToken, Some(task.clone()));
                relay_or(Request::LifeSign { task, by, token }, refused)
            }
            Request::LifeSign { task, .. } => {
                self.sink.record_heartbeat();
                self.watch.notify_heartbeat();
                let kept = Answer::kept_for_later(task.clone());
                relay_or(Request::LifeSign { task, by, token }, kept)
            }
            Request::PermissionAsked { task, asked, .. } => {
                let request = Request::PermissionAsked { task, by, token, asked };
                PendingReply::Relay(Box::new(request.into()), no_daemon())
            }
            Request::Command { command, .. } => {
                let by = CommandCaller::InsideRun(by);
                let refused = Answer::rejected(Reason::OperatorOnly, None);
                relay_or(Request::Command { by, command }, refused)
            }
            Request::SessionEnd(_)
            | Request::RunExited { .. }
            | Request::Beat { .. }
            | Request::Tick { .. }
            | Request::Refused(_)
            | Request::Notified { .. }
            | Request::Stories { .. }
            | Request::WorkChecked { .. }
            | Request::WorkMerged { .. }
            | Request::WorkSaved { .. } => {
                self.record_refusal(Reason::OperatorOnly, request_name(&request));
                refused(
                    "a run sends messages, heartbeats and permission requests through its socket, \
                     and nothing else",
                )
            }
        }
    }

    /// Puts a message into the outbox. A text that is too large is cut, and then refused like every
    /// message of that size.
    fn add_message(&self, mut text: Vec<u8>) -> PendingReply {
        self.sink.record_heartbeat();
        text.truncate(MESSAGE_BYTES_MAX + 1);
        let flaw = std::str::from_utf8(&text).is_err().then(|| "is not UTF-8 text".to_owned());
        let text = String::from_utf8_lossy(&text).into_owned();
        let message = RunMessage { flaw, from_socket: true, ..RunMessage::from_text(text) };
        match self.sink.try_add_message(message) {
            Ok(seq) => {
                self.watch.notify_message();
                PendingReply::Message(seq)
            }
            Err(error) => failed("the message could not be stored", &error),
        }
    }

    /// Returns the line of the reply, when there is one.
    fn finish(&self, pending: PendingReply, daemon: &mut DaemonConnection) -> io::Result<Vec<u8>> {
        match pending {
            PendingReply::Ready(reply) => reply.to_line(),
            PendingReply::Message(seq) => {
                let request = RunAnswerRequest { answer_to: seq, attempt: self.attempt };
                match daemon.ask(&request) {
                    Ok(line) => Ok(line),
                    Err(_) => self.keep_messages().to_line(),
                }
            }
            PendingReply::Relay(request, otherwise) => match daemon.ask(&request) {
                Ok(line) => Ok(line),
                Err(DaemonFailure::Absent) => {
                    self.log_refusal(&request.request, &otherwise);
                    otherwise.to_line()
                }
                // The shim keeps a heartbeat itself, and a repeat of it does nothing.
                Err(DaemonFailure::Lost) if matches!(request.request, Request::LifeSign { .. }) => {
                    otherwise.to_line()
                }
                Err(DaemonFailure::Lost) => failed_reply(
                    "the daemon ended before it answered; the request may have been done",
                    vec![],
                )
                .to_line(),
            },
        }
    }

    /// Keeps a refused request for the event log, which the daemon would have logged.
    fn log_refusal(&self, request: &Request, reply: &IpcReply) {
        let IpcReply::Answered(answered) = reply else { return };
        if answered.answer.verdict == AnswerVerdict::Rejected
            && let Some(reason) = answered.answer.reason
        {
            self.record_refusal(reason, request_name(request));
        }
    }

    fn record_refusal(&self, reason: Reason, what: &str) {
        let (by, task) = (self.actor.clone(), Some(self.task.clone()));
        let detail = format!("{what} (through the socket of the run)");
        self.sink.record_refusal(RefusedAccess { by, task, reason, detail, count: 1 });
    }

    /// Makes the messages in the outbox survive a power cut.
    fn keep_messages(&self) -> IpcReply {
        match self.sink.sync() {
            Ok(()) => {
                IpcReply::Answered(Box::new(Answer::kept_for_later(self.task.clone()).into()))
            }
            Err(error) => failed_reply("the message could not be stored", vec![error.to_string()]),
        }
    }

    fn read_context(&self) -> io::Result<String> {
        fs::read_to_string(self.folder.join(CONTEXT))
            // An agent that was started without the file has its order.
            .or_else(|_| fs::read_to_string(self.folder.join(ORDER)))
    }

    fn read_task_file(&self) -> io::Result<String> {
        let root = self.folder.data_folder();
        let status = find_status(root, &self.task).ok_or(io::ErrorKind::NotFound)?;
        let text = read_if_there(&root.join(task_file(status, &self.task)))?;
        text.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn text(&self, read: io::Result<String>) -> PendingReply {
        match read {
            Ok(text) => PendingReply::Ready(IpcReply::Text(text)),
            Err(error) => failed(&format!("cannot use the files of {}", self.task), &error),
        }
    }
}

/// Returns what a request is called in the event log.
fn request_name(request: &Request) -> &'static str {
    match request {
        Request::Command { command, .. } => command.name(),
        other => other.into(),
    }
}

/// Relays a request; without a daemon the answer is `otherwise`.
fn relay_or(request: Request, otherwise: Answer) -> PendingReply {
    let otherwise = IpcReply::Answered(Box::new(otherwise.into()));
    PendingReply::Relay(Box::new(request.into()), otherwise)
}

fn no_daemon() -> IpcReply {
    failed_reply("no daemon runs, and the shim of the run cannot do this by itself", vec![])
}

fn refused(message: &str) -> PendingReply {
    PendingReply::Ready(failed_reply(message, vec![]))
}

fn cannot_read(error: &serde_json::Error) -> PendingReply {
    let message = "the request cannot be read; it may come from another version";
    PendingReply::Ready(failed_reply(message, vec![error.to_string()]))
}

fn failed(message: &str, error: &io::Error) -> PendingReply {
    PendingReply::Ready(failed_reply(message, vec![error.to_string()]))
}

fn failed_reply(message: &str, causes: Vec<String>) -> IpcReply {
    IpcReply::Failed { message: message.to_owned(), causes }
}

/// Why the daemon gave no answer.
enum DaemonFailure {
    /// No daemon runs, or it did not get the request.
    Absent,
    /// The daemon may have got the request.
    Lost,
}

/// The connection to the daemon, opened when it is needed.
struct DaemonConnection<'a> {
    root: &'a Path,
    stream: Option<BufReader<UnixStream>>,
    /// Whether the daemon did not answer in time. It is not asked again on behalf of this peer, so
    /// that the delays do not add up.
    is_silent: bool,
}

impl<'a> DaemonConnection<'a> {
    fn new(root: &'a Path) -> Self {
        Self { root, stream: None, is_silent: false }
    }

    /// Sends a request, and returns the line of the reply.
    fn ask(&mut self, request: &impl Serialize) -> Result<Vec<u8>, DaemonFailure> {
        if self.is_silent {
            return Err(DaemonFailure::Absent);
        }
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.connect().map_err(|_| DaemonFailure::Absent)?,
        };
        let line = to_line(request).map_err(|_| DaemonFailure::Absent)?;
        let sent = stream.get_ref().write_all(&line).and_then(|()| read_line(&mut stream));
        match sent {
            Ok(SocketLine::Whole(mut reply)) => {
                reply.push(b'\n');
                self.stream = Some(stream);
                Ok(reply)
            }
            Ok(SocketLine::TooLong | SocketLine::Closed) => Err(DaemonFailure::Lost),
            Err(error) => {
                let late = [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut];
                self.is_silent = late.contains(&error.kind());
                Err(DaemonFailure::Lost)
            }
        }
    }

    fn connect(&self) -> io::Result<BufReader<UnixStream>> {
        let stream = unix_socket::connect(self.root, DAEMON_SOCKET)?;
        stream.set_read_timeout(Some(DAEMON_PATIENCE))?;
        stream.set_write_timeout(Some(DAEMON_PATIENCE))?;
        Ok(BufReader::new(stream))
    }
}
