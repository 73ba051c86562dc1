//! Why a task does not run.

use adjutant_core::World;
use adjutant_core::schedule::{TaskHold, hold_reasons, task_notes};
use adjutant_model::TaskId;
use adjutant_process::clock::{Clock, SystemClock};
use serde::Serialize;
use serde::ser::Serializer;

use crate::failure::CommandFailure;

/// Why a task does not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Why"))]
pub struct WhyView {
    pub task_id: TaskId,
    /// Whether the task can start now.
    pub runnable: bool,
    #[serde(serialize_with = "serialize_holds")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<HoldView<'_>>"))]
    pub reasons: Vec<TaskHold>,
    /// What else a person should know, in sentences; absent if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl WhyView {
    /// Explains a task. Fails if there is no such task.
    pub fn new(world: &World, id: &TaskId) -> Result<Self, CommandFailure> {
        if world.task(id).is_none() && !world.unreadable().contains(id) {
            return Err(CommandFailure::not_found(id, "cannot explain the status"));
        }
        let reasons = hold_reasons(world, id, SystemClock.now());
        let notes = world.task(id).map(task_notes).unwrap_or_default();
        Ok(Self { task_id: id.clone(), runnable: reasons.is_empty(), reasons, notes })
    }
}

/// One reason why a task does not start.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
struct HoldView<'a> {
    /// A stable word for scripts.
    code: &'a str,
    /// A sentence for people.
    text: &'a str,
}

fn serialize_holds<S: Serializer>(holds: &[TaskHold], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(holds.iter().map(|hold| HoldView { code: hold.code, text: &hold.text }))
}
