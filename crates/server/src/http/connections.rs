//! The open connections. When there are too many, the one with the least right to stay is closed:
//! first those that are idle or anonymous, the longest waiting one first, then those of runs. Those of
//! the operator stay. So no number of idle or half-open connections keeps others from being served.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// The most connections at once.
const CONNECTIONS_MAX: usize = 1024;
/// The fewest, on a machine that allows few open files.
const CONNECTIONS_MIN: usize = 64;
/// The open files that are left to the rest of the daemon.
const FILES_RESERVED: usize = 256;

/// What a connection is used for, in the order in which connections are closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConnectionUse {
    /// It is idle, has sent half of a head, or calls without a token.
    Unknown,
    Run,
    Operator,
}

/// The use of a connection, and when it began: a number that grows.
type ConnectionRank = (ConnectionUse, u64);

pub(super) struct OpenConnections {
    table: Arc<Mutex<ConnectionTable>>,
    room: Arc<Semaphore>,
    capacity: u32,
}

#[derive(Default)]
struct ConnectionTable {
    next: u64,
    /// Dropping a sender closes its connection.
    closers: BTreeMap<ConnectionRank, oneshot::Sender<()>>,
}

/// The place of a connection among the open ones; dropping it gives the place back.
pub(super) struct ConnectionPlace {
    table: Arc<Mutex<ConnectionTable>>,
    rank: Mutex<ConnectionRank>,
    _room: OwnedSemaphorePermit,
}

impl OpenConnections {
    pub(super) fn new() -> Self {
        Self::with_capacity(capacity())
    }

    fn with_capacity(capacity: usize) -> Self {
        let room = Arc::new(Semaphore::new(capacity));
        let capacity = u32::try_from(capacity).unwrap_or(u32::MAX);
        Self { table: Arc::default(), room, capacity }
    }

    /// Takes a place, from another connection if all are taken. Returns it with a receiver that
    /// ends when the connection must be closed; `None` if the operator has all places.
    pub(super) async fn admit(&self) -> Option<(Arc<ConnectionPlace>, oneshot::Receiver<()>)> {
        let room = match Arc::clone(&self.room).try_acquire_owned() {
            Ok(room) => room,
            Err(_) if self.close_one() => Arc::clone(&self.room).acquire_owned().await.ok()?,
            Err(_) => return None,
        };
        let (closer, end) = oneshot::channel();
        let rank = self.table.lock().insert(ConnectionUse::Unknown, closer);
        let table = Arc::clone(&self.table);
        Some((Arc::new(ConnectionPlace { table, rank: Mutex::new(rank), _room: room }), end))
    }

    /// Closes the connection with the least right to stay. Returns false if there is none.
    pub(super) fn close_one(&self) -> bool {
        let mut table = self.table.lock();
        match table.closers.first_entry() {
            Some(first) if first.key().0 != ConnectionUse::Operator => drop(first.remove()),
            _ => return false,
        }
        true
    }

    /// Waits until every connection is closed.
    pub(super) async fn wait_until_closed(&self) {
        let _ = self.room.acquire_many(self.capacity).await;
    }
}

impl ConnectionTable {
    fn insert(&mut self, used_for: ConnectionUse, closer: oneshot::Sender<()>) -> ConnectionRank {
        let rank = (used_for, self.next);
        self.next += 1;
        self.closers.insert(rank, closer);
        rank
    }
}

impl ConnectionPlace {
    /// Records whose request the connection serves from now on.
    pub(super) fn set_use(&self, used_for: ConnectionUse) {
        let (mut table, mut rank) = (self.table.lock(), self.rank.lock());
        // A connection that is about to be closed has no entry any more.
        if let Some(closer) = table.closers.remove(&*rank) {
            *rank = table.insert(used_for, closer);
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.table.lock().closers.remove(&*self.rank.lock());
    }
}

/// Returns how many connections this process can have open besides its files.
fn capacity() -> usize {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let files = files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
    files.saturating_sub(FILES_RESERVED).clamp(CONNECTIONS_MIN, CONNECTIONS_MAX)
}

/// The body of a response. When it was sent, its connection is idle again.
struct ServedBody {
    body: Body,
    place: Arc<ConnectionPlace>,
}

/// Marks the connection as idle when the body was sent or dropped.
pub(super) fn served_body(body: Body, place: Arc<ConnectionPlace>) -> Body {
    Body::new(ServedBody { body, place })
}

impl HttpBody for ServedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ServedBody {
    fn drop(&mut self) {
        self.place.set_use(ConnectionUse::Unknown);
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    struct TestConnection {
        place: Arc<ConnectionPlace>,
        closed: oneshot::Receiver<()>,
    }

    impl TestConnection {
        async fn open(connections: &OpenConnections) -> Option<Self> {
            let (place, closed) = connections.admit().await?;
            Some(Self { place, closed })
        }

        fn is_closed(&mut self) -> bool {
            matches!(self.closed.try_recv(), Err(oneshot::error::TryRecvError::Closed))
        }
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(work)
    }

    /// Opens one more connection than there are places, and returns which one was closed for it.
    fn closed_of(uses: [ConnectionUse; 3]) -> Option<usize> {
        run(async {
            let connections = OpenConnections::with_capacity(3);
            let mut open = Vec::new();
            for used_for in uses {
                let one = TestConnection::open(&connections).await.expect("there is room");
                one.place.set_use(used_for);
                open.push(one);
            }
            assert!(!open.iter_mut().any(TestConnection::is_closed));
            let admitted = {
                let more = TestConnection::open(&connections);
                let mut more = std::pin::pin!(more);
                // The place is free when the closed connection has noticed it.
                let waits = futures_poll(more.as_mut()).await;
                match waits {
                    Poll::Ready(admitted) => admitted.is_some(),
                    Poll::Pending => {
                        let place = open.iter_mut().position(TestConnection::is_closed)?;
                        drop(open.remove(place));
                        assert!(more.await.is_some());
                        return Some(place);
                    }
                }
            };
            assert!(!admitted, "it took no place");
            None
        })
    }

    /// Polls a future once.
    async fn futures_poll<T>(mut work: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        std::future::poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await
    }

    #[test]
    fn connection_of_least_right_is_closed_first() {
        use ConnectionUse::{Operator, Run, Unknown};
        assert_eq!(closed_of([Unknown, Unknown, Unknown]), Some(0), "the longest waiting");
        assert_eq!(closed_of([Run, Operator, Unknown]), Some(2));
        assert_eq!(closed_of([Operator, Run, Run]), Some(1));
        assert_eq!(closed_of([Operator, Operator, Operator]), None);
    }

    #[test]
    fn connection_is_idle_again_when_its_response_was_sent() {
        run(async {
            let connections = OpenConnections::with_capacity(1);
            let one = TestConnection::open(&connections).await.expect("there is room");
            one.place.set_use(ConnectionUse::Operator);
            let body = served_body(Body::from("text"), Arc::clone(&one.place));
            assert_eq!(body.size_hint().exact(), Some(4));
            assert!(!connections.close_one(), "the response is being sent");
            assert_eq!(body.collect().await.expect("sent").to_bytes(), "text");
            assert!(connections.close_one());
        });
    }

    #[test]
    fn connection_that_ended_leaves_no_entry() {
        run(async {
            let connections = OpenConnections::with_capacity(1);
            drop(TestConnection::open(&connections).await.expect("there is room"));
            assert!(connections.table.lock().closers.is_empty());
            connections.wait_until_closed().await;
        });
    }
}
