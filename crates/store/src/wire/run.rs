//! The papers of runs and handoffs, with the fields and the order of the protocol.

use adjutant_core::completion::{Completion, HANDOFF_REF, Outcome, RunResult, TestReport};
use adjutant_core::handoff::Handoff;
use adjutant_core::path::RelPath;
use adjutant_core::{AgentId, Stamp, TaskId, Time};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{BadWire, bad};

/// What `run_result.json` holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunResultWire {
    task_id: String,
    agent_id: String,
    completed_at: String,
    outcome: String,
    summary_ref: String,
    handoff_ref: String,
    deliverables: Vec<String>,
    tests: TestsWire,
    blockers: Vec<String>,
    notes: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct TestsWire {
    total: u64,
    passed: u64,
    failed: u64,
}

/// What `inputs/handoff.json` holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HandoffWire {
    task_id: String,
    parent_task_id: String,
    from_agent: String,
    to_agent: String,
    acceptance_criteria: Vec<String>,
    expected_outputs: Vec<String>,
    context_refs: Vec<String>,
    constraints: Vec<String>,
    due_by: String,
}

/// What `run.json` holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunWire {
    task_id: String,
    agent_id: String,
    started_at: String,
    status: &'static str,
    artifact_paths: PathsWire,
    metadata: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct PathsWire {
    inputs: &'static str,
    work: &'static str,
    output: &'static str,
}

/// What `run_heartbeat.json` holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatWire {
    task_id: String,
    agent_id: String,
    last_heartbeat: String,
    beat_count: u32,
    expires_at: String,
}

impl RunWire {
    /// Describes a run that begins.
    pub fn started(task: &TaskId, agent: &AgentId, at: Time) -> Self {
        Self {
            task_id: task.to_string(),
            agent_id: agent.to_string(),
            started_at: at.to_string(),
            status: "running",
            artifact_paths: PathsWire { inputs: "inputs/", work: "work/", output: "output/" },
            metadata: Map::new(),
        }
    }
}

impl HeartbeatWire {
    /// Describes a sign of life.
    pub fn new(task: &TaskId, agent: &AgentId, at: Time, beats: u32, expires_at: Time) -> Self {
        Self {
            task_id: task.to_string(),
            agent_id: agent.to_string(),
            last_heartbeat: at.to_string(),
            beat_count: beats,
            expires_at: expires_at.to_string(),
        }
    }

    /// Reads until when a heartbeat counts, whoever wrote it; none if it does not say.
    pub fn expires_at(text: &str) -> Option<Time> {
        let value: Value = serde_json::from_str(text).ok()?;
        Time::parse(value.get("expiresAt")?.as_str()?).ok()
    }
}

/// Returns a `run.json`, whoever wrote it, with the run marked as failed and expired; none if it
/// cannot be read.
pub fn mark_failed(text: &str, at: Time, reason: &str) -> Option<Value> {
    let mut run: Value = serde_json::from_str(text).ok()?;
    let fields = run.as_object_mut()?;
    fields.insert("status".into(), "failed".into());
    let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    metadata["expiredAt"] = at.to_string().into();
    metadata["expiredReason"] = reason.into();
    Some(run)
}

impl From<&RunResult> for RunResultWire {
    fn from(result: &RunResult) -> Self {
        let completion = &result.completion;
        let TestReport { total, passed, failed } = completion.tests;
        Self {
            task_id: result.task.to_string(),
            agent_id: result.agent.to_string(),
            completed_at: result.completed_at.to_string(),
            outcome: completion.outcome.to_string(),
            summary_ref: completion.summary_ref.to_string(),
            handoff_ref: HANDOFF_REF.to_owned(),
            deliverables: texts(&completion.deliverables),
            tests: TestsWire { total, passed, failed },
            blockers: completion.blockers.clone(),
            notes: completion.notes.clone(),
        }
    }
}

impl TryFrom<RunResultWire> for RunResult {
    type Error = BadWire;

    fn try_from(wire: RunResultWire) -> Result<Self, BadWire> {
        let TestsWire { total, passed, failed } = wire.tests;
        Ok(Self {
            task: TaskId::parse(&wire.task_id).map_err(|_| bad("taskId")())?,
            agent: AgentId::parse(&wire.agent_id).map_err(|_| bad("agentId")())?,
            completed_at: Stamp::parse(&wire.completed_at).map_err(|_| bad("completedAt")())?,
            completion: Completion {
                outcome: Outcome::parse(&wire.outcome).ok_or_else(bad("outcome"))?,
                summary_ref: RelPath::parse(&wire.summary_ref).map_err(|_| bad("summaryRef")())?,
                deliverables: paths(&wire.deliverables, "deliverables")?,
                tests: TestReport { total, passed, failed },
                blockers: wire.blockers,
                notes: wire.notes,
            },
        })
    }
}

impl From<&Handoff> for HandoffWire {
    fn from(handoff: &Handoff) -> Self {
        Self {
            task_id: handoff.task.to_string(),
            parent_task_id: handoff.parent.to_string(),
            from_agent: handoff.from.to_string(),
            to_agent: handoff.to.to_string(),
            acceptance_criteria: handoff.acceptance_criteria.clone(),
            expected_outputs: texts(&handoff.expected_outputs),
            context_refs: texts(&handoff.context_refs),
            constraints: handoff.constraints.clone(),
            due_by: handoff.due_by.to_string(),
        }
    }
}

impl TryFrom<HandoffWire> for Handoff {
    type Error = BadWire;

    fn try_from(wire: HandoffWire) -> Result<Self, BadWire> {
        Ok(Self {
            task: TaskId::parse(&wire.task_id).map_err(|_| bad("taskId")())?,
            parent: TaskId::parse(&wire.parent_task_id).map_err(|_| bad("parentTaskId")())?,
            from: AgentId::parse(&wire.from_agent).map_err(|_| bad("fromAgent")())?,
            to: AgentId::parse(&wire.to_agent).map_err(|_| bad("toAgent")())?,
            acceptance_criteria: wire.acceptance_criteria,
            expected_outputs: paths(&wire.expected_outputs, "expectedOutputs")?,
            context_refs: paths(&wire.context_refs, "contextRefs")?,
            constraints: wire.constraints,
            due_by: Stamp::parse(&wire.due_by).map_err(|_| bad("dueBy")())?,
        })
    }
}

fn texts(paths: &[RelPath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

fn paths(texts: &[String], field: &'static str) -> Result<Vec<RelPath>, BadWire> {
    texts.iter().map(|text| RelPath::parse(text).map_err(|_| bad(field)())).collect()
}
