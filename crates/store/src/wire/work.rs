//! What is noted about the work on a task, and what was found out about it.

use adjutant_core::completion::Outcome;
use adjutant_core::evidence::{Changes, Check, Evidence};
use adjutant_core::policy::Merge;
use adjutant_core::run::Exit;
use adjutant_core::work::{Claim, Merging, Work};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{BadWire, bad};

/// Writes what is noted about the work on a task, as its metadata has it.
pub fn object(work: &Work) -> Map<String, Value> {
    let mut map = Map::new();
    if let Some(claim) = &work.claim {
        let value = json!({
            "attempt": claim.attempt,
            "fence": claim.fence,
            "outcome": claim.outcome.as_str(),
            "reason": &*claim.reason,
        });
        map.insert("claim".into(), value);
    }
    if let Some(evidence) = &work.evidence {
        map.insert("evidence".into(), (&**evidence).into());
    }
    if let Some(merge) = work.merge {
        map.insert("merge".into(), merge.as_str().into());
    }
    if let Some(merging) = &work.merging {
        let mut value = json!({"note": &*merging.note});
        if let Some(waits) = &merging.waits {
            value["waits"] = (&**waits).into();
        }
        map.insert("merging".into(), value);
    }
    map
}

/// Reads what is noted about the work on a task. What is not as we would write it counts as absent.
pub fn read(map: &Map<String, Value>) -> Option<Work> {
    let work = Work {
        claim: map.get("claim").and_then(claim),
        evidence: map.get("evidence").and_then(Value::as_str).map(Into::into),
        merge: map.get("merge").and_then(Value::as_str).and_then(Merge::parse),
        merging: map.get("merging").and_then(merging),
    };
    (!work.is_empty()).then_some(work)
}

fn claim(value: &Value) -> Option<Claim> {
    Some(Claim {
        attempt: u32::try_from(value.get("attempt")?.as_u64()?).ok()?,
        fence: value.get("fence")?.as_u64()?,
        outcome: Outcome::parse(value.get("outcome")?.as_str()?)?,
        reason: value.get("reason")?.as_str()?.into(),
    })
}

fn merging(value: &Value) -> Option<Merging> {
    let waits = value.get("waits").and_then(Value::as_str);
    Some(Merging { note: value.get("note")?.as_str()?.into(), waits: waits.map(Into::into) })
}

/// What was found out about finished work, as the record and the folder of its attempt have it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dirty: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changes: Option<ChangesWire>,
    #[serde(default)]
    checks: Vec<CheckWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flaw: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ChangesWire {
    files: u64,
    insertions: u64,
    deletions: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CheckWire {
    command: String,
    exit: String,
    duration_ms: u64,
    tail: String,
    log: String,
}

impl From<&Evidence> for EvidenceWire {
    fn from(evidence: &Evidence) -> Self {
        let changes = evidence.changes.map(|changes| ChangesWire {
            files: changes.files,
            insertions: changes.insertions,
            deletions: changes.deletions,
        });
        Self {
            branch: evidence.branch.clone(),
            base: evidence.base.clone(),
            commit: evidence.commit.clone(),
            dirty: evidence.dirty,
            changes,
            checks: evidence.checks.iter().map(CheckWire::from).collect(),
            flaw: evidence.flaw.clone(),
        }
    }
}

impl From<&Check> for CheckWire {
    fn from(check: &Check) -> Self {
        Self {
            command: check.command.clone(),
            exit: check.exit.to_string(),
            duration_ms: check.duration_ms,
            tail: check.tail.clone(),
            log: check.log.clone(),
        }
    }
}

impl TryFrom<EvidenceWire> for Evidence {
    type Error = BadWire;

    fn try_from(wire: EvidenceWire) -> Result<Self, BadWire> {
        let changes = wire.changes.map(|changes| Changes {
            files: changes.files,
            insertions: changes.insertions,
            deletions: changes.deletions,
        });
        let checks: Result<Vec<Check>, BadWire> = wire.checks.into_iter().map(check).collect();
        Ok(Self {
            branch: wire.branch,
            base: wire.base,
            commit: wire.commit,
            dirty: wire.dirty,
            changes,
            checks: checks?,
            flaw: wire.flaw,
        })
    }
}

fn check(wire: CheckWire) -> Result<Check, BadWire> {
    Ok(Check {
        exit: Exit::parse(&wire.exit).ok_or_else(bad("exit"))?,
        command: wire.command,
        duration_ms: wire.duration_ms,
        tail: wire.tail,
        log: wire.log,
    })
}
