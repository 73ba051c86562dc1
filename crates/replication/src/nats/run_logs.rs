//! Streams the output of agents, so that any node can show it.
//!
//! Each chunk carries its offset in the log and is identified by it: a chunk that is sent again
//! because an answer was lost is stored once, and a reader can start anywhere.

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_model::TaskId;
use async_nats::jetstream::context::CreateStreamError;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, RawMessageErrorKind, RetentionPolicy, StorageType, Stream,
};
use parking_lot::Mutex;

use crate::nats::accepted_keys::SignedKind;
use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::options::DurabilityLevel;
use crate::nats::retry::RetryDeadline;
use crate::nats::server_check::REPLICAS;

/// The header with a chunk's offset in the log.
const OFFSET_HEADER: &str = "Adjutant-Offset";

/// The largest chunk: it fits into a message, and is small enough to arrive while the agent prints.
const CHUNK_BYTES_MAX: usize = 256 << 10;

/// How long the servers keep a log; the node that ran the agent keeps it for good.
const LOG_MAX_AGE: Duration = Duration::from_hours(14 * 24);

/// The log of one attempt at a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLog {
    pub task: TaskId,
    pub attempt: u32,
}

impl RunLog {
    fn subject(&self, fleet: &FleetConnection) -> String {
        fleet.subject(&format!("logs.{}.{}", self.task, self.attempt))
    }
}

impl FleetConnection {
    /// Appends `bytes`, which start at `offset`, to a log.
    pub fn append_log(&self, log: &RunLog, offset: u64, bytes: &[u8]) -> Result<(), FleetError> {
        let (log, bytes) = (log.clone(), bytes.to_vec());
        self.wait(move |fleet| async move {
            let mut at = offset;
            for piece in bytes.chunks(CHUNK_BYTES_MAX) {
                append_chunk(&fleet, &log, at, piece).await?;
                at += piece.len() as u64;
            }
            Ok(())
        })
    }

    /// Returns the log from `offset` on, as far as it was sent, and the offset at which the result
    /// starts. That offset is later than `offset` if the servers no longer have those bytes.
    pub fn read_log(&self, log: &RunLog, offset: u64) -> Result<(u64, Vec<u8>), FleetError> {
        let log = log.clone();
        self.wait(move |fleet| async move { read_chunks(&fleet, &log, offset).await })
    }
}

/// Where to continue reading a log, by subject: the offset already read, and the next
/// sequence in the stream.
pub(crate) type LogPositions = Mutex<BTreeMap<String, (u64, u64)>>;

/// The most logs whose read position is remembered.
const POSITIONS_MAX: usize = 256;

impl FleetConnection {
    fn log_position(&self, subject: &str, offset: u64) -> Option<u64> {
        let places = self.log_positions().lock();
        places.get(subject).filter(|(at, _)| *at == offset).map(|(_, sequence)| *sequence)
    }

    fn record_log_position(&self, subject: String, offset: u64, sequence: u64) {
        let mut places = self.log_positions().lock();
        if places.len() >= POSITIONS_MAX {
            places.clear();
        }
        places.insert(subject, (offset, sequence));
    }
}

async fn append_chunk(
    fleet: &FleetConnection,
    log: &RunLog,
    at: u64,
    piece: &[u8],
) -> Result<(), FleetError> {
    let subject = log.subject(fleet);
    let mut patience = RetryDeadline::new(fleet.options().retry_timeout);
    loop {
        ensure_stream(fleet).await?;
        let message = PublishMessage::build()
            .payload(fleet.sign(&chunk_context(&subject, at), piece).into())
            .message_id(format!("{subject}.{at}"))
            .header(OFFSET_HEADER, at.to_string().as_str());
        let sent = match fleet.jetstream().send_publish(subject.clone(), message).await {
            Ok(answer) => answer.await,
            Err(error) => Err(error),
        };
        match sent {
            Ok(_) => return Ok(()),
            Err(error) if !patience.wait_for_retry().await => {
                return Err(fleet.unreachable("stream a log")(error.into()));
            }
            Err(_) => {}
        }
    }
}

async fn read_chunks(
    fleet: &FleetConnection,
    log: &RunLog,
    offset: u64,
) -> Result<(u64, Vec<u8>), FleetError> {
    let stream = ensure_stream(fleet).await?;
    let subject = log.subject(fleet);
    let (mut begin, mut bytes) = (offset, Vec::new());
    let mut sequence = fleet.log_position(&subject, offset).unwrap_or(1);
    while let Some((found, piece)) = next_chunk(fleet, &stream, &subject, sequence).await? {
        sequence = found + 1;
        let Some(piece) = piece else { continue };
        let end = begin + bytes.len() as u64;
        let Some(rest) = bytes_after(&piece, end) else { continue };
        if piece.at > end {
            (begin, bytes) = (piece.at, vec![]);
        }
        bytes.extend_from_slice(rest);
    }
    fleet.record_log_position(subject, begin + bytes.len() as u64, sequence);
    Ok((begin, bytes))
}

