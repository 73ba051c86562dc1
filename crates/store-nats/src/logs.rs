//! What agents print, streamed so that any node can show it.
//!
//! Each piece says where in the log it begins, and is known by that: a piece that is sent again
//! because an answer was lost counts once, and a reader can begin anywhere.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use adjutant_core::TaskId;
use async_nats::jetstream::context::CreateStreamError;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, RawMessageErrorKind, RetentionPolicy, StorageType, Stream,
};

use crate::check::REPLICAS;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::options::Durability;
use crate::patience::Patience;

/// Says where in the log a piece begins.
const OFFSET: &str = "Adjutant-Offset";

/// The largest piece: well within a message, and small enough to come as it is printed.
const PIECE: usize = 256 << 10;

/// How long a log is kept on the servers; the node that ran the agent keeps it for good.
const KEPT: Duration = Duration::from_hours(14 * 24);

/// The log of one attempt at a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLog {
    /// The task.
    pub task: TaskId,
    /// Which of its runs.
    pub attempt: u32,
}

impl RunLog {
    fn subject(&self, fleet: &Fleet) -> String {
        fleet.subject(&format!("logs.{}.{}", self.task, self.attempt))
    }
}

impl Fleet {
    /// Adds to a log what comes from this byte on.
    pub fn append_log(&self, log: &RunLog, offset: u64, bytes: &[u8]) -> Result<(), FleetError> {
        let (log, bytes) = (log.clone(), bytes.to_vec());
        self.wait(move |fleet| async move {
            let mut at = offset;
            for piece in bytes.chunks(PIECE) {
                append(&fleet, &log, at, piece).await?;
                at += piece.len() as u64;
            }
            Ok(())
        })
    }

    /// Returns what a log has from this byte on, as far as it has come. What the servers no longer
    /// have is left out: the answer then begins later, and says where.
    pub fn read_log(&self, log: &RunLog, offset: u64) -> Result<(u64, Vec<u8>), FleetError> {
        let log = log.clone();
        self.wait(move |fleet| async move { read(&fleet, &log, offset).await })
    }
}

/// Where whoever reads a log goes on: how far it was read, and what comes next in the stream.
pub(crate) type LogPlaces = Mutex<BTreeMap<String, (u64, u64)>>;

/// How many logs are remembered of which somebody has read a part.
const PLACES_MAX: usize = 256;

impl Fleet {
    fn log_place(&self, subject: &str, offset: u64) -> Option<u64> {
        let places = self.log_places().lock().unwrap_or_else(PoisonError::into_inner);
        places.get(subject).filter(|(at, _)| *at == offset).map(|(_, sequence)| *sequence)
    }

    fn note_log_place(&self, subject: String, offset: u64, sequence: u64) {
        let mut places = self.log_places().lock().unwrap_or_else(PoisonError::into_inner);
        if places.len() >= PLACES_MAX {
            places.clear();
        }
        places.insert(subject, (offset, sequence));
    }
}

async fn append(fleet: &Fleet, log: &RunLog, at: u64, piece: &[u8]) -> Result<(), FleetError> {
    let subject = log.subject(fleet);
    let mut patience = Patience::new(fleet.options().patience);
    loop {
        stream(fleet).await?;
        let message = PublishMessage::build()
            .payload(piece.to_vec().into())
            .message_id(format!("{subject}.{at}"))
            .header(OFFSET, at.to_string().as_str());
        let sent = match fleet.streams().send_publish(subject.clone(), message).await {
            Ok(answer) => answer.await,
            Err(error) => Err(error),
        };
        match sent {
            Ok(_) => return Ok(()),
            Err(error) if !patience.again().await => {
                return Err(fleet.unreachable("stream a log")(error.into()));
            }
            Err(_) => {}
        }
    }
}

