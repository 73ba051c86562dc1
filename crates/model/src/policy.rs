//! The settings that decisions depend on, taken from the configuration.

use std::collections::BTreeMap;

use crate::actor::AgentId;
use crate::merge_mode::MergeMode;
use crate::node_id::NodeId;
use crate::notice::NotifyRule;
use crate::sandbox_level::SandboxLevel;
use crate::story::StoryId;
use crate::task::{Task, TaskRouting};
use crate::usage::UsageBudget;

/// The most tasks that one run may create, unless its agent's settings say otherwise.
pub const TASKS_MAX: u32 = 20;

/// The settings that decisions depend on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// Whether a message must carry the token of its run.
    pub require_token: bool,
    /// The deepest level of delegation: a task at this depth cannot delegate.
    pub delegation_depth_max: DelegationDepth,
    pub scheduler: SchedulerPolicy,
    /// The configured agents. In a fleet, each has the slots of all nodes together.
    pub agents: BTreeMap<AgentId, AgentPolicy>,
    /// The fleet nodes that are up; empty on one machine.
    pub nodes: BTreeMap<NodeId, NodePolicy>,
    /// If set, the scheduler assigns only work of this story.
    pub only: Option<StoryId>,
    /// The commands that must pass before work counts as done, if neither the task nor the
    /// agent has checks.
    pub checks: Vec<Box<str>>,
    /// How approved work is merged, unless the agent's setting says otherwise.
    pub merge: MergeMode,
    pub notify: Vec<NotifyRule>,
    /// The state of the configuration's file, as the shell found it.
    pub config: ConfigState,
}

/// How many delegations may lie above a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelegationDepth(pub u32);

impl Default for DelegationDepth {
    fn default() -> Self {
        Self(1)
    }
}

/// How the file of the configuration differs from the settings in effect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigState {
    /// Why the file cannot be used; the settings before it are in effect.
    pub problem: Option<Box<str>>,
    /// The settings of the file that the operator has not accepted; those before are in effect.
    pub unaccepted: Vec<Box<str>>,
    /// The changed settings that take effect when the daemon is restarted.
    pub restart: Vec<Box<str>>,
}

/// The limits and intervals of the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerPolicy {
    /// The most runs at once.
    pub concurrency: u32,
    /// A task is given up after this many failed attempts.
    pub attempts_max: u32,
    /// The wait before the second attempt.
    pub backoff_ms: i64,
    /// How long a lease lasts without a heartbeat.
    pub heartbeat_ttl_ms: i64,
    /// The limit for all agents together on one day.
    pub budget_day: UsageBudget,
    /// The limit for a task that sets none.
    pub budget_task: UsageBudget,
}

/// The settings of a fleet node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodePolicy {
    /// The most runs at once on this node.
    pub concurrency: u32,
    /// The node's own settings for its agents.
    pub agents: BTreeMap<AgentId, AgentPolicy>,
    /// Tags that all agents on this node have.
    pub labels: Vec<Box<str>>,
}

