//! The changes that a commit makes to the files of runs.

use std::collections::BTreeMap;

use adjutant_model::run_file::{HeartbeatFile, RunFile};
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::{AgentId, EventId, Task, TaskId, Time};

use super::{DocumentChange, DocumentReader, write_json};
use crate::document_paths::{RUN_FILES, run_folder};
use crate::store::StoreError;

/// The runs of the tasks in a plan, as of the events planned so far.
#[derive(Default)]
pub(super) struct PlannedRuns {
    /// The number of each task's current or last run.
    current: BTreeMap<TaskId, u32>,
    /// The last number under which this plan archived files; the documents do not show it yet.
    archived: BTreeMap<TaskId, u32>,
    /// Each `run.json` that this plan writes; the documents do not show it yet.
    written: BTreeMap<TaskId, String>,
    /// Whether each task's run has files, where this plan changes it.
    has_files: BTreeMap<TaskId, bool>,
}

impl PlannedRuns {
    /// Records that a run has files again.
    pub(super) fn note_files(&mut self, id: &TaskId) {
        self.has_files.insert(id.clone(), true);
    }

    /// Records the attempt number that a task had before the batch.
    pub(super) fn set_attempt(&mut self, id: &TaskId, attempt: Option<u32>) {
        self.current.extend(attempt.map(|attempt| (id.clone(), attempt)));
    }

    pub(super) fn start_run(
        &mut self,
        id: &TaskId,
        by: &AgentId,
        attempt: u32,
        (at, sandbox): (Time, SandboxLevel),
    ) -> DocumentChange {
        self.current.insert(id.clone(), attempt);
        self.write(id, &RunFile::started(id, by, at, sandbox))
    }

    /// Marks a run as failed, if it has a `run.json` that can be marked.
    pub(super) fn fail_run(
        &mut self,
        id: &TaskId,
        attempt: u32,
        at: Time,
        reason: &str,
        documents: &dyn DocumentReader,
    ) -> Result<Option<DocumentChange>, StoreError> {
        self.current.insert(id.clone(), attempt);
        let text = match self.written.get(id) {
            Some(text) => Some(text.clone()),
            None => documents.run(id)?,
        };
        let marked = text.and_then(|text| RunFile::mark_failed(&text, at, reason));
        Ok(marked.map(|run| self.write(id, &run)))
    }

    fn write(&mut self, id: &TaskId, run: &impl serde::Serialize) -> DocumentChange {
        self.note_files(id);
        let op = write_json(format!("{}/run.json", run_folder(id)), run);
        if let DocumentChange::Put { text, .. } = &op {
            self.written.insert(id.clone(), text.clone());
        }
        op
    }

    /// Moves the files of a run into the folder of its attempt. If that has files already, because
    /// an agent worked without a lease, uses the next free number.
    pub(super) fn archive_attempt(
        &mut self,
        id: &TaskId,
        documents: &dyn DocumentReader,
    ) -> Result<Vec<DocumentChange>, StoreError> {
        let known = self.has_files.insert(id.clone(), false);
        if !known.map_or_else(|| documents.has_run_files(id), Ok)? {
            return Ok(vec![]);
        }
        let after = self.archived.get(id).map_or(1, |last| last.saturating_add(1));
        let mut number = self.current.get(id).copied().unwrap_or(1).max(after);
        while documents.is_attempt_taken(id, number)? {
            number = number.saturating_add(1);
        }
        self.archived.insert(id.clone(), number);
        self.written.remove(id);
        let runs = run_folder(id);
        let aside = |file: &str| DocumentChange::Move {
            from: format!("{runs}/{file}"),
            to: format!("{runs}/attempts/{number}/{file}"),
        };
        Ok(RUN_FILES.into_iter().map(aside).collect())
    }
}

/// Moves old run files away before a run starts, so that they do not count for it.
pub(super) fn clear_before_start(id: &TaskId, attempt: u32, event: EventId) -> Vec<DocumentChange> {
    let runs = run_folder(id);
    let beat = "run_heartbeat.json";
    vec![
        salvage(id, "run_result.json", None, event),
        DocumentChange::Move {
            from: format!("{runs}/{beat}"),
            to: format!("{runs}/attempts/{attempt}/before/{beat}"),
        },
    ]
}

/// Writes the heartbeat file of a run; `None` if the lease has another fence.
pub(super) fn write_heartbeat(
    task: &Task,
    fence: u64,
    at: Time,
    expires_at: Time,
) -> Option<DocumentChange> {
    let lease = task.lease().filter(|lease| lease.fence == fence)?;
    let beat = HeartbeatFile {
        task_id: task.id.clone(),
        agent_id: lease.agent.clone(),
        last_heartbeat: at,
        beat_count: lease.renew_count,
        expires_at,
    };
    Some(write_json(format!("{}/run_heartbeat.json", run_folder(&task.id)), &beat))
}

/// Salvages a report: the given text, or else the file of that name.
pub(super) fn salvage(
    id: &TaskId,
    file: &str,
    text: Option<&str>,
    event: EventId,
) -> DocumentChange {
    let runs = run_folder(id);
    let path = format!("{runs}/salvage/{event}-{file}");
    match text {
        Some(text) => DocumentChange::Put { path, text: text.to_owned() },
        None => DocumentChange::Move { from: format!("{runs}/{file}"), to: path },
    }
}

/// Moves a salvaged report away once it is applied.
pub(super) fn move_applied_salvage(id: &TaskId, file: &str) -> DocumentChange {
    let salvage = format!("{}/salvage", run_folder(id));
    DocumentChange::Move {
        from: format!("{salvage}/{file}"),
        to: format!("{salvage}/applied/{file}"),
    }
}
