//! The server of the daemon's socket: reads requests, passes them to the
//! engine, writes the answers.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use adjutant_config::run_token::TokenSecret;
use adjutant_model::Answer;
use adjutant_run_files::live_shims::LiveShims;
use adjutant_run_files::socket_protocol::{
    ANSWER_PATIENCE, DAEMON_SOCKET, IpcReply, RunAnswerRequest, SocketLine, read_line,
};
use adjutant_run_files::unix_socket;
use parking_lot::Mutex;

use crate::caller_identity::CallerIdentity;
use crate::engine::EngineRequest;
use crate::run_answers::{AwaitedMessage, RunAnswers};
use crate::service::{EngineError, EngineHandle, PendingAnswer};

/// The most clients at once. A further client is disconnected, and opens the folder itself.
const CLIENTS_MAX: usize = 256;

/// The most answers one client may leave unread.
const UNREAD_MAX: usize = 256;

/// The server of the socket. Only the one daemon of a folder may have one.
pub struct IpcServer {
    path: PathBuf,
    root: PathBuf,
    closing: Arc<AtomicBool>,
    clients: Arc<ClientRegistry>,
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
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let closing = Arc::new(AtomicBool::new(false));
        let is_closing = Arc::clone(&closing);
        let clients = Arc::new(ClientRegistry::default());
        let registry = Arc::clone(&clients);
        let folder = root.to_owned();
        let shims = Arc::new(LiveShims::load(root)?);
        let thread = thread::Builder::new().name("ipc-server".to_owned()).spawn(move || {
            accept_clients(&listener, &engine, &folder, &shims, &is_closing, &registry);
        })?;
        Ok(Self { path, root: root.to_owned(), closing, clients, thread: Some(thread) })
    }

    fn close(&mut self) {
        self.closing.store(true, Ordering::SeqCst);
        // The listener thread blocks until a client connects.
        let woken = unix_socket::connect(&self.root, DAEMON_SOCKET);
        let _ = std::fs::remove_file(&self.path);
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
        self.clients.stop_reading();
    }
}

impl Drop for IpcServer {
    fn drop(&mut self) {
        self.close();
    }
}

fn accept_clients(
    listener: &UnixListener,
    engine: &EngineHandle,
    root: &Path,
    shims: &Arc<LiveShims>,
    closing: &AtomicBool,
    clients: &Arc<ClientRegistry>,
) {
    for client in listener.incoming() {
        if closing.load(Ordering::SeqCst) {
            return;
        }
        let Some((client, slot)) = client.ok().and_then(|client| clients.register(client)) else {
            continue;
        };
        let (engine, root, shims) = (engine.clone(), root.to_owned(), Arc::clone(shims));
        let serving = thread::Builder::new().name("ipc-client".to_owned());
        // If no thread can be started, the client is disconnected.
        let _ = serving.spawn(move || {
            let _slot = slot;
            let secret = TokenSecret::read(&root).ok();
            let peer = CallerIdentity::from_origin(shims.peer_origin(&client), secret.as_ref());
            let _ = serve(client, &engine, &peer);
        });
    }
}

/// The connected clients.
#[derive(Default)]
struct ClientRegistry {
    connected: Mutex<BTreeMap<u64, UnixStream>>,
    next_number: AtomicU64,
}

/// A client's place among the connected clients, freed when dropped.
struct ClientSlot {
    registry: Arc<ClientRegistry>,
    number: u64,
}

impl ClientRegistry {
    /// Registers a client, or returns None if there are too many.
    fn register(self: &Arc<Self>, client: UnixStream) -> Option<(UnixStream, ClientSlot)> {
        let number = self.next_number.fetch_add(1, Ordering::SeqCst);
        let mut connected = self.connected.lock();
        if connected.len() >= CLIENTS_MAX {
            return None;
        }
        connected.insert(number, client.try_clone().ok()?);
        Some((client, ClientSlot { registry: Arc::clone(self), number }))
    }

    /// Stops reading requests from all clients. Requests read before are still answered.
    fn stop_reading(&self) {
        for client in self.connected.lock().values() {
            let _ = client.shutdown(Shutdown::Read);
        }
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        self.registry.connected.lock().remove(&self.number);
    }
}

/// What a line came to so far.
enum PendingReply {
    Request(PendingAnswer),
    /// The answer to a message in a run's outbox, which the daemon reads by itself.
    RunMessage(AwaitedMessage),
    Ready(IpcReply),
}

/// Submits a client's lines as they arrive, so that many share a commit, and answers in order.
fn serve(client: UnixStream, engine: &EngineHandle, peer: &CallerIdentity) -> io::Result<()> {
    let mut writer = client.try_clone()?;
    let (queue, pending) = std::sync::mpsc::sync_channel::<PendingReply>(UNREAD_MAX);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut lines = BufReader::new(client);
            while let Ok(SocketLine::Whole(line)) = read_line(&mut lines) {
                let pending = submit_line(&line, engine, peer).unwrap_or_else(PendingReply::Ready);
                if queue.send(pending).is_err() {
                    break;
                }
            }
        });
        for one in pending {
            let reply = match one {
                PendingReply::Request(asked) => wait_for_reply(asked),
                PendingReply::RunMessage(message) => wait_for_run(engine.run_answers(), &message),
                PendingReply::Ready(reply) => reply,
            };
            writer.write_all(&reply.to_line()?)?;
        }
        Ok(())
    })
}

fn submit_line(
    line: &[u8],
    engine: &EngineHandle,
    peer: &CallerIdentity,
) -> Result<PendingReply, IpcReply> {
    if let Ok(wanted) = serde_json::from_slice::<RunAnswerRequest>(line) {
        return awaited_message(&wanted, peer).map(PendingReply::RunMessage);
    }
    let request: EngineRequest =
        serde_json::from_slice(line).map_err(|error| IpcReply::Failed {
            message: "the request cannot be read; it may come from another version".to_owned(),
            causes: vec![error.to_string()],
        })?;
    if !request.is_public() {
        return Err(not_allowed("only the daemon itself may send it"));
    }
    // A public request has neither a key nor workspace facts.
    let asked = engine.submit(peer.authorize(request.request));
    asked.map(PendingReply::Request).map_err(|error| failed(&error))
}

/// Returns the message that a shim asks about. A peer learns only about the messages of its own run.
fn awaited_message(
    wanted: &RunAnswerRequest,
    peer: &CallerIdentity,
) -> Result<AwaitedMessage, IpcReply> {
    match peer {
        CallerIdentity::Run { task, .. } => Ok(AwaitedMessage {
            task: task.clone(),
            attempt: wanted.attempt,
            seq: wanted.answer_to,
        }),
        CallerIdentity::Outside | CallerIdentity::WithoutRights { .. } => {
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

fn wait_for_reply(asked: PendingAnswer) -> IpcReply {
    match asked.wait() {
        Ok(answered) => IpcReply::Answered(Box::new(answered)),
        Err(EngineError::Store(error)) if error.is_unreachable() => {
            let (message, causes) = message_and_causes(&*error);
            IpcReply::Alone { message, causes }
        }
        Err(EngineError::Store(error)) => failed(&*error),
        Err(error @ EngineError::Stopped) => failed(&error),
    }
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