/// The settings of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPolicy {
    /// The most runs at once.
    pub slots: u32,
    /// The meaning of an exit with code 0 and without a report.
    pub on_exit_ok: OnExitOk,
    /// The mode that `delegatedToMode` names; `None` means the agent's name.
    pub mode: Option<Box<str>>,
    pub role: Option<Box<str>>,
    /// The tags that tasks can require.
    pub tags: Vec<Box<str>>,
    /// The limit for one run.
    pub budget: UsageBudget,
    /// The limit for all runs on one day.
    pub budget_day: UsageBudget,
    /// A fingerprint of the agent's settings: it differs when they do.
    pub settings: u64,
    /// `None` if the project's checks apply.
    pub checks: Option<Vec<Box<str>>>,
    /// `None` if the project's setting applies.
    pub merge: Option<MergeMode>,
    pub place: WorkspaceKind,
    pub sandbox: SandboxLevel,
    /// The sandbox of its steps of stories.
    pub step_sandbox: SandboxLevel,
    /// The most tasks that one run may create.
    pub tasks_max: u32,
    /// Why its program cannot be started on this machine, as the shell found; `None` if it can, or
    /// if the agent has no program.
    pub program_problem: Option<Box<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkspaceKind {
    /// A folder that several agents may share.
    #[default]
    Folder,
    /// A work tree and a branch for each task.
    Worktree,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnExitOk {
    /// The attempt failed.
    #[default]
    NoReport,
    /// The work waits for review.
    NeedsReview,
    Done,
}

impl Policy {
    /// Returns the sandbox of a run, on a fleet node or on this machine.
    pub fn sandbox_on(&self, node: Option<&NodeId>, agent: &AgentId, task: &Task) -> SandboxLevel {
        let there = node.and_then(|node| self.nodes.get(node)?.agents.get(agent));
        let agent = there.or_else(|| self.agents.get(agent));
        agent.map(|agent| agent.sandbox_for(task)).unwrap_or_default()
    }

    /// Records which agents cannot be started on this machine, and why. Every other agent can.
    #[must_use]
    pub fn with_program_problems(mut self, problems: &BTreeMap<AgentId, Box<str>>) -> Self {
        for (name, agent) in &mut self.agents {
            agent.program_problem = problems.get(name).cloned();
        }
        self
    }

    /// Returns the commands that must pass before the work on a task counts as done: the checks of
    /// the task, as far as an operator accepted them, else of its agent, else of the project.
    pub fn checks_of<'a>(&'a self, task: &'a Task) -> &'a [Box<str>] {
        let agent = self.worker(task).and_then(|agent| agent.checks.as_deref());
        task.history.accepted_checks.as_deref().or(agent).unwrap_or(&self.checks)
    }

    /// Returns whether the work of a run is verified before its report counts. The steps of a story
    /// are verified by the rules of the pipeline instead.
    pub fn looks_into(&self, task: &Task) -> bool {
        task.story().is_none() && (self.is_on_branch(task) || !self.checks_of(task).is_empty())
    }

    /// Returns how the work on a task is merged after approval. If the node with the work is not
    /// up, the mode that was recorded with the claim applies.
    pub fn merge_of(&self, task: &Task) -> MergeMode {
        let noted = || task.history.work.as_ref()?.merge;
        if let Some(merge) = self.absent(task).and_then(|_| noted()) {
            return merge;
        }
        let own = self.worker(task).and_then(|agent| agent.merge);
        if self.is_on_branch(task) { own.unwrap_or(self.merge) } else { MergeMode::None }
    }

    /// Returns whether the work on a task is on a branch of its own. A story has none: its steps
    /// run where its files are.
    pub fn is_on_branch(&self, task: &Task) -> bool {
        task.story().is_none()
            && self.worker(task).is_some_and(|agent| agent.place == WorkspaceKind::Worktree)
    }

    /// Returns the settings of the agent that works on a task or did last, on the node of that run.
    pub fn worker(&self, task: &Task) -> Option<&AgentPolicy> {
        let last = || task.last_run.as_ref().map(|run| &run.agent);
        let agent = task.lease().map(|lease| &lease.agent).or_else(last)?;
        self.agent_on(agent, task.history.node.as_ref())
    }

    /// Returns an agent's settings on a node, or the shared settings if the node is not up.
    pub fn agent_on(&self, agent: &AgentId, node: Option<&NodeId>) -> Option<&AgentPolicy> {
        let own = node.and_then(|node| self.nodes.get(node)?.agents.get(agent));
        own.or_else(|| self.agents.get(agent))
    }

    /// Returns the node that should get the next run of a task, because only that node has the
    /// branch with the work so far. `None` if the node is not up or accepts no runs.
    pub fn keeper<'t>(&self, task: &'t Task) -> Option<&'t NodeId> {
        let was_looked_into =
            task.history.work.as_ref().is_some_and(|work| work.evidence.is_some());
        let has_room = |node: &NodeId| self.nodes.get(node).is_some_and(|it| it.concurrency > 0);
        let node = task.history.node.as_ref().filter(|node| has_room(node))?;
        (was_looked_into && self.is_on_branch(task)).then_some(node)
    }

    /// Returns the node of the last run of a task, if that node is not up.
    pub fn absent<'t>(&self, task: &'t Task) -> Option<&'t NodeId> {
        let node = task.history.node.as_ref().filter(|_| !self.nodes.is_empty());
        node.filter(|node| !self.nodes.contains_key(*node))
    }

    /// Returns the agents that may do a task with this routing, in the order of their names.
    pub fn agents_for<'a>(
        &'a self,
        routing: &'a TaskRouting,
    ) -> impl Iterator<Item = (&'a AgentId, &'a AgentPolicy)> {
        self.agents.iter().filter(move |(name, agent)| {
            let somewhere = || self.nodes_for(name, routing).next().is_some();
            if self.nodes.is_empty() { agent.fits(name, routing, &[]) } else { somewhere() }
        })
    }

    /// Returns the nodes where this agent may do a task with this routing.
    pub fn nodes_for<'a>(
        &'a self,
        name: &'a AgentId,
        routing: &'a TaskRouting,
    ) -> impl Iterator<Item = (&'a NodeId, &'a NodePolicy)> {
        // A task that names its agent may still select a node by tags.
        let fits = move |agent: &AgentPolicy, node: &NodePolicy| {
            agent.fits(name, routing, &node.labels) && agent.is_good_at(&routing.tags, &node.labels)
        };
        let has = move |node: &NodePolicy| node.agents.get(name).is_some_and(|it| fits(it, node));
        self.nodes.iter().filter(move |(_, node)| has(node))
    }

    /// Returns whether an agent that asks for work may get a task with this routing. An agent that
    /// is not configured may get tasks for its name, for a mode of that name, or for any agent.
    pub fn may_take(&self, agent: &AgentId, routing: &TaskRouting) -> bool {
        let on_nodes = self.nodes.values().filter_map(|node| node.agents.get(agent));
        let mut known = on_nodes.chain(self.agents.get(agent)).peekable();
        match known.peek() {
            Some(_) => known.any(|known| known.fits(agent, routing, &[])),
            None => AgentPolicy::default().fits(agent, routing, &[]),
        }
    }
}

