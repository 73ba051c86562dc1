//! Sends the output of this node's agents to the servers, where every node can read it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use adjutant_model::TaskId;
use adjutant_run_files::attempt_files::LOG;
use adjutant_store::FleetNetwork;
use parking_lot::Mutex;

/// How often the logs are checked for new output.
const PAUSE: Duration = Duration::from_millis(500);
/// The most bytes sent of one log at once.
const CHUNK_BYTES_MAX: u64 = 1 << 20;

/// A task and the number of its attempt.
type AttemptKey = (TaskId, u32);

/// Sends logs from a background thread until dropped.
pub(crate) struct LogShipper {
    runs: Arc<Mutex<BTreeMap<AttemptKey, PathBuf>>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LogShipper {
    pub(crate) fn start(net: Arc<dyn FleetNetwork>) -> std::io::Result<Self> {
        let runs = Arc::<Mutex<BTreeMap<AttemptKey, PathBuf>>>::default();
        let (stop, stopped) = channel::<()>();
        let watched = Arc::clone(&runs);
        let hand_over = move |(task, attempt): &AttemptKey, offset: u64, bytes: &[u8]| {
            net.append_log(task, *attempt, offset, bytes).is_ok()
        };
        let ship = move || {
            let mut sent = BTreeMap::new();
            loop {
                let last = !matches!(stopped.recv_timeout(PAUSE), Err(RecvTimeoutError::Timeout));
                let now = std::mem::take(&mut *watched.lock());
                ship_all(&hand_over, &now, &mut sent);
                if last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("logs".to_owned()).spawn(ship)?;
        Ok(Self { runs, stop: Some(stop), thread: Some(thread) })
    }

    /// Sends the logs of these runs until all of their output is sent.
    pub(crate) fn watch(&self, runs: impl Iterator<Item = (AttemptKey, PathBuf)>) {
        self.runs.lock().extend(runs);
    }
}

impl Drop for LogShipper {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The offset up to which each log was sent, and its path.
type SentOffsets = BTreeMap<AttemptKey, (u64, PathBuf)>;

/// Sends a chunk that starts at an offset, and returns whether the servers accepted it.
type ChunkSender<'a> = &'a dyn Fn(&AttemptKey, u64, &[u8]) -> bool;

/// The result of sending the next chunk of a log.
enum ShipResult {
    /// Accepted up to this offset.
    Accepted(u64),
    /// There is no new output.
    NoOutput,
    /// Not accepted; it is sent again later.
    Refused,
}

/// Sends new output of every log. A log that is no longer watched is forgotten once it is sent
/// completely. After the first refused chunk no other is tried, since each would wait as long.
fn ship_all(
    hand_over: ChunkSender<'_>,
    now: &BTreeMap<AttemptKey, PathBuf>,
    sent: &mut SentOffsets,
) {
    for (key, folder) in now {
        sent.entry(key.clone()).or_insert_with(|| (0, folder.join(LOG)));
    }
    let mut answered = true;
    sent.retain(|key, (offset, path)| {
        if !answered {
            return true;
        }
        match ship_chunk(hand_over, key, path, *offset) {
            ShipResult::Accepted(more) => *offset = more,
            ShipResult::NoOutput => return now.contains_key(key),
            ShipResult::Refused => answered = false,
        }
        true
    });
}

/// Sends the next chunk of one log.
fn ship_chunk(
    hand_over: ChunkSender<'_>,
    key: &AttemptKey,
    path: &Path,
    offset: u64,
) -> ShipResult {
    match read_chunk(path, offset) {
        Some(bytes) if hand_over(key, offset, &bytes) => {
            ShipResult::Accepted(offset + bytes.len() as u64)
        }
        Some(_) => ShipResult::Refused,
        None => ShipResult::NoOutput,
    }
}

fn read_chunk(path: &Path, offset: u64) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = Vec::new();
    file.take(CHUNK_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes).filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_log_end_is_sent_once_servers_answer_again() {
        let home = tempfile::tempdir().expect("a folder");
        let key = (TaskId::parse("TASK-2026-02-09-001").expect("an id"), 1);
        let watched = BTreeMap::from([(key.clone(), home.path().to_owned())]);
        let (no_runs, mut sent) = (BTreeMap::new(), SentOffsets::new());
        let taken = Mutex::new(Vec::new());
        let heard = |_: &AttemptKey, offset: u64, bytes: &[u8]| {
            let mut taken = taken.lock();
            assert_eq!(offset, taken.len() as u64);
            taken.extend_from_slice(bytes);
            true
        };
        std::fs::write(home.path().join(LOG), "first").expect("a log");
        ship_all(&heard, &watched, &mut sent);
        std::fs::write(home.path().join(LOG), "first and last").expect("a log");
        // The run ends while the servers do not answer.
        ship_all(&|_, _, _| false, &watched, &mut sent);
        ship_all(&|_, _, _| false, &no_runs, &mut sent);
        ship_all(&heard, &no_runs, &mut sent);
        assert_eq!(*taken.lock(), b"first and last");
        ship_all(&heard, &no_runs, &mut sent);
        assert_eq!(sent, SentOffsets::new(), "what was sent to its end is forgotten");
    }
}
