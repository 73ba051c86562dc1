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
        let ship = move || {
            let mut sent = BTreeMap::new();
            loop {
                let last = !matches!(told.recv_timeout(PAUSE), Err(RecvTimeoutError::Timeout));
                let now =
                    std::mem::take(&mut *watched.lock().unwrap_or_else(PoisonError::into_inner));
                ship_all(&*net, &now, &mut sent);
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

fn ship_all(net: &dyn Net, now: &BTreeMap<Key, PathBuf>, sent: &mut Sent) {
    for (key, folder) in now {
        sent.entry(key.clone()).or_insert_with(|| (0, folder.join(LOG)));
    }
    sent.retain(|key, (offset, path)| {
        let more = ship(net, key, path, *offset).unwrap_or(*offset);
        let grew = more > *offset;
        *offset = more;
        grew || now.contains_key(key)
    });
}

/// Sends what is new in a log, and returns how far it was sent.
fn ship(net: &dyn Net, (task, attempt): &Key, path: &Path, offset: u64) -> Option<u64> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = Vec::new();
    file.take(PIECE).read_to_end(&mut bytes).ok()?;
    if bytes.is_empty() {
        return None;
    }
    net.append_log(task, *attempt, offset, &bytes).ok()?;
    Some(offset + bytes.len() as u64)
}
