//! Owed effects, as the journal keeps them.

use adjutant_core::{Effect, EventId, Status, TaskId};
use serde::{Deserialize, Serialize};

use super::{BadWire, bad};
use crate::batch::{EffectId, Owed};

/// An owed effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwedWire {
    event: u64,
    place: u32,
    effect: EffectWire,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum EffectWire {
    #[serde(rename_all = "camelCase")]
    Notify { task_id: String, to: String, reason: String },
}

impl From<&Owed> for OwedWire {
    fn from(owed: &Owed) -> Self {
        let effect = match &owed.effect {
            Effect::Notify { task, to, reason } => EffectWire::Notify {
                task_id: task.to_string(),
                to: to.to_string(),
                reason: reason.clone(),
            },
        };
        Self { event: owed.id.event.0, place: owed.id.place, effect }
    }
}

impl TryFrom<OwedWire> for Owed {
    type Error = BadWire;

    fn try_from(wire: OwedWire) -> Result<Self, BadWire> {
        let EffectWire::Notify { task_id, to, reason } = wire.effect;
        let effect = Effect::Notify {
            task: TaskId::parse(&task_id).map_err(|_| bad("taskId")())?,
            to: Status::parse(&to).ok_or_else(bad("to"))?,
            reason,
        };
        Ok(Self { id: EffectId { event: EventId(wire.event), place: wire.place }, effect })
    }
}
