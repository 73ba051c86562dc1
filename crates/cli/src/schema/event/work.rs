//! What the events about work say.

use schemars::JsonSchema;

use crate::schema::word::OutcomeWord;

/// What a run said.
#[derive(JsonSchema)]
pub(super) struct WorkClaimed {
    /// The number of the run.
    attempt: u32,
    /// The fence of its lease.
    fence: u64,
    /// What came of the work.
    outcome: OutcomeWord,
    /// Why its task is to move.
    reason: String,
    /// What approving the work does; absent in older records.
    merge: Option<MergeWord>,
}

/// How work is merged.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "it is only described")]
pub(super) enum MergeWord {
    /// Nothing: the branch stays, or there is none.
    None,
    /// The base moves on to the branch.
    Ff,
    /// The work becomes one commit on the base.
    Squash,
    /// The commits of the work are made anew on the base.
    Rebase,
}

/// What was found out about what a run said.
#[derive(JsonSchema)]
pub(super) struct WorkChecked {
    /// The number of the run.
    attempt: u32,
    /// The fence of its lease.
    fence: u64,
    #[serde(flatten)]
    evidence: EvidenceFields,
}

/// What was found out about work.
#[derive(JsonSchema)]
pub(super) struct EvidenceFields {
    /// The branch the work is on; absent if the run had none of its own.
    branch: Option<String>,
    /// The branch it is for.
    base: Option<String>,
    /// The commit the checks ran on; absent where there is none.
    commit: Option<String>,
    /// Set if anything lay in the workspace that is not in that commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dirty: bool,
    /// How much was changed.
    changes: Option<Changes>,
    /// The checks, in the order they ran. After one that fails no other is run.
    checks: Vec<Check>,
    /// Why something could not be found out.
    flaw: Option<String>,
}

/// How much was changed.
#[derive(JsonSchema)]
pub(super) struct Changes {
    /// How many files.
    files: u64,
    /// How many lines were added.
    insertions: u64,
    /// How many lines were taken away.
    deletions: u64,
}

/// A command that was run to see whether work is what it is said to be.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Check {
    /// The command.
    command: String,
    /// How it ended.
    #[schemars(regex(pattern = "^(code:-?[0-9]+|signal:-?[0-9]+|timed_out|not_started:.*)$"))]
    exit: String,
    /// How long it took, in milliseconds.
    duration_ms: u64,
    /// The last lines it printed.
    tail: String,
    /// The file with all it printed, in the folder of the attempt.
    log: String,
}

/// Work that lay uncommitted.
#[derive(JsonSchema)]
pub(super) struct WorkSaved {
    /// The reference that holds it.
    r#ref: String,
    /// The commit it is.
    commit: String,
}

/// A merge that was asked for.
#[derive(JsonSchema)]
pub(super) struct MergeRequested {
    /// What whoever approved the work said.
    note: String,
}

/// A merge that waits.
#[derive(JsonSchema)]
pub(super) struct MergeWaiting {
    /// What it waits for.
    reason: String,
}

/// A merge that cannot be made.
#[derive(JsonSchema)]
pub(super) struct MergeRefused {
    /// Why.
    reason: String,
    /// The files that are in conflict.
    files: Vec<String>,
}

/// Work that is in its base.
#[derive(JsonSchema)]
pub(super) struct WorkMerged {
    /// The base.
    base: String,
    /// What it points to now.
    commit: String,
    /// What was found out about the result.
    evidence: EvidenceFields,
}
