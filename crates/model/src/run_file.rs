//! The files of a run that the AOF protocol defines: `run.json` and `run_heartbeat.json`.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::actor::AgentId;
use crate::sandbox_level::SandboxLevel;
use crate::task_id::TaskId;
use crate::time::Time;

/// The content of `run.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFile {
    task_id: TaskId,
    agent_id: AgentId,
    started_at: Time,
    status: &'static str,
    artifact_paths: ArtifactPaths,
    metadata: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct ArtifactPaths {
    inputs: &'static str,
    work: &'static str,
    output: &'static str,
}

/// The content of `run_heartbeat.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatFile {
    pub task_id: TaskId,
    pub agent_id: AgentId,
    pub last_heartbeat: Time,
    pub beat_count: u32,
    pub expires_at: Time,
}

impl RunFile {
    pub fn started(
        task_id: &TaskId,
        agent_id: &AgentId,
        started_at: Time,
        sandbox: SandboxLevel,
    ) -> Self {
        let sandbox = Some(sandbox).filter(|level| !level.is_none());
        let sandbox = sandbox.map(|level| ("sandbox".to_owned(), level.to_string().into()));
        Self {
            task_id: task_id.clone(),
            agent_id: agent_id.clone(),
            started_at,
            status: "running",
            artifact_paths: ArtifactPaths { inputs: "inputs/", work: "work/", output: "output/" },
            metadata: sandbox.into_iter().collect(),
        }
    }

    /// Returns a `run.json`, which any program may have written, with the run marked as failed and
    /// expired; `None` if the text is not a JSON object.
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
}

impl HeartbeatFile {
    /// Reads the expiry of a heartbeat that any program may have written; `None` if it has none.
    pub fn read_expiry(text: &str) -> Option<Time> {
        let value: Value = serde_json::from_str(text).ok()?;
        Time::parse(value.get("expiresAt")?.as_str()?).ok()
    }
}
