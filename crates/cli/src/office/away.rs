//! What a run prints on another node of a fleet, as far as the servers have it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use adjutant_api::office::Elsewhere;
use adjutant_core::{TaskId, World};
use adjutant_runtime::Mirror;
use adjutant_store::Net;

/// The log of a run elsewhere. What has come is kept for as long as somebody reads.
pub(super) struct Away {
    net: Arc<dyn Net>,
    mirror: Mirror,
    task: TaskId,
    attempt: u32,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    bytes: Arc<Vec<u8>>,
    /// How far into the log that is: the servers may have dropped its beginning.
    end: u64,
    /// Since when its end is known.
    over: Option<Instant>,
}

/// How long after the end of a run was seen the last of what it printed may come.
const LATE: Duration = Duration::from_secs(2);

impl Away {
    pub(super) fn new(net: Arc<dyn Net>, mirror: Mirror, task: TaskId, attempt: u32) -> Self {
        Self { net, mirror, task, attempt, held: Mutex::default() }
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Says whether the end of the run was seen.
    pub(super) fn is_over(&self) -> bool {
        let is_open = |world: &World| {
            let open = world.task(&self.task).and_then(|task| task.trials.open.as_ref());
            open.is_some_and(|run| run.attempt == self.attempt)
        };
        !self.mirror.look(is_open)
    }
}

impl Elsewhere for Away {
    fn read(&self) -> io::Result<(Arc<Vec<u8>>, bool)> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        // Asked before it is read.
        let is_over = self.is_over() && held.over.get_or_insert_with(Instant::now).elapsed() > LATE;
        let read = self.net.read_log(&self.task, self.attempt, held.end);
        let (at, bytes) = read.map_err(io::Error::other)?;
        held.end = at + bytes.len() as u64;
        Arc::make_mut(&mut held.bytes).extend(bytes);
        Ok((Arc::clone(&held.bytes), is_over))
    }
}
