//! What this program notes in the metadata of a task.

use adjutant_core::account::{Account, Budget, Session, Spent};
use adjutant_core::foreign::{DelegationNote, Foreign, MissionNote};
use adjutant_core::permit::Permit;
use adjutant_core::pipeline::Position;
use adjutant_core::task::{LastRun, Review};
use adjutant_core::trials::{BlockedBy, Expired, Failure, OpenRun, Question, Trials};
use adjutant_core::{NodeId, Task};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::account::{self, AllParkedWire, SessionWire, SpentWire};
use super::permit::PermitWire;
use super::task::{agent, time};
use super::work;
use super::{BadWire, bad};

/// The metadata of a task. Flat, as the front matter has it, and not put together of parts: what is
/// put together is slow to read, and every task is read from the index.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MetadataWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) review_required: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) delegation_depth: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_run: Option<RunWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reported_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reported_fence: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) feedback: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_run: Option<RunWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failures: Vec<FailureWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expired_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expired_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocked_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<QuestionWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permission: Option<PermitWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<SessionWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parked: Option<AllParkedWire>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    usage: Vec<SpentWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checks: Option<Box<[Box<str>]>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    work: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mission: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delegation: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    story: Option<Map<String, Value>>,
}

/// What an agent asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct QuestionWire {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suggested_resolution: Option<String>,
}

/// A run, by who it is and what it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RunWire {
    agent: String,
    attempt: u32,
    fence: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FailureWire {
    attempt: u32,
    reason: String,
}

impl MetadataWire {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes out what is kept of the document the task was made from.
    pub(super) fn foreign(&mut self) -> Option<Box<Foreign>> {
        let (mission, delegation) = (self.mission.take(), self.delegation.take());
        let story = self.story.take();
        if mission.is_none() && delegation.is_none() && story.is_none() {
            return None;
        }
        let value = |map: Option<Map<String, Value>>| map.map(Value::Object);
        let (mission, delegation, story) = (value(mission), value(delegation), value(story));
        Foreign::read(mission.as_ref(), delegation.as_ref(), story.as_ref()).map(Box::new)
    }

    /// Takes out what the scheduler noted.
    pub(super) fn trials(&mut self) -> Result<Trials, BadWire> {
        let blocked_by = self.blocked_by.take();
        let blocked_by =
            blocked_by.map(|word| BlockedBy::parse(&word).ok_or_else(bad("blockedBy")));
        let expired = match (self.expired_at.take(), self.expired_reason.take()) {
            (Some(at), Some(reason)) => Some(Expired { at: time(&at)?, reason: reason.into() }),
            _ => None,
        };
        Ok(Trials {
            open: self.open_run.take().map(OpenRun::try_from).transpose()?,
            node: self.node.take().and_then(|text| NodeId::parse(&text).ok()),
            failures: self.failures.drain(..).map(Failure::from).collect(),
            not_before: self.not_before.take().map(|text| time(&text)).transpose()?,
            expired,
            blocked_by: blocked_by.transpose()?,
            reason: self.status_reason.take().map(Into::into),
            answer: self.answer.take().map(Into::into),
            question: self.question.take().map(|wire| {
                let suggestion = wire.suggested_resolution;
                Box::new(Question { text: wire.text, suggestion })
            }),
            permit: self.permission.take().map(Permit::try_from).transpose()?.map(Box::new),
            account: self.account()?,
            checks: self.checks.take(),
            work: self.work.take().and_then(|map| work::read(&map)).map(Box::new),
        })
    }
}

impl MetadataWire {
    /// Takes out what the agents told; most told nothing.
    fn account(&mut self) -> Result<Option<Box<Account>>, BadWire> {
        let account = Account {
            session: self.session.take().map(Session::try_from).transpose()?,
            parked: self.parked.take().map(AllParkedWire::read).transpose()?.unwrap_or_default(),
            spent: self.usage.drain(..).map(Spent::try_from).collect::<Result<_, _>>()?,
            budget: Budget {
                tokens: self.budget_tokens.take(),
                cost: self.budget_usd.take().and_then(account::millionths),
            },
        };
        Ok((account != Account::default()).then(|| Box::new(account)))
    }
}

impl From<&Task> for MetadataWire {
    fn from(task: &Task) -> Self {
        let trials = &task.trials;
        let expired = trials.expired.as_ref();
        let foreign = task.foreign.as_deref();
        let told = trials.account();
        let budget = told.map(|account| account.budget).unwrap_or_default();
        let text = |text: Option<&str>| text.map(str::to_owned);
        Self {
            review_required: (task.review == Review::NotNeeded).then_some(false),
            delegation_depth: (task.depth > 0).then_some(task.depth),
            last_run: task.last_run.as_ref().map(RunWire::from),
            reported_by: task.reported_by.as_ref().map(ToString::to_string),
            reported_fence: task.reported_fence,
            feedback: text(task.feedback.as_deref()),
            open_run: trials.open.as_ref().map(RunWire::from),
            node: trials.node.as_ref().map(ToString::to_string),
            failures: trials.failures.iter().map(FailureWire::from).collect(),
            not_before: trials.not_before.map(|time| time.to_string()),
            expired_at: expired.map(|expired| expired.at.to_string()),
            expired_reason: expired.map(|expired| expired.reason.to_string()),
            blocked_by: text(trials.blocked_by.map(BlockedBy::as_str)),
            status_reason: text(trials.reason.as_deref()),
            answer: text(trials.answer.as_deref()),
            question: trials.question.as_deref().map(|question| QuestionWire {
                text: question.text.clone(),
                suggested_resolution: question.suggestion.clone(),
            }),
            permission: trials.permit.as_deref().map(PermitWire::from),
            session: told.and_then(|account| account.session.as_ref()).map(SessionWire::from),
            parked: told.and_then(|account| AllParkedWire::of(&account.parked)),
            usage: told.iter().flat_map(|account| &account.spent).map(SpentWire::from).collect(),
            budget_usd: budget.cost.map(account::dollars),
            budget_tokens: budget.tokens,
            checks: trials.checks.clone(),
            work: trials.work.as_deref().map(work::object),
            mission: foreign.and_then(|f| f.mission.as_ref()).map(MissionNote::object),
            delegation: foreign.and_then(|f| f.delegation.as_ref()).map(DelegationNote::object),
            story: task.story().map(Position::object),
        }
    }
}

impl From<&LastRun> for RunWire {
    fn from(run: &LastRun) -> Self {
        Self { agent: run.agent.to_string(), attempt: run.attempt, fence: run.fence }
    }
}

impl From<&OpenRun> for RunWire {
    fn from(run: &OpenRun) -> Self {
        Self { agent: run.agent.to_string(), attempt: run.attempt, fence: run.fence }
    }
}

impl TryFrom<RunWire> for LastRun {
    type Error = BadWire;

    fn try_from(wire: RunWire) -> Result<Self, BadWire> {
        Ok(Self { agent: agent(&wire.agent)?, attempt: wire.attempt, fence: wire.fence })
    }
}

impl TryFrom<RunWire> for OpenRun {
    type Error = BadWire;

    fn try_from(wire: RunWire) -> Result<Self, BadWire> {
        Ok(Self { agent: agent(&wire.agent)?, attempt: wire.attempt, fence: wire.fence })
    }
}

impl From<&Failure> for FailureWire {
    fn from(failure: &Failure) -> Self {
        Self { attempt: failure.attempt, reason: failure.reason.to_string() }
    }
}

impl From<FailureWire> for Failure {
    fn from(wire: FailureWire) -> Self {
        Self { attempt: wire.attempt, reason: wire.reason.into() }
    }
}
