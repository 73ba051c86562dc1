//! Finds the runs that have not ended, no matter which process started them.

use std::{fs, io};

use adjutant_model::{AgentId, TaskId};
use adjutant_run_files::attempt_files::AttemptFolder;

use super::{RunRef, RunSupervisor};
use crate::shim::outbox::OutboxReader;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocalRunState {
    Alive,
    /// The shim is gone and has recorded no exit.
    Gone,
    Over,
    /// The run was never started here.
    Unknown,
}

impl RunSupervisor {
    pub fn local_state(&self, run: &RunRef) -> io::Result<LocalRunState> {
        local_run_state(&self.folder(run))
    }

    /// Finds every run that was started and has not ended, or has messages that were not confirmed:
    /// its task may belong to another node by now, which does not know of them. Reads the folder of
    /// every task that ever ran, so call it at startup only.
    pub fn find_runs(&self) -> io::Result<Vec<(RunRef, LocalRunState)>> {
        let mut found = Vec::new();
        for task in sorted_names(&self.root.join("runs"))? {
            let Ok(task) = TaskId::parse(&task) else { continue };
            found.extend(self.find_runs_of_task(&task)?);
            for attempt in self.attempt_names(&task)? {
                found.extend(self.unconfirmed(&task, &attempt)?);
            }
        }
        Ok(found)
    }

    /// Finds every run of a task that was started and has not ended.
    pub fn find_runs_of_task(&self, task: &TaskId) -> io::Result<Vec<(RunRef, LocalRunState)>> {
        let mut found = Vec::new();
        for attempt in self.attempt_names(task)? {
            found.extend(self.unfinished(task, &attempt)?);
        }
        Ok(found)
    }

    /// Returns the run of an attempt's folder, if it was started and has not ended.
    pub(super) fn unfinished(
        &self,
        task: &TaskId,
        attempt: &str,
    ) -> io::Result<Option<(RunRef, LocalRunState)>> {
        let folder = self.attempt_folder(task, attempt);
        let life = local_run_state(&folder)?;
        let runs = matches!(life, LocalRunState::Alive | LocalRunState::Gone);
        Ok(run_of(task, &folder).filter(|_| runs).map(|run| (run, life)))
    }

    /// Returns the run of an attempt's folder, if it has ended and has unconfirmed messages.
    fn unconfirmed(
        &self,
        task: &TaskId,
        attempt: &str,
    ) -> io::Result<Option<(RunRef, LocalRunState)>> {
        let folder = self.attempt_folder(task, attempt);
        let silent = OutboxReader::open(&folder).read()?.is_none();
        if silent || local_run_state(&folder)? != LocalRunState::Over {
            return Ok(None);
        }
        Ok(run_of(task, &folder).map(|run| (run, LocalRunState::Over)))
    }

    fn attempt_names(&self, task: &TaskId) -> io::Result<Vec<String>> {
        sorted_names(&self.root.join("runs").join(task.as_str()).join("attempts"))
    }

    fn attempt_folder(&self, task: &TaskId, attempt: &str) -> AttemptFolder {
        let attempts = self.root.join("runs").join(task.as_str()).join("attempts");
        AttemptFolder::new(&attempts.join(attempt))
    }
}

/// Reads which run a folder belongs to; `None` if its record is missing or invalid.
fn run_of(task: &TaskId, folder: &AttemptFolder) -> Option<RunRef> {
    let record = folder.record().ok().flatten()?;
    let agent = AgentId::parse(&record.agent).ok()?;
    let (attempt, fence, nonce) = (record.attempt, record.fence, record.nonce);
    Some(RunRef { task: task.clone(), attempt, fence, nonce, agent })
}

/// Returns whether a run lives, from its folder.
///
/// A run has ended when its exit is recorded and its shim is gone: an agent can write files, but
/// cannot take the place of the shim. Checks the shim first, because the shim records the exit
/// before it ends.
pub fn local_run_state(folder: &AttemptFolder) -> io::Result<LocalRunState> {
    let alive = match folder.record() {
        Ok(record) => record.map(|record| record.is_alive()),
        // The record was overwritten; the lock still tells whether the shim lives.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Some(folder.is_locked()?),
        Err(error) => return Err(error),
    };
    let ended = folder.has_ended();
    Ok(match (alive, ended) {
        (Some(true), _) => LocalRunState::Alive,
        (_, true) => LocalRunState::Over,
        (Some(false), false) => LocalRunState::Gone,
        (None, false) => LocalRunState::Unknown,
    })
}

/// Returns the names in a folder, sorted; none if there is no folder.
pub(super) fn sorted_names(folder: &std::path::Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(error),
    };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    Ok(names)
}
