//! What the outside is asked to do after a commit.

use crate::id::TaskId;
use crate::status::Status;

/// Something owed to the outside, committed together with the events that owe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Tells people that a task has come to a status they wait for.
    Notify {
        /// The task.
        task: TaskId,
        /// Where it has come to.
        to: Status,
        /// Why.
        reason: String,
    },
}

/// Says whether people are told when a task comes to this status.
pub fn is_notified(to: Status) -> bool {
    matches!(to, Status::Review | Status::Blocked | Status::Done | Status::Deadletter)
}
