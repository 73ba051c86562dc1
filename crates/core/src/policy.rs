//! What the configuration says to decisions.

use std::collections::BTreeMap;

use crate::account::Budget;
use crate::name::AgentId;
use crate::node::NodeId;
use crate::notice;
use crate::pipeline::StoryId;
use crate::task::{Routing, Task};

/// What the configuration says to decisions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// Whether a message must carry the token of its run.
    pub require_token: bool,
    /// How work is given out.
    pub scheduler: SchedulerPolicy,
    /// The agents there are.
    pub agents: BTreeMap<AgentId, AgentPolicy>,
    /// The nodes of a fleet that are up, each with what it has room for; none on one machine.
    pub nodes: BTreeMap<NodeId, NodePolicy>,
    /// The one story that work is given out for; none where it is given out for everything.
    pub only: Option<StoryId>,
    /// The commands that must pass before work counts as done, where neither its task nor its
    /// agent says.
    pub checks: Vec<Box<str>>,
    /// What approving does, where its agent does not say.
    pub merge: Merge,
    /// Who is told of what.
    pub notify: Vec<notice::Rule>,
}

/// How work is given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerPolicy {
    /// How many runs there may be at once.
    pub concurrency: u32,
    /// After how many attempts without a result a task is given up.
    pub attempts_max: u32,
    /// How long the first wait between two attempts is.
    pub backoff_ms: i64,
    /// How long a lease lasts without a sign of life.
    pub heartbeat_ttl_ms: i64,
    /// How much all agents together may use on a day.
    pub budget_day: Budget,
    /// How much a task may use that says nothing of it.
    pub budget_task: Budget,
}

/// What is known of a node of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodePolicy {
    /// How many runs it may have at once.
    pub concurrency: u32,
    /// How many runs of each of its agents it may have at once.
    pub slots: BTreeMap<AgentId, u32>,
    /// What all of its agents are good for, because of where they are.
    pub labels: Vec<Box<str>>,
}

/// What is known of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPolicy {
    /// How many runs it may have at once.
    pub slots: u32,
    /// What an exit with code 0 and without a report means.
    pub on_exit_ok: OnExitOk,
    /// What `delegatedToMode` names it by.
    pub mode: Option<Box<str>>,
    /// What it is.
    pub role: Option<Box<str>>,
    /// What it is good at.
    pub tags: Vec<Box<str>>,
    /// How much a run may use.
    pub budget: Budget,
    /// How much all of its runs may use on a day.
    pub budget_day: Budget,
    /// What is another number for other settings.
    pub settings: u64,
    /// The commands that must pass before its work counts as done.
    pub checks: Option<Vec<Box<str>>>,
    /// What approving its work does.
    pub merge: Option<Merge>,
    /// Where it works.
    pub place: Place,
}

/// Where an agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// In a folder that others may work in too.
    #[default]
    Folder,
    /// In a work tree of its own, on a branch of its own.
    Worktree,
}

/// What approving work on a branch of its own does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Merge {
    /// Nothing: the branch stays for a person to merge.
    #[default]
    None,
    /// The base moves on to the branch, if it has not moved otherwise.
    Ff,
    /// The work becomes one commit on the base.
    Squash,
    /// The commits of the work are made anew on the base.
    Rebase,
}

/// What an exit with code 0 and without a report means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnExitOk {
    /// An attempt without a result.
    #[default]
    NoReport,
    /// Work that somebody should look at.
    NeedsReview,
    /// Work that is done.
    Done,
}

impl Policy {
    /// Returns the commands that must pass before the work of a task's run counts as done: what
    /// the task says, else its agent, else the project.
    pub fn checks_of<'a>(&'a self, task: &'a Task) -> &'a [Box<str>] {
        let agent = self.worker(task).and_then(|agent| agent.checks.as_deref());
        task.trials.checks.as_deref().or(agent).unwrap_or(&self.checks)
    }

    /// Says whether somebody looks into what a run of a task says before it counts. The steps of a
    /// story are measured by its own rules.
    pub fn looks_into(&self, task: &Task) -> bool {
        task.story().is_none() && (self.is_on_branch(task) || !self.checks_of(task).is_empty())
    }

    /// Returns what approving the work on a task does.
    pub fn merge_of(&self, task: &Task) -> Merge {
        let own = self.worker(task).and_then(|agent| agent.merge);
        if self.is_on_branch(task) { own.unwrap_or(self.merge) } else { Merge::None }
    }

    /// Says whether the work on a task is on a branch of its own. A story is worked on where its
    /// files are.
    pub fn is_on_branch(&self, task: &Task) -> bool {
        task.story().is_none()
            && self.worker(task).is_some_and(|agent| agent.place == Place::Worktree)
    }

    /// Returns the agent that works on a task, or did last.
    fn worker(&self, task: &Task) -> Option<&AgentPolicy> {
        let last = || task.last_run.as_ref().map(|run| &run.agent);
        self.agents.get(task.lease().map(|lease| &lease.agent).or_else(last)?)
    }

    /// Returns the agents a task with this routing may go to, by name.
    pub fn agents_for<'a>(
        &'a self,
        routing: &'a Routing,
    ) -> impl Iterator<Item = (&'a AgentId, &'a AgentPolicy)> {
        self.agents.iter().filter(move |(name, agent)| {
            let somewhere = || self.nodes_for(name, agent, routing).next().is_some();
            if self.nodes.is_empty() { agent.fits(name, routing, &[]) } else { somewhere() }
        })
    }

    /// Returns the nodes that have an agent a task with this routing may go to.
    pub(crate) fn nodes_for<'a>(
        &'a self,
        name: &'a AgentId,
        agent: &'a AgentPolicy,
        routing: &'a Routing,
    ) -> impl Iterator<Item = (&'a NodeId, &'a NodePolicy)> {
        let has = move |node: &NodePolicy| node.slots.contains_key(name);
        // Who asks for an agent by name may still ask for a place by tags.
        let fits = move |node: &NodePolicy| {
            agent.fits(name, routing, &node.labels) && agent.is_good_at(&routing.tags, &node.labels)
        };
        self.nodes.iter().filter(move |(_, node)| has(node) && fits(node))
    }

    /// Says whether an agent that asks for work may have a task with this routing. One that is not
    /// in the configuration may have what is for it, by its name or by a mode of that name, or for
    /// anybody.
    pub(crate) fn may_take(&self, agent: &AgentId, routing: &Routing) -> bool {
        match self.agents.get(agent) {
            Some(known) => known.fits(agent, routing, &[]),
            None => AgentPolicy::default().fits(agent, routing, &[]),
        }
    }
}

impl Merge {
    /// Every way there is.
    pub const ALL: [Self; 4] = [Self::None, Self::Ff, Self::Squash, Self::Rebase];

    /// Returns the word of the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ff => "ff",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }
}

impl AgentPolicy {
    /// Says whether the agent of this name may be given a task with this routing, where it is good
    /// for this besides.
    fn fits(&self, name: &AgentId, routing: &Routing, labels: &[Box<str>]) -> bool {
        if let Some(agent) = &routing.agent {
            return agent == name;
        }
        // One that says nothing of a mode has its name for one.
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
            budget_day: Budget::default(),
            budget_task: Budget::default(),
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
            budget: Budget::default(),
            budget_day: Budget::default(),
            settings: 0,
            checks: None,
            merge: None,
            place: Place::default(),
        }
    }
}
