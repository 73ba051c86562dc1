//! Looks at the workspace of a run that says it is done, where its task forbids something or wants
//! something to be there.
//!
//! It is done by whoever brings the report, before the engine is asked: git takes its time, and
//! nobody else should wait for it.

use std::path::PathBuf;

use adjutant_core::aof::{Incoming, Message};
use adjutant_core::completion::Outcome;
use adjutant_core::constraints::{Constraints, WorkspaceFacts};
use adjutant_core::dialect::{Document, meaning, read};
use adjutant_core::foreign::Foreign;
use adjutant_core::policy::OnExitOk;
use adjutant_core::{NodeId, Task, TaskId, World};
use adjutant_store::document::companion;
use adjutant_store::yaml;

use crate::engine::Request;
use crate::story::desk::Home;
use crate::workspace::{self, Baseline, Seen};

/// Whoever looks.
#[derive(Debug, Clone)]
pub struct Eyes {
    /// The data folder.
    root: PathBuf,
    /// The folder that holds it.
    home: PathBuf,
    /// The node of a fleet this is.
    node: Option<NodeId>,
}

/// What is to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    attempt: PathBuf,
    own: PathBuf,
    constraints: bool,
    outputs: Vec<String>,
}

/// A report that says that the work is done, or an end that may say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// A report.
    Said {
        /// What it calls the task.
        id: String,
        /// The number of the run it came by, if it says so.
        attempt: Option<u32>,
    },
    /// The end of a run that did not report.
    Silent {
        /// Its task.
        task: TaskId,
        /// Its fence.
        fence: u64,
    },
}

impl Claim {
    /// Reads whether a request says that work is done.
    pub fn of(request: &Request) -> Option<Self> {
        let (raw, attempt): (&[u8], _) = match request {
            Request::Message(raw) | Request::Inside { raw, .. } | Request::FromRun { raw, .. } => {
                (raw, None)
            }
            Request::Line { text, attempt, .. } => (text.as_bytes(), Some(*attempt)),
            Request::RunExited { task, fence, .. } => {
                return Some(Self::Silent { task: task.clone(), fence: *fence });
            }
            Request::Keyed { of, .. } => return Self::of(of),
            Request::Seen { .. }
            | Request::Refused(_)
            | Request::Notified { .. }
            | Request::SessionEnd(_)
            | Request::Beat { .. }
            | Request::WorkChecked { .. }
            | Request::WorkMerged { .. }
            | Request::WorkSaved { .. }
            | Request::LifeSign { .. }
            | Request::PermissionAsked { .. }
            | Request::Tick { .. }
            | Request::Stories { .. }
            | Request::Command { .. } => return None,
        };
        let id = match read(raw, &yaml::read) {
            Incoming::Message(envelope) => match &envelope.message {
                Message::Completion(said) if said.outcome == Outcome::Done => {
                    envelope.task.to_string()
                }
                _ => return None,
            },
            Incoming::Document(sent) if is_done(&sent.document) => {
                sent.document.foreign_id().to_owned()
            }
            _ => return None,
        };
        Some(Self::Said { id, attempt })
    }
}

fn is_done(document: &Document) -> bool {
    let status = match document {
        Document::Result(result) => result.status.as_str(),
        Document::AttemptCompletion(attempt) => attempt.result.as_str(),
        Document::Mission(_) | Document::NewTask(_) => return false,
    };
    meaning(document.kind().dialect(), status).is_some_and(|row| row.outcome == Outcome::Done)
}

/// Says whether somebody must look at the workspace of a task's runs, and how closely.
pub fn need(task: &Task) -> Need {
    let foreign = task.foreign.as_deref();
    let constrained = foreign.and_then(Foreign::constraints).is_some_and(is_constraint);
    let expects = foreign.is_some_and(|foreign| !foreign.expected_outputs().is_empty());
    match (constrained, expects) {
        (true, _) => Need::Everything,
        (false, true) => Need::Outputs,
        (false, false) => Need::Nothing,
    }
}

/// What of a workspace somebody must look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// Whether what is expected is there.
    Outputs,
    /// That, and what has changed.
    Everything,
}

fn is_constraint(constraints: &Constraints) -> bool {
    constraints.max_files.is_some()
        || constraints.no_git_commit == Some(true)
        || constraints.no_new_deps == Some(true)
}