/// Binds a chunk to its place in a log.
fn chunk_context(subject: &str, at: u64) -> String {
    format!("{subject}.{at}")
}

/// One message of a log.
struct LogChunk {
    at: u64,
    bytes: Vec<u8>,
}

/// Returns the bytes of a chunk after offset `end`, if there are any.
fn bytes_after(piece: &LogChunk, end: u64) -> Option<&[u8]> {
    let known = usize::try_from(end.saturating_sub(piece.at)).ok()?;
    piece.bytes.get(known..).filter(|rest| !rest.is_empty())
}

/// Returns the sequence of the next message of a log, and its chunk if a node signed it.
async fn next_chunk(
    fleet: &FleetConnection,
    stream: &Stream,
    subject: &str,
    from: u64,
) -> Result<Option<(u64, Option<LogChunk>)>, FleetError> {
    let mut patience = RetryDeadline::new(fleet.options().retry_timeout);
    loop {
        let asked = stream.raw_message_builder().sequence(from).next_by_subject(subject);
        let error = match asked.send().await {
            Ok(message) => {
                let at = message.headers.get(OFFSET_HEADER).and_then(|at| at.as_str().parse().ok());
                let (at, sequence) = (at.unwrap_or_default(), message.sequence);
                let context = chunk_context(subject, at);
                let read = fleet.verify(&context, SignedKind::Message, &message.payload).ok();
                let chunk = read.map(|read| LogChunk { at, bytes: read.body });
                return Ok(Some((sequence, chunk)));
            }
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => return Ok(None),
            Err(error) => error,
        };
        if !patience.wait_for_retry().await {
            return Err(fleet.unreachable("read a log")(error.into()));
        }
    }
}

/// The limits tried for the size of the log stream, largest first. The servers drop the oldest
/// output first, because the disk is needed for commits. They reserve the space when the stream is
/// created, so a server with less space is asked for a smaller limit.
const BYTES_MAX: [i64; 3] = [1 << 30, 256 << 20, 64 << 20];

async fn ensure_stream(fleet: &FleetConnection) -> Result<Stream, FleetError> {
    let mut patience = RetryDeadline::new(fleet.options().retry_timeout);
    loop {
        let error = match try_stream(fleet).await {
            Ok(stream) => return Ok(stream),
            Err(error) => error,
        };
        if !patience.wait_for_retry().await {
            return Err(fleet.unreachable("store logs")(error));
        }
    }
}

async fn try_stream(fleet: &FleetConnection) -> Result<Stream, async_nats::Error> {
    if let Ok(stream) = fleet.jetstream().get_stream(fleet.name("logs")).await {
        if stream.cached_info().config.max_bytes <= 0 {
            limit_size(fleet, &stream.cached_info().config).await;
        }
        return Ok(stream);
    }
    let made = create_stream(fleet, REPLICAS).await;
    if made.is_err() && fleet.options().durability == DurabilityLevel::Relaxed {
        return Ok(create_stream(fleet, 1).await?);
    }
    Ok(made?)
}

/// Limits the size of a stream that was created without a limit. If that is not allowed, the stream
/// stays as it is.
async fn limit_size(fleet: &FleetConnection, config: &Config) {
    for max_bytes in BYTES_MAX {
        let config = Config { max_bytes, discard: DiscardPolicy::Old, ..config.clone() };
        if fleet.jetstream().update_stream(config).await.is_ok() {
            return;
        }
    }
}

async fn create_stream(
    fleet: &FleetConnection,
    num_replicas: usize,
) -> Result<Stream, CreateStreamError> {
    let config = Config {
        name: fleet.name("logs"),
        subjects: vec![fleet.subject("logs.>")],
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        max_age: LOG_MAX_AGE,
        discard: DiscardPolicy::Old,
        num_replicas,
        ..Config::default()
    };
    let [most, less @ ..] = BYTES_MAX;
    let mut made =
        fleet.jetstream().create_stream(Config { max_bytes: most, ..config.clone() }).await;
    for max_bytes in less {
        if made.is_ok() {
            break;
        }
        made = fleet.jetstream().create_stream(Config { max_bytes, ..config.clone() }).await;
    }
    made
}
