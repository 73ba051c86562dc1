//! Finds the runs that are not over, whoever started them.

use std::fs;
use std::io;

use adjutant_core::{AgentId, TaskId};

use super::{Run, Supervisor};
use crate::shim::files::Folder;
use crate::shim::outbox::Reader;

/// What is known of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Its shim runs.
    Alive,
    /// Its shim is gone, and did not say how the run ended.
    Gone,
    /// It is over.
    Over,
    /// It was never started here.
    Unknown,
}

impl Supervisor {
    /// Says what is known of a run.
    pub fn life(&self, run: &Run) -> io::Result<Life> {
        life(&self.folder(run))
    }

    /// Finds every run that was started and is not over, or said something nobody has heard: its task
    /// may be somebody else's by now, who knows nothing of it. Looks at the folder of every task that
    /// ever ran: for a start, not for every tick.
    pub fn find(&self) -> io::Result<Vec<(Run, Life)>> {
        let mut found = Vec::new();
        for task in names(&self.root.join("runs"))? {
            let Ok(task) = TaskId::parse(&task) else { continue };
            found.extend(self.find_of(&task)?);
            for attempt in self.attempts(&task)? {
                found.extend(self.unheard(&task, &attempt)?);
            }
        }
        Ok(found)
    }

    /// Finds every run of a task that was started and is not over.
    pub fn find_of(&self, task: &TaskId) -> io::Result<Vec<(Run, Life)>> {
        let mut found = Vec::new();
        for attempt in self.attempts(task)? {
            found.extend(self.unfinished(task, &attempt)?);
        }
        Ok(found)
    }

    /// Returns the run of an attempt's folder, if it was started and is not over.
    pub(super) fn unfinished(
        &self,
        task: &TaskId,
        attempt: &str,
    ) -> io::Result<Option<(Run, Life)>> {
        let folder = self.attempt(task, attempt);
        let life = life(&folder)?;
        let runs = matches!(life, Life::Alive | Life::Gone);
        Ok(run_of(task, &folder).filter(|_| runs).map(|run| (run, life)))
    }

    /// Returns the run of an attempt's folder, if it is over and said something nobody has heard.
    fn unheard(&self, task: &TaskId, attempt: &str) -> io::Result<Option<(Run, Life)>> {
        let folder = self.attempt(task, attempt);
        let silent = Reader::open(&folder).read()?.is_none();
        if silent || life(&folder)? != Life::Over {
            return Ok(None);
        }
        Ok(run_of(task, &folder).map(|run| (run, Life::Over)))
    }

    fn attempts(&self, task: &TaskId) -> io::Result<Vec<String>> {
        names(&self.root.join("runs").join(task.as_str()).join("attempts"))
    }

    fn attempt(&self, task: &TaskId, attempt: &str) -> Folder {
        let attempts = self.root.join("runs").join(task.as_str()).join("attempts");
        Folder::at(&attempts.join(attempt))
    }
}

/// Reads which run a folder is of. One that cannot be read says nothing of that.
fn run_of(task: &TaskId, folder: &Folder) -> Option<Run> {
    let record = folder.record().ok().flatten()?;
    let agent = AgentId::parse(&record.agent).ok()?;
    let (attempt, fence) = (record.attempt, record.fence);
    Some(Run { task: task.clone(), attempt, fence, agent })
}

/// Says what is known of a run.
///
/// A run is over when its end was written down and its shim is gone: an agent can write files, but
/// it cannot take the place of the shim. Whether the shim lives is asked first, because it writes
/// the end down before it goes.
pub fn life(folder: &Folder) -> io::Result<Life> {
    let alive = match folder.record() {
        Ok(record) => record.map(|record| record.is_alive()),
        // Somebody wrote something else there; the lock still tells.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Some(folder.is_held()?),
        Err(error) => return Err(error),
    };
    let ended = folder.has_ended();
    Ok(match (alive, ended) {
        (Some(true), _) => Life::Alive,
        (_, true) => Life::Over,
        (Some(false), false) => Life::Gone,
        (None, false) => Life::Unknown,
    })
}

/// Returns the names in a folder, in order; none if there is no folder.
pub(super) fn names(folder: &std::path::Path) -> io::Result<Vec<String>> {
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
