//! What is known of a task's work between the report and the end: the claim that is being looked
//! into, what was found, and the merge that is under way.

use crate::completion::Outcome;
use crate::evidence::Evidence;
use crate::policy::Merge;

/// What is noted about the work on a task, kept in its front matter under `metadata.work`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Work {
    /// What its run said, while it is being looked into.
    pub claim: Option<Claim>,
    /// What was found out about it, in a line.
    pub evidence: Option<Box<str>>,
    /// What approving it does, by what its node said when the work was claimed; none if nobody did.
    pub merge: Option<Merge>,
    /// The merge that is under way.
    pub merging: Option<Merging>,
}

/// What a run said came of its work, and nobody has looked into yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The number of the run.
    pub attempt: u32,
    /// Its fence.
    pub fence: u64,
    /// What it said.
    pub outcome: Outcome,
    /// Why its task is to move.
    pub reason: Box<str>,
}

/// A merge that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merging {
    /// What whoever approved the work said.
    pub note: Box<str>,
    /// What it waits for, if it does.
    pub waits: Option<Box<str>>,
}

/// What came of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// The work is in its base.
    Done {
        /// The base.
        base: String,
        /// What the base points to now.
        commit: String,
        /// What was found out about the result.
        evidence: Evidence,
    },
    /// It cannot be, and why; whoever works on the task next is told.
    Refused {
        /// Why.
        reason: String,
        /// The files that are in conflict.
        files: Vec<String>,
    },
    /// It cannot be now, and why: a person has to do something first.
    Waits {
        /// Why.
        reason: String,
    },
}

impl Work {
    /// Says whether there is nothing to note.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
