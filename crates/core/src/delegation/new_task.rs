//! `new_task`: work given to whoever has a mode.

use serde_json::{Map, Value};

use super::artifact::Artifact;
use super::id::ForeignId;
use super::{ITEMS_MAX, TEXT_CHARS_MAX, WORD_CHARS_MAX, list, object, text};
use crate::answer::Problem;
use crate::fields::{Fields, Need};
use crate::mission::INSTRUCTION_CHARS_MAX;
use crate::name::AgentId;
use crate::path::RelPath;
use crate::priority::Priority;
use crate::time::Time;

/// A `new_task` in order. A list that is none was not there; one that is empty was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// Its id.
    pub task_id: ForeignId,
    /// The task it is a part of.
    pub parent_task_id: Option<ForeignId>,
    /// The mode of the agent that is to do it. A mode is a name like that of an agent.
    pub delegated_to_mode: AgentId,
    /// What is to be done.
    pub objective: String,
    /// What one should know.
    pub context: Option<String>,
    /// What to read.
    pub inputs: Option<Vec<Artifact>>,
    /// What must be there at the end.
    pub expected_outputs: Option<Vec<ExpectedOutput>>,
    /// What to keep to.
    pub constraints_and_rules: Option<Vec<String>>,
    /// What must hold at the end.
    pub acceptance_criteria: Option<Vec<String>>,
    /// How urgent it is.
    pub priority: Option<TaskPriority>,
    /// Until when: a time, or any text.
    pub deadline_hint: Option<String>,
}

/// Something that must be there at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedOutput {
    /// What it is.
    pub kind: Option<String>,
    /// Where it is to lie.
    pub path: RelPath,
    /// What is to be in it.
    pub description: Option<String>,
}

crate::mission::words! {
    /// How urgent a task is, in the words of this protocol.
    TaskPriority {
        /// Soon.
        High = "high",
        /// In its turn.
        Medium = "medium",
        /// When there is nothing else.
        Low = "low",
    }
}

impl NewTask {
    /// The fields of a `new_task`, in the order they are printed.
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

    /// Checks an object whole, and returns what is odd about it beside the task; or everything
    /// that is wrong.
    pub fn parse(given: &Map<String, Value>) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let mut fields = Fields::new(given, "");
        let warnings = fields.strangers(&[&Self::FIELDS[..], &["runToken"]].concat());
        let task_id = fields.parsed("taskId", Need::Required, ForeignId::parse);
        let parent_task_id = fields.parsed("parentTaskId", Need::Optional, ForeignId::parse);
        if task_id.is_some() && task_id == parent_task_id {
            fields.problem("parentTaskId", "must be another task than taskId");
        }
        let delegated_to_mode = fields.agent("delegatedToMode");
        let objective = fields.said("objective", Need::Required, INSTRUCTION_CHARS_MAX);
        let context = fields.text("context", Need::Optional, INSTRUCTION_CHARS_MAX);
        let inputs = fields.objects("inputs", Need::Optional, ITEMS_MAX, Artifact::read);
        let outputs =
            fields.objects("expectedOutputs", Need::Optional, ITEMS_MAX, ExpectedOutput::read);
        let rules = fields.long_texts("constraintsAndRules", TEXT_CHARS_MAX, ITEMS_MAX);
        let criteria = fields.long_texts("acceptanceCriteria", TEXT_CHARS_MAX, ITEMS_MAX);
        let priority = fields.word("priority", Need::Optional, TaskPriority::WORDS);
        let deadline_hint = fields.said("deadlineHint", Need::Optional, TEXT_CHARS_MAX);
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

    /// Returns the document, its fields in the order of the protocol.
    pub fn document(&self) -> Map<String, Value> {
        let texts =
            |items: &Option<Vec<String>>| list(items.as_deref(), |item| item.as_str().into());
        object([
            ("taskId", text(Some(self.task_id.as_str()))),
            ("parentTaskId", text(self.parent_task_id.as_ref().map(ForeignId::as_str))),
            ("delegatedToMode", text(Some(self.delegated_to_mode.as_str()))),
            ("objective", text(Some(&self.objective))),
            ("context", text(self.context.as_deref())),
            ("inputs", list(self.inputs.as_deref(), Artifact::document)),
            ("expectedOutputs", list(self.expected_outputs.as_deref(), ExpectedOutput::document)),
            ("constraintsAndRules", texts(&self.constraints_and_rules)),
            ("acceptanceCriteria", texts(&self.acceptance_criteria)),
            ("priority", text(self.priority.map(TaskPriority::as_str))),
            ("deadlineHint", text(self.deadline_hint.as_deref())),
        ])
    }

    /// Returns every path the task names, each with where it stands.
    pub fn paths(&self) -> Vec<(String, &RelPath)> {
        let inputs = self.inputs.iter().flatten().enumerate();
        let inputs = inputs.map(|(i, input)| (format!("inputs[{i}].path"), &input.path));
        let outputs = self.expected_outputs.iter().flatten().enumerate();
        let outputs = outputs.map(|(i, out)| (format!("expectedOutputs[{i}].path"), &out.path));
        inputs.chain(outputs).collect()
    }

    /// Returns until when it should be done, if that is a time.
    pub fn due_by(&self) -> Option<Time> {
        Time::parse(self.deadline_hint.as_deref()?.trim()).ok()
    }
}

impl TaskPriority {
    /// Returns what this is among the priorities of tasks.
    pub const fn of_task(self) -> Priority {
        match self {
            Self::High => Priority::High,
            Self::Medium => Priority::Normal,
            Self::Low => Priority::Low,
        }
    }

    /// Returns the nearest word this protocol has for a priority.
    pub const fn near(priority: Priority) -> Self {
        match priority {
            Priority::Critical | Priority::High => Self::High,
            Priority::Normal => Self::Medium,
            Priority::Low => Self::Low,
        }
    }
}

impl ExpectedOutput {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let kind = fields.text("type", Need::Optional, WORD_CHARS_MAX).map(str::to_owned);
        let path = fields.path("path");
        let description =
            fields.text("description", Need::Optional, TEXT_CHARS_MAX).map(str::to_owned);
        Some(Self { kind, path: path?, description })
    }

    fn document(&self) -> Value {
        Value::Object(object([
            ("type", text(self.kind.as_deref())),
            ("path", text(Some(self.path.as_str()))),
            ("description", text(self.description.as_deref())),
        ]))
    }
}
