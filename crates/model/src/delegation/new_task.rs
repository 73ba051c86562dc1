//! The `new_task` document: work for any agent with a given mode.

use serde::Serialize;
#[cfg(feature = "schema")]
use serde_json::json;
use serde_json::{Map, Value};

use super::artifact::TaskArtifact;
use super::id::ExternalTaskId;
use super::{ITEMS_MAX, TEXT_CHARS_MAX, WORD_CHARS_MAX};
use crate::actor::AgentId;
use crate::answer::FieldProblem;
use crate::encoding::object_of;
use crate::field_reader::{FieldNeed, FieldReader};
use crate::mission::INSTRUCTION_CHARS_MAX;
use crate::priority::Priority;
use crate::relative_path::RelPath;
#[cfg(feature = "schema")]
use crate::schema::{NO_NUL, nonblank_patterns};
use crate::text_value::word_enum;
use crate::time::Time;

/// A `new_task`: work for any agent with a given mode. At most 128 KiB. Unknown fields are ignored,
/// with a warning.
// A list is `None` if its field was absent, not if it was empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NewTaskDocument {
    pub task_id: ExternalTaskId,
    /// The task that this one is a part of: another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<ExternalTaskId>,
    /// The mode that the agent must have. It is written like the name of an agent.
    pub delegated_to_mode: AgentId,
    /// What is to be done.
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = INSTRUCTION_CHARS_MAX), extend("allOf" = nonblank_patterns()))
    )]
    pub objective: String,
    /// What the agent should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = INSTRUCTION_CHARS_MAX), regex(pattern = NO_NUL))
    )]
    pub context: Option<String>,
    /// The files to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = ITEMS_MAX)))]
    pub inputs: Option<Vec<TaskArtifact>>,
    /// The files that must exist at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = ITEMS_MAX)))]
    pub expected_outputs: Option<Vec<ExpectedOutput>>,
    /// What the agent must keep to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(transform = limit_texts))]
    pub constraints_and_rules: Option<Vec<String>>,
    /// What must hold at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(transform = limit_texts))]
    pub acceptance_criteria: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<NewTaskPriority>,
    /// The deadline: an RFC 3339 time, or any other text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = TEXT_CHARS_MAX), extend("allOf" = nonblank_patterns()))
    )]
    pub deadline_hint: Option<String>,
}

/// Limits a list of texts to the size that a `new_task` may have.
#[cfg(feature = "schema")]
fn limit_texts(schema: &mut schemars::Schema) {
    schema.insert("maxItems".into(), ITEMS_MAX.into());
    let text = json!({"type": "string", "maxLength": TEXT_CHARS_MAX, "pattern": NO_NUL});
    schema.insert("items".into(), text);
}

/// A file that must exist at the end. Without it, success needs a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExpectedOutput {
    /// What kind of file it is.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = WORD_CHARS_MAX), regex(pattern = NO_NUL)))]
    pub kind: Option<String>,
    pub path: RelPath,
    /// What the file must contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = TEXT_CHARS_MAX), regex(pattern = NO_NUL)))]
    pub description: Option<String>,
}

word_enum! {
    /// The priorities of this protocol.
    #[strum(serialize_all = "snake_case")]
    pub enum NewTaskPriority {
        High,
        Medium,
        Low,
    }
}

impl NewTaskDocument {
    /// The field names, in the order they are printed.
    pub const FIELDS: [&'static str; 11] = [
        "taskId",
        "parentTaskId",
        "delegatedToMode",
        "objective",
        "context",
        "inputs",
        "expectedOutputs",
        "constraintsAndRules",
        "acceptanceCriteria",
        "priority",
        "deadlineHint",
    ];

