//! `run_heartbeat.json`: the heartbeat of a run, for programs that read files.

use std::path::PathBuf;

use adjutant_model::Time;
use adjutant_run_files::attempt_files::{AttemptFolder, SyncLevel, current_time, replace_file};
use adjutant_run_files::shim_spec::ShimSpec;
use serde_json::json;

/// The name of the file in the folder of the task's runs.
const FILE: &str = "run_heartbeat.json";

pub(super) struct HeartbeatWriter {
    path: PathBuf,
    /// The folder of the next attempt. Once it exists, the heartbeat file belongs to that attempt.
    next: PathBuf,
    count: u64,
}

impl HeartbeatWriter {
    pub(super) fn new(spec: &ShimSpec, folder: &AttemptFolder) -> Self {
        let attempts = folder.path().parent().unwrap_or(folder.path());
        let run = attempts.parent().unwrap_or(attempts);
        let next = attempts.join((u64::from(spec.attempt) + 1).to_string());
        Self { path: run.join(FILE), next, count: 0 }
    }

    /// Writes one heartbeat. A failure is ignored, because the next heartbeat follows soon.
    pub(super) fn write_heartbeat(&mut self, spec: &ShimSpec) {
        if self.next.exists() {
            return;
        }
        self.count += 1;
        let now = current_time();
        let ttl = i64::try_from(spec.limits.ttl_ms).unwrap_or(i64::MAX);
        let heartbeat = json!({
            "taskId": spec.task_id,
            "agentId": spec.agent,
            "lastHeartbeat": now.to_string(),
            "beatCount": self.count,
            "expiresAt": Time::from_millis(now.as_millis().saturating_add(ttl)).to_string(),
        });
        let _ = replace_file(&self.path, format!("{heartbeat:#}\n").as_bytes(), SyncLevel::Later);
    }
}
