//! Owed effects, as the journal keeps them.

use adjutant_core::effect::Stop;
use adjutant_core::notice::{Kind, Notice};
use adjutant_core::{Actor, AgentId, Effect, EventId, TaskId, Time};
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
    Notify { rule: String, notice: NoticeWire },
    #[serde(rename_all = "camelCase")]
    StartRun { task_id: String, agent: String, attempt: u32, fence: u64 },
    #[serde(rename_all = "camelCase")]
    StopRun { task_id: String, fence: u64, reason: String },
    #[serde(rename_all = "camelCase")]
    NoteTaken { task_id: String, attempt: u32, seq: u64 },
    #[serde(rename_all = "camelCase")]
    TellRun { task_id: String, attempt: u32, number: u32, choice: Option<String> },
    #[serde(rename_all = "camelCase")]
    CheckWork { task_id: String, attempt: u32, fence: u64 },
    #[serde(rename_all = "camelCase")]
    MergeWork { task_id: String, attempt: u32 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NoticeWire {
    kind: String,
    event: u64,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    title: String,
    reason: String,
    by: String,
}

impl From<&Owed> for OwedWire {
    fn from(owed: &Owed) -> Self {
        let effect = EffectWire::from(&owed.effect);
        Self { event: owed.id.event.0, place: owed.id.place, effect }
    }
}

impl From<&Effect> for EffectWire {
    fn from(effect: &Effect) -> Self {
        match effect {
            Effect::Notify { rule, notice } => {
                Self::Notify { rule: rule.to_string(), notice: NoticeWire::from(&**notice) }
            }
            Effect::StartRun { task, agent, attempt, fence } => Self::StartRun {
                task_id: task.to_string(),
                agent: agent.to_string(),
                attempt: *attempt,
                fence: *fence,
            },
            Effect::StopRun { task, fence, reason } => Self::StopRun {
                task_id: task.to_string(),
                fence: *fence,
                reason: reason.as_str().to_owned(),
            },
            Effect::NoteTaken { task, attempt, seq } => {
                Self::NoteTaken { task_id: task.to_string(), attempt: *attempt, seq: *seq }
            }
            Effect::TellRun { task, attempt, number, choice } => Self::TellRun {
                task_id: task.to_string(),
                attempt: *attempt,
                number: *number,
                choice: choice.clone(),
            },
            Effect::CheckWork { task, attempt, fence } => {
                Self::CheckWork { task_id: task.to_string(), attempt: *attempt, fence: *fence }
            }
            Effect::MergeWork { task, attempt } => {
                Self::MergeWork { task_id: task.to_string(), attempt: *attempt }
            }
        }
    }
}

impl TryFrom<OwedWire> for Owed {
    type Error = BadWire;

    fn try_from(wire: OwedWire) -> Result<Self, BadWire> {
        let id = EffectId { event: EventId(wire.event), place: wire.place };
        Ok(Self { id, effect: wire.effect.try_into()? })
    }
}

impl TryFrom<EffectWire> for Effect {
    type Error = BadWire;

    fn try_from(wire: EffectWire) -> Result<Self, BadWire> {
        let task = |text: String| TaskId::parse(&text).map_err(|_| bad("taskId")());
        Ok(match wire {
            EffectWire::Notify { rule, notice } => {
                Self::Notify { rule: rule.into(), notice: Box::new(notice.try_into()?) }
            }
            EffectWire::StartRun { task_id, agent, attempt, fence } => {
                let agent = AgentId::parse(&agent).map_err(|_| bad("agent")())?;
                Self::StartRun { task: task(task_id)?, agent, attempt, fence }
            }
            EffectWire::StopRun { task_id, fence, reason } => {
                let reason = Stop::parse(&reason).ok_or_else(bad("reason"))?;
                Self::StopRun { task: task(task_id)?, fence, reason }
            }
            EffectWire::NoteTaken { task_id, attempt, seq } => {
                Self::NoteTaken { task: task(task_id)?, attempt, seq }
            }
            EffectWire::TellRun { task_id, attempt, number, choice } => {
                Self::TellRun { task: task(task_id)?, attempt, number, choice }
            }
            EffectWire::CheckWork { task_id, attempt, fence } => {
                Self::CheckWork { task: task(task_id)?, attempt, fence }
            }
            EffectWire::MergeWork { task_id, attempt } => {
                Self::MergeWork { task: task(task_id)?, attempt }
            }
        })
    }
}

impl From<&Notice> for NoticeWire {
    fn from(notice: &Notice) -> Self {
        Self {
            kind: notice.kind.as_str().to_owned(),
            event: notice.event.0,
            at: notice.at.to_string(),
            task_id: notice.task.as_ref().map(ToString::to_string),
            title: notice.title.clone(),
            reason: notice.reason.clone(),
            by: notice.by.to_string(),
        }
    }
}

impl TryFrom<NoticeWire> for Notice {
    type Error = BadWire;

    fn try_from(wire: NoticeWire) -> Result<Self, BadWire> {
        let task = wire.task_id.map(|text| TaskId::parse(&text).map_err(|_| bad("taskId")()));
        Ok(Self {
            kind: Kind::parse(&wire.kind).ok_or_else(bad("kind"))?,
            event: EventId(wire.event),
            at: Time::parse(&wire.at).map_err(|_| bad("at")())?,
            task: task.transpose()?,
            title: wire.title,
            reason: wire.reason,
            by: Actor::parse(&wire.by).ok_or_else(bad("by"))?,
        })
    }
}
