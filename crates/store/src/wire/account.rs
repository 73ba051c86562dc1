//! What the agents of a task told of themselves, as its metadata has it.

use adjutant_core::NodeId;
use adjutant_core::account::{Parked, Session, Spent, Usage};
use serde::{Deserialize, Serialize};

use super::task::{agent, time};
use super::{BadWire, bad};

/// How the last run can be gone on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionWire {
    agent: String,
    id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
}

/// An agent that cannot work for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ParkedWire {
    agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    reason: String,
    /// In hexadecimal digits: it is a number that nobody counts with.
    settings: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
}

/// Agents that cannot work for now: one, or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum AllParkedWire {
    One(ParkedWire),
    Several(Vec<ParkedWire>),
}

impl AllParkedWire {
    /// Writes down who cannot work; none if there is nobody.
    pub(crate) fn of(all: &[Parked]) -> Option<Self> {
        match all {
            [] => None,
            [one] => Some(Self::One(one.into())),
            several => Some(Self::Several(several.iter().map(ParkedWire::from).collect())),
        }
    }

    /// Reads who cannot work.
    pub(crate) fn read(self) -> Result<Vec<Parked>, BadWire> {
        match self {
            Self::One(one) => Ok(vec![one.try_into()?]),
            Self::Several(all) => all.into_iter().map(Parked::try_from).collect(),
        }
    }
}

/// What one agent used on one day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SpentWire {
    day: String,
    agent: String,
    #[serde(flatten)]
    usage: UsageWire,
}

/// What was used of a model.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct UsageWire {
    input_tokens: u64,
    output_tokens: u64,
    cached_tokens: u64,
    cost_usd: f64,
}

/// Returns millionths of a dollar as dollars.
#[expect(clippy::cast_precision_loss, reason = "nobody spends so much that it shows")]
pub(crate) fn dollars(millionths: u64) -> f64 {
    millionths as f64 / 1e6
}

/// Returns dollars as millionths; none if they make no sense.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is checked")]
pub(crate) fn millionths(dollars: f64) -> Option<u64> {
    let whole = (dollars * 1e6).round();
    (0.0..9e15).contains(&whole).then_some(whole as u64)
}

impl From<&Session> for SessionWire {
    fn from(session: &Session) -> Self {
        let node = session.node.as_ref().map(ToString::to_string);
        Self { agent: session.agent.to_string(), id: session.id.to_string(), node }
    }
}

impl TryFrom<SessionWire> for Session {
    type Error = BadWire;

    fn try_from(wire: SessionWire) -> Result<Self, BadWire> {
        Ok(Self { agent: agent(&wire.agent)?, id: wire.id.into(), node: node(wire.node)? })
    }
}

impl From<&Parked> for ParkedWire {
    fn from(parked: &Parked) -> Self {
        Self {
            agent: parked.agent.to_string(),
            until: parked.until.map(|until| until.to_string()),
            reason: parked.reason.to_string(),
            settings: format!("{:016x}", parked.settings),
            node: parked.node.as_ref().map(ToString::to_string),
        }
    }
}

impl TryFrom<ParkedWire> for Parked {
    type Error = BadWire;

    fn try_from(wire: ParkedWire) -> Result<Self, BadWire> {
        let settings = u64::from_str_radix(&wire.settings, 16).map_err(|_| bad("settings")())?;
        Ok(Self {
            agent: agent(&wire.agent)?,
            until: wire.until.map(|text| time(&text)).transpose()?,
            reason: wire.reason.into(),
            settings,
            node: node(wire.node)?,
        })
    }
}

fn node(name: Option<String>) -> Result<Option<NodeId>, BadWire> {
    name.map(|name| NodeId::parse(&name).map_err(|_| bad("node")())).transpose()
}

impl From<&Usage> for UsageWire {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cached_tokens: usage.cached,
            cost_usd: dollars(usage.cost),
        }
    }
}

impl From<UsageWire> for Usage {
    fn from(wire: UsageWire) -> Self {
        Self {
            input: wire.input_tokens,
            output: wire.output_tokens,
            cached: wire.cached_tokens,
            cost: millionths(wire.cost_usd).unwrap_or(0),
        }
    }
}

impl From<&Spent> for SpentWire {
    fn from(spent: &Spent) -> Self {
        let (day, agent) = (spent.day.to_string(), spent.agent.to_string());
        Self { day, agent, usage: UsageWire::from(&spent.usage) }
    }
}

impl TryFrom<SpentWire> for Spent {
    type Error = BadWire;

    fn try_from(wire: SpentWire) -> Result<Self, BadWire> {
        let (day, usage) = (wire.day.into(), wire.usage.into());
        Ok(Self { day, agent: agent(&wire.agent)?, usage })
    }
}
