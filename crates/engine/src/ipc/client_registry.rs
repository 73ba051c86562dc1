//! The clients of the daemon's socket: how many there may be, and which one gives way.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// The most clients at once. A further one replaces the oldest that waits for no answer; a process
/// of a run gives way first. If all wait, the new client is disconnected and opens the folder.
pub(super) const CLIENTS_MAX: usize = 256;

/// How many of them may be processes of runs and checks; the others are places of operators.
pub(super) const RUN_CLIENTS_MAX: usize = 192;

/// The connected clients, oldest first.
#[derive(Default)]
pub(super) struct ClientRegistry {
    connected: Mutex<BTreeMap<u64, Arc<ConnectedClient>>>,
    next_number: AtomicU64,
}

pub(super) struct ConnectedClient {
    pub(super) stream: UnixStream,
    /// How many requests have no answer yet. A client that is not identified yet counts as one.
    unanswered: AtomicUsize,
    /// Whether the client is identified and is no operator.
    is_of_run: AtomicBool,
}

/// A client's place among the connected clients, freed when dropped.
pub(super) struct ClientSlot {
    registry: Arc<ClientRegistry>,
    number: u64,
    pub(super) client: Arc<ConnectedClient>,
}

impl ConnectedClient {
    pub(super) fn begin_request(&self) {
        self.unanswered.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn end_request(&self) {
        self.unanswered.fetch_sub(1, Ordering::AcqRel);
    }

    fn is_idle(&self) -> bool {
        self.unanswered.load(Ordering::Acquire) == 0
    }

    fn is_of_run(&self) -> bool {
        self.is_of_run.load(Ordering::Acquire)
    }

    fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl ClientRegistry {
    /// Registers a client, or returns None if there are too many.
    pub(super) fn register(self: &Arc<Self>, stream: UnixStream) -> Option<ClientSlot> {
        let mut connected = self.connected.lock();
        if connected.len() >= CLIENTS_MAX {
            let of_run = find_idle(&connected, ConnectedClient::is_of_run);
            let giving_way = of_run.or_else(|| find_idle(&connected, |_| true))?;
            connected.remove(&giving_way)?.close();
        }
        let number = self.next_number.fetch_add(1, Ordering::SeqCst);
        let (unanswered, is_of_run) = (AtomicUsize::new(1), AtomicBool::new(false));
        let client = Arc::new(ConnectedClient { stream, unanswered, is_of_run });
        connected.insert(number, Arc::clone(&client));
        Some(ClientSlot { registry: Arc::clone(self), number, client })
    }

    /// Stops reading requests from all clients. Requests read before are still answered.
    pub(super) fn stop_reading(&self) {
        for client in self.connected.lock().values() {
            let _ = client.stream.shutdown(Shutdown::Read);
        }
    }
}

impl ClientSlot {
    /// Notes who the client is. Returns false if it is one of too many that belong to runs.
    pub(super) fn identify(&self, is_operator: bool) -> bool {
        let mut connected = self.registry.connected.lock();
        self.client.is_of_run.store(!is_operator, Ordering::Release);
        let of_runs = connected.values().filter(|client| client.is_of_run()).count();
        if !is_operator && of_runs > RUN_CLIENTS_MAX {
            let Some(giving_way) = find_idle(&connected, ConnectedClient::is_of_run) else {
                return false;
            };
            if let Some(client) = connected.remove(&giving_way) {
                client.close();
            }
        }
        self.client.end_request();
        true
    }
}

impl Drop for ClientSlot {
    fn drop(&mut self) {
        self.registry.connected.lock().remove(&self.number);
    }
}

/// Returns the oldest client of a kind that waits for no answer.
fn find_idle(
    connected: &BTreeMap<u64, Arc<ConnectedClient>>,
    is_of_kind: impl Fn(&ConnectedClient) -> bool,
) -> Option<u64> {
    let mut idle = connected.iter().filter(|(_, client)| client.is_idle() && is_of_kind(client));
    idle.next().map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client, and the other end of its connection.
    fn connect(registry: &Arc<ClientRegistry>) -> Option<(ClientSlot, UnixStream)> {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        theirs.set_nonblocking(true).expect("it is set");
        registry.register(ours).map(|slot| (slot, theirs))
    }

    fn is_closed(mut peer: &UnixStream) -> bool {
        use std::io::Read;

        matches!(peer.read(&mut [0]), Ok(0))
    }

    #[test]
    fn idle_clients_of_runs_give_way_to_operators() {
        let registry = Arc::<ClientRegistry>::default();
        let of_runs: Vec<_> = (0..CLIENTS_MAX).filter_map(|_| connect(&registry)).collect();
        for (slot, _) in &of_runs[..RUN_CLIENTS_MAX] {
            assert!(slot.identify(false));
        }
        let (operator, peer) = connect(&registry).expect("a place");
        assert!(operator.identify(true));
        assert!(is_closed(&of_runs[0].1) && !is_closed(&of_runs[1].1));
        assert!(!is_closed(&peer));
    }

    #[test]
    fn waiting_clients_of_runs_leave_places_to_operators() {
        let registry = Arc::<ClientRegistry>::default();
        let mut held = vec![];
        let mut refused = 0;
        for _ in 0..1_000 {
            let (slot, peer) = connect(&registry).expect("a place");
            if slot.identify(false) {
                slot.client.begin_request();
                held.push((slot, peer));
            } else {
                refused += 1;
            }
        }
        assert_eq!((held.len(), refused), (RUN_CLIENTS_MAX, 1_000 - RUN_CLIENTS_MAX));
        for _ in RUN_CLIENTS_MAX..CLIENTS_MAX {
            let (slot, peer) = connect(&registry).expect("a place");
            assert!(slot.identify(true) && !is_closed(&peer));
            slot.client.begin_request();
            held.push((slot, peer));
        }
        assert!(connect(&registry).is_none(), "all wait for an answer");
        held[0].0.client.end_request();
        assert!(connect(&registry).is_some());
        assert!(is_closed(&held[0].1));
    }
}
