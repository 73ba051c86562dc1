//! Adds to a request what the project's files say: the workspace of a run that reports completion,
//! and the positions of stories.
//!
//! The caller that brings a request does this before it asks the engine: git and the story files
//! are slow, and no other caller should wait for them. How the files are read is passed in.

use std::path::PathBuf;
use std::sync::Arc;

use adjutant_core::World;
use adjutant_core::protocols::aof::{AofMessage, IncomingText};
use adjutant_model::command::CommandCaller;
use adjutant_model::completion::WorkOutcome;
use adjutant_model::constraints::{RunConstraints, WorkspaceFacts};
use adjutant_model::dialect::find_mapping;
use adjutant_model::document::ProtocolDocument;
use adjutant_model::policy::OnExitOk;
use adjutant_model::request::{MessageOrigin, Request, StoryFacts};
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::{Command, Task, TaskId};
use adjutant_store::document_paths::companion_folder;

use crate::story_requests::{StoryTask, is_story_decision};

/// Reads the files of a project that requests are about.
pub trait ProjectFiles: Send + Sync {
    /// Compares a workspace with its baseline, and looks for the expected outputs.
    fn inspect_workspace(&self, plan: &InspectionPlan) -> WorkspaceFacts;

    /// Returns the positions of the project's stories.
    fn story_facts(&self) -> Vec<StoryFacts>;

    /// Applies an operator's decision about a story to its files. Returns false if they refuse it.
    fn apply_story_decision(&self, task: &StoryTask, command: &Command) -> bool;
}

/// Adds facts from files to requests.
#[derive(Clone)]
pub struct RequestInspector {
    /// The data folder.
    root: PathBuf,
    files: Arc<dyn ProjectFiles>,
}

/// Which paths of a run to inspect, and how closely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectionPlan {
    /// The folder of the attempt, which has the baseline.
    pub attempt: PathBuf,
    /// The companion folder of the task.
    pub companion: PathBuf,
    pub checks_constraints: bool,
    /// The paths of the expected outputs.
    pub outputs: Vec<String>,
}

/// A report that the work is done, or the end of a run that may count as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionClaim {
    Reported {
        /// The task, as the report names it.
        id: String,
        /// The attempt that reported, if known.
        attempt: Option<u32>,
    },
    /// The end of a run that did not report.
    ExitedSilently { task: TaskId, fence: u64 },
}

impl CompletionClaim {
    /// Returns the claim a request makes, or None if it does not say that work is done.
    pub fn from_request(request: &Request, incoming: &IncomingText) -> Option<Self> {
        let attempt = match request {
            Request::RunExited { task, fence, .. } => {
                return Some(Self::ExitedSilently { task: task.clone(), fence: *fence });
            }
            Request::Message { origin: MessageOrigin::RunOutput { attempt, .. }, .. } => {
                Some(*attempt)
            }
            _ => None,
        };
        let id = match incoming {
            IncomingText::Message(envelope) => match &envelope.message {
                AofMessage::Completion(report) if report.outcome == WorkOutcome::Done => {
                    envelope.task.to_string()
                }
                _ => return None,
            },
            IncomingText::Document(received) if is_done(&received.document) => {
                received.document.external_task_id().to_owned()
            }
            _ => return None,
        };
        Some(Self::Reported { id, attempt })
    }
}

fn is_done(document: &ProtocolDocument) -> bool {
    let status = match document {
        ProtocolDocument::Result(result) => result.status.as_str(),
        ProtocolDocument::AttemptCompletion(attempt) => attempt.result.as_str(),
        ProtocolDocument::Mission(_) | ProtocolDocument::NewTask(_) => return false,
    };
    find_mapping(document.kind().dialect(), status)
        .is_some_and(|row| row.outcome == WorkOutcome::Done)
}

/// Returns how closely to inspect the workspace of a task's runs.
pub fn inspection_scope(task: &Task) -> InspectionScope {
    let foreign = task.origin.as_deref();
    let constrained = foreign.and_then(TaskOrigin::constraints).is_some_and(is_constraint);
    let expects = foreign.is_some_and(|foreign| !foreign.expected_outputs().is_empty());
    match (constrained, expects) {
        (true, _) => InspectionScope::Everything,
        (false, true) => InspectionScope::Outputs,
        (false, false) => InspectionScope::Nothing,
    }
}

