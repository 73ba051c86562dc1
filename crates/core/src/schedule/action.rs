//! What one tick does, as a list that can be shown before it is done.

use crate::completion::Outcome;
use crate::id::TaskId;
use crate::name::AgentId;
use crate::node::NodeId;
use crate::time::Time;

/// One thing a tick does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The heartbeat of a run is too old: its task goes where the result it left leads, or back.
    StaleHeartbeat {
        /// The task.
        task: TaskId,
        /// What becomes of it.
        recovery: Recovery,
    },
    /// A lease is over, and there is no sign of life at all.
    ExpireLease {
        /// The task.
        task: TaskId,
        /// What becomes of it.
        recovery: Recovery,
    },
    /// The process of a run is gone.
    RunLost {
        /// The task.
        task: TaskId,
        /// What becomes of it.
        recovery: Recovery,
    },
    /// A run that had reported is gone, and its slot is free.
    RunOver {
        /// The task.
        task: TaskId,
        /// The fence of the run.
        fence: u64,
    },
    /// A run lives, and its lease is renewed.
    RenewLease {
        /// The task.
        task: TaskId,
        /// The fence of the lease.
        fence: u64,
        /// Until when.
        expires_at: Time,
    },
    /// A dependency was given up: who waits for it is held back.
    Block {
        /// The task.
        task: TaskId,
        /// What it waits for in vain.
        dependency: TaskId,
    },
    /// What the scheduler held back can go on.
    Unblock {
        /// The task.
        task: TaskId,
    },
    /// A task is given to an agent.
    Assign {
        /// The task.
        task: TaskId,
        /// Who gets it.
        agent: AgentId,
        /// The node of a fleet that is to start it.
        node: Option<NodeId>,
        /// The number of the run.
        attempt: u32,
        /// The fence of its lease.
        fence: u64,
    },
}

/// What becomes of a task whose run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// It left a result.
    Result(Outcome),
    /// It left none, and is tried again.
    Reclaim,
    /// It left none, once too often.
    Deadletter,
}

impl Action {
    /// Returns the type as `tick` prints it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::StaleHeartbeat { .. } => "stale_heartbeat",
            Self::ExpireLease { .. } => "expire_lease",
            Self::RunLost { .. } => "run_lost",
            Self::RunOver { .. } => "run_over",
            Self::RenewLease { .. } => "renew_lease",
            Self::Block { .. } => "block",
            Self::Unblock { .. } => "unblock",
            Self::Assign { .. } => "assign",
        }
    }

    /// Returns the task it is about.
    pub const fn task(&self) -> &TaskId {
        match self {
            Self::StaleHeartbeat { task, .. }
            | Self::ExpireLease { task, .. }
            | Self::RunLost { task, .. }
            | Self::RunOver { task, .. }
            | Self::RenewLease { task, .. }
            | Self::Block { task, .. }
            | Self::Unblock { task }
            | Self::Assign { task, .. } => task,
        }
    }

    /// Says whether it is counted as executed: clearing up after a stale heartbeat is not.
    pub const fn is_counted(&self) -> bool {
        !matches!(self, Self::StaleHeartbeat { .. })
    }
}
