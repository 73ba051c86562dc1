//! Reads the files that agents leave for a run.

use adjutant_core::input::FoundResult;
use adjutant_core::protocols::aof::parse_run_result;
use adjutant_model::run::RunHeartbeat;
use adjutant_model::run_file::HeartbeatFile;
use adjutant_model::{FieldProblem, TaskId};

/// Parses a heartbeat file; `None` if it has no valid expiry time.
pub(crate) fn parse_heartbeat(text: &str) -> Option<RunHeartbeat> {
    HeartbeatFile::read_expiry(text).map(|expires_at| RunHeartbeat { expires_at })
}

/// Parses a result file that an agent wrote.
pub(crate) fn parse_found_result(task: &TaskId, text: &str) -> FoundResult {
    let parsed = serde_json::from_str(text)
        .map_err(|error| vec![FieldProblem::new("", format!("is not JSON: {error}"))])
        .and_then(|value| parse_run_result(task, &value));
    match parsed {
        Ok(result) => FoundResult::Result(Box::new(result)),
        Err(problems) => FoundResult::Invalid(problems),
    }
}
