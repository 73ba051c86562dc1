//! What the scheduler noted in a task's metadata. Metadata belongs to everybody: what is not as we
//! would write it counts as absent.

use adjutant_core::account::{Account, Budget};
use adjutant_core::trials::{BlockedBy, Expired, Failure, OpenRun, Question, Trials};
use adjutant_core::{AgentId, NodeId, Time};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use crate::wire::permit::PermitWire;
use crate::wire::work;
use crate::wire::{AllParkedWire, SessionWire, SpentWire, millionths};

/// Reads what the scheduler noted.
pub(super) fn read(metadata: &Map<String, Value>) -> Trials {
    let text = |key: &str| metadata.get(key).and_then(Value::as_str);
    let time = |key: &str| text(key).and_then(|text| Time::parse(text).ok());
    let expired = time("expiredAt").zip(text("expiredReason"));
    Trials {
        open: metadata.get("openRun").and_then(open_run),
        node: text("node").and_then(|text| NodeId::parse(text).ok()),
        failures: list(metadata, "failures").filter_map(failure).collect(),
        not_before: time("notBefore"),
        expired: expired.map(|(at, reason)| Expired { at, reason: reason.into() }),
        blocked_by: text("blockedBy").and_then(BlockedBy::parse),
        reason: text("statusReason").map(Into::into),
        answer: text("answer").map(Into::into),
        question: metadata.get("question").and_then(question).map(Box::new),
        permit: read_as::<PermitWire, _>(metadata.get("permission")).map(Box::new),
        checks: metadata.get("checks").and_then(checks),
        work: metadata.get("work").and_then(Value::as_object).and_then(work::read).map(Box::new),
        account: account(metadata),
    }
}

/// What is kept and says nothing is not kept.
fn account(metadata: &Map<String, Value>) -> Option<Box<Account>> {
    let budget = Budget {
        tokens: metadata.get("budgetTokens").and_then(Value::as_u64),
        cost: metadata.get("budgetUsd").and_then(Value::as_f64).and_then(millionths),
    };
    let account = Account {
        session: read_as::<SessionWire, _>(metadata.get("session")),
        parked: metadata
            .get("parked")
            .and_then(|value| AllParkedWire::deserialize(value).ok()?.read().ok())
            .unwrap_or_default(),
        spent: list(metadata, "usage")
            .filter_map(|one| read_as::<SpentWire, _>(Some(one)))
            .collect(),
        budget,
    };
    (account != Account::default()).then(|| Box::new(account))
}

fn read_as<W, T>(value: Option<&Value>) -> Option<T>
where
    W: serde::de::DeserializeOwned,
    T: TryFrom<W>,
{
    serde_json::from_value::<W>(value?.clone()).ok().and_then(|wire| T::try_from(wire).ok())
}

/// Reads the commands that must pass; all of them are texts, or none count.
fn checks(value: &Value) -> Option<Box<[Box<str>]>> {
    let each = value.as_array()?.iter();
    each.map(|one| one.as_str().map(Into::into)).collect()
}

fn question(value: &Value) -> Option<Question> {
    let suggestion = value.get("suggestedResolution").and_then(Value::as_str);
    let text = value.get("text")?.as_str()?.to_owned();
    Some(Question { text, suggestion: suggestion.map(str::to_owned) })
}

fn list<'a>(metadata: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    metadata.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn open_run(value: &Value) -> Option<OpenRun> {
    Some(OpenRun {
        agent: AgentId::parse(value.get("agent")?.as_str()?).ok()?,
        attempt: number(value.get("attempt"))?,
        fence: value.get("fence")?.as_u64()?,
    })
}

fn failure(value: &Value) -> Option<Failure> {
    let reason = value.get("reason")?.as_str()?.into();
    Some(Failure { attempt: number(value.get("attempt"))?, reason })
}

fn number(value: Option<&Value>) -> Option<u32> {
    u32::try_from(value?.as_u64()?).ok()
}
