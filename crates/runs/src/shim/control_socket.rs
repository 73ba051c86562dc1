//! `shim.sock`: accepts control requests of the daemon and of operators, and says when there is
//! something to read. A run talks through a socket of its own, `run_socket.rs`.
//!
//! One JSON object per line in each direction. The socket carries nothing that is not also
//! in a file.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;

use adjutant_model::request::RefusedAccess;
use adjutant_model::{Actor, Reason};
use adjutant_run_files::attempt_files::{AttemptFolder, CONTROL_SOCKET, MCP_STARTED};
use adjutant_run_files::live_shims::{LiveShims, ProcessOrigin, ShimKind};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::output_pump::OutputSink;
use super::run_watch::WatchEvent;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ControlRequest {
    /// Notify this connection when there is something to read.
    Watch,
    /// The agent sent a heartbeat to the daemon.
    Touch,
    /// The agent uses the MCP server of the daemon.
    Served,
    Stop {
        reason: String,
        /// Whether the agent gets one grace period to exit by itself before it is asked to.
        leave: bool,
    },
}

/// The most connections at once; a run has one daemon and sometimes a command.
const CONNECTIONS_MAX: usize = 16;
const REQUEST_BYTES_MAX: u64 = 64 << 10;

/// Sent when there is something to read, and to acknowledge a request.
pub(super) const NOTIFICATION: &[u8] = b"{}\n";

/// Sent to watchers by the loop that supervises the run, each time it has done all that was due. It
/// proves that the limits of the run are enforced, which an answer of another thread does not.
pub(super) const PULSE: &[u8] = b"{\"pulse\":true}\n";

/// Returns whether bytes that a watcher has read contain a part of a pulse.
pub(crate) fn has_pulse(bytes: &[u8]) -> bool {
    bytes.contains(&b'p')
}

/// The shim's control socket.
pub(super) struct ControlSocket {
    watchers: Arc<SocketWatchers>,
}

/// The connections that asked to be notified.
#[derive(Default)]
struct SocketWatchers(Mutex<Vec<UnixStream>>);

impl SocketWatchers {
    /// Sends a line to every watcher. A watcher whose buffer is full has a line waiting already; a
    /// closed connection is dropped. Returns whether any is left.
    fn send_all(&self, line: &[u8]) -> bool {
        let mut clients = self.0.lock();
        clients.retain_mut(|client| match client.write(line) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        });
        !clients.is_empty()
    }

    /// Adds a watcher, and drops the oldest if there are too many.
    fn add(&self, client: UnixStream) -> io::Result<()> {
        client.set_nonblocking(true)?;
        let mut clients = self.0.lock();
        if clients.len() >= CONNECTIONS_MAX {
            clients.remove(0);
        }
        clients.push(client);
        Ok(())
    }
}

impl ControlSocket {
    /// Opens the socket in the working directory, because the full path may be too long
    /// for a socket.
    pub(super) fn open(
        tell: Sender<WatchEvent>,
        sink: Arc<OutputSink>,
        folder: &AttemptFolder,
    ) -> io::Result<Self> {
        let _ = fs::remove_file(CONTROL_SOCKET);
        let listener = UnixListener::bind(CONTROL_SOCKET)?;
        fs::set_permissions(CONTROL_SOCKET, fs::Permissions::from_mode(0o600))?;
        let watching = Arc::<SocketWatchers>::default();
        let clients = Arc::clone(&watching);
        let data = folder.data_folder().to_owned();
        std::thread::spawn(move || accept_connections(&listener, &tell, &sink, &clients, &data));
        Ok(Self { watchers: watching })
    }

    /// Notifies every watcher that there is something to read, and returns whether there is one.
    pub(super) fn notify_watchers(&self) -> bool {
        self.watchers.send_all(NOTIFICATION)
    }

    /// Tells every watcher that the run is supervised.
    pub(super) fn send_pulse(&self) {
        self.watchers.send_all(PULSE);
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(CONTROL_SOCKET);
    }
}

fn accept_connections(
    listener: &UnixListener,
    tell: &Sender<WatchEvent>,
    sink: &Arc<OutputSink>,
    watching: &Arc<SocketWatchers>,
    data: &Path,
) {
    let inside = Arc::new(AtomicUsize::new(0));
    let shims = LiveShims::new(data);
    for client in listener.incoming().flatten() {
        if inside.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
            continue;
        }
        // A process of a run controls no run. One that exited while it was looked at may be one.
        let origin = shims.peer_origin(&client);
        if origin != ProcessOrigin::Outside {
            sink.record_refusal(refused_peer(&origin, "connect to the control socket of the run"));
            continue;
        }
        inside.fetch_add(1, Ordering::Relaxed);
        let (tell, sink, watching) = (tell.clone(), Arc::clone(sink), Arc::clone(watching));
        let inside = Arc::clone(&inside);
        std::thread::spawn(move || {
            let _ = serve_connection(client, &tell, &sink, &watching);
            inside.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Describes a peer that was turned away.
pub(super) fn refused_peer(origin: &ProcessOrigin, attempt: &str) -> RefusedAccess {
    let (by, task, cause) = match origin {
        ProcessOrigin::Inside(shim) => {
            let agent = shim.agent.clone().filter(|agent| !agent.is_reserved());
            let cause = match shim.kind {
                ShimKind::Run => "a process of a run",
                ShimKind::Check => "a process of a check",
            };
            (agent.map_or(Actor::System, Actor::Agent), shim.task.clone(), cause)
        }
        ProcessOrigin::Outside => (Actor::System, None, "a process outside all runs"),
        ProcessOrigin::Orphan => (Actor::System, None, "a process whose shim was killed"),
        ProcessOrigin::Unknown => (Actor::System, None, "a process that exited meanwhile"),
    };
    let detail = format!("{attempt} ({cause})");
    RefusedAccess { by, task, reason: Reason::OperatorOnly, detail, count: 1 }
}

fn serve_connection(
    mut client: UnixStream,
    tell: &Sender<WatchEvent>,
    sink: &OutputSink,
    watching: &SocketWatchers,
) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    loop {
        let mut line = Vec::new();
        reader.by_ref().take(REQUEST_BYTES_MAX).read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            return Ok(());
        }
        match serde_json::from_slice(&line)? {
            ControlRequest::Watch => {
                watching.add(client)?;
                watching.send_all(NOTIFICATION);
                return Ok(());
            }
            ControlRequest::Touch => sink.record_heartbeat(),
            ControlRequest::Served => drop(fs::write(MCP_STARTED, "")),
            ControlRequest::Stop { reason, leave } => {
                drop(tell.send(WatchEvent::Stop { reason, leave }));
            }
        }
        client.write_all(NOTIFICATION)?;
    }
}
