//! Hands a part of the work on: a `new_task` that the run's own task is the parent of.

use std::fmt::Write as _;

use adjutant_runtime::Request;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::report::accepted;
use super::tool::{Said, read};
use super::{Bound, Session};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Handoff {
    /// The agent it is for, or the mode of whoever can do it.
    to: String,
    /// What is to be done, in full: whoever does it knows nothing else.
    objective: String,
    /// What one should know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    /// What must hold at the end, each in a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    acceptance_criteria: Vec<String>,
    /// The files that must be there at the end, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    expected_outputs: Vec<String>,
    /// high, medium or low.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    priority: Option<String>,
}

/// Hands work on, and says which task that is now.
pub(super) fn hand_on(session: &Session, run: &Bound, arguments: Value) -> Result<Said, Said> {
    let handoff: Handoff = read(arguments)?;
    let raw = handoff.document(run).to_string().into_bytes();
    let (task, token) = (run.task.clone(), run.token.clone());
    let answered = accepted(session.office.ask(Request::Inside { task, token, raw })?)?;
    let made = answered.answer.task.map_or_else(String::new, |task| format!(" as {task}"));
    Ok(Said::Text(format!("Handed on{made}. Go on with what is left of your own task.")))
}

impl Handoff {
    fn document(&self, run: &Bound) -> Value {
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

    /// Returns the id of the new task. The same words for the same task give the same id, so that
    /// who asks again, because the answer got lost, does not hand the work on twice.
    fn id(&self, run: &Bound) -> String {
        let words = json!([run.task.as_str(), self]).to_string();
        let mut id = "HANDOFF-".to_owned();
        for byte in &Sha256::digest(words)[..8] {
            let _ = write!(id, "{byte:02x}");
        }
        id
    }
}
