//! Which nodes there are, and what each of them has: what decisions go by in a fleet.

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_core::account::Budget;
use adjutant_core::policy::{AgentPolicy, Merge, NodePolicy, OnExitOk, Place};
use adjutant_core::{AgentId, NodeId, Policy};
use adjutant_store::{Net, StoreError};
use serde::{Deserialize, Serialize};

/// How often a node says that it is there.
pub(crate) const SAY: Duration = Duration::from_secs(3);
/// How long a node counts that says nothing.
pub(crate) const COUNTS: Duration = Duration::from_secs(12);

/// What a node says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeInfo {
    /// The version of its program.
    pub program: String,
    /// Since when it is up.
    pub since: String,
    /// What its agents are good for because of where they are.
    pub labels: Vec<String>,
    /// How many runs it may have at once.
    pub concurrency: u32,
    /// Its agents.
    pub agents: BTreeMap<String, AgentWire>,
    /// How much of the record it has followed.
    pub version: u64,
    /// How many runs it has.
    pub runs: u32,
}

/// What a node says of one of its agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentWire {
    /// How many runs it may have at once.
    pub slots: u32,
    on_exit_ok: u8,
    mode: Option<String>,
    role: Option<String>,
    tags: Vec<String>,
    budget: (Option<u64>, Option<u64>),
    budget_day: (Option<u64>, Option<u64>),
    settings: u64,
    checks: Option<Vec<String>>,
    merge: Option<String>,
    worktree: bool,
}

/// The nodes that are there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Known(pub BTreeMap<NodeId, NodeInfo>);

impl Known {
    /// Asks who is there. What makes no sense is not counted.
    pub fn of(net: &dyn Net) -> Result<Self, StoreError> {
        let nodes = net.nodes(COUNTS)?.into_iter();
        let known =
            nodes.filter_map(|(node, what)| Some((node, serde_json::from_slice(&what).ok()?)));
        Ok(Self(known.collect()))
    }

    /// Returns what decisions go by: the settings of this node, and what all nodes have. What a node
    /// says of an agent counts for what it does there; what is asked of an agent wherever it is, the
    /// first of them by name says.
    pub fn policy(&self, own: Policy) -> Policy {
        let mut agents: BTreeMap<AgentId, AgentPolicy> = BTreeMap::new();
        let mut nodes = BTreeMap::new();
        for (name, info) in &self.0 {
            let node = info.policy();
            for (agent, own) in &node.agents {
                let known = agents
                    .entry(agent.clone())
                    .or_insert_with(|| AgentPolicy { slots: 0, ..own.clone() });
                known.slots = known.slots.saturating_add(own.slots);
            }
            nodes.insert(name.clone(), node);
        }
        let mut scheduler = own.scheduler;
        // The runs of a node that wants no others take no room from anybody.
        let room = |info: &NodeInfo| info.concurrency.max(info.runs);
        scheduler.concurrency = self.0.values().map(room).sum();
        Policy { agents, nodes, scheduler, ..own }
    }
}

impl NodeInfo {
    fn policy(&self) -> NodePolicy {
        let agent = |(name, wire): (&String, &AgentWire)| {
            Some((AgentId::parse(name).ok()?, AgentPolicy::from(wire)))
        };
        NodePolicy {
            concurrency: self.concurrency,
            agents: self.agents.iter().filter_map(agent).collect(),
            labels: self.labels.iter().map(|label| label.as_str().into()).collect(),
        }
    }
}

impl AgentWire {
    /// Says what a node has set up: what its agent leaves open, its project says.
    pub(super) fn of(agent: &AgentPolicy, project: &Policy) -> Self {
        let checks = agent.checks.as_ref().unwrap_or(&project.checks).clone();
        let merge = agent.merge.unwrap_or(project.merge);
        let whole = AgentPolicy { checks: Some(checks), merge: Some(merge), ..agent.clone() };
        Self::from(&whole)
    }
}

impl From<&AgentPolicy> for AgentWire {
    fn from(agent: &AgentPolicy) -> Self {
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        let texts = |all: &[Box<str>]| all.iter().map(ToString::to_string).collect();
        Self {
            slots: agent.slots,
            on_exit_ok: match agent.on_exit_ok {
                OnExitOk::NoReport => 0,
                OnExitOk::NeedsReview => 1,
                OnExitOk::Done => 2,
            },
            mode: text(&agent.mode),
            role: text(&agent.role),
            tags: texts(&agent.tags),
            budget: (agent.budget.tokens, agent.budget.cost),
            budget_day: (agent.budget_day.tokens, agent.budget_day.cost),
            settings: agent.settings,
            checks: agent.checks.as_deref().map(texts),
            merge: agent.merge.map(|merge| merge.as_str().to_owned()),
            worktree: agent.place == Place::Worktree,
        }
    }
}

impl From<&AgentWire> for AgentPolicy {
    fn from(wire: &AgentWire) -> Self {
        let texts = |all: &[String]| all.iter().map(|text| text.as_str().into()).collect();
        let budget = |(tokens, cost)| Budget { tokens, cost };
        Self {
            slots: wire.slots,
            on_exit_ok: match wire.on_exit_ok {
                1 => OnExitOk::NeedsReview,
                2 => OnExitOk::Done,
                _ => OnExitOk::NoReport,
            },
            mode: wire.mode.as_deref().map(Into::into),
            role: wire.role.as_deref().map(Into::into),
            tags: texts(&wire.tags),
            budget: budget(wire.budget),
            budget_day: budget(wire.budget_day),
            settings: wire.settings,
            checks: wire.checks.as_deref().map(texts),
            merge: wire.merge.as_deref().and_then(Merge::parse),
            place: if wire.worktree { Place::Worktree } else { Place::Folder },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(agents: &[(&str, AgentPolicy)]) -> NodeInfo {
        NodeInfo {
            program: "1".into(),
            since: String::new(),
            labels: vec!["gpu".into()],
            concurrency: 3,
            agents: agents.iter().map(|(name, agent)| ((*name).to_owned(), agent.into())).collect(),
            version: 7,
            runs: 0,
        }
    }

    #[test]
    fn a_fleet_has_what_its_nodes_have_together() {
        let swe = AgentPolicy {
            slots: 2,
            on_exit_ok: OnExitOk::Done,
            tags: vec!["rust".into()],
            checks: Some(vec!["make".into()]),
            merge: Some(Merge::Squash),
            place: Place::Worktree,
            settings: 5,
            ..AgentPolicy::default()
        };
        let node = |name: &str| NodeId::parse(name).expect("a good name");
        let known = Known(BTreeMap::from([
            (node("a"), info(&[("swe", swe.clone())])),
            (node("b"), info(&[("swe", swe.clone()), ("qa", AgentPolicy::default())])),
        ]));
        let text = serde_json::to_string(&known.0.values().next()).expect("it is written");
        let read: Option<NodeInfo> = serde_json::from_str(&text).expect("it is read");
        assert_eq!(read.as_ref(), known.0.values().next());
        let policy = known.policy(Policy::default());
        let name = |name: &str| AgentId::parse(name).expect("a good name");
        assert_eq!(policy.agents[&name("swe")], AgentPolicy { slots: 4, ..swe.clone() });
        assert_eq!(policy.agents[&name("qa")].slots, 1);
        assert_eq!(policy.scheduler.concurrency, 6);
        assert_eq!(policy.nodes[&node("b")].agents[&name("swe")], swe);
        assert_eq!(policy.nodes[&node("b")].labels, ["gpu".into()]);
    }
}
