//! The `handoff` tool: creates a `new_task` with the run's own task as its parent.

use std::fmt::Write as _;

use adjutant_engine::Request;
use adjutant_model::Reason;
use adjutant_model::request::MessageOrigin;
use adjutant_query::RunCredentials;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::McpServerSession;
use super::report::require_accepted;
use super::tool::{ToolResult, parse_args};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HandoffArgs {
    /// The name of an agent, or a mode that the agent must have.
    to: String,
    /// What to do, in full: the other agent knows nothing else.
    objective: String,
    /// Background information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    /// What must be true at the end, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    acceptance_criteria: Vec<String>,
    /// The files that must exist at the end, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    expected_outputs: Vec<String>,
    /// high, medium or low.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<String>,
}

/// Creates the task, and names it in the answer.
pub(super) fn create_handoff(
    session: &McpServerSession,
    run: &RunCredentials,
    arguments: Value,
) -> Result<ToolResult, ToolResult> {
    let handoff: HandoffArgs = parse_args(arguments)?;
    let text = handoff.document(run).to_string().into_bytes();
    let (task, token) = (run.task.clone(), run.token.clone());
    let origin = MessageOrigin::InsideRun { task, token };
    let request = Request::Message { origin, text }.into();
    let answered = require_accepted(session.run_access().ask(request)?)?;
    if answered.answer.reason == Some(Reason::KeptForLater) {
        return Ok(ToolResult::Text(
            "Your request is stored with the run, and the daemon will create the task. Continue \
             with the rest of your own task."
                .to_owned(),
        ));
    }
    let made = answered.answer.task.map_or_else(String::new, |task| format!(" as {task}"));
    Ok(ToolResult::Text(format!("Delegated{made}. Continue with the rest of your own task.")))
}

impl HandoffArgs {
    fn document(&self, run: &RunCredentials) -> Value {
        let mut document = json!({
            "taskId": self.id(run),
            "parentTaskId": run.task.as_str(),
            "delegatedToMode": self.to,
            "objective": self.objective,
        });
        if let Some(context) = &self.context {
            document["context"] = json!(context);
        }
        if !self.acceptance_criteria.is_empty() {
            document["acceptanceCriteria"] = json!(self.acceptance_criteria);
        }
        if !self.expected_outputs.is_empty() {
            let output = |path: &String| json!({ "path": path });
            document["expectedOutputs"] = self.expected_outputs.iter().map(output).collect();
        }
        if let Some(priority) = &self.priority {
            document["priority"] = json!(priority);
        }
        document
    }

    /// Derives the new task's id from its content. A retry after a lost answer therefore gives the
    /// same id and does not create a second task.
    fn id(&self, run: &RunCredentials) -> String {
        let words = json!([run.task.as_str(), self]).to_string();
        let mut id = "HANDOFF-".to_owned();
        for byte in &Sha256::digest(words)[..8] {
            let _ = write!(id, "{byte:02x}");
        }
        id
    }
}
