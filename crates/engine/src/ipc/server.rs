//! The server of the daemon's socket: reads requests, passes them to the
//! engine, writes the answers.

use std::error::Error;
use std::io::{self, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use adjutant_config::run_token::TokenSecret;
use adjutant_model::Answer;
use adjutant_run_files::live_shims::LiveShims;
use adjutant_run_files::socket_protocol::{
    ANSWER_PATIENCE, DAEMON_SOCKET, IpcReply, RunAnswerRequest, SocketLine, read_line,
};
use adjutant_run_files::unix_socket;

use super::client_registry::{ClientRegistry, ConnectedClient};
use super::refusal_log::RefusalLog;
use crate::caller_identity::CallerIdentity;
use crate::engine::EngineRequest;
use crate::run_answers::{AwaitedMessage, RunAnswers};
use crate::service::{EngineError, EngineHandle, PendingAnswer};

/// The most answers one client may leave unread.
const UNREAD_MAX: usize = 256;

/// The server of the socket. Only the one daemon of a folder may have one.
pub struct IpcServer {
    path: PathBuf,
    closing: Arc<AtomicBool>,
    /// A second handle of the listening socket.
    listener: UnixListener,
    clients: Arc<ClientRegistry>,
    refusals: Arc<RefusalLog>,
    thread: Option<JoinHandle<()>>,
}

impl IpcServer {
    /// Starts listening. Replaces a socket that a dead daemon left behind.
    pub fn open(root: &Path, engine: EngineHandle) -> io::Result<Self> {
        let path = root.join(DAEMON_SOCKET);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = unix_socket::bind(root, DAEMON_SOCKET)?;
        let second_handle = listener.try_clone()?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let closing = Arc::new(AtomicBool::new(false));
        let is_closing = Arc::clone(&closing);
        let clients = Arc::new(ClientRegistry::default());
        let registry = Arc::clone(&clients);
        let refusals = Arc::new(RefusalLog::new(engine.clone()));
        let log = Arc::clone(&refusals);
        let folder = root.to_owned();
        let shims = Arc::new(LiveShims::load(root)?);
        let thread = thread::Builder::new().name("ipc-server".to_owned()).spawn(move || {
            let access = ClientAccess { engine, root: folder, shims, refusals: log };
            accept_clients(&listener, &Arc::new(access), &is_closing, &registry);
        })?;
        let (thread, listener) = (Some(thread), second_handle);
        Ok(Self { path, closing, listener, clients, refusals, thread })
    }

    fn close(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        let _ = std::fs::remove_file(&self.path);
        // The listener thread blocks until the socket ends. The path of the socket is not used for
        // that: it may have been removed, or belong to another daemon by now.
        let woken = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        if let (Ok(()), Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
        self.clients.stop_reading();
        self.refusals.flush();
    }
}

impl Drop for IpcServer {
    fn drop(&mut self) {
        self.close();
    }
}

/// What serving a client needs.
struct ClientAccess {
    engine: EngineHandle,
    root: PathBuf,
    shims: Arc<LiveShims>,
    refusals: Arc<RefusalLog>,
}

fn accept_clients(
    listener: &UnixListener,
    access: &Arc<ClientAccess>,
    closing: &AtomicBool,
    clients: &Arc<ClientRegistry>,
) {
    for client in listener.incoming() {
        if closing.load(Ordering::SeqCst) {
            return;
        }
        let Some(slot) = client.ok().and_then(|client| clients.register(client)) else {
            continue;
        };
        let access = Arc::clone(access);
        let serving = thread::Builder::new().name("ipc-client".to_owned());
        // If no thread can be started, the client is disconnected.
        let _ = serving.spawn(move || {
            let secret = TokenSecret::read(&access.root).ok();
            let origin = access.shims.peer_origin(&slot.client.stream);
            let peer = CallerIdentity::from_origin(origin, secret.as_ref());
            if slot.identify(matches!(peer, CallerIdentity::Outside)) {
                let _ = serve(&slot.client, &access, &peer);
            }
        });
    }
}

/// What a line came to so far.
enum PendingReply {
    Request(PendingAnswer),
    /// The answer to a message in a run's outbox, which the daemon reads by itself.
    RunMessage(AwaitedMessage),
    Ready(IpcReply),
    /// The engine has stopped.
    Lost,
}

/// Submits a client's lines as they arrive, so that many share a commit, and answers in order.
fn serve(client: &ConnectedClient, access: &ClientAccess, peer: &CallerIdentity) -> io::Result<()> {
    let mut writer = &client.stream;
    let (queue, pending) = std::sync::mpsc::sync_channel::<PendingReply>(UNREAD_MAX);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut lines = BufReader::new(&client.stream);
            while let Ok(SocketLine::Whole(line)) = read_line(&mut lines) {
                client.begin_request();
                let pending = submit_line(&line, access, peer).unwrap_or_else(PendingReply::Ready);
                if queue.send(pending).is_err() {
                    break;
                }
            }
        });
        let served = pending.into_iter().try_for_each(|one| {
            let reply = match one {
                PendingReply::Request(asked) => wait_for_reply(asked)?,
                PendingReply::RunMessage(message) => {
                    wait_for_run(access.engine.run_answers(), &message)
                }
                PendingReply::Ready(reply) => reply,
                PendingReply::Lost => return Err(engine_stopped()),
            };
            writer.write_all(&reply.to_line()?)?;
            client.end_request();
            Ok(())
        });
        // Wakes the reader if a reply could not be sent.
        let _ = client.stream.shutdown(Shutdown::Both);
        served
    })
}

