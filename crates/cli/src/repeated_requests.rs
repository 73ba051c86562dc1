//! Sends messages and heartbeats again if the daemon ends before it answers.
//!
//! Each has a random key, so that the next daemon, or this process, recognises what was applied.

use std::ops::DerefMut;
use std::time::{Duration, Instant};

use adjutant_engine::ipc::IpcError;
use adjutant_engine::tick::jitter;
use adjutant_engine::{EngineAnswer, EngineRequest};
use adjutant_model::request::IdempotencyKey;

use crate::folder_writer::{FolderWriter, ProjectEngine};
use crate::output::error::CommandFailure;

/// How long to try again after the first answer was lost: as long as a daemon needs to restart.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait before the next try.
const PAUSE: Duration = Duration::from_millis(100);

/// Requests that are sent until they are answered.
pub(crate) struct RepeatedRequests {
    requests: Vec<EngineRequest>,
    first_loss: Option<Instant>,
}

/// What sending the requests came to.
pub(crate) enum SendResult {
    Answered(Vec<EngineAnswer>),
    /// The daemon ended before it answered: ask the process that writes to the folder now.
    Lost,
}

impl RepeatedRequests {
    pub(crate) fn new(requests: Vec<EngineRequest>) -> Self {
        Self { requests, first_loss: None }
    }

    /// Sends the requests. Requests that must not be repeated fail when their answer is lost.
    pub(crate) fn send<E: DerefMut<Target = ProjectEngine>>(
        &mut self,
        writer: &mut FolderWriter<E>,
    ) -> Result<SendResult, CommandFailure> {
        let FolderWriter::Daemon(client) = writer else {
            return writer.submit(&self.requests).map(SendResult::Answered);
        };
        self.add_keys();
        match client.ask(&self.requests) {
            Ok(answers) => Ok(SendResult::Answered(answers)),
            Err(IpcError::Disconnected(_)) if self.may_repeat() => Ok(SendResult::Lost),
            Err(error) => Err(error.into()),
        }
    }

    fn add_keys(&mut self) {
        let keyless = |one: &&mut EngineRequest| one.key.is_none() && one.is_repeatable();
        for request in self.requests.iter_mut().filter(keyless) {
            request.key = Some(IdempotencyKey::from_random([jitter(), jitter()]));
        }
    }

    /// Prepares the requests for the next time, unless that is too late or not allowed.
    fn may_repeat(&mut self) -> bool {
        let is_first = self.first_loss.is_none();
        let lost_at = *self.first_loss.get_or_insert_with(Instant::now);
        if lost_at.elapsed() > PATIENCE || !self.requests.iter().all(EngineRequest::is_repeatable) {
            return false;
        }
        if !is_first {
            std::thread::sleep(PAUSE);
        }
        let keys = self.requests.iter_mut().filter_map(|request| request.key.as_mut());
        keys.for_each(|key| key.is_repeat = true);
        true
    }
}
