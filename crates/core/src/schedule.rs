//! The scheduler: which agent gets which task next, and why the other tasks wait.
//!
//! Every decision is computed from the world and the tick's facts. The world updates the queue as
//! tasks change, so planning costs as much as the tasks that can start, not as all tasks.

mod action;
mod agent_availability;
mod backoff;
mod hold_reasons;
mod idle_summary;
mod inbox;
mod nodes;
mod plan;
mod run_actions;
mod shim_silence;
mod slots;

pub use action::{ScheduleAction, TaskRecovery};
pub use agent_availability::{
    UnavailableReason, agent_unavailable, exceeded_budget, remaining_run_budget, usage_on_day,
};
pub use hold_reasons::{TaskHold, hold_reasons, task_notes};
pub use idle_summary::{FinishedTask, HeldTask, IdleSummary};
pub use inbox::{
    AttentionItem, AttentionKind, InboxAction, approval_merges, inbox, pending_question,
    salvage_item,
};
pub use nodes::{
    NodeContact, RunKey, RunStartState, current_run, foreign_report, has_runs, is_awaiting_check,
    is_supervised_elsewhere, may_settle, node_for_effect, own_runs, runs_on,
};
pub use plan::{is_idle, next_wake_time, plan, tasks_to_inspect, waiting_tasks};
pub use shim_silence::{ShimAction, ShimFacts, ShimlessEnd, shim_action};

pub(crate) use agent_availability::{agent_unavailable_on_node, tasks_that_parked};
pub(crate) use backoff::backoff_until;
pub(crate) use hold_reasons::routing_warning;
pub(crate) use plan::next_task_for;
pub(crate) use run_actions::{is_renewal_due, recovery};