fn submit_line(
    line: &[u8],
    access: &ClientAccess,
    peer: &CallerIdentity,
) -> Result<PendingReply, IpcReply> {
    if let Ok(wanted) = serde_json::from_slice::<RunAnswerRequest>(line) {
        return awaited_message(&wanted, access, peer).map(PendingReply::RunMessage);
    }
    let request: EngineRequest =
        serde_json::from_slice(line).map_err(|error| IpcReply::Failed {
            message: "the request cannot be read; it may come from another version".to_owned(),
            causes: vec![error.to_string()],
        })?;
    if !request.is_public() {
        access.refusals.log(peer.refused_access((&request.request).into()));
        return Err(not_allowed("only the daemon itself may send it"));
    }
    let EngineRequest { request, key, workspace: _ } = request;
    let request = peer.authorize(request);
    let request = match peer.refusal_of(&request) {
        Some(refused) => {
            let rejected = Answer::rejected(refused.reason, refused.task.clone());
            let Some(request) = access.refusals.bound(refused, request) else {
                return Err(IpcReply::Answered(Box::new(rejected.into())));
            };
            request
        }
        None => request,
    };
    let asked = access.engine.submit(EngineRequest { key, ..request.into() });
    Ok(asked.map_or(PendingReply::Lost, PendingReply::Request))
}

/// Returns the message that a shim asks about. A peer learns only about the messages of its own run.
fn awaited_message(
    wanted: &RunAnswerRequest,
    access: &ClientAccess,
    peer: &CallerIdentity,
) -> Result<AwaitedMessage, IpcReply> {
    match peer {
        CallerIdentity::Run { task, .. } => Ok(AwaitedMessage {
            task: task.clone(),
            attempt: wanted.attempt,
            seq: wanted.answer_to,
        }),
        CallerIdentity::Outside | CallerIdentity::WithoutRights { .. } => {
            access.refusals.log(peer.refused_access("the answer to a message of a run"));
            Err(not_allowed("only the shim of a run may send it"))
        }
    }
}

fn not_allowed(cause: &str) -> IpcReply {
    let message = "the request is not allowed".to_owned();
    IpcReply::Failed { message, causes: vec![cause.to_owned()] }
}

/// Waits until a message of a run's outbox is committed, but not for long: it stays in the outbox.
fn wait_for_run(answers: &RunAnswers, message: &AwaitedMessage) -> IpcReply {
    let answered = answers.wait(message, ANSWER_PATIENCE);
    let kept = || Answer::kept_for_later(message.task.clone()).into();
    IpcReply::Answered(Box::new(answered.unwrap_or_else(kept)))
}

/// Waits for the answer of the engine. An engine that stops may have applied the request or not:
/// the client is disconnected without an answer then, and asks the next daemon.
fn wait_for_reply(asked: PendingAnswer) -> io::Result<IpcReply> {
    match asked.wait() {
        Ok(answered) => Ok(IpcReply::Answered(Box::new(answered))),
        Err(EngineError::Store(error)) if error.is_unreachable() => {
            let (message, causes) = message_and_causes(&*error);
            Ok(IpcReply::Alone { message, causes })
        }
        Err(EngineError::Store(error)) => Ok(failed(&*error)),
        Err(EngineError::Stopped) => Err(engine_stopped()),
    }
}

fn engine_stopped() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the engine has stopped")
}

fn failed(error: &dyn Error) -> IpcReply {
    let (message, causes) = message_and_causes(error);
    IpcReply::Failed { message, causes }
}

fn message_and_causes(error: &dyn Error) -> (String, Vec<String>) {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    (error.to_string(), causes)
}
