//! What is remembered of tasks whose files are gone: a file may come back, and older than it went.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_model::run_nonce::RunNonce;
use adjutant_model::task::{Task, TaskState};
use adjutant_model::task_id::TaskId;

/// The last state of each task that is gone and had a run or was closed. Any other task has nothing
/// that could go back.
#[derive(Debug, Clone, Default)]
pub(super) struct RetiredTasks(BTreeMap<TaskId, Arc<Task>>);

/// Two worlds with the same tasks are equal, whatever they remember of others: a reader that saw
/// only the files cannot know it.
impl PartialEq for RetiredTasks {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for RetiredTasks {}

impl RetiredTasks {
    pub(super) fn get(&self, id: &TaskId) -> Option<&Task> {
        self.0.get(id).map(Arc::as_ref)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Task> {
        self.0.values().map(Arc::as_ref)
    }

    pub(super) fn insert(&mut self, task: Arc<Task>) {
        if task.next_attempt() > 1 || task.next_fence() > 1 || task.status().is_closed() {
            self.0.insert(task.id.clone(), task);
        }
    }

    pub(super) fn remove(&mut self, id: &TaskId) {
        self.0.remove(id);
    }

    /// Revokes the tokens of a task that a person removed: its run was told to stop.
    pub(super) fn revoke(&mut self, id: &TaskId) {
        let Some(task) = self.0.get_mut(id).map(Arc::make_mut) else { return };
        if let TaskState::InProgress(Some(lease)) = &mut task.state {
            lease.nonce = Some(RunNonce::REVOKED);
        }
        for run in [&mut task.last_run, &mut task.history.open].into_iter().flatten() {
            run.nonce = Some(RunNonce::REVOKED);
        }
    }
}
