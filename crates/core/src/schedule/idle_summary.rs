//! What a daemon did and what it leaves, when no task can run any more.

use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;

use super::hold_reasons::{TaskHold, hold_reasons};
use super::inbox::{AttentionItem, AttentionKind, inbox};
use crate::world::World;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleSummary {
    /// The tasks that were finished since the daemon started.
    pub done: Vec<FinishedTask>,
    /// What needs a person. A task that cannot run is only in `cannot_run`.
    pub waiting: Vec<AttentionItem>,
    /// The ready tasks that cannot run.
    pub cannot_run: Vec<HeldTask>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedTask {
    pub task: TaskId,
    pub title: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldTask {
    pub task: TaskId,
    pub title: String,
    /// The first reason why it does not run.
    pub hold: TaskHold,
}

impl IdleSummary {
    /// Summarizes the world for a daemon that started at `since` and is idle now.
    pub fn new(world: &World, since: Time, now: Time) -> Self {
        let is_new = |task: &&Task| task.last_transition_at >= since;
        let finished =
            |task: &Task| FinishedTask { task: task.id.clone(), title: task.title.to_string() };
        let held = |task: &Task| {
            let hold = hold_reasons(world, &task.id, now).into_iter().next()?;
            Some(HeldTask { task: task.id.clone(), title: task.title.to_string(), hold })
        };
        Self {
            done: world.with_status(Status::Done).filter(is_new).map(finished).collect(),
            waiting: inbox(world, now).into_iter().filter(|item| !is_held(world, item)).collect(),
            cannot_run: world.with_status(Status::Ready).filter_map(held).collect(),
        }
    }
}

/// Returns whether an inbox item is about a ready task that cannot run.
fn is_held(world: &World, item: &AttentionItem) -> bool {
    let is_ready = || world.task(&item.task).is_some_and(|task| task.status() == Status::Ready);
    match item.kind {
        AttentionKind::HeldBack
        | AttentionKind::Checks
        | AttentionKind::Merge
        | AttentionKind::Unusable
        | AttentionKind::OnHold
        | AttentionKind::Budget => is_ready(),
        AttentionKind::Review
        | AttentionKind::Question
        | AttentionKind::Permission
        | AttentionKind::Blocked
        | AttentionKind::Deadletter
        | AttentionKind::Salvage
        | AttentionKind::Network
        | AttentionKind::Unreadable => false,
    }
}
