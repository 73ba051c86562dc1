//! What a run wants to be allowed, as the record and the front matter have it.

use adjutant_core::Time;
use adjutant_core::permit::{Choice, ChoiceKind, Permit};
use serde::{Deserialize, Serialize};

use super::{BadWire, bad};

/// What a run wants to be allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PermitWire {
    attempt: u32,
    fence: u64,
    number: u32,
    since: String,
    text: String,
    choices: Vec<ChoiceWire>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct ChoiceWire {
    id: String,
    name: String,
    kind: String,
}

impl From<&Permit> for PermitWire {
    fn from(permit: &Permit) -> Self {
        let choice = |choice: &Choice| ChoiceWire {
            id: choice.id.clone(),
            name: choice.name.clone(),
            kind: choice.kind.to_string(),
        };
        Self {
            attempt: permit.attempt,
            fence: permit.fence,
            number: permit.number,
            since: permit.since.to_string(),
            text: permit.text.clone(),
            choices: permit.choices.iter().map(choice).collect(),
        }
    }
}

impl TryFrom<PermitWire> for Permit {
    type Error = BadWire;

    fn try_from(wire: PermitWire) -> Result<Self, BadWire> {
        let choice = |wire: ChoiceWire| {
            let kind = ChoiceKind::parse(&wire.kind).ok_or_else(bad("kind"))?;
            Ok(Choice { id: wire.id, name: wire.name, kind })
        };
        let choices: Result<Vec<Choice>, BadWire> = wire.choices.into_iter().map(choice).collect();
        Ok(Self {
            attempt: wire.attempt,
            fence: wire.fence,
            number: wire.number,
            since: Time::parse(&wire.since).map_err(|_| bad("since")())?,
            text: wire.text,
            choices: choices?,
        })
    }
}
