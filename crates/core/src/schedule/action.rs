//! The actions of one scheduler tick, as a list that can be printed before it is applied.

use adjutant_model::actor::AgentId;
use adjutant_model::completion::WorkOutcome;
use adjutant_model::node_id::NodeId;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleAction {
    /// The heartbeat of a run is too old. A result that the run left decides where its task goes;
    /// without a result the task is reclaimed or dead-lettered.
    StaleHeartbeat {
        task: TaskId,
        recovery: TaskRecovery,
    },
    /// A lease has expired, and its run has no heartbeat.
    ExpireLease {
        task: TaskId,
        recovery: TaskRecovery,
    },
    /// The process of a run is gone.
    RunLost {
        task: TaskId,
        recovery: TaskRecovery,
    },
    /// A run that had already reported is gone, so its slot is free.
    RunOver {
        task: TaskId,
        fence: u64,
    },
    RenewLease {
        task: TaskId,
        fence: u64,
        expires_at: Time,
    },
    /// A dependency was cancelled or dead-lettered, so the task that needs it is blocked.
    Block {
        task: TaskId,
        dependency: TaskId,
    },
    /// The dependencies of a task that the scheduler had blocked are done.
    Unblock {
        task: TaskId,
    },
    Assign {
        task: TaskId,
        agent: AgentId,
        /// The fleet node that starts the run; `None` outside a fleet.
        node: Option<NodeId>,
        attempt: u32,
        fence: u64,
    },
}

/// Where a task goes when its run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskRecovery {
    /// The run left a result with this outcome.
    Result(WorkOutcome),
    /// The run left no result, and the task goes back to ready for another attempt.
    Reclaim,
    /// The run left no result, and the task has used all its attempts.
    Deadletter,
}

impl ScheduleAction {
    /// Returns the action's name as `tick` prints it.
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

    /// Returns whether `tick` counts the action as executed. Cleaning up after a stale heartbeat
    /// does not count.
    pub const fn is_counted(&self) -> bool {
        !matches!(self, Self::StaleHeartbeat { .. })
    }
}
