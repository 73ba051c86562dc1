//! Handoffs: work delegated from one task to another, and its Markdown form.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::actor::AgentId;
#[cfg(feature = "schema")]
use crate::field_reader::{LIST_ITEMS_MAX, limit_items};
use crate::relative_path::RelPath;
use crate::task_id::TaskId;
use crate::time::Timestamp;
use crate::work_log::single_line;

/// The payload of a `handoff.request`, and the content of `inputs/handoff.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskHandoff {
    /// The delegated task: the child.
    #[serde(rename = "taskId")]
    pub task: TaskId,
    /// The task that delegates.
    #[serde(rename = "parentTaskId")]
    pub parent: TaskId,
    /// The agent that delegates, which is the sender of the message.
    #[serde(rename = "fromAgent")]
    #[cfg_attr(feature = "schema", schemars(transform = crate::actor::refuse_reserved))]
    pub from: AgentId,
    /// The agent that gets the task.
    #[serde(rename = "toAgent")]
    #[cfg_attr(feature = "schema", schemars(transform = crate::actor::refuse_reserved))]
    pub to: AgentId,
    /// What must hold at the end: a list of texts. Items that are no text are dropped,
    /// with a warning.
    #[cfg_attr(feature = "schema", schemars(default, schema_with = "criteria_schema"))]
    pub acceptance_criteria: Vec<String>,
    /// The files that must exist at the end.
    #[cfg_attr(feature = "schema", schemars(default, length(max = LIST_ITEMS_MAX)))]
    pub expected_outputs: Vec<RelPath>,
    /// The files to read first.
    #[cfg_attr(feature = "schema", schemars(default, length(max = LIST_ITEMS_MAX)))]
    pub context_refs: Vec<RelPath>,
    /// What the agent must not do.
    #[cfg_attr(feature = "schema", schemars(default, transform = limit_items))]
    pub constraints: Vec<String>,
    /// When the task should be done.
    pub due_by: Timestamp,
}

#[cfg(feature = "schema")]
fn criteria_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let mut list = generator.subschema_for::<Vec<String>>();
    limit_items(&mut list);
    if generator.contract().is_deserialize() {
        // Items of other types are dropped, so the schema accepts them.
        list.remove("type");
        list.get_mut("items").and_then(|items| items.as_object_mut()?.shift_remove("type"));
    }
    list
}

impl TaskHandoff {
    /// Renders the content of `inputs/handoff.md`.
    pub fn to_markdown(&self) -> String {
        let mut text = format!(
            "# Handoff Request\n\n**From:** {}\n**To:** {}\n**Due By:** {}\n",
            self.from, self.to, self.due_by
        );
        let paths = |refs: &[RelPath]| refs.iter().map(ToString::to_string).collect::<Vec<_>>();
        append_section(&mut text, "Acceptance Criteria", &self.acceptance_criteria);
        append_section(&mut text, "Expected Outputs", &paths(&self.expected_outputs));
        append_section(&mut text, "Context References", &paths(&self.context_refs));
        append_section(&mut text, "Constraints", &self.constraints);
        text
    }
}

/// Line breaks inside an item become spaces, so that an item cannot forge a section.
fn append_section(text: &mut String, heading: &str, items: &[String]) {
    let _ = write!(text, "\n## {heading}\n\n");
    if items.is_empty() {
        text.push_str("None\n");
    }
    for item in items {
        let _ = writeln!(text, "- {}", single_line(item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handoff_markdown_matches_protocol_format() {
        let path = |text| RelPath::parse(text).expect("a good path");
        let handoff = TaskHandoff {
            task: TaskId::parse("TASK-2026-02-09-060").expect("a good id"),
            parent: TaskId::parse("TASK-2026-02-09-057").expect("a good id"),
            from: AgentId::parse("swe-backend").expect("a good name"),
            to: AgentId::parse("swe-qa").expect("a good name"),
            acceptance_criteria: vec!["All tests pass".into(), "Update\n## docs".into()],
            expected_outputs: vec![path("tests/report.md")],
            context_refs: vec![],
            constraints: vec!["No new dependencies".into()],
            due_by: Timestamp::parse("2026-02-10T12:00:00.000Z").expect("a good time"),
        };
        let expected = "# Handoff Request\n\n**From:** swe-backend\n**To:** swe-qa\n\
            **Due By:** 2026-02-10T12:00:00.000Z\n\n## Acceptance Criteria\n\n- All tests pass\n\
            - Update ## docs\n\n## Expected Outputs\n\n- tests/report.md\n\n\
            ## Context References\n\nNone\n\n## Constraints\n\n- No new dependencies\n";
        assert_eq!(handoff.to_markdown(), expected);
    }
}
