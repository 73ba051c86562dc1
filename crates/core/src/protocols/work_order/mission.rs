//! Converts missions to tasks, and tasks to missions.

use adjutant_model::mission::{EpicId, INSTRUCTION_CHARS_MAX, MissionContext, MissionOrder, PrdId};
use adjutant_model::task_origin::{TaskOrigin, mission_id};

use super::{WorkOrderSource, with_history};

/// The epic of a task that belongs to none.
pub const NO_EPIC: &str = "E0";
/// The requirements document of a task that has none.
pub const NO_PRD: &str = "PRD-0";

/// Returns the body of the task that a mission becomes.
pub fn body_of_mission(mission: &MissionOrder) -> String {
    mission.instruction.clone()
}

/// Returns the mission for a task: the one it was made from with later edits, or one built
/// from the task.
pub fn to_mission(source: &WorkOrderSource<'_>) -> MissionOrder {
    let foreign = source.task.origin.as_deref();
    let mut mission = match foreign.and_then(TaskOrigin::mission) {
        Some(mission) => {
            let rewritten = source.changed_body(&body_of_mission(mission));
            let instruction = rewritten.unwrap_or_else(|| mission.instruction.clone());
            MissionOrder { instruction, ..mission.clone() }
        }
        None => build_mission(source),
    };
    if let Some(memory) = source.memory {
        mission.context.epic_memory = Some(memory.clone());
    }
    let instruction = with_history(&mission.instruction, &source.history());
    mission.instruction = instruction.chars().take(INSTRUCTION_CHARS_MAX).collect();
    if mission.instruction.trim().is_empty() {
        mission.instruction = source.task.title.to_string();
    }
    mission
}

fn build_mission(source: &WorkOrderSource<'_>) -> MissionOrder {
    let note = source.task.origin.as_deref().and_then(|foreign| foreign.mission.as_ref());
    let task_id = note.and_then(|note| note.task_id.clone());
    let epic_id = note.and_then(|note| note.epic_id.clone());
    let prd_id = note.and_then(|note| note.prd_id.clone());
    MissionOrder {
        task_id: task_id.unwrap_or_else(|| mission_id(&source.task.id)),
        epic_id: epic_id.unwrap_or_else(|| EpicId::parse(NO_EPIC).expect("a good id")),
        prd_id: prd_id.unwrap_or_else(|| PrdId::parse(NO_PRD).expect("a good id")),
        instruction: instruction(source),
        context: MissionContext {
            dev_md: None,
            epic_file: source.task_file.clone(),
            task_file: source.task_file.clone(),
            memory: None,
            epic_memory: None,
            toolset: None,
        },
        constraints: None,
        timeout: None,
    }
}

/// Returns the task's text, followed by what a mission has no field for: the handoff and
/// the due date.
fn instruction(source: &WorkOrderSource<'_>) -> String {
    let task = source.task;
    let words = source.body_text();
    let mut text = if words.starts_with(&*task.title) {
        words.to_owned()
    } else {
        format!("{}\n\n{words}", task.title)
    };
    if let Some(handoff) = source.handoff {
        text = format!("{}\n\n{}", text.trim_end(), handoff.to_markdown().trim_end());
    }
    if let Some(due) = task.due_by {
        text = format!("{}\n\nDue: {due}", text.trim_end());
    }
    text.trim_end().to_owned()
}
