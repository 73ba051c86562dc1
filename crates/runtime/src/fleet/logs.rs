//! Sends what agents of this node print to where every node can read it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use adjutant_core::TaskId;
use adjutant_store::Net;

use crate::shim::files::LOG;

/// How often the logs are looked at.
const PAUSE: Duration = Duration::from_millis(500);
/// The most that is sent of one log at once.
const PIECE: u64 = 1 << 20;

/// A run, by its task and its number.
type Key = (TaskId, u32);

/// Sends logs, for as long as this lives.
pub(crate) struct Shipper {
    runs: Arc<Mutex<BTreeMap<Key, PathBuf>>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Shipper {
    pub(crate) fn start(net: Arc<dyn Net>) -> std::io::Result<Self> {
        let runs = Arc::<Mutex<BTreeMap<Key, PathBuf>>>::default();
        let (stop, told) = channel::<()>();
        let watched = Arc::clone(&runs);
        let hand_over = move |(task, attempt): &Key, offset: u64, bytes: &[u8]| {
            net.append_log(task, *attempt, offset, bytes).is_ok()
        };
        let ship = move || {
            let mut sent = BTreeMap::new();
            loop {
                let last = !matches!(told.recv_timeout(PAUSE), Err(RecvTimeoutError::Timeout));
                let now =
                    std::mem::take(&mut *watched.lock().unwrap_or_else(PoisonError::into_inner));
                ship_all(&hand_over, &now, &mut sent);
                if last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("logs".to_owned()).spawn(ship)?;
        Ok(Self { runs, stop: Some(stop), thread: Some(thread) })
    }

    /// Sends the logs of these runs from now on, each until all of it is sent.
    pub(crate) fn watch(&self, runs: impl Iterator<Item = (Key, PathBuf)>) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).extend(runs);
    }
}

impl Drop for Shipper {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// How far a log was sent, and where it lies.
type Sent = BTreeMap<Key, (u64, PathBuf)>;

/// Sends a piece of a log that begins at this byte, and says whether it was taken.
type HandOver<'a> = &'a dyn Fn(&Key, u64, &[u8]) -> bool;

/// What became of the next piece of a log.
enum Shipped {
    /// It was taken, up to this byte.
    Until(u64),
    /// There is none.
    Nothing,
    /// It was not taken, and is sent again when the servers answer.
    Refused,
}

/// Sends what is new in every log. One that nobody watches any more is forgotten when all of it was
/// taken. Where one piece is not taken, no other is tried: each would wait as long.
fn ship_all(hand_over: HandOver<'_>, now: &BTreeMap<Key, PathBuf>, sent: &mut Sent) {
    for (key, folder) in now {
        sent.entry(key.clone()).or_insert_with(|| (0, folder.join(LOG)));
    }
    let mut answered = true;
    sent.retain(|key, (offset, path)| {
        if !answered {
            return true;
        }
        match ship(hand_over, key, path, *offset) {
            Shipped::Until(more) => *offset = more,
            Shipped::Nothing => return now.contains_key(key),
            Shipped::Refused => answered = false,
        }
        true
    });
}

/// Sends what is new in a log.
fn ship(hand_over: HandOver<'_>, key: &Key, path: &Path, offset: u64) -> Shipped {
    match read(path, offset) {
        Some(bytes) if hand_over(key, offset, &bytes) => {
            Shipped::Until(offset + bytes.len() as u64)
        }
        Some(_) => Shipped::Refused,
        None => Shipped::Nothing,
    }
}

fn read(path: &Path, offset: u64) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = Vec::new();
    file.take(PIECE).read_to_end(&mut bytes).ok()?;
    Some(bytes).filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_piece_of_a_run_is_sent_when_the_servers_answer_again() {
        let home = tempfile::tempdir().expect("a folder");
        let key = (TaskId::parse("TASK-2026-02-09-001").expect("an id"), 1);
        let watched = BTreeMap::from([(key.clone(), home.path().to_owned())]);
        let (nobody, mut sent) = (BTreeMap::new(), Sent::new());
        let taken = Mutex::new(Vec::new());
        let heard = |_: &Key, offset: u64, bytes: &[u8]| {
            let mut taken = taken.lock().expect("nobody panics with it");
            assert_eq!(offset, taken.len() as u64);
            taken.extend_from_slice(bytes);
            true
        };
        std::fs::write(home.path().join(LOG), "first").expect("a log");
        ship_all(&heard, &watched, &mut sent);
        std::fs::write(home.path().join(LOG), "first and last").expect("a log");
        // The run ends while the servers are away.
        ship_all(&|_, _, _| false, &watched, &mut sent);
        ship_all(&|_, _, _| false, &nobody, &mut sent);
        ship_all(&heard, &nobody, &mut sent);
        assert_eq!(*taken.lock().expect("nobody panics with it"), b"first and last");
        ship_all(&heard, &nobody, &mut sent);
        assert_eq!(sent, Sent::new(), "what was sent to its end is forgotten");
    }
}
