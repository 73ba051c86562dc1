//! The server of the daemon's socket: reads requests, passes them to the
//! engine, writes the answers.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use adjutant_config::run_token::TokenSecret;
use adjutant_run_files::live_shims::LiveShims;
use parking_lot::Mutex;

use super::reply::IpcReply;
use super::{DAEMON_SOCKET, LINE_BYTES_MAX, socket};
use crate::caller_identity::CallerIdentity;
use crate::engine::EngineRequest;
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
        let listener = socket::bind(root, DAEMON_SOCKET)?;
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
        let woken = socket::connect(&self.root, DAEMON_SOCKET);
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
type PendingReply = Result<PendingAnswer, IpcReply>;

/// Submits a client's lines as they arrive, so that many share a commit, and answers in order.
fn serve(client: UnixStream, engine: &EngineHandle, peer: &CallerIdentity) -> io::Result<()> {
    let mut writer = client.try_clone()?;
    let (queue, pending) = std::sync::mpsc::sync_channel::<PendingReply>(UNREAD_MAX);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut lines = BufReader::new(client);
            while let Ok(Some(line)) = next_line(&mut lines) {
                if queue.send(submit_line(&line, engine, peer)).is_err() {
                    break;
                }
            }
        });
        for one in pending {
            let reply = match one {
                Ok(asked) => wait_for_reply(asked),
                Err(reply) => reply,
            };
            let mut line = serde_json::to_vec(&reply)?;
            line.push(b'\n');
            writer.write_all(&line)?;
        }
        Ok(())
    })
}

fn next_line(lines: &mut BufReader<UnixStream>) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    lines.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok(line.pop_if(|last| *last == b'\n').map(|_| line))
}

fn submit_line(line: &[u8], engine: &EngineHandle, peer: &CallerIdentity) -> PendingReply {
    let request: EngineRequest =
        serde_json::from_slice(line).map_err(|error| IpcReply::Failed {
            message: "the request cannot be read; it may come from another version".to_owned(),
            causes: vec![error.to_string()],
        })?;
    if !request.is_public() {
        return Err(IpcReply::Failed {
            message: "the request is not allowed".to_owned(),
            causes: vec!["only the daemon itself may send it".to_owned()],
        });
    }
    // A public request has neither a key nor workspace facts.
    engine.submit(peer.authorize(request.request)).map_err(|error| failed(&error))
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
