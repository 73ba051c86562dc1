//! `run_heartbeat.json`: the sign that a run is alive, for whoever reads files.

use std::path::PathBuf;

use adjutant_core::Time;
use serde_json::json;

use super::files::{Folder, Sync, now, replace};
use super::spec::Spec;

/// The name of the file in the folder of the task's runs.
const FILE: &str = "run_heartbeat.json";

/// Writes heartbeats.
pub(super) struct Heart {
    path: PathBuf,
    /// The folder of the next attempt. Once it is there, this run is none of anyone's business.
    next: PathBuf,
    count: u64,
}

impl Heart {
    pub(super) fn of(spec: &Spec, folder: &Folder) -> Self {
        let attempts = folder.path().parent().unwrap_or(folder.path());
        let run = attempts.parent().unwrap_or(attempts);
        let next = attempts.join((u64::from(spec.attempt) + 1).to_string());
        Self { path: run.join(FILE), next, count: 0 }
    }

    /// Beats once. One that cannot be written is left out: the next one may be.
    pub(super) fn beat(&mut self, spec: &Spec) {
        if self.next.exists() {
            return;
        }
        self.count += 1;
        let now = now();
        let ttl = i64::try_from(spec.limits.ttl_ms).unwrap_or(i64::MAX);
        let heartbeat = json!({
            "taskId": spec.task_id,
            "agentId": spec.agent,
            "lastHeartbeat": now.to_string(),
            "beatCount": self.count,
            "expiresAt": Time::from_millis(now.as_millis().saturating_add(ttl)).to_string(),
        });
        let _ = replace(&self.path, format!("{heartbeat:#}\n").as_bytes(), Sync::Later);
    }
}
