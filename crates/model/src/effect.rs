//! Effects: the actions outside the core that a decision requires after its commit.

use serde::{Deserialize, Serialize};

use crate::actor::AgentId;
use crate::event_id::EventId;
use crate::notice::OperatorNotice;
use crate::run_nonce::RunNonce;
use crate::task_id::TaskId;
use crate::text_value::word_enum;

/// An action outside the core, committed together with the events that require it. Performing an
/// effect twice is harmless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// Sends a notice to the target of a rule.
    Notify { rule: Box<str>, notice: Box<OperatorNotice> },
    /// Starts the agent of an assigned task. A run that was started is not started again.
    StartRun {
        #[serde(rename = "taskId")]
        task: TaskId,
        agent: AgentId,
        attempt: u32,
        fence: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nonce: Option<RunNonce>,
    },
    /// Ends a run with all its processes, and reports its exit.
    StopRun {
        #[serde(rename = "taskId")]
        task: TaskId,
        fence: u64,
        reason: StopReason,
    },
    /// Records that every message of a run up to `seq` was applied, so that none is applied twice.
    NoteTaken {
        #[serde(rename = "taskId")]
        task: TaskId,
        attempt: u32,
        /// The number of the message in the run.
        seq: u64,
    },
    /// Sends a run the answer to its permission request.
    TellRun {
        #[serde(rename = "taskId")]
        task: TaskId,
        attempt: u32,
        /// The number of the request in the run.
        number: u32,
        /// The id of the choice, as the agent named it; `None` if the request is rejected and the
        /// agent offered no choice for that.
        choice: Option<String>,
    },
    /// Verifies the work of a run that has ended: its changes and its checks.
    CheckWork {
        #[serde(rename = "taskId")]
        task: TaskId,
        attempt: u32,
        fence: u64,
    },
    /// Merges the work on a task into its base.
    MergeWork {
        #[serde(rename = "taskId")]
        task: TaskId,
        /// The run that did the work.
        attempt: u32,
    },
}

/// An effect that is to be performed once, even if that takes several tries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingEffect {
    #[serde(flatten)]
    pub id: EffectId,
    pub effect: Effect,
}

/// The id of an effect: the last event of the decision that requires it, and the effect's place
/// among the effects of that decision, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EffectId {
    pub event: EventId,
    pub place: u32,
}

word_enum! {
    #[strum(serialize_all = "snake_case")]
    pub enum StopReason {
        /// The run has reported. It gets time to exit by itself first.
        Reported,
        Cancelled,
        /// A person moved or removed the task.
        Moved,
        /// The run no longer holds the task's lease.
        LeaseLost,
    }
}

impl std::fmt::Display for EffectId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.event, self.place)
    }
}