    /// Parses an object. Returns the task and its warnings, or every problem.
    pub fn parse(
        given: &Map<String, Value>,
    ) -> Result<(Self, Vec<FieldProblem>), Vec<FieldProblem>> {
        let mut fields = FieldReader::new(given, "").with_null_as_absent();
        let warnings = fields.unknown_field_warnings(&[&Self::FIELDS[..], &["runToken"]].concat());
        let task_id = fields.parsed("taskId", FieldNeed::Required, ExternalTaskId::parse);
        let parent_task_id =
            fields.parsed("parentTaskId", FieldNeed::Optional, ExternalTaskId::parse);
        if task_id.is_some() && task_id == parent_task_id {
            fields.add_problem("parentTaskId", "must not be the same task as taskId");
        }
        let delegated_to_mode = fields.agent("delegatedToMode");
        let objective =
            fields.nonblank_text("objective", FieldNeed::Required, INSTRUCTION_CHARS_MAX);
        let context = fields.text("context", FieldNeed::Optional, INSTRUCTION_CHARS_MAX);
        let inputs = fields.objects("inputs", FieldNeed::Optional, ITEMS_MAX, TaskArtifact::read);
        let outputs =
            fields.objects("expectedOutputs", FieldNeed::Optional, ITEMS_MAX, ExpectedOutput::read);
        let rules = fields.long_texts("constraintsAndRules", TEXT_CHARS_MAX, ITEMS_MAX);
        let criteria = fields.long_texts("acceptanceCriteria", TEXT_CHARS_MAX, ITEMS_MAX);
        let priority = fields.one_of("priority", FieldNeed::Optional);
        let deadline_hint =
            fields.nonblank_text("deadlineHint", FieldNeed::Optional, TEXT_CHARS_MAX);
        let problems = fields.into_problems();
        let there = |key: &str| given.contains_key(key);
        let task = || {
            Some(Self {
                task_id: task_id?,
                parent_task_id,
                delegated_to_mode: delegated_to_mode?,
                objective: objective?,
                context: context.map(str::to_owned),
                inputs: there("inputs").then_some(inputs),
                expected_outputs: there("expectedOutputs").then_some(outputs),
                constraints_and_rules: there("constraintsAndRules").then_some(rules),
                acceptance_criteria: there("acceptanceCriteria").then_some(criteria),
                priority,
                deadline_hint,
            })
        };
        match task() {
            Some(task) if problems.is_empty() => Ok((task, warnings)),
            _ => Err(problems),
        }
    }

    /// Returns the document, with its fields in the order of the protocol.
    pub fn to_map(&self) -> Map<String, Value> {
        object_of(self)
    }

    /// Returns every path in the task, each with the name of its field.
    pub fn paths(&self) -> Vec<(String, &RelPath)> {
        let inputs = self.inputs.iter().flatten().enumerate();
        let inputs = inputs.map(|(i, input)| (format!("inputs[{i}].path"), &input.path));
        let outputs = self.expected_outputs.iter().flatten().enumerate();
        let outputs = outputs.map(|(i, out)| (format!("expectedOutputs[{i}].path"), &out.path));
        inputs.chain(outputs).collect()
    }

    /// Returns the deadline, if the hint is a time.
    pub fn due_by(&self) -> Option<Time> {
        Time::parse(self.deadline_hint.as_deref()?.trim()).ok()
    }
}

impl NewTaskPriority {
    /// Returns the matching task priority.
    pub const fn to_priority(self) -> Priority {
        match self {
            Self::High => Priority::High,
            Self::Medium => Priority::Normal,
            Self::Low => Priority::Low,
        }
    }

    /// Returns the nearest priority of this protocol.
    pub const fn from_priority(priority: Priority) -> Self {
        match priority {
            Priority::Critical | Priority::High => Self::High,
            Priority::Normal => Self::Medium,
            Priority::Low => Self::Low,
        }
    }
}

impl ExpectedOutput {
    fn read(fields: &mut FieldReader<'_>) -> Option<Self> {
        let kind = fields.text("type", FieldNeed::Optional, WORD_CHARS_MAX).map(str::to_owned);
        let path = fields.path("path");
        let description =
            fields.text("description", FieldNeed::Optional, TEXT_CHARS_MAX).map(str::to_owned);
        Some(Self { kind, path: path?, description })
    }
}