impl Eyes {
    /// Looks at the runs of a data folder. `home` is the folder that holds it.
    pub fn new(root: PathBuf, home: PathBuf) -> Self {
        Self { root, home, node: None }
    }

    /// Looks as a node of a fleet.
    #[must_use]
    pub fn on(mut self, node: Option<NodeId>) -> Self {
        self.node = node;
        self
    }

    /// Returns the project whose stories are here.
    pub fn home(&self) -> Home<'_> {
        Home { path: &self.home, node: self.node.as_ref() }
    }

    /// Adds to a request what is seen in the workspace of its run, if that is asked for. `sight` is
    /// called for what the world says of its task.
    pub fn inform(&self, request: Request, sight: impl FnOnce(Claim) -> Option<Sight>) -> Request {
        if let Request::Keyed { key, digest, of } = request {
            return Request::Keyed { key, digest, of: Box::new(self.inform(*of, sight)) };
        }
        match Claim::of(&request).and_then(sight) {
            Some(sight) => Request::Seen { workspace: self.look(&sight), of: Box::new(request) },
            None => request,
        }
    }

    /// Says what is to be looked at for a claim. For a task that no run was ever given there is
    /// nothing to compare with.
    pub fn sight(&self, claim: &Claim, world: &World) -> Option<Sight> {
        let (id, attempt) = match claim {
            Claim::Said { id, attempt } => (world.resolve(id)?, *attempt),
            Claim::Silent { task, fence } => (task.clone(), self.silent(task, *fence, world)),
        };
        let task = world.task(&id)?;
        let need = need(task);
        let attempt = match claim {
            Claim::Said { .. } => attempt.or_else(|| last_attempt(task))?,
            Claim::Silent { .. } => attempt?,
        };
        if need == Need::Nothing {
            return None;
        }
        let expected = task.foreign.as_deref().map(Foreign::expected_outputs).unwrap_or_default();
        Some(Sight {
            attempt: self.attempt(&id, attempt),
            own: self.root.join(companion(task.status(), &id)),
            constraints: need == Need::Everything,
            outputs: expected.into_iter().map(str::to_owned).collect(),
        })
    }

    /// Returns the number of a run that did not report, if its end may say that the work is done:
    /// by its configuration, or by a result that lies there.
    fn silent(&self, id: &TaskId, fence: u64, world: &World) -> Option<u32> {
        let task = world.task(id)?;
        let lease = task.lease().filter(|lease| lease.fence == fence)?;
        let agent = world.policy().worker(task);
        let means_done = agent.is_some_and(|agent| agent.on_exit_ok == OnExitOk::Done);
        let left = self.root.join("runs").join(id.as_str()).join("run_result.json");
        (means_done || left.exists()).then_some(lease.attempt)
    }

    fn attempt(&self, task: &TaskId, attempt: u32) -> PathBuf {
        self.root.join("runs").join(task.as_str()).join("attempts").join(attempt.to_string())
    }

    fn look(&self, sight: &Sight) -> WorkspaceFacts {
        let place = Baseline::load(&sight.attempt).map(|baseline| baseline.workspace());
        let place = place.unwrap_or_else(|_| self.home.clone());
        let missing = sight.outputs.iter().filter(|path| {
            !workspace::is_there(&place, path) && !workspace::is_there(&sight.own, path)
        });
        let outputs_missing = missing.cloned().collect();
        let none = WorkspaceFacts { outputs_missing, ..WorkspaceFacts::default() };
        if !sight.constraints {
            return none;
        }
        match workspace::look(&sight.attempt) {
            Ok(seen) => WorkspaceFacts { outputs_missing: none.outputs_missing, ..facts(&seen) },
            Err(unseen) => WorkspaceFacts { unchecked: Some(unseen.to_string()), ..none },
        }
    }
}

fn facts(seen: &Seen) -> WorkspaceFacts {
    WorkspaceFacts {
        files_changed: seen.changed.iter().map(|changed| changed.path.clone()).collect(),
        commits: seen.commits,
        manifests_changed: seen.manifests().map(str::to_owned).collect(),
        ..WorkspaceFacts::default()
    }
}

fn last_attempt(task: &Task) -> Option<u32> {
    let leased = task.lease().map(|lease| lease.attempt);
    leased.or_else(|| task.last_run.as_ref().map(|run| run.attempt))
}