impl AgentPolicy {
    /// Returns what confines a run of the agent on a task.
    pub fn sandbox_for(&self, task: &Task) -> SandboxLevel {
        if task.story().is_some() { self.step_sandbox } else { self.sandbox }
    }

    /// Returns whether the agent may do a task with this routing on a node with these labels.
    fn fits(&self, name: &AgentId, routing: &TaskRouting, labels: &[Box<str>]) -> bool {
        if self.sandbox < routing.sandbox {
            return false;
        }
        if let Some(agent) = &routing.agent {
            return agent == name;
        }
        // An agent without a mode uses its name as the mode.
        let own = self.mode.as_deref().unwrap_or(name.as_str());
        let mode = routing.mode.as_deref().is_none_or(|mode| mode == own);
        let role = routing.role.as_ref().is_none_or(|role| self.role.as_ref() == Some(role));
        mode && role && self.is_good_at(&routing.tags, labels)
    }

    fn is_good_at(&self, tags: &[Box<str>], labels: &[Box<str>]) -> bool {
        tags.iter().all(|tag| self.tags.contains(tag) || labels.contains(tag))
    }
}

impl Default for SchedulerPolicy {
    fn default() -> Self {
        Self {
            concurrency: 4,
            attempts_max: 3,
            backoff_ms: 60_000,
            heartbeat_ttl_ms: 300_000,
            budget_day: UsageBudget::default(),
            budget_task: UsageBudget::default(),
        }
    }
}

impl Default for AgentPolicy {
    fn default() -> Self {
        Self {
            slots: 1,
            on_exit_ok: OnExitOk::default(),
            mode: None,
            role: None,
            tags: vec![],
            budget: UsageBudget::default(),
            budget_day: UsageBudget::default(),
            settings: 0,
            checks: None,
            merge: None,
            place: WorkspaceKind::default(),
            sandbox: SandboxLevel::default(),
            step_sandbox: SandboxLevel::default(),
            tasks_max: TASKS_MAX,
            program_problem: None,
        }
    }
}
