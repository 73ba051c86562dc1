//! A task as a mission, and a mission as a task.

use super::{Source, followed_by};
use crate::foreign::{Foreign, mission_id};
use crate::mission::{Context, EpicId, INSTRUCTION_CHARS_MAX, Mission, PrdId};

/// The epic of a task that belongs to none.
pub const NO_EPIC: &str = "E0";
/// The document that asks for a task that none asks for.
pub const NO_PRD: &str = "PRD-0";

/// Returns the body of the task a mission becomes.
pub fn body_of_mission(mission: &Mission) -> String {
    mission.instruction.clone()
}

/// Returns the mission a task is: the one it was made from with what was changed since, or one made
/// up of what the task says.
pub fn mission(source: &Source<'_>) -> Mission {
    let foreign = source.task.foreign.as_deref();
    let mut mission = match foreign.and_then(Foreign::mission) {
        Some(mission) => {
            let rewritten = source.rewritten(&body_of_mission(mission));
            let instruction = rewritten.unwrap_or_else(|| mission.instruction.clone());
            Mission { instruction, ..mission.clone() }
        }
        None => made_up(source),
    };
    if let Some(memory) = source.memory {
        mission.context.memory = Some(memory.clone());
    }
    let instruction = followed_by(&mission.instruction, &source.history());
    mission.instruction = instruction.chars().take(INSTRUCTION_CHARS_MAX).collect();
    if mission.instruction.trim().is_empty() {
        mission.instruction = source.task.title.to_string();
    }
    mission
}

fn made_up(source: &Source<'_>) -> Mission {
    let note = source.task.foreign.as_deref().and_then(|foreign| foreign.mission.as_ref());
    let task_id = note.and_then(|note| note.task_id.clone());
    let epic_id = note.and_then(|note| note.epic_id.clone());
    let prd_id = note.and_then(|note| note.prd_id.clone());
    Mission {
        task_id: task_id.unwrap_or_else(|| mission_id(&source.task.id)),
        epic_id: epic_id.unwrap_or_else(|| EpicId::parse(NO_EPIC).expect("a good id")),
        prd_id: prd_id.unwrap_or_else(|| PrdId::parse(NO_PRD).expect("a good id")),
        instruction: instruction(source),
        context: Context {
            dev_md: None,
            epic_file: source.task_file.clone(),
            task_file: source.task_file.clone(),
            memory: None,
            toolset: None,
        },
        constraints: None,
        timeout: None,
    }
}

/// What a task says, with what a mission has no field for: whom it came from and until when.
fn instruction(source: &Source<'_>) -> String {
    let task = source.task;
    let words = source.words();
    let mut text = if words.starts_with(&*task.title) {
        words.to_owned()
    } else {
        format!("{}\n\n{words}", task.title)
    };
    if let Some(handoff) = source.handoff {
        text = format!("{}\n\n{}", text.trim_end(), handoff.markdown().trim_end());
    }
    if let Some(due) = task.due_by {
        text = format!("{}\n\nDue: {due}", text.trim_end());
    }
    text.trim_end().to_owned()
}
