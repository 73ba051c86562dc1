//! The nodes that are up and what each offers, from which the leader's policy is built.

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_model::merge_mode::MergeMode;
use adjutant_model::policy::{AgentPolicy, NodePolicy, OnExitOk, TASKS_MAX, WorkspaceKind};
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::usage::UsageBudget;
use adjutant_model::{AgentId, NodeId, Policy};
use adjutant_store::{FleetNetwork, StoreError};
use serde::{Deserialize, Serialize};

/// How often a node announces itself.
pub const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(3);
/// How long a node counts as up after its last announcement.
pub const NODE_TTL: Duration = Duration::from_secs(12);

/// What a node announces about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeInfo {
    /// The version of Adjutant.
    pub program: String,
    /// When the node's daemon started.
    pub since: String,
    /// What the agents of this node are suited for because of where they run.
    pub labels: Vec<String>,
    /// The most runs at once; 0 for a node that accepts no work.
    pub concurrency: u32,
    pub agents: BTreeMap<String, AgentWire>,
    /// The version up to which it has followed commits.
    pub version: u64,
    /// The number of its current runs.
    pub runs: u32,
}

/// What a node announces about one of its agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentWire {
    /// The most runs of this agent at once.
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
    #[serde(default, skip_serializing_if = "SandboxLevel::is_none")]
    sandbox: SandboxLevel,
    /// That of its steps of stories, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step_sandbox: Option<SandboxLevel>,
    #[serde(default = "default_tasks_max")]
    tasks_max: u32,
    /// Why its program cannot be started on this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program_problem: Option<String>,
}

/// A node of an earlier version does not say how many tasks a run may create.
fn default_tasks_max() -> u32 {
    TASKS_MAX
}

/// The nodes that are up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KnownNodes(pub BTreeMap<NodeId, NodeInfo>);

impl KnownNodes {
    /// Asks which nodes are up. Announcements that cannot be parsed are ignored.
    pub fn fetch(net: &dyn FleetNetwork) -> Result<Self, StoreError> {
        let nodes = net.nodes(NODE_TTL)?.into_iter();
        let known =
            nodes.filter_map(|(node, what)| Some((node, serde_json::from_slice(&what).ok()?)));
        Ok(Self(known.collect()))
    }

    /// Returns the policy for decisions: this node's settings, and the agents of all nodes. A
    /// node's settings of an agent apply to its runs there. Settings that do not depend on the node
    /// come from the first node, by name, that has the agent.
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
        // The runs of a node that accepts no work must not reduce the others' concurrency.
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
    /// Describes an agent of a node. Project settings fill in what the agent leaves open.
    pub fn with_project_settings(agent: &AgentPolicy, project: &Policy) -> Self {
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
            worktree: agent.place == WorkspaceKind::Worktree,
            sandbox: agent.sandbox,
            step_sandbox: Some(agent.step_sandbox).filter(|level| *level != agent.sandbox),
            tasks_max: agent.tasks_max,
            program_problem: text(&agent.program_problem),
        }
    }
}

impl From<&AgentWire> for AgentPolicy {
    fn from(wire: &AgentWire) -> Self {
        let texts = |all: &[String]| all.iter().map(|text| text.as_str().into()).collect();
        let budget = |(tokens, cost)| UsageBudget { tokens, cost };
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
            merge: wire.merge.as_deref().and_then(MergeMode::parse),
            place: if wire.worktree { WorkspaceKind::Worktree } else { WorkspaceKind::Folder },
            sandbox: wire.sandbox,
            step_sandbox: wire.step_sandbox.unwrap_or(wire.sandbox),
            tasks_max: wire.tasks_max,
            program_problem: wire.program_problem.as_deref().map(Into::into),
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
    fn fleet_policy_combines_agents_of_all_nodes() {
        let swe = AgentPolicy {
            slots: 2,
            on_exit_ok: OnExitOk::Done,
            tags: vec!["rust".into()],
            checks: Some(vec!["make".into()]),
            merge: Some(MergeMode::Squash),
            place: WorkspaceKind::Worktree,
            settings: 5,
            ..AgentPolicy::default()
        };
        let node = |name: &str| NodeId::parse(name).expect("a good name");
        let known = KnownNodes(BTreeMap::from([
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