/// How much of a workspace to inspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InspectionScope {
    Nothing,
    /// Whether the expected outputs exist.
    Outputs,
    /// The expected outputs, and which files changed.
    Everything,
}

fn is_constraint(constraints: &RunConstraints) -> bool {
    constraints.max_files.is_some()
        || constraints.no_git_commit == Some(true)
        || constraints.no_new_deps == Some(true)
}

impl RequestInspector {
    /// Inspects requests about the data folder `root`.
    pub fn new(root: PathBuf, files: Arc<dyn ProjectFiles>) -> Self {
        Self { root, files }
    }

    /// Adds the positions from the story files to a request that needs them. A decision about a
    /// story is applied to its files first; `find` returns the task's story.
    pub fn attach_story_facts(
        &self,
        request: Request,
        find: impl FnOnce(&TaskId) -> Option<StoryTask>,
    ) -> Request {
        match request {
            // The daemon's reconciler has read the files; any other caller leaves that to this node.
            Request::Stories { by, told, facts } if facts.is_empty() => {
                Request::Stories { by, told, facts: self.files.story_facts() }
            }
            Request::Command { by: CommandCaller::Operator(by), command } => {
                let task = command.task().filter(|_| is_story_decision(&command)).and_then(find);
                if task.is_some_and(|task| self.files.apply_story_decision(&task, &command)) {
                    let told = command.task().cloned();
                    return Request::Stories { by, told, facts: self.files.story_facts() };
                }
                // The engine refuses the command with a reason and records that in the event log.
                Request::Command { by: CommandCaller::Operator(by), command }
            }
            other => other,
        }
    }

    /// Compares a workspace with its baseline.
    pub fn inspect_workspace(&self, plan: &InspectionPlan) -> WorkspaceFacts {
        self.files.inspect_workspace(plan)
    }

    /// Returns what to inspect for a claim. Returns None for a task that never had a run: there is
    /// no baseline to compare with.
    pub fn plan_inspection(
        &self,
        claim: &CompletionClaim,
        world: &World,
    ) -> Option<InspectionPlan> {
        let (id, attempt) = match claim {
            CompletionClaim::Reported { id, attempt } => (world.resolve(id)?, *attempt),
            CompletionClaim::ExitedSilently { task, fence } => {
                (task.clone(), self.silent_attempt(task, *fence, world))
            }
        };
        let task = world.task(&id)?;
        let need = inspection_scope(task);
        let attempt = match claim {
            CompletionClaim::Reported { .. } => attempt.or_else(|| last_attempt(task))?,
            CompletionClaim::ExitedSilently { .. } => attempt?,
        };
        if need == InspectionScope::Nothing {
            return None;
        }
        let expected = task.origin.as_deref().map(TaskOrigin::expected_outputs).unwrap_or_default();
        Some(InspectionPlan {
            attempt: self.attempt_folder(&id, attempt),
            companion: self.root.join(companion_folder(task.status(), &id)),
            checks_constraints: need == InspectionScope::Everything,
            outputs: expected.into_iter().map(str::to_owned).collect(),
        })
    }

    /// Returns the attempt of a run that did not report, if its end may count as done: by the
    /// agent's configuration, or because it left a result.
    fn silent_attempt(&self, id: &TaskId, fence: u64, world: &World) -> Option<u32> {
        let task = world.task(id)?;
        let lease = task.lease().filter(|lease| lease.fence == fence)?;
        let agent = world.policy().worker(task);
        let means_done = agent.is_some_and(|agent| agent.on_exit_ok == OnExitOk::Done);
        let left = self.root.join("runs").join(id.as_str()).join("run_result.json");
        (means_done || left.exists()).then_some(lease.attempt)
    }

    fn attempt_folder(&self, task: &TaskId, attempt: u32) -> PathBuf {
        self.root.join("runs").join(task.as_str()).join("attempts").join(attempt.to_string())
    }
}

fn last_attempt(task: &Task) -> Option<u32> {
    let leased = task.lease().map(|lease| lease.attempt);
    leased.or_else(|| task.last_run.as_ref().map(|run| run.attempt))
}
