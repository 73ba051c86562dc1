//! What a commit does to the files of runs.

use std::collections::BTreeMap;

use adjutant_core::{AgentId, EventId, Task, TaskId, Time};

use super::{Documents, Op, put};
use crate::document::{RUN_FILES, run_folder};
use crate::store::StoreError;
use crate::wire::{HeartbeatWire, RunWire, mark_failed};

/// The runs of the tasks in a plan, as far as the plan has come.
#[derive(Default)]
pub(super) struct Runs {
    /// The number of the run each task has, or had last.
    current: BTreeMap<TaskId, u32>,
    /// The last number under which this plan put files aside: the documents do not show it yet.
    given: BTreeMap<TaskId, u32>,
    /// Each `run.json` this plan writes, for the same reason.
    written: BTreeMap<TaskId, String>,
    /// Whether each task's run has files, as far as this plan knows better than the documents.
    files: BTreeMap<TaskId, bool>,
}

impl Runs {
    /// Takes note that a run has files again.
    pub(super) fn filled(&mut self, id: &TaskId) {
        self.files.insert(id.clone(), true);
    }

    /// Takes note of the number of the run a task had before.
    pub(super) fn expect(&mut self, id: &TaskId, attempt: Option<u32>) {
        self.current.extend(attempt.map(|attempt| (id.clone(), attempt)));
    }

    pub(super) fn started(&mut self, id: &TaskId, by: &AgentId, attempt: u32, at: Time) -> Op {
        self.current.insert(id.clone(), attempt);
        self.write(id, &RunWire::started(id, by, at))
    }

    /// Marks a run as failed, where it left something that can be marked.
    pub(super) fn failed(
        &mut self,
        id: &TaskId,
        attempt: u32,
        at: Time,
        reason: &str,
        documents: &dyn Documents,
    ) -> Result<Option<Op>, StoreError> {
        self.current.insert(id.clone(), attempt);
        let text = match self.written.get(id) {
            Some(text) => Some(text.clone()),
            None => documents.run(id)?,
        };
        let marked = text.and_then(|text| mark_failed(&text, at, reason));
        Ok(marked.map(|run| self.write(id, &run)))
    }

    fn write(&mut self, id: &TaskId, run: &impl serde::Serialize) -> Op {
        self.filled(id);
        let op = put(format!("{}/run.json", run_folder(id)), run);
        if let Op::Put { text, .. } = &op {
            self.written.insert(id.clone(), text.clone());
        }
        op
    }

    /// Moves the files of a run to where the rest of its attempt lies. Should files lie there
    /// already, because somebody worked without a lease, the next free number is taken.
    pub(super) fn put_aside(
        &mut self,
        id: &TaskId,
        documents: &dyn Documents,
    ) -> Result<Vec<Op>, StoreError> {
        let known = self.files.insert(id.clone(), false);
        if !known.map_or_else(|| documents.has_run_files(id), Ok)? {
            return Ok(vec![]);
        }
        let after = self.given.get(id).map_or(1, |last| last.saturating_add(1));
        let mut number = self.current.get(id).copied().unwrap_or(1).max(after);
        while documents.is_attempt_taken(id, number)? {
            number = number.saturating_add(1);
        }
        self.given.insert(id.clone(), number);
        self.written.remove(id);
        let runs = run_folder(id);
        let aside = |file: &str| Op::Move {
            from: format!("{runs}/{file}"),
            to: format!("{runs}/attempts/{number}/{file}"),
        };
        Ok(RUN_FILES.into_iter().map(aside).collect())
    }
}

/// Clears away what lies there before a run begins: it must not be judged by what others left.
pub(super) fn clear(id: &TaskId, attempt: u32, event: EventId) -> Vec<Op> {
    let runs = run_folder(id);
    let beat = "run_heartbeat.json";
    vec![
        salvage(id, "run_result.json", None, event),
        Op::Move {
            from: format!("{runs}/{beat}"),
            to: format!("{runs}/attempts/{attempt}/before/{beat}"),
        },
    ]
}

/// Writes down a sign of life of a run that goes on.
pub(super) fn beaten(task: &Task, fence: u64, at: Time, expires_at: Time) -> Option<Op> {
    let lease = task.lease().filter(|lease| lease.fence == fence)?;
    let beat = HeartbeatWire::new(&task.id, &lease.agent, at, lease.renew_count, expires_at);
    Some(put(format!("{}/run_heartbeat.json", run_folder(&task.id)), &beat))
}

/// Keeps something that cannot count: what is given, or else the file of that name.
pub(super) fn salvage(id: &TaskId, file: &str, text: Option<&str>, event: EventId) -> Op {
    let runs = run_folder(id);
    let path = format!("{runs}/salvage/{event}-{file}");
    match text {
        Some(text) => Op::Put { path, text: text.to_owned() },
        None => Op::Move { from: format!("{runs}/{file}"), to: path },
    }
}

/// Puts a report away that counts after all.
pub(super) fn settle_salvage(id: &TaskId, file: &str) -> Op {
    let salvage = format!("{}/salvage", run_folder(id));
    Op::Move { from: format!("{salvage}/{file}"), to: format!("{salvage}/applied/{file}") }
}
