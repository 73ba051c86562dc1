//! Reads the log of a run on another node, as far as the fleet's servers have it.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_core::World;
use adjutant_engine::WorldSnapshot;
use adjutant_model::TaskId;
use adjutant_store::FleetNetwork;
use parking_lot::Mutex;

/// The log of a remote run. Bytes that were read stay in memory as long as this value lives.
pub struct FleetRunLog {
    net: Arc<dyn FleetNetwork>,
    snapshot: WorldSnapshot,
    task: TaskId,
    attempt: u32,
    held: Mutex<FetchedLog>,
}

#[derive(Default)]
struct FetchedLog {
    bytes: Arc<Vec<u8>>,
    /// The offset in the log after `bytes`. It may exceed their length: the servers may have
    /// dropped the beginning.
    end: u64,
    /// When the end of the run was first seen.
    ended_at: Option<Instant>,
}

/// How long output may still arrive after the end of the run was seen.
const LATE_OUTPUT_MAX: Duration = Duration::from_secs(2);

impl FleetRunLog {
    pub(crate) fn new(
        net: Arc<dyn FleetNetwork>,
        snapshot: WorldSnapshot,
        task: TaskId,
        attempt: u32,
    ) -> Self {
        Self { net, snapshot, task, attempt, held: Mutex::default() }
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    pub(crate) fn is_over(&self) -> bool {
        let is_open = |world: &World| {
            let open = world.task(&self.task).and_then(|task| task.history.open.as_ref());
            open.is_some_and(|run| run.attempt == self.attempt)
        };
        !self.snapshot.read(is_open)
    }

    /// Returns the output received so far, and whether it is complete.
    pub fn read(&self) -> io::Result<(Arc<Vec<u8>>, bool)> {
        let mut held = self.held.lock();
        // Ask before reading: output that arrives in between would be lost otherwise.
        let is_over = self.is_over()
            && held.ended_at.get_or_insert_with(Instant::now).elapsed() > LATE_OUTPUT_MAX;
        let read = self.net.read_log(&self.task, self.attempt, held.end);
        let (at, bytes) = read.map_err(io::Error::other)?;
        held.end = at + bytes.len() as u64;
        Arc::make_mut(&mut held.bytes).extend(bytes);
        Ok((Arc::clone(&held.bytes), is_over))
    }
}
