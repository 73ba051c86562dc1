//! Events that arrived and could not be committed yet, for example because the disk is full.

use std::collections::BTreeSet;

use adjutant_engine::service::{EngineError, EngineHandle};
use adjutant_model::TaskId;
use adjutant_runs::supervisor::RunEvent;

use super::DaemonRunManager;

/// Run events, file changes and a stop request that wait for a commit. It stays short, because no
/// more run events are admitted while some wait.
#[derive(Default)]
pub(super) struct EventBacklog {
    /// In arrival order.
    run_events: Vec<RunEvent>,
    files: FilesToRead,
    /// Whether all runs still have to be stopped.
    stop_requested: bool,
}

/// Task files that the engine has to read again.
#[derive(Default)]
enum FilesToRead {
    #[default]
    None,
    Tasks(BTreeSet<TaskId>),
    All,
}

impl EventBacklog {
    pub(super) fn has_no_run_events(&self) -> bool {
        self.run_events.is_empty()
    }

    /// Returns how many run events wait.
    pub(super) fn run_event_count(&self) -> usize {
        self.run_events.len()
    }

    pub(super) fn push_run_event(&mut self, event: RunEvent) {
        self.run_events.push(event);
    }

    /// Adds task files that may have changed; `None` means all of them.
    pub(super) fn add_files(&mut self, tasks: Option<Vec<TaskId>>) {
        self.files = match (std::mem::take(&mut self.files), tasks) {
            (FilesToRead::All, _) | (_, None) => FilesToRead::All,
            (FilesToRead::None, Some(tasks)) => FilesToRead::Tasks(tasks.into_iter().collect()),
            (FilesToRead::Tasks(before), Some(tasks)) => {
                FilesToRead::Tasks(before.into_iter().chain(tasks).collect())
            }
        };
    }

    pub(super) fn request_stop_all(&mut self) {
        self.stop_requested = true;
    }

    /// Performs the stop request, commits the run events and reads the files, in this order. What
    /// fails stays in the backlog.
    pub(super) fn commit(
        &mut self,
        client: &EngineHandle,
        run_manager: &mut DaemonRunManager,
    ) -> Result<(), EngineError> {
        if self.stop_requested {
            run_manager.stop_all()?;
            self.stop_requested = false;
        }
        run_manager.commit_events(&self.run_events)?;
        self.run_events.clear();
        match &self.files {
            FilesToRead::None => {}
            FilesToRead::Tasks(tasks) => {
                client.check_task_files(Some(tasks.iter().cloned().collect()))?;
            }
            FilesToRead::All => client.check_task_files(None)?,
        }
        self.files = FilesToRead::None;
        Ok(())
    }
}
