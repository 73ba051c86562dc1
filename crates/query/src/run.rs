//! The runs of a task that were started on this machine, from their folders.

use std::path::{Path, PathBuf};

use adjutant_git::worktree::Worktrees;
use adjutant_model::TaskId;
use adjutant_model::evidence::WorkEvidence;
use adjutant_run_files::attempt_files::{AttemptFolder, EVIDENCE_FILE, ProcessExit};
use adjutant_runs::supervisor::{LocalRunState, local_run_state};
use serde::Serialize;

use crate::task::read_regular_file;

/// A run that was started on this machine.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Run"))]
pub struct RunView {
    pub attempt: u32,
    pub agent: String,
    pub fence: u64,
    pub state: RunViewState,
    pub started_at: String,
    pub ended_at: Option<String>,
    /// How the process ended.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub exit: Option<ProcessExit>,
    /// The last lines of the output.
    pub tail: Option<String>,
}

/// The state of a run: it is `lost` if the shim died without recording the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
pub enum RunViewState {
    Running,
    Over,
    Lost,
}

/// Returns the runs of a task that were started on this machine, by attempt.
pub fn read_runs(root: &Path, id: &TaskId) -> Vec<RunView> {
    let attempts = attempts_folder(root, id);
    let mut numbers = attempt_numbers(root, id);
    numbers.sort_unstable();
    let read = |n: u32| RunView::read(&AttemptFolder::new(&attempts.join(n.to_string())));
    numbers.into_iter().filter_map(read).collect()
}

/// Returns the folder of the attempts of a task.
pub(crate) fn attempts_folder(root: &Path, id: &TaskId) -> PathBuf {
    root.join("runs").join(id.as_str()).join("attempts")
}

/// Returns the numbers of the attempts that have a folder here, in any order.
pub(crate) fn attempt_numbers(root: &Path, id: &TaskId) -> Vec<u32> {
    let entries = std::fs::read_dir(attempts_folder(root, id)).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the evidence of the latest attempt that has any.
pub fn read_evidence(root: &Path, id: &TaskId) -> Option<WorkEvidence> {
    let attempts = attempts_folder(root, id);
    let read = |number: u32| {
        let text = read_regular_file(&attempts.join(number.to_string()).join(EVIDENCE_FILE))?;
        Some((number, serde_json::from_slice(&text).ok()?))
    };
    let found = attempt_numbers(root, id).into_iter().filter_map(read);
    found.max_by_key(|(number, _)| *number).map(|(_, evidence)| evidence)
}

/// Like [`read_evidence`], without the branch if it no longer exists: it is deleted after a merge.
pub fn read_current_evidence(
    root: &Path,
    id: &TaskId,
    worktrees: &Worktrees,
) -> Option<WorkEvidence> {
    let evidence = read_evidence(root, id)?;
    let branch = evidence.branch.clone().filter(|_| worktrees.has_branch(id));
    Some(WorkEvidence { branch, ..evidence })
}

impl RunView {
    fn read(folder: &AttemptFolder) -> Option<Self> {
        let record = folder.record().ok().flatten()?;
        let ended = folder.exit().ok().flatten();
        let state = match local_run_state(folder).unwrap_or(LocalRunState::Unknown) {
            LocalRunState::Alive => RunViewState::Running,
            LocalRunState::Over => RunViewState::Over,
            LocalRunState::Gone | LocalRunState::Unknown => RunViewState::Lost,
        };
        let (ended_at, exit, tail) = match ended {
            Some(ended) => (Some(ended.ended_at), Some(ended.exit), Some(ended.tail)),
            None => (None, None, None),
        };
        Some(Self {
            attempt: record.attempt,
            agent: record.agent,
            fence: record.fence,
            state,
            started_at: record.started_at,
            ended_at,
            exit,
            tail,
        })
    }
}
