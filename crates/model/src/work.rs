//! The state of a task's work between its report and its end: the claim being verified, the
//! evidence, and the pending merge.

use serde::{Deserialize, Serialize};

use crate::completion::WorkOutcome;
use crate::encoding::lenient;
use crate::evidence::WorkEvidence;
use crate::merge_mode::MergeMode;

/// The state of the work on a task, stored in its front matter under `metadata.work`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskWork {
    /// The report of the last run, until its work is verified.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub claim: Option<WorkClaim>,
    /// The evidence in one line.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub evidence: Option<Box<str>>,
    /// Why the work is not on its branch; absent if it is. Such work cannot be approved.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub unsettled: Option<Box<str>>,
    /// The merge mode of the run's node when the work was claimed; absent if the claim has none.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub merge: Option<MergeMode>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub merging: Option<PendingMerge>,
    /// The last merge that was impossible, until the work is done again.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub refused: Option<RefusedMerge>,
    /// The protected files that the work changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<Box<str>>,
    /// The protected files whose change a person has allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Box<str>>,
}

/// The report of a run whose work is not verified yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkClaim {
    /// The attempt number of the run.
    pub attempt: u32,
    /// The fence of the run.
    pub fence: u64,
    pub outcome: WorkOutcome,
    /// The reason for the task's next move.
    pub reason: Box<str>,
}

/// A requested merge that is not finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PendingMerge {
    /// The reviewer's note.
    pub note: Box<str>,
    /// What the merge waits for; absent if it does not wait.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub waits: Option<Box<str>>,
}

/// A merge that was impossible.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedMerge {
    /// Why the merge was impossible.
    pub reason: Box<str>,
    /// The files in conflict; empty if there is another reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Box<str>>,
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MergeResult {
    /// The work is in its base.
    Done {
        base: String,
        /// The commit that the base points to now.
        commit: String,
        /// The evidence for the merged result.
        evidence: WorkEvidence,
    },
    /// The merge is impossible. The agent of the next run gets the reason.
    Refused {
        reason: String,
        /// The files in conflict.
        files: Vec<String>,
    },
    /// The merge is impossible until a person acts.
    Waits { reason: String },
}

impl TaskWork {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