async fn read(fleet: &Fleet, log: &RunLog, offset: u64) -> Result<(u64, Vec<u8>), FleetError> {
    let stream = stream(fleet).await?;
    let subject = log.subject(fleet);
    let (mut begin, mut bytes) = (offset, Vec::new());
    let mut sequence = fleet.log_place(&subject, offset).unwrap_or(1);
    while let Some(piece) = next(fleet, &stream, &subject, sequence).await? {
        sequence = piece.sequence + 1;
        let end = begin + bytes.len() as u64;
        let Some(rest) = beyond(&piece, end) else { continue };
        if piece.at > end {
            (begin, bytes) = (piece.at, vec![]);
        }
        bytes.extend_from_slice(rest);
    }
    fleet.note_log_place(subject, begin + bytes.len() as u64, sequence);
    Ok((begin, bytes))
}

/// A piece of a log.
struct Piece {
    sequence: u64,
    at: u64,
    bytes: Vec<u8>,
}

/// Returns what a piece has beyond a place, if anything.
fn beyond(piece: &Piece, end: u64) -> Option<&[u8]> {
    let known = usize::try_from(end.saturating_sub(piece.at)).ok()?;
    piece.bytes.get(known..).filter(|rest| !rest.is_empty())
}

async fn next(
    fleet: &Fleet,
    stream: &Stream,
    subject: &str,
    from: u64,
) -> Result<Option<Piece>, FleetError> {
    let mut patience = Patience::new(fleet.options().patience);
    loop {
        let asked = stream.raw_message_builder().sequence(from).next_by_subject(subject);
        let error = match asked.send().await {
            Ok(message) => {
                let at = message.headers.get(OFFSET).and_then(|at| at.as_str().parse().ok());
                let (at, sequence) = (at.unwrap_or_default(), message.sequence);
                return Ok(Some(Piece { sequence, at, bytes: message.payload.to_vec() }));
            }
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => return Ok(None),
            Err(error) => error,
        };
        if !patience.again().await {
            return Err(fleet.unreachable("read a log")(error.into()));
        }
    }
}

/// How much of what agents print is kept on the servers, the oldest being dropped first: the disk
/// is needed for commits. Servers set so much aside when the stream is made, and those that do not
/// have it are asked for less.
const BYTES_MAX: [i64; 3] = [1 << 30, 256 << 20, 64 << 20];

async fn stream(fleet: &Fleet) -> Result<Stream, FleetError> {
    let mut patience = Patience::new(fleet.options().patience);
    loop {
        let error = match try_stream(fleet).await {
            Ok(stream) => return Ok(stream),
            Err(error) => error,
        };
        if !patience.again().await {
            return Err(fleet.unreachable("keep logs")(error));
        }
    }
}

async fn try_stream(fleet: &Fleet) -> Result<Stream, async_nats::Error> {
    if let Ok(stream) = fleet.streams().get_stream(fleet.name("logs")).await {
        if stream.cached_info().config.max_bytes <= 0 {
            bound(fleet, &stream.cached_info().config).await;
        }
        return Ok(stream);
    }
    let made = make(fleet, REPLICAS).await;
    if made.is_err() && fleet.options().durability == Durability::Relaxed {
        return Ok(make(fleet, 1).await?);
    }
    Ok(made?)
}

/// Bounds a stream that was made when there was no bound. Where nobody may, it stays as it is.
async fn bound(fleet: &Fleet, config: &Config) {
    for max_bytes in BYTES_MAX {
        let config = Config { max_bytes, discard: DiscardPolicy::Old, ..config.clone() };
        if fleet.streams().update_stream(config).await.is_ok() {
            return;
        }
    }
}

async fn make(fleet: &Fleet, num_replicas: usize) -> Result<Stream, CreateStreamError> {
    let config = Config {
        name: fleet.name("logs"),
        subjects: vec![fleet.subject("logs.>")],
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        max_age: KEPT,
        discard: DiscardPolicy::Old,
        num_replicas,
        ..Config::default()
    };
    let [most, less @ ..] = BYTES_MAX;
    let mut made =
        fleet.streams().create_stream(Config { max_bytes: most, ..config.clone() }).await;
    for max_bytes in less {
        if made.is_ok() {
            break;
        }
        made = fleet.streams().create_stream(Config { max_bytes, ..config.clone() }).await;
    }
    made
}
